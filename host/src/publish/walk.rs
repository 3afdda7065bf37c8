//! How many bytes lie in a directory tree, in bounded memory and with one descriptor at a time.
//!
//! It follows no symbolic link and enters no other mount. A level that is left for a subdirectory is
//! remembered as a name and a position, so neither depth nor breadth costs memory. A tree that changes
//! meanwhile is measured approximately.

use super::budget::Stop;
use super::resolve;
use super::temp::PREFIX;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, OFlags, RawDir, SeekFrom, fstat, seek, statat};
use rustix::io::{Errno, Result};
use std::ffi::CStr;
use std::mem::MaybeUninit;

/// Between two looks at the stop check lie at most this many entries.
const ENTRIES_PER_CHECK: u32 = 256;

/// Whether the caller wants the walk to end.
pub(super) type StopCheck<'a> = &'a dyn Fn() -> Option<Stop>;

/// A tree half walked.
struct Walk<'a> {
    stop: StopCheck<'a>,
    device: u64,
    bytes: u64,
    entries: u32,
    /// The way from the root to the current directory, without a leading `/`.
    path: Vec<u8>,
    /// For each directory on that way, the root first: where to go on reading it.
    positions: Vec<u64>,
}

/// The bytes of all regular files beneath `root`, or why measuring ended early.
///
/// Apparent sizes count; a file with several names counts once if all of them lie here. What lies deeper
/// than PATH_MAX, where no tool can write, and subdirectories that cannot be read are left out.
pub(super) fn measure(root: impl AsFd, stop: StopCheck<'_>) -> Result<std::result::Result<u64, Stop>> {
    let root = root.as_fd();
    let device = fstat(root)?.st_dev;
    let mut walk = Walk { stop, device, bytes: 0, entries: 0, path: Vec::new(), positions: vec![0] };
    while let Some(position) = walk.positions.pop() {
        let step = match resolve::directory(root, &walk.path) {
            Ok(dir) => walk.read(&dir, position),
            Err(errno) => Err(errno),
        };
        match step {
            Ok(Step::Down { name, position }) => {
                walk.positions.extend([position, 0]);
                if !walk.path.is_empty() {
                    walk.path.push(b'/');
                }
                walk.path.extend(name);
            }
            Ok(Step::Stopped(stop)) => return Ok(Err(stop)),
            Err(errno) if walk.positions.is_empty() => return Err(errno),
            Ok(Step::Up) | Err(_) => {
                let parent = walk.path.iter().rposition(|b| *b == b'/').unwrap_or(0);
                walk.path.truncate(parent);
            }
        }
    }
    Ok(Ok(walk.bytes))
}

/// Where to go next.
enum Step {
    /// Into this subdirectory, and later on from this position.
    Down { name: Vec<u8>, position: u64 },
    /// The directory is done.
    Up,
    /// The caller wants to end.
    Stopped(Stop),
}

impl Walk<'_> {
    /// Counts the files of a directory from a position up to the next subdirectory.
    fn read(&mut self, dir: &OwnedFd, position: u64) -> Result<Step> {
        seek(dir, SeekFrom::Start(position))?;
        let mut buffer = [MaybeUninit::uninit(); 8192];
        let mut entries = RawDir::new(dir, &mut buffer);
        while let Some(entry) = entries.next() {
            let entry = entry?;
            self.entries = self.entries.wrapping_add(1);
            if self.entries.is_multiple_of(ENTRIES_PER_CHECK)
                && let Some(stop) = (self.stop)()
            {
                return Ok(Step::Stopped(stop));
            }
            let name = entry.file_name();
            if self.is_staged(name) || matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Directory => FileType::Directory,
                FileType::RegularFile | FileType::Unknown => self.count(dir, name),
                other => other,
            };
            if kind == FileType::Directory {
                return Ok(Step::Down {
                    name: name.to_bytes().to_vec(),
                    position: entry.next_entry_cookie(),
                });
            }
        }
        Ok(Step::Up)
    }

    /// Staged files are counted where they are staged.
    fn is_staged(&self, name: &CStr) -> bool {
        self.path.is_empty() && name.to_bytes().starts_with(PREFIX.as_bytes())
    }

    /// Adds a regular file's size; returns what the name really stands for.
    fn count(&mut self, dir: &OwnedFd, name: &CStr) -> FileType {
        let stat = match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if stat.st_dev == self.device || on_this_mount(dir, name) => stat,
            Ok(_) | Err(Errno::NOENT) | Err(_) => return FileType::Unknown,
        };
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind == FileType::RegularFile {
            self.bytes = self.bytes.saturating_add(share(&stat));
        }
        kind
    }
}

/// Stacked filesystems give files other devices than the folders they lie in: there the mount decides.
fn on_this_mount(dir: &OwnedFd, name: &CStr) -> bool {
    resolve::open(dir, name, OFlags::PATH | OFlags::NOFOLLOW).is_ok()
}

/// What one name of a file counts: its size, divided among its names.
#[allow(clippy::useless_conversion, reason = "the number of links is 32 bits wide on some machines")]
pub(super) fn share(stat: &rustix::fs::Stat) -> u64 {
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    size.div_ceil(u64::from(stat.st_nlink).max(1))
}
