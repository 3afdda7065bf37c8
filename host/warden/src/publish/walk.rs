//! Goes through a directory tree, in bounded memory and with one descriptor at a time.
//!
//! It follows no symbolic link and enters no other mount. A level that is left for a subdirectory
//! is remembered as a name and a position, so neither depth nor breadth costs memory. A tree that
//! changes meanwhile is seen approximately. Deeper than PATH_MAX, where no tool can write, it does
//! not go.

use super::resolve;
use super::temp::PREFIX;
use crate::stop::StopReason;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, OFlags, RawDir, SeekFrom, fstat, seek, statat};
use rustix::io::{Errno, Result};
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::ops::ControlFlow::{self, Break, Continue};

/// Between two looks at the stop check lie at most this many entries.
pub(super) const ENTRIES_PER_CHECK: u64 = 256;

/// Whether the caller wants the walk to end.
pub(super) type StopCheck<'a> = &'a dyn Fn() -> Option<StopReason>;

/// An entry that the walk came to.
pub(super) struct WalkEntry<'a> {
    /// The directory that it lies in.
    pub(super) dir: &'a OwnedFd,
    /// The way to that directory from the root, without a leading `/`.
    pub(super) path: &'a [u8],
    /// Its name there.
    pub(super) name: &'a CStr,
    /// What the directory says it is, which may be `Unknown`.
    pub(super) kind: FileType,
}

impl WalkEntry<'_> {
    /// The way to it from the root.
    pub(super) fn full_path(&self) -> Vec<u8> {
        join(self.path, self.name.to_bytes())
    }
}

/// Where to go from an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextStep {
    /// To the next one.
    On,
    /// Into the directory that it is; from one that is done, through it once more.
    Into,
}

