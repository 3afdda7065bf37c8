//! What a process may do beyond its user's rights: capabilities, new privileges, being looked into.

use super::ConfineError;
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Signal, set_dumpable_behavior, set_parent_process_death_signal};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

/// Drops every capability from every set, and takes no new privileges.
///
/// A process of uid 0 stays uid 0: without capabilities it has the rights of the owner of root's
/// files and no more, and another uid could not read mounts that only root may read.
pub(super) fn drop_all() -> Result<(), ConfineError> {
    keep(CapabilitySet::empty())
}

/// Keeps what a gateway of root needs for files of others, and what its workers need to drop the
/// rest.
pub(super) fn keep_file_capabilities() -> Result<(), ConfineError> {
    keep(
        CapabilitySet::DAC_OVERRIDE
            | CapabilitySet::DAC_READ_SEARCH
            | CapabilitySet::FOWNER
            | CapabilitySet::FSETID
            | CapabilitySet::CHOWN
            | CapabilitySet::SETPCAP,
    )
}

fn keep(kept: CapabilitySet) -> Result<(), ConfineError> {
    for number in 0..u64::BITS {
        let one = CapabilitySet::from_bits_retain(1 << number);
        match capability_is_in_bounding_set(one) {
            Ok(true) if !kept.contains(one) => match remove_capability_from_bounding_set(one) {
                Ok(()) => {}
                // Who lacks CAP_SETPCAP has none of them, and takes no new privileges below.
                Err(Errno::PERM) => break,
                Err(e) => return Err(ConfineError::refused("drop a capability from the bounding set", e)),
            },
            Ok(_) => {}
            // Beyond the last capability of this kernel.
            Err(_) => break,
        }
    }
    clear_ambient_capability_set().map_err(|e| ConfineError::refused("clear the ambient capabilities", e))?;
    let has = capabilities(None).map_err(|e| ConfineError::refused("read the capabilities", e))?;
    let rest = CapabilitySets {
        effective: has.effective & kept,
        permitted: has.permitted & kept,
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, rest).map_err(|e| ConfineError::refused("drop capabilities", e))?;
    set_no_new_privs(true).map_err(|e| ConfineError::refused("set no_new_privs", e))
}

/// Closes every descriptor but the standard three: the process that started the gateway may have
/// left some open that were passed on and on.
///
/// Legal as the first thing that a process does: nothing in it may hold one.
#[allow(unsafe_code, reason = "no library closes descriptors that nobody owns; see SAFETY")]
pub fn close_inherited() -> std::io::Result<()> {
    // SAFETY: no memory is passed, and no descriptor above the standard ones belongs to anything in
    // this process yet, as the caller promises.
    match unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, 0_u32) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// No core dump, no debugger of the same user, and no life after the parent.
pub(super) fn hide_and_die_with_parent() -> Result<(), ConfineError> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|e| ConfineError::refused("become undumpable", e))?;
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|e| ConfineError::refused("ask to die with the parent", e))
}
