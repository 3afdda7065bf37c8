//! `wasi:filesystem` as guests get it: the granted mounts, read-only, regular files and directories
//! alone.
//!
//! Stands in for the stock implementation, which would block on a FIFO, open devices, cross mounts and
//! collect whole directories in memory. Every path is resolved by `openat2` beneath the mount, first
//! as a bare handle (`O_PATH`), then looked at, and only then opened: there is nothing to race.
//! Everything that would change something is refused; writing is `workspace-write`'s.

use cofferdam_core::policy::GuestPath;
use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::path::DecInt;
use std::fs::{File, Metadata};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::sync::{Arc, OnceLock};
use types::{DescriptorFlags, DescriptorStat, DescriptorType, ErrorCode, OpenFlags, PathFlags};
use wasmtime::component::{HasData, Resource, ResourceTable};
use wasmtime_wasi::filesystem::FsPerms;
use wasmtime_wasi::filesystem::{Descriptor, Dir, File as WasiFile, OpenMode, WasiFilesystemCtxView};
use wasmtime_wasi::p2::bindings::clocks::wall_clock::Datetime;
use wasmtime_wasi::p2::bindings::filesystem::{preopens, types};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsError, FsResult};

/// A mount within reach of one call.
#[derive(Clone)]
pub(super) struct Mount {
    guest: String,
    dir: Dir,
}

impl Mount {
    /// The mount `guest` over a folder that is open already.
    pub(super) fn new(guest: &str, dir: File) -> Self {
        Self { guest: guest.to_owned(), dir: Dir::new(dir, FsPerms::ReadOnly, OpenMode::READ, true) }
    }

    pub(super) fn guest(&self) -> &str {
        &self.guest
    }
}

/// The view through which a guest's filesystem calls go.
pub(super) struct Files<'a> {
    pub(super) wasi: WasiFilesystemCtxView<'a>,
    pub(super) mounts: &'a [Mount],
}

/// Names [`Files`] to the linker.
pub(super) struct HasFiles;

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

/// A bare handle (`O_PATH`) on whatever lies at `path` beneath `dir`.
fn look(dir: &File, path: &str, follow: bool) -> Result<File, ErrorCode> {
    if path.split('/').any(|name| name.starts_with(GuestPath::RESERVED_PREFIX)) {
        return Err(ErrorCode::NoEntry);
    }
    let leaf = if follow { OFlags::empty() } else { OFlags::NOFOLLOW };
    let flags = OFlags::PATH | OFlags::CLOEXEC | leaf;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
    // EAGAIN: something was renamed meanwhile, and the kernel cannot tell whether the path still lies
    // beneath. A guest that makes this happen only delays itself.
    for _ in 0..16 {
        match rustix::fs::openat2(dir, path, flags, Mode::empty(), resolve) {
            Ok(fd) => return Ok(File::from(fd)),
            Err(Errno::AGAIN | Errno::INTR) => {}
            // Leaves the mount, or enters another one.
            Err(Errno::XDEV) => return Err(ErrorCode::NotPermitted),
            Err(errno) => return Err(std::io::Error::from(errno).into()),
        }
    }
    Err(ErrorCode::Busy)
}

/// This process's own handles by number, opened once: each path through /proc would be four look-ups, and a
/// confined process cannot open it any more.
pub(super) fn handles() -> Result<BorrowedFd<'static>, Errno> {
    static HANDLES: OnceLock<Result<OwnedFd, Errno>> = OnceLock::new();
    let own = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let handles = HANDLES.get_or_init(|| rustix::fs::open("/proc/self/fd", own, Mode::empty()));
    handles.as_ref().map(AsFd::as_fd).map_err(|errno| *errno)
}

/// Opens for reading what a bare handle stands for, by the handle itself, so nothing can be swapped.
fn reopen(handle: &File, flags: OFlags) -> Result<OwnedFd, ErrorCode> {
    // Without /proc nothing can be read; that is no "not found".
    let handles = handles().map_err(|_| ErrorCode::Io)?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY | flags;
    let name = DecInt::from_fd(handle);
    rustix::fs::openat(handles, name.as_c_str(), flags, Mode::empty())
        .map_err(|errno| std::io::Error::from(errno).into())
}

