//! The only code that changes a file of the workspace.
//!
//! A file is staged where nobody sees it, sealed (its bytes are then on disk), and published in one
//! step: all of it or nothing, on a path that resolves exactly as it was judged. Renames and
//! removals are planned, and found again before they happen. The sandbox stages and plans for a
//! guest; the host publishes after the call succeeded. Nothing here changes anything through a
//! symbolic link, leaves a mount, or blocks on a FIFO; a symbolic link, FIFO, socket or device is
//! removed where that is asked for, and otherwise never touched.

mod budget;
mod copy;
mod digest;
mod error;
mod expire;
mod identity;
mod land;
mod lock;
mod look;
mod open;
mod owner;
mod parents;
mod park;
mod plan;
mod quota;
mod remove;
mod rename;
mod resolve;
mod source;
mod stage;
mod sweep;
mod temp;
#[cfg(test)]
mod tests;
mod tree;
mod used;
mod walk;
mod workspaces;

pub use cofferdam_core::host_call::{Contents, Disposition};
pub use expire::Expired;
pub use open::OpenError;
pub use owner::{FileOwner, HOLDERS};
pub use plan::{RENAMES_AND_REMOVALS_MAX, STAGED_MAX};
pub use used::{count_left_behind, measure_used};
pub use workspaces::{PLACES_OPEN_MAX, Workspaces};

// Nobody outside the trusted core stages, plans or publishes.
pub(crate) use budget::{CallBudget, TurnShare};
pub(crate) use error::{PublishError, describe_effects, first_of};
pub(crate) use plan::{ChangePlan, PlannedChange};
pub(crate) use source::LinkRule;
pub(crate) use stage::StagedFile;

use cap_std::fs::Dir;
use cofferdam_core::limits::{ByteSize, TimeSpan};
use cofferdam_policy::GuestPath;
use quota::Quota;
use rustix::fd::OwnedFd;
use rustix::fs::Mode;
use std::path::PathBuf;
use std::sync::Arc;
use temp::StagingFolder;

/// Where the workspaces are, whose they are, and how much they may hold.
#[derive(Clone, Debug)]
pub struct Config {
    /// Holds `shared/`, `tmp/` and `vault/`, `sessions/` and `users/`; made when missing.
    pub root: PathBuf,
    /// Quota over all of them, in bytes of all regular files.
    pub max_bytes: ByteSize,
    /// Whether each user has `/shared` and `/vault` alone.
    pub per_user: bool,
    /// The `/tmp` of a session that was not used for so long is removed.
    pub session_tmp_age: TimeSpan,
}

/// How long an unused session's `/tmp` is kept when nobody says.
pub const SESSION_TMP_AGE: TimeSpan = TimeSpan::seconds(7 * 24 * 3600);
/// The least that can be asked for, longer than any call.
pub const SESSION_TMP_AGE_LEAST: TimeSpan = TimeSpan::seconds(3600);

impl Config {
    /// Users share a workspace of this quota, and sessions are kept as long as when nobody says.
    pub const fn shared(root: PathBuf, max_bytes: ByteSize) -> Self {
        Self { root, max_bytes, per_user: false, session_tmp_age: SESSION_TMP_AGE }
    }
}

/// The open workspace.
pub(crate) struct Workspace {
    mounts: Vec<Arc<StagingFolder>>,
    quota: Arc<Quota>,
    umask: Mode,
    /// Where `/tmp` is a session's own.
    session: Option<SessionFolder>,
}

/// A session's folder, in which its `/tmp` lies: locked for as long as it is open, its time that of
/// the last use.
struct SessionFolder {
    folder: OwnedFd,
    /// Its other mounts are of this one, which stays open with it.
    _user: Arc<Workspace>,
}

impl Workspace {
    /// The directory behind a mount's guest name: `/shared`, `/tmp` or `/vault`.
    pub(crate) fn mount(&self, guest: &str) -> Option<&Arc<Dir>> {
        self.mounts.iter().find(|mount| mount.guest == guest).map(|mount| &mount.dir)
    }

    fn mount_of(&self, path: &GuestPath) -> Result<&Arc<StagingFolder>, PublishError> {
        let found = self.mounts.iter().find(|mount| mount.guest == path.mount());
        found.ok_or_else(|| PublishError::NoSuchMount { path: path.clone() })
    }

    /// 0666 less the umask.
    fn new_file_mode(&self) -> Mode {
        Mode::from_raw_mode(0o666) - self.umask
    }
}
