//! What lies below a directory: counted before a change, deleted by one.
//!
//! It never enters another mount: counting refuses one, deleting leaves it where it is and says so.

use super::resolve;
use super::walk::{self, ENTRIES_PER_CHECK, NextStep, StopCheck, WalkEntry, WalkEvent};
use crate::stop::StopReason;
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{AtFlags, FileType, OFlags, fstat, statat, unlinkat};
use rustix::io::{Errno, Result};
use std::ffi::CStr;
use std::ops::ControlFlow::{self, Break, Continue};

/// What could not be deleted is listed so far, and counted beyond.
pub(super) const LISTED_MAX: usize = 16;

/// What subdirectories that cannot be read mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// They are left out.
    Skip,
    /// The count ends there.
    Refuse,
}

/// Why counting ended early.
#[derive(Debug)]
pub(super) enum Uncounted {
    /// The call has to end.
    Stopped(StopReason),
    /// There are more entries than asked for; so much was counted up to there.
    TooMany(TreeCount),
    /// Another mount lies there, at this way from the root.
    OtherMount(Vec<u8>),
    /// It cannot be read.
    Unreadable(Vec<u8>, Errno),
}

/// What lies in a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TreeCount {
    /// Files, directories and others, the root not included.
    pub(super) entries: u64,
    /// Length of all regular files.
    pub(super) bytes: u64,
}

/// Counts what lies beneath `root`, up to `entries_max`.
pub(super) fn count(
    root: impl AsFd,
    entries_max: u64,
    unreadable: Unreadable,
    stop: StopCheck<'_>,
) -> std::result::Result<TreeCount, Uncounted> {
    let mut counted = TreeCount::default();
    let ended = walk::walk(root, |event| {
        let at = match event {
            WalkEvent::Found(at) => at,
            WalkEvent::Unreadable(path, errno) => {
                return match (errno, unreadable) {
                    (Errno::NOENT, _) | (_, Unreadable::Skip) => Continue(NextStep::On),
                    (Errno::XDEV, _) => Break(Uncounted::OtherMount(path.to_vec())),
                    (errno, Unreadable::Refuse) => Break(Uncounted::Unreadable(path.to_vec(), errno)),
                };
            }
            WalkEvent::Left { .. } => return Continue(NextStep::On),
        };
        // First, so that even an empty directory's walk was allowed to begin.
        if counted.entries.is_multiple_of(ENTRIES_PER_CHECK)
            && let Some(stop) = stop()
        {
            return Break(Uncounted::Stopped(stop));
        }
        // Opening tells of a mount, also of one of the same filesystem.
        let stat = match resolve::open(at.dir, at.name, OFlags::PATH | OFlags::NOFOLLOW).and_then(fstat) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Continue(NextStep::On),
            Err(Errno::XDEV) => return Break(Uncounted::OtherMount(at.full_path())),
            Err(_) if unreadable == Unreadable::Skip => return Continue(NextStep::On),
            Err(errno) => return Break(Uncounted::Unreadable(at.full_path(), errno)),
        };
        if counted.entries >= entries_max {
            return Break(Uncounted::TooMany(counted));
        }
        counted.entries += 1;
        Continue(match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => NextStep::Into,
            FileType::RegularFile => {
                let size = u64::try_from(stat.st_size).unwrap_or(0);
                counted.bytes = counted.bytes.saturating_add(size);
                NextStep::On
            }
            _ => NextStep::On,
        })
    });
    match ended {
        Ok(Continue(())) => Ok(counted),
        Ok(Break(end)) => Err(end),
        Err(_) if unreadable == Unreadable::Skip => Ok(counted),
        Err(errno) => Err(Uncounted::Unreadable(Vec::new(), errno)),
    }
}

/// What came of deleting.
#[derive(Debug, Default)]
pub(super) struct DeleteResult {
    /// Files, directories and others that are gone.
    pub(super) entries: u64,
    /// What the workspace got back.
    pub(super) freed: u64,
    /// The first [`LISTED_MAX`] that could not be deleted, by their way from the root, and why.
    pub(super) left: Vec<(Vec<u8>, Errno)>,
    /// How many could not be deleted.
    pub(super) left_count: u64,
}

