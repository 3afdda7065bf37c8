//! What one call may still write, and whether it should stop. It knows of no file and no disk.

use super::Disposition;
use super::error::PublishError;
use crate::stop::StopReason;
use cofferdam_core::limits::{ByteSize, Limits};
use cofferdam_policy::GuestPath;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Directories that a call may make beyond one for each of its changes: they cost none of the
/// workspace's bytes, and one path may need thousands.
const FOLDERS_MADE_MAX: u32 = 64;

impl StopReason {
    /// The error for the file that was being written.
    pub(super) fn error(self, path: &GuestPath) -> PublishError {
        match self {
            Self::Deadline => PublishError::TimedOut { path: path.clone() },
            Self::Cancelled => PublishError::Cancelled { path: path.clone() },
        }
    }
}

/// What is left of a turn's share when one of its calls begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TurnShare {
    /// What the turn may write in all.
    pub limit: ByteSize,
    /// Bytes of it that its earlier calls have left.
    pub left: u64,
}

/// The share of one call: bytes that it may stage, changes that it may plan and directories that
/// may be made for these in all, and its stop check.
///
/// Discarded bytes stay spent, so that a loop of staging and dropping ends too.
pub(crate) struct CallBudget {
    limit: ByteSize,
    /// What its turn has left, if it is in one.
    pub(crate) turn: Option<TurnShare>,
    /// Files that an earlier run of the call has made, which a crash cut off: that their names are
    /// taken refuses nothing. What it then plans is compared with what that run had planned.
    pub(crate) made: BTreeSet<GuestPath>,
    spent: AtomicU64,
    changes: AtomicU32,
    /// Directories that are made for it.
    folders: AtomicU32,
    /// Files, renames and removals that it may plan.
    pub(crate) changes_max: u32,
    stop: Box<dyn Fn() -> Option<StopReason> + Send + Sync>,
}

impl CallBudget {
    /// A fresh share, with as many changes as a call has by default. `stop` is asked between the
    /// slices of host-side work, so a deadline covers them.
    pub(crate) fn new(
        limit: ByteSize,
        stop: impl Fn() -> Option<StopReason> + Send + Sync + 'static,
    ) -> Self {
        Self {
            limit,
            turn: None,
            made: BTreeSet::new(),
            spent: AtomicU64::new(0),
            changes: AtomicU32::new(0),
            folders: AtomicU32::new(0),
            changes_max: Limits::DEFAULT.changes,
            stop: Box::new(stop),
        }
    }

    /// What is to be done about a file at `path` where `wanted` is asked for.
    pub(super) fn disposition(&self, path: &GuestPath, wanted: Disposition) -> Disposition {
        if self.made.contains(path) { Disposition::Replace } else { wanted }
    }

    /// Bytes staged so far, discarded ones included.
    pub(crate) fn spent(&self) -> u64 {
        self.spent.load(Ordering::Relaxed)
    }

    /// Why the call should stop now, if it should.
    pub(super) fn stop(&self) -> Option<StopReason> {
        (self.stop)()
    }

    /// Goes on, unless the call should stop.
    pub(super) fn check(&self, path: &GuestPath) -> Result<(), PublishError> {
        self.stop().map_or(Ok(()), |stop| Err(stop.error(path)))
    }

    /// Takes one change of the share.
    pub(super) fn take_change(&self, path: &GuestPath) -> Result<(), PublishError> {
        let limit = self.changes_max;
        let refused = || PublishError::ChangeCount { path: path.clone(), limit };
        take_one_more(&self.changes, limit).ok_or_else(refused)
    }

    /// Takes one directory of the share, which a change of `path` needs.
    pub(super) fn take_folder(&self, path: &GuestPath) -> Result<(), PublishError> {
        let limit = self.changes_max.saturating_add(FOLDERS_MADE_MAX);
        let refused = || PublishError::FolderCount { path: path.clone(), limit };
        take_one_more(&self.folders, limit).ok_or_else(refused)
    }

    /// A directory that was taken is not there: it was not made, or is removed again.
    pub(super) fn give_folder_back(&self) {
        self.folders.fetch_sub(1, Ordering::Relaxed);
    }

    /// Takes `bytes` of the share, all or nothing.
    pub(super) fn spend(&self, path: &GuestPath, bytes: u64) -> Result<(), PublishError> {
        let left = self.turn.map_or(u64::MAX, |turn| turn.left);
        let most = self.limit.0.min(left);
        let more = |spent: u64| spent.checked_add(bytes).filter(|total| *total <= most);
        let spent = self.spent.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        let path = || path.clone();
        spent.map(drop).map_err(|_| match self.turn {
            Some(turn) if left < self.limit.0 => PublishError::TurnQuota { path: path(), limit: turn.limit },
            _ => PublishError::CallQuota { path: path(), limit: self.limit },
        })
    }
}

/// Counts one more, unless there are so many.
fn take_one_more(taken: &AtomicU32, most: u32) -> Option<()> {
    let one_more = |n: u32| (n < most).then_some(n + 1);
    taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).ok().map(drop)
}
