//! `wasi:filesystem` as guests get it: the granted mounts, read-only, regular files and directories
//! alone.
//!
//! Stands in for the stock implementation, which would block on a FIFO, open devices, cross mounts
//! and collect whole directories in memory. Every path is resolved by `openat2` beneath the mount,
//! first as a bare handle (`O_PATH`), then looked at, and only then opened: there is nothing to
//! race. Everything that would change something is refused; writing is `workspace-write`'s.

mod beneath;
mod entries;
mod stream;

pub(crate) use beneath::handles;

use beneath::{look, look_into, reopen};
use entries::Entries;
use rustix::fs::{FileType, OFlags, Stat};
use rustix::io::Errno;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use stream::FileStream;
use types::{DescriptorFlags, DescriptorStat, DescriptorType, ErrorCode, OpenFlags, PathFlags};
use wasmtime::component::{HasData, Resource, ResourceTable};
use wasmtime_wasi::filesystem::FsPerms;
use wasmtime_wasi::filesystem::{Descriptor, Dir, File as WasiFile, OpenMode, WasiFilesystemCtxView};
use wasmtime_wasi::p2::bindings::clocks::wall_clock::Datetime;
use wasmtime_wasi::p2::bindings::filesystem::{preopens, types};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsError, FsResult};

/// A mount within reach of one call.
#[derive(Clone)]
pub(crate) struct Mount {
    guest: String,
    dir: Dir,
}

impl Mount {
    /// The mount `guest` over a folder that is open already.
    pub(crate) fn new(guest: &str, dir: File) -> Self {
        Self { guest: guest.to_owned(), dir: Dir::new(dir, FsPerms::ReadOnly, OpenMode::READ, true) }
    }

    pub(crate) fn guest(&self) -> &str {
        &self.guest
    }
}

/// The view through which a guest's filesystem calls go.
pub(crate) struct Files<'a> {
    pub(crate) wasi: WasiFilesystemCtxView<'a>,
    pub(crate) mounts: &'a [Mount],
    /// Entries of directories that the call has read.
    pub(crate) entries_read: &'a mut u64,
}

/// Bytes that one call of `read` gives at most.
const READ_BYTES_MAX: usize = 1 << 20;

/// Names [`Files`] to the linker.
pub(crate) struct HasFiles;

impl HasData for HasFiles {
    type Data<'a> = Files<'a>;
}

type Handle = Resource<Descriptor>;

impl Files<'_> {
    fn table(&mut self) -> &mut ResourceTable {
        self.wasi.table
    }

    fn dir(&mut self, fd: &Handle) -> FsResult<Arc<File>> {
        match self.table().get(fd)? {
            Descriptor::Dir(dir) => Ok(dir.dir.clone()),
            Descriptor::File(_) => Err(ErrorCode::NotDirectory.into()),
        }
    }

    fn any(&mut self, fd: &Handle) -> Result<Arc<File>, wasmtime::component::ResourceTableError> {
        Ok(match self.table().get(fd)? {
            Descriptor::Dir(dir) => dir.dir.clone(),
            Descriptor::File(file) => file.file.clone(),
        })
    }

    fn look(&mut self, fd: &Handle, flags: PathFlags, path: &str) -> FsResult<File> {
        let dir = self.dir(fd)?;
        Ok(look(&dir, path, flags.contains(PathFlags::SYMLINK_FOLLOW))?)
    }
}

fn kind(kind: FileType) -> DescriptorType {
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

fn stat(file: &File) -> Result<Stat, ErrorCode> {
    rustix::fs::fstat(file).map_err(|errno| std::io::Error::from(errno).into())
}

#[allow(clippy::useless_conversion, reason = "these are narrower on other machines")]
fn stat_of(file: &File) -> FsResult<DescriptorStat> {
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

fn hash_of(file: &File) -> FsResult<types::MetadataHashValue> {
    let stat = stat(file)?;
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (salt, stat.st_dev, stat.st_ino).hash(&mut hasher);
        hasher.finish()
    };
    Ok(types::MetadataHashValue { lower: half(0), upper: half(1) })
}

const READ_ONLY: ErrorCode = ErrorCode::ReadOnly;

impl preopens::Host for Files<'_> {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Handle, String)>> {
        let mut found = Vec::with_capacity(self.mounts.len());
        for mount in self.mounts {
            // Shares the open folder: no system call.
            let dir = Descriptor::Dir(mount.dir.clone());
            found.push((self.wasi.table.push(dir)?, mount.guest.clone()));
        }
        Ok(found)
    }
}

