//! Landlock: which files and TCP ports a process reaches, by any descriptor or path.
//!
//! Every right that the kernel knows is handled, so what no rule grants is refused. It does not
//! cover stat, chmod and UDP, nor what is open already.

use super::report::Landlock;
use super::{ConfineError, GatewayPaths};
use ::landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, NetPort,
    PathBeneath, RestrictionStatus, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError,
    RulesetStatus, Scope,
};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

/// The newest interface whose rights are asked for; older kernels handle fewer.
const NEWEST: ABI = ABI::V9;

/// Nothing but reading beneath `readable`; none when the kernel has no Landlock.
pub(super) fn worker(readable: &[BorrowedFd<'_>]) -> Result<Option<Landlock>, ConfineError> {
    let handled = AccessFs::from_all(NEWEST);
    let tcp = AccessNet::from_all(ABI::V4);
    let mut rules = ruleset(handled, tcp)?;
    for fd in readable {
        rules = rules
            .add_rule(PathBeneath::new(fd, AccessFs::ReadFile | AccessFs::ReadDir))
            .map_err(landlock_error)?;
    }
    restrict(rules, handled, tcp)
}

/// The gateway's places and ports.
pub(super) fn gateway(paths: &GatewayPaths, ports: Option<&[u16]>) -> Result<Option<Landlock>, ConfineError> {
    // Without this right the first interface refuses every link and rename between folders, which
    // is how files are published.
    let publishes =
        Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(AccessFs::Refer);
    if publishes.is_err() || publishes.is_ok_and(|ruleset| ruleset.create().is_err()) {
        return Ok(None);
    }
    // Names resolve over UNIX sockets of the system's resolver, which the newest right would
    // refuse.
    let handled = AccessFs::from_all(NEWEST) & !BitFlags::from(AccessFs::ResolveUnix);
    let tcp = if ports.is_some() { AccessNet::from_all(ABI::V4) } else { AccessNet::BindTcp.into() };
    let mut rules = ruleset(handled, tcp)?;
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    // No device or FIFO is made, no socket, and nothing there is a program.
    let write = AccessFs::from_all(ABI::V3)
        & !(AccessFs::Execute
            | AccessFs::MakeChar
            | AccessFs::MakeBlock
            | AccessFs::MakeFifo
            | AccessFs::MakeSock);
    // With whether a place that is not there is an error.
    let grants = [
        (&paths.read_write, write, true),
        (&paths.read_only, read, false),
        (&paths.execute, AccessFs::Execute | AccessFs::ReadFile, false),
    ];
    for (places, access, needed) in grants {
        for place in places {
            let fd = match open(place) {
                Ok(fd) => fd,
                Err(_) if !needed => continue,
                Err(error) => return Err(error),
            };
            if is_nowhere(&fd) {
                continue;
            }
            let of_files = AccessFs::from_file(NEWEST);
            let access = if is_folder(&fd) { access } else { access & of_files };
            rules = rules.add_rule(PathBeneath::new(fd, access)).map_err(landlock_error)?;
        }
    }
    // Programs are started with no standard input, and libraries draw random bytes from a device.
    for (device, access) in
        [("/dev/null", AccessFs::ReadFile | AccessFs::WriteFile), ("/dev/urandom", AccessFs::ReadFile.into())]
    {
        if let Ok(fd) = open(Path::new(device)) {
            rules = rules.add_rule(PathBeneath::new(fd, access)).map_err(landlock_error)?;
        }
    }
    for port in ports.unwrap_or_default() {
        rules = rules.add_rule(NetPort::new(*port, AccessNet::ConnectTcp)).map_err(landlock_error)?;
    }
    restrict(rules, handled, tcp)
}

fn open(path: &Path) -> Result<OwnedFd, ConfineError> {
    use rustix::fs::{Mode, OFlags};
    rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
        .map_err(|e| ConfineError::Place(path.display().to_string(), e.into()))
}

/// Whether it is a pipe or a socket without a name, such as what `<(…)` of a shell stands for: the
/// kernel takes no rule for it, and refuses nobody who opens it.
#[allow(clippy::unnecessary_cast, reason = "the widths differ between machines")]
fn is_nowhere(fd: &OwnedFd) -> bool {
    // PIPEFS_MAGIC and SOCKFS_MAGIC of the kernel's linux/magic.h.
    const NAMELESS: [u64; 2] = [0x5049_5045, 0x534f_434b];
    rustix::fs::fstatfs(fd).is_ok_and(|stat| NAMELESS.contains(&(stat.f_type as u64)))
}

fn is_folder(fd: &OwnedFd) -> bool {
    rustix::fs::fstat(fd).is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir())
}

fn ruleset(handled: BitFlags<AccessFs>, tcp: BitFlags<AccessNet>) -> Result<RulesetCreated, ConfineError> {
    Ruleset::default()
        .handle_access(handled)
        .and_then(|rules| rules.handle_access(tcp))
        .and_then(|rules| rules.scope(Scope::from_all(ABI::V6)))
        .and_then(Ruleset::create)
        .map_err(landlock_error)
}

fn restrict(
    rules: RulesetCreated,
    handled: BitFlags<AccessFs>,
    tcp: BitFlags<AccessNet>,
) -> Result<Option<Landlock>, ConfineError> {
    let RestrictionStatus { ruleset, landlock, .. } = rules.restrict_self().map_err(landlock_error)?;
    let LandlockStatus::Available { effective_abi, kernel_abi } = landlock else { return Ok(None) };
    if ruleset == RulesetStatus::NotEnforced {
        return Ok(None);
    }
    Ok(Some(Landlock {
        abi: kernel_abi.map_or(effective_abi as u32, |abi| u32::try_from(abi).unwrap_or(0)),
        files: flag_names(handled & AccessFs::from_all(effective_abi)),
        tcp: flag_names(AccessNet::from_all(effective_abi) & tcp),
        scoped: flag_names(Scope::from_all(effective_abi)),
    }))
}

fn flag_names<T: Access + std::fmt::Debug>(flags: BitFlags<T>) -> Vec<String> {
    flags.iter().map(|flag| format!("{flag:?}")).collect()
}

fn landlock_error(error: RulesetError) -> ConfineError {
    ConfineError::refused("restrict files and ports with Landlock", error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::{AsFd, AsRawFd};
    use std::os::unix::net::UnixStream;

    /// As a place is opened that `/dev/stdin` or `<(…)` of a shell stands for.
    fn nowhere(there: impl AsFd) -> bool {
        let place = format!("/proc/self/fd/{}", there.as_fd().as_raw_fd());
        is_nowhere(&open(Path::new(&place)).expect("it is open here"))
    }

    #[test]
    fn a_pipe_and_a_socket_without_a_name_get_no_rule() {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        assert!(nowhere(reader) && nowhere(writer));
        let (socket, other) = UnixStream::pair().expect("two sockets");
        assert!(nowhere(socket) && nowhere(other));
        for named in ["/", "/dev/null"] {
            assert!(!nowhere(std::fs::File::open(named).expect("it is there")), "{named}");
        }
    }
}
