//! Where blobs come from: written once under a cap, held once however often the same bytes arrive.
//!
//! It refuses a byte over the cap before it keeps it. A large blob's file has no name (where the
//! filesystem can do that), so a crash leaves nothing; what it leaves elsewhere is swept at start.

use super::blob::{Blob, BlobBytes};
use cofferdam_core::limits::ByteSize;
use cofferdam_core::lock::lock;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::{self, DirBuilder, DirEntry};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::{Arc, Mutex, Weak};
use tempfile::{SpooledData, SpooledTempFile};

/// Larger blobs go to a file.
const MEMORY_BYTES_MAX: usize = 256 << 10;

/// What `tempfile` names a file that is not finished, or needs a name for a moment.
pub(super) const TEMP_PREFIX: &str = ".tmp";

/// The spool directory and the blobs that are alive. Cheap to clone.
#[derive(Clone)]
pub struct BlobStore {
    dir: Arc<Path>,
    /// Bounded by the blobs that turns hold: the dead are dropped with each new one.
    alive: Arc<Mutex<HashMap<[u8; 32], Weak<BlobBytes>>>>,
}

/// Why bytes are not kept.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// The cap would be exceeded; nothing of the offending write is kept.
    #[error("more than the limit of {0}")]
    OverLimit(ByteSize),
    /// The spool file cannot be written.
    #[error("the gateway could not store it ({0})")]
    Spool(#[from] io::Error),
}

impl BlobStore {
    /// The store that spools to `dir`, made for its owner alone when missing and swept.
    ///
    /// # Errors
    /// When the directory cannot be made or listed.
    pub fn open(dir: &Path) -> io::Result<Self> {
        make_private(dir)?;
        remove_temp(dir)?;
        Ok(Self { dir: dir.into(), alive: Arc::default() })
    }

    /// A writer for one blob of at most `limit` bytes.
    pub fn writer(&self, limit: ByteSize) -> BlobWriter {
        let body = SpooledTempFile::new_in(MEMORY_BYTES_MAX, &self.dir);
        BlobWriter { store: self.clone(), limit, len: 0, hasher: Sha256::new(), body }
    }

    /// The bytes with this hash: those that are alive, or else new ones.
    fn hold(&self, sha256: [u8; 32], new: impl FnOnce() -> BlobBytes) -> Arc<BlobBytes> {
        let mut alive = lock(&self.alive);
        if let Some(held) = alive.get(&sha256).and_then(Weak::upgrade) {
            return held;
        }
        alive.retain(|_, held| held.strong_count() > 0);
        let body = Arc::new(new());
        alive.insert(sha256, Arc::downgrade(&body));
        body
    }
}

pub(super) fn make_private(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Removes the files of a folder that are not finished.
pub(super) fn remove_temp(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if is_temp(&entry) {
            // Another process may be about to remove the same name, which is as good.
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(())
}

/// Whether it is a file that is not finished.
pub(super) fn is_temp(entry: &DirEntry) -> bool {
    entry.file_name().to_string_lossy().starts_with(TEMP_PREFIX)
        && entry.file_type().is_ok_and(|kind| kind.is_file())
}

/// A blob being written. Dropped, it is gone.
pub struct BlobWriter {
    store: BlobStore,
    /// Its cap.
    pub(super) limit: ByteSize,
    len: u64,
    hasher: Sha256,
    body: SpooledTempFile,
}

impl BlobWriter {
    /// Bytes so far.
    pub fn bytes_written(&self) -> u64 {
        self.len
    }

    /// Appends `bytes`.
    ///
    /// # Errors
    /// [`BlobError::OverLimit`] before any of them is kept; the writer is then of no use.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        let len = self.len.saturating_add(bytes.len() as u64);
        if len > self.limit.0 {
            return Err(BlobError::OverLimit(self.limit));
        }
        self.body.write_all(bytes)?;
        self.hasher.update(bytes);
        self.len = len;
        Ok(())
    }

    /// The blob; the same one as before if these bytes are already held.
    pub fn finish(self) -> Blob {
        let sha256 = self.hasher.finalize().into();
        let body = self.store.hold(sha256, || match self.body.into_inner() {
            SpooledData::InMemory(held) => BlobBytes::Memory(held.into_inner().into()),
            SpooledData::OnDisk(file) => BlobBytes::File(file),
        });
        Blob { len: self.len, sha256, body }
    }
}