impl types::Host for Files<'_> {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        error.downcast()
    }

    fn filesystem_error_code(
        &mut self,
        error: Resource<wasmtime::Error>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        types::Host::filesystem_error_code(&mut self.wasi, error)
    }
}

impl types::HostDescriptor for Files<'_> {
    async fn open_at(
        &mut self,
        fd: Handle,
        path_flags: PathFlags,
        path: String,
        oflags: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Handle> {
        if flags.contains(DescriptorFlags::WRITE)
            || oflags.intersects(OpenFlags::CREATE | OpenFlags::TRUNCATE)
        {
            return Err(READ_ONLY.into());
        }
        let as_dir = |dir| Descriptor::Dir(Dir::new(dir, FsPerms::ReadOnly, OpenMode::READ, true));
        if oflags.contains(OpenFlags::DIRECTORY) {
            let follow = path_flags.contains(PathFlags::SYMLINK_FOLLOW);
            let found = look_into(&*self.dir(&fd)?, &path, follow)?;
            return Ok(self.table().push(as_dir(found))?);
        }
        let handle = self.look(&fd, path_flags, &path)?;
        let found = match kind(FileType::from_raw_mode(stat(&handle)?.st_mode)) {
            DescriptorType::Directory => as_dir(File::from(reopen(&handle, OFlags::DIRECTORY)?)),
            DescriptorType::RegularFile => {
                let file = File::from(reopen(&handle, OFlags::empty())?);
                Descriptor::File(WasiFile::new(file, FsPerms::ReadOnly, OpenMode::READ, true))
            }
            DescriptorType::SymbolicLink => return Err(ErrorCode::Loop.into()),
            _ => return Err(ErrorCode::Unsupported.into()),
        };
        Ok(self.table().push(found)?)
    }

    async fn read_directory(&mut self, fd: Handle) -> FsResult<Resource<types::DirectoryEntryStream>> {
        let dir = self.dir(&fd)?;
        let entries = self.table().push(Entries::of(&dir)?)?;
        // The stock stream type cannot be built outside its crate; the handle is looked up under
        // our type.
        Ok(Resource::new_own(entries.rep()))
    }

    async fn stat(&mut self, fd: Handle) -> FsResult<DescriptorStat> {
        let file = self.any(&fd)?;
        stat_of(&file)
    }

    async fn stat_at(&mut self, fd: Handle, flags: PathFlags, path: String) -> FsResult<DescriptorStat> {
        stat_of(&self.look(&fd, flags, &path)?)
    }

    async fn readlink_at(&mut self, fd: Handle, path: String) -> FsResult<String> {
        let link = self.look(&fd, PathFlags::empty(), &path)?;
        let target = rustix::fs::readlinkat(&link, "", Vec::new()).map_err(std::io::Error::from)?;
        let target = target.into_string().map_err(|_| ErrorCode::IllegalByteSequence)?;
        // An absolute target is a path of the host.
        if target.starts_with('/') { Err(ErrorCode::NotPermitted.into()) } else { Ok(target) }
    }

    async fn is_same_object(&mut self, a: Handle, b: Handle) -> wasmtime::Result<bool> {
        let (a, b) = (rustix::fs::fstat(&*self.any(&a)?)?, rustix::fs::fstat(&*self.any(&b)?)?);
        Ok((a.st_dev, a.st_ino) == (b.st_dev, b.st_ino))
    }

    async fn metadata_hash(&mut self, fd: Handle) -> FsResult<types::MetadataHashValue> {
        let file = self.any(&fd)?;
        hash_of(&file)
    }

    async fn metadata_hash_at(
        &mut self,
        fd: Handle,
        flags: PathFlags,
        path: String,
    ) -> FsResult<types::MetadataHashValue> {
        hash_of(&self.look(&fd, flags, &path)?)
    }

    async fn advise(&mut self, fd: Handle, at: u64, len: u64, advice: types::Advice) -> FsResult<()> {
        self.wasi.advise(fd, at, len, advice).await
    }

    async fn get_flags(&mut self, fd: Handle) -> FsResult<DescriptorFlags> {
        self.wasi.get_flags(fd).await
    }

    async fn get_type(&mut self, fd: Handle) -> FsResult<DescriptorType> {
        self.wasi.get_type(fd).await
    }

    async fn read(&mut self, fd: Handle, len: u64, offset: u64) -> FsResult<(Vec<u8>, bool)> {
        let file = match self.table().get(&fd)? {
            Descriptor::File(file) => &file.file,
            Descriptor::Dir(_) => return Err(ErrorCode::IsDirectory.into()),
        };
        let wanted = usize::try_from(len).unwrap_or(usize::MAX).min(READ_BYTES_MAX);
        let mut bytes = Vec::with_capacity(wanted);
        let read = loop {
            match rustix::io::pread(file, rustix::buffer::spare_capacity(&mut bytes), offset) {
                Err(Errno::INTR) => {}
                read => break read.map_err(std::io::Error::from)?,
            }
        };
        bytes.truncate(wanted);
        // Only at its end does a regular file give less than was asked for.
        Ok((bytes, read < wanted))
    }

    fn read_via_stream(&mut self, fd: Handle, offset: u64) -> FsResult<Resource<DynInputStream>> {
        let file = match self.table().get(&fd)? {
            Descriptor::File(file) => file.file.clone(),
            Descriptor::Dir(_) => return Err(ErrorCode::IsDirectory.into()),
        };
        let stream: DynInputStream = Box::new(FileStream::new(file, offset));
        Ok(self.table().push(stream)?)
    }

    fn drop(&mut self, fd: Handle) -> wasmtime::Result<()> {
        types::HostDescriptor::drop(&mut self.wasi, fd)
    }

    // There is nothing to flush in a read-only descriptor.
    async fn sync_data(&mut self, _: Handle) -> FsResult<()> {
        Ok(())
    }

    async fn sync(&mut self, _: Handle) -> FsResult<()> {
        Ok(())
    }

    async fn set_size(&mut self, _: Handle, _: u64) -> FsResult<()> {
        Err(READ_ONLY.into())
    }

    async fn set_times(&mut self, _: Handle, _: types::NewTimestamp, _: types::NewTimestamp) -> FsResult<()> {
        Err(READ_ONLY.into())
    }

    async fn set_times_at(
        &mut self,
        _: Handle,
        _: PathFlags,
        _: String,
        _: types::NewTimestamp,
        _: types::NewTimestamp,
    ) -> FsResult<()> {
        Err(READ_ONLY.into())
    }

    async fn write(&mut self, _: Handle, _: Vec<u8>, _: u64) -> FsResult<u64> {
        Err(READ_ONLY.into())
    }

    fn write_via_stream(&mut self, _: Handle, _: u64) -> FsResult<Resource<DynOutputStream>> {
        Err(READ_ONLY.into())
    }

    fn append_via_stream(&mut self, _: Handle) -> FsResult<Resource<DynOutputStream>> {
        Err(READ_ONLY.into())
    }

    async fn create_directory_at(&mut self, _: Handle, _: String) -> FsResult<()> {
        Err(READ_ONLY.into())
    }

    async fn link_at(&mut self, _: Handle, _: PathFlags, _: String, _: Handle, _: String) -> FsResult<()> {
        Err(READ_ONLY.into())
    }

    async fn remove_directory_at(&mut self, _: Handle, _: String) -> FsResult<()> {
        Err(READ_ONLY.into())
    }

    async fn rename_at(&mut self, _: Handle, _: String, _: Handle, _: String) -> FsResult<()> {
        Err(READ_ONLY.into())
    }

    async fn symlink_at(&mut self, _: Handle, _: String, _: String) -> FsResult<()> {
        Err(READ_ONLY.into())
    }

    async fn unlink_file_at(&mut self, _: Handle, _: String) -> FsResult<()> {
        Err(READ_ONLY.into())
    }
}

impl types::HostDirectoryEntryStream for Files<'_> {
    async fn read_directory_entry(
        &mut self,
        stream: Resource<types::DirectoryEntryStream>,
    ) -> FsResult<Option<types::DirectoryEntry>> {
        let Self { wasi, entries_read, .. } = self;
        wasi.table.get_mut(&Resource::<Entries>::new_borrow(stream.rep()))?.next(entries_read)
    }

    fn drop(&mut self, stream: Resource<types::DirectoryEntryStream>) -> wasmtime::Result<()> {
        self.table().delete(Resource::<Entries>::new_own(stream.rep()))?;
        Ok(())
    }
}