/// What a walk tells of.
pub(super) enum WalkEvent<'a> {
    /// An entry was found.
    Found(WalkEntry<'a>),
    /// The directory at this path cannot be read. [`NextStep::On`] leaves it out.
    Unreadable(&'a [u8], Errno),
    /// All of the directory `name` in `parent` was seen.
    Left { root: BorrowedFd<'a>, parent: &'a [u8], name: &'a [u8] },
}

/// Walks the tree beneath `root`, which itself is not visited, until `visit` ends it.
///
/// # Errors
/// When the root cannot be read.
pub(super) fn walk<E>(
    root: impl AsFd,
    mut visit: impl FnMut(WalkEvent<'_>) -> ControlFlow<E, NextStep>,
) -> Result<ControlFlow<E>> {
    let root = root.as_fd();
    let mut path: Vec<u8> = Vec::new();
    // For each directory on the way to the current one, the root first: where to go on reading it.
    let mut positions = vec![0];
    while let Some(position) = positions.pop() {
        let step = match resolve::directory(root, &path) {
            Ok(dir) => read(&dir, &path, position, &mut visit),
            Err(errno) => Err(errno),
        };
        let then = match step {
            Ok(Break(end)) => return Ok(Break(end)),
            Ok(Continue(Some((name, position)))) => {
                positions.extend([position, 0]);
                path = join(&path, &name);
                continue;
            }
            Err(errno) if positions.is_empty() => return Err(errno),
            Err(errno) => visit(WalkEvent::Unreadable(&path, errno)),
            Ok(Continue(None)) if positions.is_empty() => return Ok(Continue(())),
            Ok(Continue(None)) => {
                let (parent, name) = split(&path);
                visit(WalkEvent::Left { root, parent, name })
            }
        };
        match then {
            Break(end) => return Ok(Break(end)),
            Continue(NextStep::Into) => positions.push(0),
            Continue(NextStep::On) => path.truncate(split(&path).0.len()),
        }
    }
    Ok(Continue(()))
}

/// The name of a subdirectory to enter, and where to go on after it.
type Descent = (Vec<u8>, u64);

/// Visits a directory from a position up to the next subdirectory to enter.
fn read<E>(
    dir: &OwnedFd,
    path: &[u8],
    position: u64,
    visit: &mut impl FnMut(WalkEvent<'_>) -> ControlFlow<E, NextStep>,
) -> Result<ControlFlow<E, Option<Descent>>> {
    seek(dir, SeekFrom::Start(position))?;
    let mut buffer = [MaybeUninit::uninit(); 8192];
    let mut entries = RawDir::new(dir, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        match visit(WalkEvent::Found(WalkEntry { dir, path, name, kind: entry.file_type() })) {
            Break(end) => return Ok(Break(end)),
            Continue(NextStep::On) => {}
            Continue(NextStep::Into) => {
                return Ok(Continue(Some((name.to_bytes().to_vec(), entry.next_entry_cookie()))));
            }
        }
    }
    Ok(Continue(None))
}

pub(super) fn join(path: &[u8], name: &[u8]) -> Vec<u8> {
    if path.is_empty() { name.to_vec() } else { [path, b"/", name].concat() }
}

fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|b| *b == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (b"", path),
    }
}

/// Where names that only the gateway gives are passed over: what is staged, or being removed,
/// counts where that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HiddenNames {
    /// In the root alone, which is a mount's: what has such a name deeper was put there by
    /// somebody.
    AtRoot,
    /// Everywhere, because mounts lie below.
    Anywhere,
}

/// The bytes of all regular files beneath `root`, or why measuring ended early.
///
/// Apparent sizes count; a file with several names counts once if all of them lie here.
/// Subdirectories that cannot be read are left out.
pub(super) fn measure(
    root: impl AsFd,
    hidden: HiddenNames,
    stop: StopCheck<'_>,
) -> Result<std::result::Result<u64, StopReason>> {
    let root = root.as_fd();
    let device = fstat(root)?.st_dev;
    let (mut bytes, mut entries) = (0u64, 0u64);
    let ended = walk(root, |event| {
        let WalkEvent::Found(at) = event else { return Continue(NextStep::On) };
        entries += 1;
        if entries.is_multiple_of(ENTRIES_PER_CHECK)
            && let Some(stop) = stop()
        {
            return Break(stop);
        }
        let may_be_hidden = hidden == HiddenNames::Anywhere || at.path.is_empty();
        if may_be_hidden && at.name.to_bytes().starts_with(PREFIX.as_bytes()) {
            return Continue(NextStep::On);
        }
        let kind = match at.kind {
            FileType::RegularFile | FileType::Unknown => {
                let (kind, counted) = file_share(&at, device);
                bytes = bytes.saturating_add(counted);
                kind
            }
            other => other,
        };
        Continue(if kind == FileType::Directory { NextStep::Into } else { NextStep::On })
    });
    Ok(match ended? {
        Continue(()) => Ok(bytes),
        Break(stop) => Err(stop),
    })
}

/// What a name really stands for, and the bytes that it counts if that is a regular file.
fn file_share(at: &WalkEntry<'_>, device: u64) -> (FileType, u64) {
    // Stacked filesystems give files other devices than the folders they lie in: there the mount
    // decides.
    let is_on_mount = || resolve::open(at.dir, at.name, OFlags::PATH | OFlags::NOFOLLOW).is_ok();
    let stat = match statat(at.dir, at.name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if stat.st_dev == device || is_on_mount() => stat,
        Ok(_) | Err(_) => return (FileType::Unknown, 0),
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => (FileType::RegularFile, share(&stat)),
        kind => (kind, 0),
    }
}

/// What one name of a file counts: its size, divided among its names.
#[allow(clippy::useless_conversion, reason = "the number of links is 32 bits wide on some machines")]
pub(super) fn share(stat: &rustix::fs::Stat) -> u64 {
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    size.div_ceil(u64::from(stat.st_nlink).max(1))
}

/// What the workspace gets back when a name of this file goes: nothing, while it has another.
pub(super) fn bytes_freed(stat: &rustix::fs::Stat) -> u64 {
    let file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    if file && stat.st_nlink == 1 { share(stat) } else { 0 }
}
