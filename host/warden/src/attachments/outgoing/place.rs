//! The folder that the blobs of replies lie in, each under its SHA-256. A process beside the one
//! `serve` has a folder of its own in it, which is gone when the process is.

use super::LeftBlobs;
use crate::attachments::store::{TEMP_PREFIX, is_temp, make_private, remove_temp};
use rustix::fs::{FlockOperation, flock};
use std::collections::BTreeSet;
use std::fs::{self, DirEntry, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};
use tempfile::{NamedTempFile, TempDir};

/// Begins the name of a folder of a process beside.
const BESIDE_PREFIX: &str = ".beside-";

/// Where blobs are.
pub(super) struct BlobFolder {
    dir: PathBuf,
    /// Younger files are left alone: another node may be about to say that it needs them. None
    /// where there are no other nodes.
    age_min: Duration,
    /// Of a process beside, once it has a blob: its folder, and the lock that says that it lives.
    private: Option<OnceLock<(TempDir, File)>>,
}

impl BlobFolder {
    /// The folder itself, made for its owner alone when missing, without what dead processes left
    /// in it.
    pub(super) fn open_shared(dir: &Path, age_min: Duration) -> io::Result<Self> {
        make_private(dir)?;
        // Those of other nodes go with a sweep, which knows what time it is.
        if age_min.is_zero() {
            remove_temp(dir)?;
        }
        sweep_left(dir)?;
        Ok(Self { dir: dir.to_owned(), age_min, private: None })
    }

    /// Goes by the file's time, which the filesystem sets: its server, or the machine that wrote
    /// the file. The clock of the machine that sweeps is not asked.
    fn is_old(&self, entry: &DirEntry, now: SystemTime) -> bool {
        let written = entry.metadata().and_then(|meta| meta.modified()).ok();
        // One of a time that is still to come was written by a clock that ran ahead.
        let age = |at| now.duration_since(at).unwrap_or_default();
        self.age_min.is_zero() || written.is_none_or(|at| age(at) >= self.age_min)
    }

    /// A folder within it for this process, made for its first blob.
    pub(super) fn private(dir: &Path) -> io::Result<Self> {
        make_private(dir)?;
        sweep_left(dir)?;
        Ok(Self { dir: dir.to_owned(), age_min: Duration::ZERO, private: Some(OnceLock::new()) })
    }

    /// Whether it goes with this process.
    pub(super) fn is_private(&self) -> bool {
        self.private.is_some()
    }

    /// Where blobs of this process lie; none where it has no folder yet.
    fn own(&self) -> Option<&Path> {
        match &self.private {
            None => Some(&self.dir),
            Some(private) => private.get().map(|(own, _)| own.path()),
        }
    }

    /// The same, made if need be.
    fn make_own(&self) -> io::Result<&Path> {
        let Some(private) = &self.private else { return Ok(&self.dir) };
        let (own, _) = match private.get() {
            Some(made) => made,
            // Two at once make two, and one of them stays.
            None => {
                let made = private_folder(&self.dir)?;
                private.get_or_init(|| made)
            }
        };
        Ok(own.path())
    }

    /// Whether a blob is here, or in the folder around this one.
    pub(super) fn has(&self, sha256: &str) -> bool {
        let mut places = [self.own(), Some(&*self.dir)].into_iter().flatten();
        is_sha256(sha256) && places.any(|dir| dir.join(sha256).is_file())
    }

    /// The path of a blob; none for what is no SHA-256.
    pub(super) fn blob(&self, sha256: &str) -> Option<PathBuf> {
        self.own().filter(|_| is_sha256(sha256)).map(|own| own.join(sha256))
    }

    /// A file that becomes a blob or nothing.
    pub(super) fn temp(&self) -> io::Result<NamedTempFile> {
        tempfile::Builder::new().prefix(TEMP_PREFIX).tempfile_in(self.make_own()?)
    }

    /// Makes a file the blob of this SHA-256; the same bytes may be there already.
    pub(super) fn keep(&self, temp: NamedTempFile, sha256: &str) -> io::Result<()> {
        temp.persist(self.make_own()?.join(sha256)).map(|_| ()).map_err(|error| error.error)
    }

    /// Makes the names durable.
    pub(super) fn sync(&self) -> io::Result<()> {
        File::open(self.make_own()?)?.sync_all()
    }

    /// Bytes of all blobs together, without those that nobody needs.
    pub(super) fn bytes(&self, unneeded: &LeftBlobs) -> io::Result<u64> {
        let mut bytes: u64 = 0;
        let Some(own) = self.own() else { return Ok(bytes) };
        for entry in fs::read_dir(own)? {
            let entry = entry?;
            let name = entry.file_name();
            let Some(sha256) = name.to_str().filter(|name| is_sha256(name)) else { continue };
            // Swept meanwhile: then it takes no room.
            let Ok(meta) = entry.metadata() else { continue };
            let left = unneeded.get(sha256);
            if left.is_none() || meta.modified().ok().as_ref() != left {
                bytes = bytes.saturating_add(meta.size());
            }
        }
        Ok(bytes)
    }

    /// Removes all other blobs, and what nodes that died have not finished; returns whether any is
    /// left, and tells what is only too young to go.
    pub(super) fn remove_all_but(
        &self,
        kept: &BTreeSet<String>,
        now: SystemTime,
        young: &mut LeftBlobs,
    ) -> bool {
        let mut left = false;
        for entry in self.own().map(fs::read_dir).into_iter().flatten().flatten().flatten() {
            let name = entry.file_name();
            // Without other nodes it is one of this process, which is about to finish it.
            let is_unfinished = !self.age_min.is_zero() && is_temp(&entry);
            let named = name.to_str().filter(|name| is_unfinished || is_sha256(name));
            let Some(name) = named else { continue };
            if kept.contains(name) {
                left = true;
            } else if !self.is_old(&entry, now) {
                left = true;
                let written = entry.metadata().and_then(|meta| meta.modified());
                young.extend(written.map(|written| (name.to_owned(), written)));
            } else if let Err(error) = fs::remove_file(entry.path()) {
                left = true;
                tracing::warn!(%error, "a blob of a reply that is out cannot be removed");
            }
        }
        left
    }
}

/// A folder of this process alone, and its lock.
fn private_folder(dir: &Path) -> io::Result<(TempDir, File)> {
    // Until it is locked: a start of another process would take it for one that was left.
    let around = File::open(dir)?;
    flock(&around, FlockOperation::LockShared)?;
    let own = tempfile::Builder::new().prefix(BESIDE_PREFIX).tempdir_in(dir)?;
    let lock = File::open(own.path())?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
    Ok((own, lock))
}

fn is_sha256(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

/// Removes the folders of processes that are dead; later, if another process is about to make its
/// own.
fn sweep_left(dir: &Path) -> io::Result<()> {
    let around = File::open(dir)?;
    if flock(&around, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(());
    }
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(BESIDE_PREFIX)
            && entry.file_type().is_ok_and(|kind| kind.is_dir())
            && let Ok(lock) = File::open(entry.path())
            && flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok()
        {
            // Another process may be about to remove the same name, which is as good.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}
