//! Where the sealed files of a large plan wait, so that none of them needs a descriptor: a
//! directory of the call's own in a mount's root, under a name that only the gateway gives.
//!
//! It is locked for as long as the call has it, so that another process's sweep spares it; what a
//! crash leaves of it, the next start sweeps. It refuses to replace anything.

use super::identity::FileIdentity;
use super::resolve;
use super::temp::{StagingFolder, TempName, link_open_file, lock_new, rename_new, with_new_name};
use cap_std::fs::Dir;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Mode, OFlags, chmodat, fchmod, mkdirat, renameat, unlinkat};
use rustix::io::{Errno, Result};
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory of a call's own. Its last name and it go together.
pub(super) struct ParkFolder {
    pub(super) mount: Arc<StagingFolder>,
    name: String,
    pub(super) dir: Arc<Dir>,
    names: AtomicU32,
}

impl ParkFolder {
    /// A new one in the root of the mount, for its owner alone.
    pub(super) fn make(mount: &Arc<StagingFolder>) -> Result<Arc<Self>> {
        with_new_name(|name| {
            mkdirat(&*mount.dir, &name, Mode::RWXU)?;
            let dir = lock_folder(mount, &name).inspect_err(|_| remove_folder(mount, &name))?;
            let dir = Arc::new(Dir::from_std_file(File::from(dir)));
            Ok(Arc::new(Self { mount: Arc::clone(mount), name, dir, names: AtomicU32::new(0) }))
        })
    }

    /// Gives a staged file a name in here, in the place of the temporary one that it may have.
    pub(super) fn take(self: &Arc<Self>, file: &File, temp: &mut Option<TempName>) -> Result<TempName> {
        let name = self.names.fetch_add(1, Ordering::Relaxed).to_string();
        let Some(old) = temp else {
            link_open_file(file, &*self.dir, &name)?;
            return Ok(TempName::in_park(self, name));
        };
        match rename_new(old.dir(), old.as_str(), &*self.dir, &name) {
            // Nobody but this call gives names in here.
            Err(Errno::OPNOTSUPP) => renameat(old.dir(), old.as_str(), &*self.dir, &name)?,
            renamed => renamed?,
        }
        old.mark_renamed();
        Ok(TempName::in_park(self, name))
    }
}

impl Drop for ParkFolder {
    fn drop(&mut self) {
        remove_folder(&self.mount, &self.name);
    }
}

/// Removes the directory, which is empty.
fn remove_folder(mount: &StagingFolder, name: &str) {
    if let Err(errno) = unlinkat(&*mount.dir, name, AtFlags::REMOVEDIR)
        && errno != Errno::NOENT
    {
        tracing::warn!(name, %errno, "a temporary directory stays until the next start");
    }
}

/// The directory, locked. EXIST: a sweep came between its making and the lock.
fn lock_folder(mount: &StagingFolder, name: &str) -> Result<OwnedFd> {
    let dir = match resolve::directory(&mount.dir, name.as_bytes()) {
        Err(Errno::NOENT) => return Err(Errno::EXIST),
        dir => dir?,
    };
    lock_new(&dir)?;
    if FileIdentity::from_file(&dir)?.has_name(&*mount.dir, name)? { Ok(dir) } else { Err(Errno::EXIST) }
}

/// The parked file of this name, open again, with the mode that it has: one may be that of a file
/// that nobody reads.
pub(super) fn reopen(temp: &TempName, mode: Mode) -> Result<File> {
    chmodat(temp.dir(), temp.as_str(), Mode::RUSR | Mode::WUSR, AtFlags::empty())?;
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = resolve::open(temp.dir(), temp.as_str(), flags)?;
    fchmod(&file, mode)?;
    Ok(File::from(file))
}
