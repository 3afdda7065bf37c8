//! Open folders and files of a scratch folder: `wasi:filesystem` in memory.
//!
//! A path leads downward from the handle that it is given to; `..` never above it.

use super::streams::{ScratchWriter, stream_scratch};
use super::{NAME_BYTES_MAX, ScratchFile, ScratchFolder, ScratchNode};
use crate::output::StreamTo;
use cofferdam_core::lock::lock;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, ErrorCode, MetadataHashValue, OpenFlags,
};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream};

/// Something of a scratch folder that a guest has open.
#[derive(Clone)]
pub(crate) struct Handle {
    node: ScratchNode,
    /// What it is open for.
    flags: DescriptorFlags,
}

type Done<T = ()> = Result<T, ErrorCode>;

impl Handle {
    /// Something open as folders are: to be listed and changed.
    pub(super) fn new(node: ScratchNode) -> Self {
        Self { node, flags: DescriptorFlags::READ | DescriptorFlags::MUTATE_DIRECTORY }
    }

    fn folder(&self) -> Done<&Arc<ScratchFolder>> {
        match &self.node {
            ScratchNode::Folder(folder) => Ok(folder),
            ScratchNode::File(_) => Err(ErrorCode::NotDirectory),
        }
    }

    fn file(&self) -> Done<&Arc<ScratchFile>> {
        match &self.node {
            ScratchNode::File(file) => Ok(file),
            ScratchNode::Folder(_) => Err(ErrorCode::IsDirectory),
        }
    }

    fn writable(&self) -> Done<&Arc<ScratchFile>> {
        let file = self.file()?;
        if self.flags.contains(DescriptorFlags::WRITE) { Ok(file) } else { Err(ErrorCode::BadDescriptor) }
    }

    /// What stands at a path below this folder.
    fn node(&self, path: &str) -> Done<ScratchNode> {
        let (folder, name) = self.place(path)?;
        match name {
            None => Ok(ScratchNode::Folder(folder)),
            Some(name) => folder.get(&name).ok_or(ErrorCode::NoEntry),
        }
    }

    /// The folder that a path leads to, and the name in it; no name where it leads to a folder by
    /// `.` or `..`.
    fn place(&self, path: &str) -> Done<(Arc<ScratchFolder>, Option<String>)> {
        if path.is_empty() {
            return Err(ErrorCode::NoEntry);
        }
        if path.starts_with('/') {
            return Err(ErrorCode::NotPermitted);
        }
        let mut way = vec![self.folder()?.clone()];
        let mut name: Option<&str> = None;
        for part in path.split('/').filter(|part| !part.is_empty()) {
            if let Some(name) = name.take() {
                let here = way.last().ok_or(ErrorCode::NotPermitted)?;
                match here.get(name).ok_or(ErrorCode::NoEntry)? {
                    ScratchNode::Folder(folder) => way.push(folder),
                    ScratchNode::File(_) => return Err(ErrorCode::NotDirectory),
                }
            }
            match part {
                "." => {}
                ".." if way.len() > 1 => drop(way.pop()),
                ".." => return Err(ErrorCode::NotPermitted),
                part if part.len() > NAME_BYTES_MAX => return Err(ErrorCode::NameTooLong),
                part if part.contains('\0') => return Err(ErrorCode::IllegalByteSequence),
                part => name = Some(part),
            }
        }
        let folder = way.pop().ok_or(ErrorCode::NotPermitted)?;
        Ok((folder, name.map(str::to_owned)))
    }

    /// Opens what stands at a path, or makes it.
    pub(crate) fn open_at(&self, path: &str, how: OpenFlags, flags: DescriptorFlags) -> Done<Self> {
        let (folder, name) = self.place(path)?;
        let found = match &name {
            None => Some(ScratchNode::Folder(folder.clone())),
            Some(name) => folder.get(name),
        };
        let is_new = how.contains(OpenFlags::CREATE | OpenFlags::EXCLUSIVE);
        match (found, name) {
            (Some(_), _) if is_new => Err(ErrorCode::Exist),
            (Some(ScratchNode::Folder(_)), _)
                if how.contains(OpenFlags::TRUNCATE) || flags.contains(DescriptorFlags::WRITE) =>
            {
                Err(ErrorCode::IsDirectory)
            }
            (Some(folder @ ScratchNode::Folder(_)), _) => Ok(Self::new(folder)),
            (Some(ScratchNode::File(_)), _) if how.contains(OpenFlags::DIRECTORY) => {
                Err(ErrorCode::NotDirectory)
            }
            (Some(ScratchNode::File(file)), _) => {
                if how.contains(OpenFlags::TRUNCATE) {
                    file.resize(0)?;
                }
                Ok(Self { node: ScratchNode::File(file), flags })
            }
            (None, Some(name)) if how.contains(OpenFlags::CREATE) && !how.contains(OpenFlags::DIRECTORY) => {
                Ok(Self { node: ScratchNode::File(folder.make_file(&name)?), flags })
            }
            (None, _) => Err(ErrorCode::NoEntry),
        }
    }

    pub(crate) fn create_directory_at(&self, path: &str) -> Done {
        match self.place(path)? {
            (folder, Some(name)) if folder.get(&name).is_none() => folder.make_folder(&name),
            _ => Err(ErrorCode::Exist),
        }
    }

