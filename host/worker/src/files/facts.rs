//! What is told of a file or folder: its kind, its stat, what tells it from others.

use rustix::fs::{AtFlags, FileType, Statx, StatxFlags, StatxTimestamp, statx};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use wasmtime_wasi::p2::bindings::clocks::wall_clock::Datetime;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorStat, DescriptorType, ErrorCode, MetadataHashValue,
};

/// What the system says of one file or folder.
pub(super) struct FileFacts(pub(super) Statx);

impl FileFacts {
    /// Of an open file or folder, or of a bare handle.
    pub(super) fn read(file: &File) -> Result<Self, ErrorCode> {
        statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS)
            .map(Self)
            .map_err(|errno| std::io::Error::from(errno).into())
    }

    pub(super) fn kind(&self) -> DescriptorType {
        kind(FileType::from_raw_mode(self.0.stx_mode.into()))
    }

    pub(super) fn stat(&self) -> DescriptorStat {
        DescriptorStat {
            type_: self.kind(),
            link_count: self.0.stx_nlink.into(),
            size: self.0.stx_size,
            data_access_timestamp: time(self.0.stx_atime),
            data_modification_timestamp: time(self.0.stx_mtime),
            status_change_timestamp: time(self.0.stx_ctime),
        }
    }

    pub(super) fn hash(&self) -> MetadataHashValue {
        let half = |salt: u8| {
            let mut hasher = DefaultHasher::new();
            (salt, self.identity()).hash(&mut hasher);
            hasher.finish()
        };
        MetadataHashValue { lower: half(0), upper: half(1) }
    }

    /// Whether both are of the same file.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }

    /// Device and inode.
    fn identity(&self) -> (u32, u32, u64) {
        (self.0.stx_dev_major, self.0.stx_dev_minor, self.0.stx_ino)
    }
}

/// None before 1970, which WASI has no word for.
fn time(at: StatxTimestamp) -> Option<Datetime> {
    Some(Datetime { seconds: u64::try_from(at.tv_sec).ok()?, nanoseconds: at.tv_nsec })
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
