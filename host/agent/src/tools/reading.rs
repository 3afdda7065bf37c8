//! Reads files of at most so many bytes, as those that policies are made of: regular ones alone.
//! What is none is refused, and not waited for: opening a FIFO waits for its other end.

use cofferdam_warden::files::open_regular;
use cofferdam_warden::sandbox::COMPONENT_BYTES_MAX;
use std::io::{Error, Read, Result};
use std::path::Path;

/// Longest file of a policy or profile.
pub const POLICY_BYTES_MAX: usize = 1 << 20;

/// The bytes of a component's file, not larger than any component may be.
///
/// # Errors
/// What the system said, or why the file is not taken.
pub fn read_component(path: &Path) -> Result<Vec<u8>> {
    read_bounded(path, COMPONENT_BYTES_MAX as u64)
}

/// The text of a policy's or profile's file.
///
/// # Errors
/// What the system said, or why the file is not taken.
pub fn read_policy(path: &Path) -> Result<String> {
    String::from_utf8(read_bounded(path, POLICY_BYTES_MAX as u64)?)
        .map_err(|_| Error::other("not UTF-8 text"))
}

/// The bytes of a file, at most so many.
///
/// # Errors
/// What the system said, or why the file is not taken.
pub fn read_bounded(path: &Path, bytes_max: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(Error::other(format!("larger than {bytes_max} bytes")));
    }
    Ok(bytes)
}
