//! Archives that are the same, byte for byte, anyone who packs them: no name, owner or time of the
//! machine is in them.

use anyhow::Result;
use flate2::{Compression, GzBuilder};
use std::io::Write;
use tar::{Builder, EntryType, Header};

/// A file or folder of an archive.
pub(crate) struct Entry {
    /// Without a slash before it.
    pub path: String,
    /// `None` is a folder.
    pub content: Option<Vec<u8>>,
    pub mode: u32,
    /// User and group.
    pub owner: u64,
}

impl Entry {
    /// Everybody may read it.
    pub(crate) fn file(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), content: Some(content.into()), mode: 0o644, owner: 0 }
    }

    /// Everybody may read and run it.
    pub(crate) fn program(path: impl Into<String>, content: Vec<u8>) -> Self {
        Self { mode: 0o755, ..Self::file(path, content) }
    }

    /// A folder for its owner alone.
    pub(crate) fn folder_of(owner: u64, path: &str) -> Self {
        Self { path: format!("{path}/"), content: None, mode: 0o700, owner }
    }
}

/// The entries in the order of their names, all of the same time.
pub(crate) fn tar(mut entries: Vec<Entry>, seconds: u64) -> Result<Vec<u8>> {
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    let mut archive = Builder::new(Vec::new());
    for entry in &entries {
        let content = entry.content.as_deref();
        let mut header = Header::new_ustar();
        header.set_entry_type(if content.is_some() { EntryType::Regular } else { EntryType::Directory });
        header.set_path(&entry.path)?;
        header.set_mode(entry.mode);
        header.set_uid(entry.owner);
        header.set_gid(entry.owner);
        header.set_mtime(seconds);
        header.set_size(content.unwrap_or_default().len() as u64);
        header.set_cksum();
        archive.append(&header, content.unwrap_or_default())?;
    }
    Ok(archive.into_inner()?)
}

/// Compressed, without a name or a time in the head.
pub(crate) fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut compressed = GzBuilder::new().write(Vec::new(), Compression::best());
    compressed.write_all(bytes)?;
    Ok(compressed.finish()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_files_make_the_same_archive() {
        let entries = || vec![Entry::file("b", "two"), Entry::program("a", b"one".to_vec())];
        let mut turned = entries();
        turned.reverse();
        let packed = gzip(&tar(entries(), 7).expect("packed")).expect("compressed");
        assert_eq!(packed, gzip(&tar(turned, 7).expect("packed")).expect("compressed"));
    }
}
