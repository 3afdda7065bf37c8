//! A directory being read: one kernel buffer at a time, never as a whole, and no more entries in
//! one call than it may have.

use super::facts::kind;
use cofferdam_core::path::GuestPath;
use cofferdam_core::tool::{ErrorCode as ToolCode, ToolError};
use std::collections::VecDeque;
use std::fs::File;
use wasmtime_wasi::p2::bindings::filesystem::types::{DirectoryEntry, ErrorCode};
use wasmtime_wasi::p2::{FsError, FsResult};

/// Directory entries that one call may read in all, those it reads again included.
pub(super) const DIRECTORY_ENTRIES_MAX: u64 = 2_000_000;

/// The entries of a directory that are still to come.
pub(crate) enum DirectoryEntries {
    /// Of one in a mount.
    Mounted(rustix::fs::Dir),
    /// Of one in the scratch folder, as they were.
    Scratch(VecDeque<DirectoryEntry>),
}

impl DirectoryEntries {
    /// All entries of an open directory.
    pub(crate) fn read(dir: &File) -> FsResult<Self> {
        Ok(Self::Mounted(rustix::fs::Dir::read_from(dir).map_err(std::io::Error::from)?))
    }

    /// The next entry; none at the end. `read` counts what the call has read of mounts.
    ///
    /// # Errors
    /// `IllegalByteSequence` for a name that is not UTF-8, which no guest could open: the entry is
    /// passed over, and the next one follows. Over [`DIRECTORY_ENTRIES_MAX`] the call ends.
    pub(crate) fn next(&mut self, read: &mut u64) -> FsResult<Option<DirectoryEntry>> {
        let dir = match self {
            Self::Mounted(dir) => dir,
            Self::Scratch(listed) => return Ok(listed.pop_front()),
        };
        for entry in dir {
            let entry = entry.map_err(std::io::Error::from)?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            *read += 1;
            if *read > DIRECTORY_ENTRIES_MAX {
                return Err(FsError::trap(too_many_entries()));
            }
            if name.starts_with(GuestPath::RESERVED_PREFIX.as_bytes()) {
                continue;
            }
            let name = std::str::from_utf8(name).map_err(|_| ErrorCode::IllegalByteSequence)?;
            return Ok(Some(DirectoryEntry { type_: kind(entry.file_type()), name: name.to_owned() }));
        }
        Ok(None)
    }
}

fn too_many_entries() -> ToolError {
    let said = format!(
        "the tool read {DIRECTORY_ENTRIES_MAX} directory entries, the most that one call may; name a smaller folder"
    );
    ToolError::new(ToolCode::TooLarge, said)
}
