//! What is told of a file or folder: its kind, its stat, what tells it from others.

use rustix::fs::{FileType, Stat, Statx, makedev};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use wasmtime_wasi::p2::bindings::clocks::wall_clock::Datetime;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorStat, DescriptorType, ErrorCode, MetadataHashValue,
};

/// What the system says of one file or folder.
pub(super) struct FileFacts {
    mode: u32,
    links: u64,
    size: u64,
    accessed: Option<Datetime>,
    modified: Option<Datetime>,
    changed: Option<Datetime>,
    device: u64,
    inode: u64,
}

impl FileFacts {
    /// Of an open file or folder, or of a bare handle.
    pub(super) fn read(file: &File) -> Result<Self, ErrorCode> {
        rustix::fs::fstat(file).map(Self::from).map_err(|errno| std::io::Error::from(errno).into())
    }

    pub(super) fn kind(&self) -> DescriptorType {
        kind(FileType::from_raw_mode(self.mode))
    }

    pub(super) fn stat(&self) -> DescriptorStat {
        DescriptorStat {
            type_: self.kind(),
            link_count: self.links,
            size: self.size,
            data_access_timestamp: self.accessed,
            data_modification_timestamp: self.modified,
            status_change_timestamp: self.changed,
        }
    }

    pub(super) fn hash(&self) -> MetadataHashValue {
        let half = |salt: u8| {
            let mut hasher = DefaultHasher::new();
            (salt, self.device, self.inode).hash(&mut hasher);
            hasher.finish()
        };
        MetadataHashValue { lower: half(0), upper: half(1) }
    }

    /// Whether both are of the same file.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

impl From<Stat> for FileFacts {
    #[allow(clippy::useless_conversion, reason = "these are narrower on other machines")]
    fn from(stat: Stat) -> Self {
        Self {
            mode: stat.st_mode,
            links: stat.st_nlink.into(),
            size: u64::try_from(stat.st_size).unwrap_or(0),
            accessed: time(stat.st_atime, stat.st_atime_nsec.into()),
            modified: time(stat.st_mtime, stat.st_mtime_nsec.into()),
            changed: time(stat.st_ctime, stat.st_ctime_nsec.into()),
            device: stat.st_dev,
            inode: stat.st_ino,
        }
    }
}

impl From<Statx> for FileFacts {
    fn from(stat: Statx) -> Self {
        Self {
            mode: stat.stx_mode.into(),
            links: stat.stx_nlink.into(),
            size: stat.stx_size,
            accessed: time(stat.stx_atime.tv_sec, stat.stx_atime.tv_nsec.into()),
            modified: time(stat.stx_mtime.tv_sec, stat.stx_mtime.tv_nsec.into()),
            changed: time(stat.stx_ctime.tv_sec, stat.stx_ctime.tv_nsec.into()),
            device: makedev(stat.stx_dev_major, stat.stx_dev_minor),
            inode: stat.stx_ino,
        }
    }
}

/// None before 1970, which WASI has no word for.
fn time(seconds: i64, nanoseconds: u64) -> Option<Datetime> {
    let seconds = u64::try_from(seconds).ok()?;
    Some(Datetime { seconds, nanoseconds: u32::try_from(nanoseconds).ok()? })
}

/// A kind as WASI names it.
pub(super) fn kind(kind: FileType) -> DescriptorType {
    match kind {
        FileType::RegularFile => DescriptorType::RegularFile,
        FileType::Directory => DescriptorType::Directory,
        FileType::Symlink => DescriptorType::SymbolicLink,
        FileType::Fifo => DescriptorType::Fifo,
        FileType::Socket => DescriptorType::Socket,
        FileType::CharacterDevice => DescriptorType::CharacterDevice,
        FileType::BlockDevice => DescriptorType::BlockDevice,
        FileType::Unknown => DescriptorType::Unknown,
    }
}
