//! Opens what a path leads to where that is a regular file, and nothing else. It never waits:
//! opening a FIFO waits for its other end.

use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// A file that somebody names, for reading.
///
/// # Errors
/// What the system said, or that it is not a regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let opened = open_if_regular(path, OFlags::empty(), File::options().read(true))?;
    opened.ok_or_else(|| io::Error::other("it is not a regular file"))
}

/// A file, opened as `options` and `flags` say; none where it is not a regular one. To write to it,
/// ask for reading as well: a FIFO is then opened whether or not anybody has its other end, and
/// told for what it is.
///
/// # Errors
/// What the system said.
pub fn open_if_regular(path: &Path, flags: OFlags, options: &mut OpenOptions) -> io::Result<Option<File>> {
    let flags = flags | OFlags::NONBLOCK;
    let file = options.custom_flags(flags.bits().cast_signed()).open(path)?;
    Ok(file.metadata()?.is_file().then_some(file))
}