fn kind(meta: &Metadata) -> DescriptorType {
    let kind = meta.file_type();
    if kind.is_file() {
        DescriptorType::RegularFile
    } else if kind.is_dir() {
        DescriptorType::Directory
    } else if kind.is_symlink() {
        DescriptorType::SymbolicLink
    } else if kind.is_fifo() {
        DescriptorType::Fifo
    } else if kind.is_socket() {
        DescriptorType::Socket
    } else if kind.is_block_device() {
        DescriptorType::BlockDevice
    } else if kind.is_char_device() {
        DescriptorType::CharacterDevice
    } else {
        DescriptorType::Unknown
    }
}

fn stat_of(file: &File) -> FsResult<DescriptorStat> {
    let meta = file.metadata()?;
    let time = |seconds: i64, nanoseconds: i64| {
        let seconds = u64::try_from(seconds).ok()?;
        Some(Datetime { seconds, nanoseconds: u32::try_from(nanoseconds).ok()? })
    };
    Ok(DescriptorStat {
        type_: kind(&meta),
        link_count: meta.nlink(),
        size: meta.size(),
        data_access_timestamp: time(meta.atime(), meta.atime_nsec()),
        data_modification_timestamp: time(meta.mtime(), meta.mtime_nsec()),
        status_change_timestamp: time(meta.ctime(), meta.ctime_nsec()),
    })
}

fn hash_of(file: &File) -> FsResult<types::MetadataHashValue> {
    let meta = file.metadata()?;
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (salt, meta.dev(), meta.ino()).hash(&mut hasher);
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
        let handle = self.look(&fd, path_flags, &path)?;
        let found = match kind(&handle.metadata()?) {
            DescriptorType::Directory => {
                let dir = File::from(reopen(&handle, OFlags::DIRECTORY)?);
                Descriptor::Dir(Dir::new(dir, FsPerms::ReadOnly, OpenMode::READ, true))
            }
            DescriptorType::RegularFile if oflags.contains(OpenFlags::DIRECTORY) => {
                return Err(ErrorCode::NotDirectory.into());
            }
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
        let entries = Entries(rustix::fs::Dir::read_from(&*dir).map_err(std::io::Error::from)?);
        let entries = self.table().push(entries)?;
        // The stock stream type cannot be built outside its crate; the handle is looked up under our type.
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
        let (a, b) = (self.any(&a)?.metadata()?, self.any(&b)?.metadata()?);
        Ok((a.dev(), a.ino()) == (b.dev(), b.ino()))
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
        self.wasi.read(fd, len, offset).await
    }

    fn read_via_stream(&mut self, fd: Handle, offset: u64) -> FsResult<Resource<DynInputStream>> {
        self.wasi.read_via_stream(fd, offset)
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

/// A directory being read, one kernel buffer at a time.
struct Entries(rustix::fs::Dir);

impl Entries {
    fn next(&mut self) -> FsResult<Option<types::DirectoryEntry>> {
        for entry in &mut self.0 {
            let entry = entry.map_err(std::io::Error::from)?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." || name.starts_with(GuestPath::RESERVED_PREFIX.as_bytes()) {
                continue;
            }
            let name = std::str::from_utf8(name).map_err(|_| ErrorCode::IllegalByteSequence)?;
            let type_ = match entry.file_type() {
                rustix::fs::FileType::RegularFile => DescriptorType::RegularFile,
                rustix::fs::FileType::Directory => DescriptorType::Directory,
                rustix::fs::FileType::Symlink => DescriptorType::SymbolicLink,
                rustix::fs::FileType::Fifo => DescriptorType::Fifo,
                rustix::fs::FileType::Socket => DescriptorType::Socket,
                rustix::fs::FileType::CharacterDevice => DescriptorType::CharacterDevice,
                rustix::fs::FileType::BlockDevice => DescriptorType::BlockDevice,
                rustix::fs::FileType::Unknown => DescriptorType::Unknown,
            };
            return Ok(Some(types::DirectoryEntry { type_, name: name.to_owned() }));
        }
        Ok(None)
    }
}

impl types::HostDirectoryEntryStream for Files<'_> {
    async fn read_directory_entry(
        &mut self,
        stream: Resource<types::DirectoryEntryStream>,
    ) -> FsResult<Option<types::DirectoryEntry>> {
        self.table().get_mut(&Resource::<Entries>::new_borrow(stream.rep()))?.next()
    }

    fn drop(&mut self, stream: Resource<types::DirectoryEntryStream>) -> wasmtime::Result<()> {
        self.table().delete(Resource::<Entries>::new_own(stream.rep()))?;
        Ok(())
    }
}
