//! New files that commands write: whole or not at all, and never over another one.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Writes a file that must not be there yet, and makes the folders that it needs. One that takes no
/// more is removed again, because the next attempt would be refused for it.
pub(super) fn write_new(file: &Path, mode: u32, text: &str) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut created = File::options().write(true).create_new(true).mode(mode).open(file)?;
    created.write_all(text.as_bytes()).inspect_err(|_| drop(std::fs::remove_file(file)))
}