struct DeleteVisitor {
    entries_max: u64,
    /// How many were gone when a directory was last gone through once more.
    again_at: u64,
    deleted: DeleteResult,
}

/// Deletes what lies beneath `root`, which itself stays, up to `entries_max` entries.
///
/// What cannot be deleted is left, and everything else goes all the same.
///
/// # Errors
/// When the root cannot be read.
pub(super) fn delete(root: impl AsFd, entries_max: u64) -> Result<DeleteResult> {
    let root = root.as_fd();
    let mut delete = DeleteVisitor { entries_max, again_at: 0, deleted: DeleteResult::default() };
    loop {
        let before = delete.deleted.entries;
        let ended = walk::walk(root, |event| match event {
            WalkEvent::Found(at) => delete.visit(&at),
            WalkEvent::Unreadable(path, errno) => {
                if errno != Errno::NOENT {
                    delete.note_left(path.to_vec(), errno);
                }
                Continue(NextStep::On)
            }
            WalkEvent::Left { root, parent, name } => delete.leave_directory(root, parent, name),
        })?;
        // Where deleting moves the positions of what is left, one pass over the root misses some.
        let missed = ended.is_continue() && delete.deleted.left_count == 0 && delete.deleted.entries > before;
        if !missed || is_empty(root)? {
            return Ok(delete.deleted);
        }
    }
}

fn is_empty(root: BorrowedFd<'_>) -> Result<bool> {
    let any = walk::walk(root, |event| match event {
        WalkEvent::Found(_) => Break(()),
        WalkEvent::Unreadable(..) | WalkEvent::Left { .. } => Continue(NextStep::On),
    });
    Ok(any?.is_continue())
}

impl DeleteVisitor {
    fn note_deleted(&mut self, freed: u64) {
        self.deleted.entries += 1;
        self.deleted.freed = self.deleted.freed.saturating_add(freed);
    }

    fn note_left(&mut self, path: Vec<u8>, errno: Errno) {
        self.deleted.left_count += 1;
        if self.deleted.left.len() < LISTED_MAX {
            self.deleted.left.push((path, errno));
        }
    }

    fn visit(&mut self, at: &WalkEntry<'_>) -> ControlFlow<(), NextStep> {
        if self.deleted.entries >= self.entries_max {
            return Break(());
        }
        match remove_entry(at) {
            Ok(freed) => self.note_deleted(freed),
            Err(Errno::NOENT) => {}
            Err(Errno::NOTEMPTY | Errno::EXIST) => return Continue(NextStep::Into),
            Err(errno) => self.note_left(at.full_path(), errno),
        }
        Continue(NextStep::On)
    }

    fn leave_directory(
        &mut self,
        root: BorrowedFd<'_>,
        parent: &[u8],
        name: &[u8],
    ) -> ControlFlow<(), NextStep> {
        let name_of = || std::ffi::CString::new(name).map_err(|_| Errno::INVAL);
        let removed = resolve::directory(root, parent)
            .and_then(|parent| unlinkat(parent, &*name_of()?, AtFlags::REMOVEDIR));
        match removed {
            Ok(()) => self.note_deleted(0),
            Err(Errno::NOENT) => {}
            // Because of what could not be deleted, which is told already.
            Err(Errno::NOTEMPTY | Errno::EXIST) if self.deleted.left_count > 0 => {}
            // Missed, or added meanwhile: once more, as long as that gets anywhere.
            Err(Errno::NOTEMPTY | Errno::EXIST) if self.deleted.entries > self.again_at => {
                self.again_at = self.deleted.entries;
                return Continue(NextStep::Into);
            }
            Err(errno) => self.note_left(walk::join(parent, name), errno),
        }
        Continue(NextStep::On)
    }
}

/// Removes a file's name or an empty directory; returns what the workspace gets back.
fn remove_entry(at: &WalkEntry<'_>) -> Result<u64> {
    let name: &CStr = at.name;
    let stat = statat(at.dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
        return unlinkat(at.dir, name, AtFlags::REMOVEDIR).map(|()| 0);
    }
    unlinkat(at.dir, name, AtFlags::empty()).map(|()| walk::bytes_freed(&stat))
}
