//! What is told of an open file or folder: its kind, its stat, what tells it from others.

use rustix::fs::{FileType, Stat};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::clocks::wall_clock::Datetime;
use wasmtime_wasi::p2::bindings::filesystem::types::{self, DescriptorStat, DescriptorType, ErrorCode};

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

pub(super) fn stat(file: &File) -> Result<Stat, ErrorCode> {
    rustix::fs::fstat(file).map_err(|errno| std::io::Error::from(errno).into())
}

#[allow(clippy::useless_conversion, reason = "these are narrower on other machines")]
pub(super) fn stat_of(file: &File) -> FsResult<DescriptorStat> {
    let stat = stat(file)?;
    let time = |seconds: i64, nanoseconds: u64| {
        let seconds = u64::try_from(seconds).ok()?;
        Some(Datetime { seconds, nanoseconds: u32::try_from(nanoseconds).ok()? })
    };
    Ok(DescriptorStat {
        type_: kind(FileType::from_raw_mode(stat.st_mode)),
        link_count: stat.st_nlink.into(),
        size: u64::try_from(stat.st_size).unwrap_or(0),
        data_access_timestamp: time(stat.st_atime, stat.st_atime_nsec.into()),
        data_modification_timestamp: time(stat.st_mtime, stat.st_mtime_nsec.into()),
        status_change_timestamp: time(stat.st_ctime, stat.st_ctime_nsec.into()),
    })
}

pub(super) fn hash_of(file: &File) -> FsResult<types::MetadataHashValue> {
    let stat = stat(file)?;
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (salt, stat.st_dev, stat.st_ino).hash(&mut hasher);
        hasher.finish()
    };
    Ok(types::MetadataHashValue { lower: half(0), upper: half(1) })
}
