//! What lies below a directory: counted before a change, deleted by one.
//!
//! It never enters another mount: counting refuses one, deleting leaves it where it is and says so.

use super::budget::CallBudget;
use super::error::PublishError;
use super::resolve;
use super::walk::{self, ENTRIES_PER_CHECK, NextStep, WalkEntry, WalkEvent};
use cofferdam_core::audit::EntryKind;
use cofferdam_core::host_call::Planning;
use cofferdam_core::text::one_line;
use cofferdam_policy::GuestPath;
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

/// Counts the directory `root`, which `path` stands for, and what lies beneath it: no further than
/// one entry beyond `entries_max`, whose bytes are left out.
///
/// # Errors
/// The call has to end, another mount lies there, or what counts cannot be read.
pub(super) fn count(
    root: impl AsFd,
    path: &GuestPath,
    entries_max: u64,
    unreadable: Unreadable,
    budget: &CallBudget,
) -> std::result::Result<Planning, PublishError> {
    let mut counted = Planning { kind: EntryKind::Directory, entries: 1, bytes: 0 };
    let failed = |below: &[u8], errno: Errno| {
        let (path, at) = (path.clone(), display_below(path, below));
        match errno {
            Errno::XDEV => PublishError::OtherMount { path, at },
            errno => PublishError::InsideUnreadable { path, at, source: errno.into() },
        }
    };
    // A break without an error: there are more entries than were asked for.
    let ended = walk::walk(root, |event| {
        let at = match event {
            WalkEvent::Found(at) => at,
            WalkEvent::Unreadable(below, errno) => {
                return match (errno, unreadable) {
                    (Errno::NOENT, _) | (_, Unreadable::Skip) => Continue(NextStep::On),
                    (errno, Unreadable::Refuse) => Break(Some(failed(below, errno))),
                };
            }
            WalkEvent::Left { .. } => return Continue(NextStep::On),
        };
        // First, so that even an empty directory's walk was allowed to begin.
        if (counted.entries - 1).is_multiple_of(ENTRIES_PER_CHECK)
            && let Err(stopped) = budget.check(path)
        {
            return Break(Some(stopped));
        }
        // Opening tells of a mount, also of one of the same filesystem.
        let stat = match resolve::open(at.dir, at.name, OFlags::PATH | OFlags::NOFOLLOW).and_then(fstat) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Continue(NextStep::On),
            Err(errno) if unreadable == Unreadable::Skip && errno != Errno::XDEV => {
                return Continue(NextStep::On);
            }
            Err(errno) => return Break(Some(failed(&at.full_path(), errno))),
        };
        counted.entries += 1;
        if counted.entries > entries_max {
            return Break(None);
        }
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
        Ok(Break(Some(error))) => Err(error),
        Err(errno) if unreadable == Unreadable::Refuse => Err(failed(b"", errno)),
        Ok(Continue(()) | Break(None)) | Err(_) => Ok(counted),
    }
}

/// A virtual path for a message, from the way below `path`.
pub(super) fn display_below(path: &GuestPath, below: &[u8]) -> String {
    let below = String::from_utf8_lossy(below);
    one_line(&if below.is_empty() { path.to_string() } else { format!("{path}/{below}") }, 300)
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

/// Deletes what lies beneath `root`, which itself stays, up to `entries_max` entries.
///
/// What cannot be deleted is left, and everything else goes all the same.
///
/// # Errors
/// When the root cannot be read.
pub(super) fn delete(root: impl AsFd, entries_max: u64) -> Result<DeleteResult> {
    let root = root.as_fd();
    let mut deleted = DeleteResult::default();
    // How many were gone when a directory was last gone through once more.
    let mut again_at = 0;
    loop {
        let before = deleted.entries;
        let ended = walk::walk(root, |event| match event {
            WalkEvent::Found(at) => deleted.visit(&at, entries_max),
            WalkEvent::Unreadable(path, errno) => {
                if errno != Errno::NOENT {
                    deleted.note_left(path.to_vec(), errno);
                }
                Continue(NextStep::On)
            }
            WalkEvent::Left { root, parent, name } => {
                deleted.leave_directory(root, parent, name, &mut again_at)
            }
        })?;
        // Where deleting moves the positions of what is left, one pass over the root misses some.
        let missed = ended.is_continue() && deleted.left_count == 0 && deleted.entries > before;
        if !missed || is_empty(root)? {
            return Ok(deleted);
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

impl DeleteResult {
    fn note_deleted(&mut self, freed: u64) {
        self.entries += 1;
        self.freed = self.freed.saturating_add(freed);
    }

    pub(super) fn note_left(&mut self, path: Vec<u8>, errno: Errno) {
        self.left_count += 1;
        if self.left.len() < LISTED_MAX {
            self.left.push((path, errno));
        }
    }

    fn visit(&mut self, at: &WalkEntry<'_>, entries_max: u64) -> ControlFlow<(), NextStep> {
        if self.entries >= entries_max {
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
        again_at: &mut u64,
    ) -> ControlFlow<(), NextStep> {
        let name_of = || std::ffi::CString::new(name).map_err(|_| Errno::INVAL);
        let removed = resolve::directory(root, parent)
            .and_then(|parent| unlinkat(parent, &*name_of()?, AtFlags::REMOVEDIR));
        match removed {
            Ok(()) => self.note_deleted(0),
            Err(Errno::NOENT) => {}
            // Because of what could not be deleted, which is told already.
            Err(Errno::NOTEMPTY | Errno::EXIST) if self.left_count > 0 => {}
            // Missed, or added meanwhile: once more, as long as that gets anywhere.
            Err(Errno::NOTEMPTY | Errno::EXIST) if self.entries > *again_at => {
                *again_at = self.entries;
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
