//! Immutable bytes with their hash: small ones in memory, large ones in a file without a name.
//!
//! Cloning shares them; the last clone frees them. Its `Debug` shows a size, never bytes.

use bytes::Bytes;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Bytes of known length and hash.
#[derive(Clone)]
pub struct Blob {
    pub(super) len: u64,
    pub(super) sha256: [u8; 32],
    /// What all clones share.
    pub(super) body: Arc<BlobBytes>,
}

/// Where a blob's bytes are, for code that can do better than copying them.
pub enum BlobBytes {
    /// In memory; a clone shares them.
    Memory(Bytes),
    /// In a file, from its beginning. Use offsets: its position is everybody's.
    File(File),
}

impl Blob {
    /// Bytes that nobody changes, their length, and their SHA-256.
    pub fn new(body: BlobBytes, len: u64, sha256: [u8; 32]) -> Self {
        Self { len, sha256, body: Arc::new(body) }
    }

    /// Length in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// SHA-256 of the bytes.
    pub fn sha256(&self) -> &[u8; 32] {
        &self.sha256
    }

    /// Where the bytes are.
    pub fn bytes(&self) -> &BlobBytes {
        &self.body
    }

    /// Fills `buffer` from `offset` on as far as it can; 0 only at or behind the end.
    ///
    /// # Errors
    /// When the spool file cannot be read.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let left = usize::try_from(self.len().saturating_sub(offset)).unwrap_or(usize::MAX);
        let n = buffer.len().min(left);
        match self.bytes() {
            _ if n == 0 => Ok(0),
            BlobBytes::Memory(bytes) => {
                // Below the length of what is in memory, so it fits.
                let start = offset as usize;
                buffer[..n].copy_from_slice(&bytes[start..start + n]);
                Ok(n)
            }
            BlobBytes::File(file) => file.read_at(&mut buffer[..n], offset),
        }
    }

    /// A reader of its own, from the beginning.
    pub fn reader(&self) -> BlobReader {
        BlobReader { blob: self.clone(), position: 0 }
    }
}

impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Blob({} bytes)", self.len())
    }
}

/// Reads a blob; several can read the same one.
#[derive(Debug)]
pub struct BlobReader {
    blob: Blob,
    position: u64,
}

impl Read for BlobReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.blob.read_at(buffer, self.position)?;
        self.position += n as u64;
        Ok(n)
    }
}

impl Seek for BlobReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::End(offset) => self.blob.len().checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        self.position = target.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}
