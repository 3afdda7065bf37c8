//! The scratch folder of one call: files in this process's memory, empty when the call begins and
//! gone when it ends. The worker holds no writable descriptor for it.
//!
//! It knows folders and regular files alone: no links and nothing special can be made. It has a
//! bound in bytes and one in files; a guest that meets either gets an error, and the call that met
//! one publishes nothing.

mod handle;
mod output;
mod streams;

pub(crate) use handle::Handle;

use cofferdam_core::capability::ScratchGrant;
use cofferdam_core::lock::lock;
use cofferdam_core::tool::{ErrorCode as ToolCode, ToolError};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

/// Folders within each other.
const DEPTH_MAX: usize = 64;
/// Longest name.
const NAME_BYTES_MAX: usize = 255;

/// What is used of what is granted, and whether more was wanted.
struct ScratchUsage {
    grant: ScratchGrant,
    bytes: AtomicU64,
    files: AtomicU64,
    exceeded: AtomicBool,
}

/// A folder: the one of the call, or one within it.
pub(crate) struct ScratchFolder {
    usage: Arc<ScratchUsage>,
    depth: AtomicUsize,
    entries: Mutex<BTreeMap<String, ScratchNode>>,
}

/// A file: it is there as long as somebody has it open.
pub(crate) struct ScratchFile {
    usage: Arc<ScratchUsage>,
    bytes: Mutex<Vec<u8>>,
}

/// What has a name.
#[derive(Clone)]
pub(crate) enum ScratchNode {
    Folder(Arc<ScratchFolder>),
    File(Arc<ScratchFile>),
}