    pub(crate) fn remove_directory_at(&self, path: &str) -> Done {
        let (folder, name) = self.place(path)?;
        let name = name.ok_or(ErrorCode::Invalid)?;
        match folder.get(&name).ok_or(ErrorCode::NoEntry)? {
            ScratchNode::Folder(inner) if !inner.is_empty() => Err(ErrorCode::NotEmpty),
            ScratchNode::Folder(_) => {
                lock(&folder.entries).remove(&name);
                Ok(())
            }
            ScratchNode::File(_) => Err(ErrorCode::NotDirectory),
        }
    }

    pub(crate) fn unlink_file_at(&self, path: &str) -> Done {
        let (folder, name) = self.place(path)?;
        let name = name.ok_or(ErrorCode::IsDirectory)?;
        match folder.get(&name).ok_or(ErrorCode::NoEntry)? {
            ScratchNode::File(_) => {
                lock(&folder.entries).remove(&name);
                Ok(())
            }
            ScratchNode::Folder(_) => Err(ErrorCode::IsDirectory),
        }
    }

    pub(crate) fn rename_at(&self, from: &str, to: &Self, path: &str) -> Done {
        let ((source, old), (target, new)) = (self.place(from)?, to.place(path)?);
        let (old, new) = (old.ok_or(ErrorCode::Busy)?, new.ok_or(ErrorCode::Busy)?);
        let moved = source.get(&old).ok_or(ErrorCode::NoEntry)?;
        if Arc::ptr_eq(&source, &target) && old == new {
            return Ok(());
        }
        match (&moved, target.get(&new)) {
            (ScratchNode::Folder(_), Some(ScratchNode::File(_))) => return Err(ErrorCode::NotDirectory),
            (ScratchNode::File(_), Some(ScratchNode::Folder(_))) => return Err(ErrorCode::IsDirectory),
            (ScratchNode::Folder(_), Some(ScratchNode::Folder(there))) if !there.is_empty() => {
                return Err(ErrorCode::NotEmpty);
            }
            _ => {}
        }
        if let ScratchNode::Folder(folder) = &moved {
            if folder.is_same(&target) {
                return Err(ErrorCode::Invalid);
            }
            let depth = target.depth.load(Ordering::Relaxed) + 1;
            // What lies in it is never deeper than its folders say.
            if depth > folder.depth.load(Ordering::Relaxed) {
                if !folder.is_empty() || depth > super::DEPTH_MAX {
                    return Err(ErrorCode::Unsupported);
                }
                folder.depth.store(depth, Ordering::Relaxed);
            }
        }
        lock(&source.entries).remove(&old);
        lock(&target.entries).insert(new, moved);
        Ok(())
    }

    /// The entries of this folder as they are now.
    pub(crate) fn entries(&self) -> Done<Vec<DirectoryEntry>> {
        let entry =
            |(name, node): (&String, &ScratchNode)| DirectoryEntry { type_: kind(node), name: name.clone() };
        Ok(lock(&self.folder()?.entries).iter().map(entry).collect())
    }

    pub(crate) fn stat(&self) -> DescriptorStat {
        stat(&self.node)
    }

    pub(crate) fn stat_at(&self, path: &str) -> Done<DescriptorStat> {
        Ok(stat(&self.node(path)?))
    }

    /// What tells it from everything else that is open.
    pub(crate) fn hash(&self) -> MetadataHashValue {
        hash(&self.node)
    }

    pub(crate) fn hash_at(&self, path: &str) -> Done<MetadataHashValue> {
        Ok(hash(&self.node(path)?))
    }

    pub(crate) fn flags(&self) -> DescriptorFlags {
        self.flags
    }

    pub(crate) fn kind(&self) -> DescriptorType {
        kind(&self.node)
    }

    /// Bytes from a place on, and whether that is the end.
    pub(crate) fn read(&self, at: u64, most: usize) -> Done<(Vec<u8>, bool)> {
        let bytes = self.file()?.read(at, most);
        let is_end = bytes.len() < most;
        Ok((bytes, is_end))
    }

    pub(crate) fn write(&self, at: u64, bytes: &[u8]) -> Done<u64> {
        self.writable()?.write(at, bytes)?;
        Ok(bytes.len() as u64)
    }

    pub(crate) fn set_size(&self, len: u64) -> Done {
        self.writable()?.resize(len)
    }

    pub(crate) fn read_via_stream(&self, at: u64) -> Done<DynInputStream> {
        Ok(stream_scratch(self.file()?.clone(), at))
    }

    pub(crate) fn write_via_stream(&self, at: Option<u64>) -> Done<DynOutputStream> {
        Ok(Box::new(StreamTo(ScratchWriter { file: self.writable()?.clone(), at })))
    }
}

fn kind(node: &ScratchNode) -> DescriptorType {
    match node {
        ScratchNode::Folder(_) => DescriptorType::Directory,
        ScratchNode::File(_) => DescriptorType::RegularFile,
    }
}

fn stat(node: &ScratchNode) -> DescriptorStat {
    let size = match node {
        ScratchNode::Folder(_) => 0,
        ScratchNode::File(file) => file.len(),
    };
    DescriptorStat {
        type_: kind(node),
        link_count: 1,
        size,
        data_access_timestamp: None,
        data_modification_timestamp: None,
        status_change_timestamp: None,
    }
}

fn hash(node: &ScratchNode) -> MetadataHashValue {
    let place: *const () = match node {
        ScratchNode::Folder(folder) => Arc::as_ptr(folder).cast(),
        ScratchNode::File(file) => Arc::as_ptr(file).cast(),
    };
    MetadataHashValue { lower: place.addr() as u64, upper: 0 }
}
