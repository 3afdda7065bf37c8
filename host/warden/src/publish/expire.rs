//! Removes the `/tmp` of sessions that nobody used for long, and clears the others of what a crash
//! left.
//!
//! A folder that a call may be working in is locked, and stays. One that goes is first renamed out
//! of sight, so that a session that comes back has a new one at once. It follows no symbolic link,
//! and enters nothing but the folders that the gateway itself made.

use super::identity::FileIdentity;
use super::open::open_existing;
use super::owner::{SESSIONS, USERS};
use super::sweep::{SWEPT_ENTRIES_MAX, sweep};
use super::temp::{self, PREFIX};
use super::workspaces::Workspaces;
use cap_std::fs::Dir;
use cofferdam_core::capability::MOUNTS;
use rustix::fd::OwnedFd;
use rustix::fs::{FlockOperation, Stat, flock, fstat};
use rustix::io::{Errno, Result};
use std::fs::File;
use std::time::{Duration, SystemTime};

/// What came of one round.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Expired {
    /// Sessions whose `/tmp` is gone.
    pub sessions: u64,
    /// What a crash or an earlier round left, and that is gone.
    pub leftovers: usize,
    /// Names that stay until the next round, because they hold too much for one or cannot be
    /// opened or deleted.
    pub left: usize,
}

impl Workspaces {
    /// Removes the `/tmp` of each session that was not used for the configured time before `now`.
    ///
    /// Used is when its last call began, by the folder's time. On any clock, one that a
    /// call is using, or that this process used within that time, stays. What cannot be removed is
    /// tried again in the next round.
    pub fn expire(&self, now: SystemTime) -> Expired {
        let mut expired = Expired::default();
        self.expire_below(&self.root, "", now, &mut expired);
        let Ok(Some(users)) = open_existing(&self.root, USERS) else { return expired };
        for name in read_names(&users) {
            let Ok(Some(user)) = open_existing(&users, &name) else { continue };
            for mount in MOUNTS {
                Self::clear(&user, mount.trim_start_matches('/'), &mut expired);
            }
            self.expire_below(&user, &format!("{USERS}/{name}/"), now, &mut expired);
        }
        expired
    }

    /// The sessions of a folder that is laid out like the root.
    fn expire_below(&self, base: &OwnedFd, at: &str, now: SystemTime, expired: &mut Expired) {
        let Ok(Some(sessions)) = open_existing(base, SESSIONS) else { return };
        for name in read_names(&sessions) {
            let place = format!("{at}{SESSIONS}/{name}/");
            match self.hide(&sessions, &name, &place, now) {
                Ok(true) => expired.sessions += 1,
                Ok(false) => {
                    if let Ok(Some(session)) = open_existing(&sessions, &name) {
                        Self::clear(&session, "tmp", expired);
                    }
                }
                Err(errno) => {
                    tracing::warn!(%place, %errno, "an unused session's folder stays");
                    expired.left += 1;
                }
            }
        }
        // What is out of sight, of this round and of earlier ones. It counts until the quota is
        // measured again.
        Self::note(sweep(&Dir::from_std_file(File::from(sessions)), SWEPT_ENTRIES_MAX), expired);
    }

    /// Takes a session's folder out of sight if it was not used for long.
    fn hide(&self, sessions: &OwnedFd, name: &str, place: &str, now: SystemTime) -> Result<bool> {
        let age = self.config.session_tmp_age.0;
        let Some(folder) = open_existing(sessions, name)? else { return Ok(false) };
        if !is_older(&fstat(&folder)?, age, now) || !self.close_unused(place, age) {
            return Ok(false);
        }
        match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => return Ok(false),
            locked => locked?,
        }
        // A call may have come and gone since.
        if !is_older(&fstat(&folder)?, age, now)
            || !FileIdentity::from_file(&folder)?.has_name(sessions, name)?
        {
            return Ok(false);
        }
        temp::rename_directory(sessions, name, sessions, &temp::random_name()).map(|()| true)
    }

    /// Removes what a crash left in a mount.
    fn clear(base: &OwnedFd, mount: &str, expired: &mut Expired) {
        if let Ok(Some(dir)) = open_existing(base, mount) {
            Self::note(sweep(&Dir::from_std_file(File::from(dir)), SWEPT_ENTRIES_MAX), expired);
        }
    }

    fn note(swept: Result<Expired>, expired: &mut Expired) {
        let swept = swept.unwrap_or_default();
        expired.leftovers += swept.leftovers;
        expired.left += swept.left;
    }
}

/// The names in a folder of the gateway's own, hidden ones apart.
fn read_names(folder: &OwnedFd) -> impl Iterator<Item = String> + use<> {
    let entries = rustix::fs::Dir::read_from(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned));
    names.filter(|name| !matches!(&**name, "." | "..") && !name.starts_with(PREFIX))
}

/// Whether a folder's time lies so far before `now`; a time to come does not.
#[allow(clippy::unnecessary_cast, reason = "the widths differ between machines")]
fn is_older(stat: &Stat, age: Duration, now: SystemTime) -> bool {
    let Ok(seconds) = u64::try_from(stat.st_mtime as i64) else { return true };
    let used = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
    used.is_some_and(|used| now.duration_since(used).is_ok_and(|since| since >= age))
}
