//! What lies on disk under a path, for settling what a crash left open. It follows no symbolic link,
//! opens nothing but regular files, and never blocks.

use super::copy::BUFFER_BYTES;
use super::error::PublishError;
use super::resolve;
use super::{Workspace, digest::Digest};
use cofferdam_core::audit::FileFacts;
use cofferdam_core::policy::GuestPath;
use rustix::fs::{FileType, OFlags, fstat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read};

impl Workspace {
    /// Size and SHA-256 of the regular file at `path`; `None` when there is none, or something else,
    /// or when the way to it is not plain directories.
    ///
    /// # Errors
    /// When the mount is unknown, or the file cannot be read.
    pub fn look(&self, path: &GuestPath) -> Result<Option<FileFacts>, PublishError> {
        let mount = self.inner.mount_of(path)?;
        if path.is_mount() {
            return Ok(None);
        }
        let failed = |source: io::Error| PublishError::Unreadable { path: path.clone(), source };
        match resolve::entry(&mount.dir, path.below_mount()) {
            Ok(resolve::Entry::File(_)) => {}
            Ok(_) | Err(Errno::LOOP | Errno::XDEV | Errno::NOTDIR) => return Ok(None),
            Err(errno) => return Err(failed(errno.into())),
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = match resolve::open(&mount.dir, path.below_mount(), flags) {
            Ok(fd) => File::from(fd),
            Err(Errno::NOENT | Errno::LOOP | Errno::XDEV | Errno::NOTDIR) => return Ok(None),
            Err(errno) => return Err(failed(errno.into())),
        };
        let stat = fstat(&file).map_err(|e| failed(e.into()))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Ok(None);
        }
        let (bytes, sha256) = hash(file, u64::try_from(stat.st_size).unwrap_or(0)).map_err(failed)?;
        Ok(Some(FileFacts { path: path.to_string(), bytes, sha256 }))
    }
}

/// Length and SHA-256 of a file, no further than it was long when opened.
fn hash(file: File, size: u64) -> io::Result<(u64, String)> {
    let mut digest = Digest::new();
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut reader = file.take(size);
    let mut bytes = 0;
    loop {
        match reader.read(&mut buffer)? {
            0 => return Ok((bytes, digest.finish())),
            n => {
                digest.update(&buffer[..n]);
                bytes += n as u64;
            }
        }
    }
}