impl ScratchUsage {
    /// Takes so much of one bound, or remembers that it was too much.
    fn take(&self, used: &AtomicU64, more: u64, most: u64) -> Result<(), ErrorCode> {
        let fits = |used: u64| used.checked_add(more).filter(|total| *total <= most);
        match used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits) {
            Ok(_) => Ok(()),
            Err(_) => {
                self.exceeded.store(true, Ordering::Relaxed);
                Err(ErrorCode::InsufficientSpace)
            }
        }
    }

    fn take_bytes(&self, more: u64) -> Result<(), ErrorCode> {
        self.take(&self.bytes, more, self.grant.bytes.0)
    }

    fn take_file(&self) -> Result<(), ErrorCode> {
        // And the root, which the guest has not made.
        self.take(&self.files, 1, u64::from(self.grant.files) + 1)
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        self.usage.files.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for ScratchFile {
    fn drop(&mut self) {
        let len = self.bytes.get_mut().map_or(0, |bytes| bytes.len() as u64);
        self.usage.bytes.fetch_sub(len, Ordering::Relaxed);
        self.usage.files.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ScratchFolder {
    /// That of a call, empty, within these bounds.
    pub(crate) fn new(grant: &ScratchGrant) -> Arc<Self> {
        let usage = Arc::new(ScratchUsage {
            grant: grant.clone(),
            bytes: AtomicU64::new(0),
            files: AtomicU64::new(1),
            exceeded: AtomicBool::new(false),
        });
        Arc::new(Self { usage, depth: AtomicUsize::new(0), entries: Mutex::default() })
    }

    /// The guest's name of the one of the call.
    pub(crate) fn guest(&self) -> &str {
        &self.usage.grant.guest
    }

    /// It, open.
    pub(crate) fn handle(self: &Arc<Self>) -> Handle {
        Handle::new(ScratchNode::Folder(self.clone()))
    }

    /// Refuses what a call has left that wanted more than there was: it may be in part.
    ///
    /// # Errors
    /// `quota_exceeded`.
    pub(crate) fn check_exceeded(&self) -> Result<(), ToolError> {
        if !self.usage.exceeded.load(Ordering::Relaxed) {
            return Ok(());
        }
        let ScratchGrant { guest, bytes, files } = &self.usage.grant;
        let said = format!(
            "the tool wanted more in {guest} than {bytes} or {files} files and folders; nothing was changed"
        );
        Err(ToolError::new(ToolCode::QuotaExceeded, said))
    }

    fn is_empty(&self) -> bool {
        lock(&self.entries).is_empty()
    }

    /// What has this name here.
    fn get(&self, name: &str) -> Option<ScratchNode> {
        lock(&self.entries).get(name).cloned()
    }

    /// Whether this is the other folder, or the other lies somewhere below.
    fn is_same(self: &Arc<Self>, other: &Arc<Self>) -> bool {
        let below = |node: &ScratchNode| matches!(node, ScratchNode::Folder(folder) if folder.is_same(other));
        Arc::ptr_eq(self, other) || lock(&self.entries).values().any(below)
    }

    /// Makes a file here.
    fn make_file(&self, name: &str) -> Result<Arc<ScratchFile>, ErrorCode> {
        self.usage.take_file()?;
        let made = Arc::new(ScratchFile { usage: self.usage.clone(), bytes: Mutex::default() });
        lock(&self.entries).insert(name.to_owned(), ScratchNode::File(made.clone()));
        Ok(made)
    }

    /// Makes a folder here.
    fn make_folder(&self, name: &str) -> Result<(), ErrorCode> {
        let depth = self.depth.load(Ordering::Relaxed) + 1;
        if depth > DEPTH_MAX {
            return Err(ErrorCode::NameTooLong);
        }
        self.usage.take_file()?;
        let (depth, entries) = (AtomicUsize::new(depth), Mutex::default());
        let made = ScratchFolder { usage: self.usage.clone(), depth, entries };
        lock(&self.entries).insert(name.to_owned(), ScratchNode::Folder(Arc::new(made)));
        Ok(())
    }
}

impl ScratchFile {
    fn len(&self) -> u64 {
        lock(&self.bytes).len() as u64
    }

    /// At most so many bytes from a place on.
    fn read(&self, at: u64, most: usize) -> Vec<u8> {
        let bytes = lock(&self.bytes);
        let start = usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
        let end = start.saturating_add(most).min(bytes.len());
        bytes[start..end].to_vec()
    }

    /// Writes at a place; what lies between is zero.
    fn write(&self, at: u64, written: &[u8]) -> Result<(), ErrorCode> {
        let end = at.checked_add(written.len() as u64).ok_or(ErrorCode::FileTooLarge)?;
        if end > self.len() {
            self.resize(end)?;
        }
        let start = usize::try_from(at).map_err(|_| ErrorCode::FileTooLarge)?;
        lock(&self.bytes)[start..start + written.len()].copy_from_slice(written);
        Ok(())
    }

    fn append(&self, written: &[u8]) -> Result<(), ErrorCode> {
        self.write(self.len(), written)
    }

    fn resize(&self, len: u64) -> Result<(), ErrorCode> {
        let before = self.len();
        if len > before {
            self.usage.take_bytes(len - before)?;
        } else {
            self.usage.bytes.fetch_sub(before - len, Ordering::Relaxed);
        }
        // Taken of a bound that fits in memory.
        let mut bytes = lock(&self.bytes);
        bytes.resize(usize::try_from(len).map_err(|_| ErrorCode::FileTooLarge)?, 0);
        if len < before {
            // What no longer counts takes no memory either.
            bytes.shrink_to_fit();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_core::limits::ByteSize;

    #[test]
    fn a_file_that_shrinks_gives_its_memory_back() {
        let grant = ScratchGrant { guest: "/scratch".into(), bytes: ByteSize::mib(1), files: 1 };
        let file = ScratchFolder::new(&grant).make_file("a").expect("there is room");
        for len in [1 << 20, 1000, 0] {
            file.resize(len).expect("there is room");
            let held = lock(&file.bytes).capacity() as u64;
            assert!((len..=len * 2).contains(&held), "{held} bytes for {len}");
        }
    }
}
