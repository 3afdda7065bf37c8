//! `wasi:filesystem` as guests get it: the granted mounts, read-only, regular files and directories
//! alone.
//!
//! Stands in for the stock implementation, which would block on a FIFO, open devices, cross mounts
//! and collect whole directories in memory. Every path is resolved by `openat2` beneath the mount,
//! first as a bare handle (`O_PATH`), then looked at, and only then opened: there is nothing to
//! race. Everything that would change something is refused; writing is `workspace-write`'s. A
//! scratch folder alone may be changed, which is memory of this process.

mod beneath;
mod entries;
mod facts;
mod folders;
mod stream;

pub(crate) use beneath::{LastMount, own_handles};

use crate::scratch::Handle as ScratchHandle;
use crate::state::StoreState;
use beneath::{look, look_into, reopen};
use entries::DirectoryEntries;
use facts::FileFacts;
use rustix::buffer::spare_capacity;
use rustix::fs::OFlags;
use rustix::io::{pread, retry_on_intr};
use std::fs::File;
use std::sync::Arc;
use stream::stream_file;
use types::{DescriptorFlags, DescriptorStat, DescriptorType, ErrorCode, OpenFlags, PathFlags};
use wasmtime::component::{Resource, ResourceTableError};
use wasmtime_wasi::filesystem::FsPerms;
use wasmtime_wasi::filesystem::{Descriptor, Dir, File as WasiFile, OpenMode, WasiFilesystemView};
use wasmtime_wasi::p2::bindings::filesystem::types;
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsError, FsResult};

/// A mount within reach of one call.
#[derive(Clone)]
pub(crate) struct GuestMount {
    guest: String,
    dir: Dir,
}

impl GuestMount {
    /// The mount `guest` over a folder that is open already.
    pub(crate) fn new(guest: &str, dir: File) -> Self {
        Self { guest: guest.to_owned(), dir: Dir::new(dir, FsPerms::ReadOnly, OpenMode::READ, true) }
    }

    pub(crate) fn guest(&self) -> &str {
        &self.guest
    }
}

/// Bytes that one call of `read` gives at most.
const READ_BYTES_MAX: usize = 1 << 20;

type Handle = Resource<Descriptor>;

impl StoreState {
    /// Notes what the guest is told: a disk that fails is what the call fails with.
    fn note(&self, code: &ErrorCode) {
        if matches!(code, ErrorCode::Io) {
            self.disk.fail();
        }
    }

    fn dir(&self, fd: &Handle) -> FsResult<Arc<File>> {
        match self.table.get(fd)? {
            Descriptor::Dir(dir) => Ok(dir.dir.clone()),
            Descriptor::File(_) => Err(ErrorCode::NotDirectory.into()),
        }
    }

    fn any(&self, fd: &Handle) -> Result<Arc<File>, ResourceTableError> {
        Ok(match self.table.get(fd)? {
            Descriptor::Dir(dir) => dir.dir.clone(),
            Descriptor::File(file) => file.file.clone(),
        })
    }

    /// The handle, where it is one of the scratch folder.
    fn scratch_handle(&self, fd: &Handle) -> Option<ScratchHandle> {
        self.table.get(&Resource::<ScratchHandle>::new_borrow(fd.rep())).ok().cloned()
    }

    /// The handle of something that may be changed, which is the scratch folder alone.
    fn writable_handle(&self, fd: &Handle) -> FsResult<ScratchHandle> {
        Ok(self.scratch_handle(fd).ok_or(READ_ONLY)?)
    }

    /// Hands a handle of the scratch folder to the guest.
    fn hand_out(&mut self, handle: ScratchHandle) -> Result<Handle, ResourceTableError> {
        Ok(Resource::new_own(self.table.push(handle)?.rep()))
    }

    fn look(&self, fd: &Handle, flags: PathFlags, path: &str) -> FsResult<File> {
        let dir = self.dir(fd)?;
        Ok(look(&dir, path, flags.contains(PathFlags::SYMLINK_FOLLOW))?)
    }

    fn facts(&mut self, fd: &Handle, flags: PathFlags, path: &str) -> FsResult<FileFacts> {
        let dir = self.dir(fd)?;
        match self.last_mount.facts(&dir, path, flags.contains(PathFlags::SYMLINK_FOLLOW)) {
            Some(facts) => Ok(facts),
            None => Ok(FileFacts::read(&self.look(fd, flags, path)?)?),
        }
    }
}

const READ_ONLY: ErrorCode = ErrorCode::ReadOnly;

impl types::Host for StoreState {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        let code = error.downcast()?;
        self.note(&code);
        Ok(code)
    }

    fn filesystem_error_code(
        &mut self,
        error: Resource<wasmtime::Error>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        let code = types::Host::filesystem_error_code(&mut self.filesystem(), error)?;
        code.iter().for_each(|code| self.note(code));
        Ok(code)
    }
}

impl types::HostDescriptor for StoreState {
    async fn open_at(
        &mut self,
        fd: Handle,
        path_flags: PathFlags,
        path: String,
        oflags: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Handle> {
        if let Some(scratch) = self.scratch_handle(&fd) {
            let opened = scratch.open_at(&path, oflags, flags)?;
            return Ok(self.hand_out(opened)?);
        }
        if flags.contains(DescriptorFlags::WRITE)
            || oflags.intersects(OpenFlags::CREATE | OpenFlags::TRUNCATE)
        {
            return Err(READ_ONLY.into());
        }
        let as_dir = |dir| Descriptor::Dir(Dir::new(dir, FsPerms::ReadOnly, OpenMode::READ, true));
        if oflags.contains(OpenFlags::DIRECTORY) {
            let follow = path_flags.contains(PathFlags::SYMLINK_FOLLOW);
            let found = look_into(&*self.dir(&fd)?, &path, follow)?;
            return Ok(self.table.push(as_dir(found))?);
        }
        let handle = self.look(&fd, path_flags, &path)?;
        let found = match FileFacts::read(&handle)?.kind() {
            DescriptorType::Directory => as_dir(File::from(reopen(&handle, OFlags::DIRECTORY)?)),
            DescriptorType::RegularFile => {
                let file = File::from(reopen(&handle, OFlags::empty())?);
                Descriptor::File(WasiFile::new(file, FsPerms::ReadOnly, OpenMode::READ, true))
            }
            DescriptorType::SymbolicLink => return Err(ErrorCode::Loop.into()),
            _ => return Err(ErrorCode::Unsupported.into()),
        };
        Ok(self.table.push(found)?)
    }

    async fn read_directory(&mut self, fd: Handle) -> FsResult<Resource<types::DirectoryEntryStream>> {
        let entries = match self.scratch_handle(&fd) {
            Some(scratch) => DirectoryEntries::Scratch(scratch.entries()?.into()),
            None => DirectoryEntries::read(self.dir(&fd)?.as_ref())?,
        };
        // The stock stream type cannot be built outside its crate; the handle is looked up under
        // our type.
        Ok(Resource::new_own(self.table.push(entries)?.rep()))
    }

    async fn stat(&mut self, fd: Handle) -> FsResult<DescriptorStat> {
        if let Some(scratch) = self.scratch_handle(&fd) {
            return Ok(scratch.stat());
        }
        let file = self.any(&fd)?;
        Ok(FileFacts::read(&file)?.stat())
    }

    async fn stat_at(&mut self, fd: Handle, flags: PathFlags, path: String) -> FsResult<DescriptorStat> {
        if let Some(scratch) = self.scratch_handle(&fd) {
            return Ok(scratch.stat_at(&path)?);
        }
        Ok(self.facts(&fd, flags, &path)?.stat())
    }

    async fn readlink_at(&mut self, fd: Handle, path: String) -> FsResult<String> {
        if self.scratch_handle(&fd).is_some() {
            return Err(ErrorCode::Invalid.into());
        }
        let link = self.look(&fd, PathFlags::empty(), &path)?;
        let target = rustix::fs::readlinkat(&link, "", Vec::new()).map_err(std::io::Error::from)?;
        let target = target.into_string().map_err(|_| ErrorCode::IllegalByteSequence)?;
        // An absolute target is a path of the host.
        if target.starts_with('/') { Err(ErrorCode::NotPermitted.into()) } else { Ok(target) }
    }

    async fn is_same_object(&mut self, a: Handle, b: Handle) -> wasmtime::Result<bool> {
        match (self.scratch_handle(&a), self.scratch_handle(&b)) {
            (None, None) => {}
            (Some(a), Some(b)) => return Ok(a.hash().lower == b.hash().lower),
            _ => return Ok(false),
        }
        let (a, b) = (FileFacts::read(&*self.any(&a)?)?, FileFacts::read(&*self.any(&b)?)?);
        Ok(a.is_same(&b))
    }

    async fn metadata_hash(&mut self, fd: Handle) -> FsResult<types::MetadataHashValue> {
        if let Some(scratch) = self.scratch_handle(&fd) {
            return Ok(scratch.hash());
        }
        let file = self.any(&fd)?;
        Ok(FileFacts::read(&file)?.hash())
    }

    async fn metadata_hash_at(
        &mut self,
        fd: Handle,
        flags: PathFlags,
        path: String,
    ) -> FsResult<types::MetadataHashValue> {
        if let Some(scratch) = self.scratch_handle(&fd) {
            return Ok(scratch.hash_at(&path)?);
        }
        Ok(self.facts(&fd, flags, &path)?.hash())
    }

    async fn advise(&mut self, fd: Handle, at: u64, len: u64, advice: types::Advice) -> FsResult<()> {
        if self.scratch_handle(&fd).is_some() {
            return Ok(());
        }
        self.filesystem().advise(fd, at, len, advice).await
    }

    async fn get_flags(&mut self, fd: Handle) -> FsResult<DescriptorFlags> {
        if let Some(scratch) = self.scratch_handle(&fd) {
            return Ok(scratch.flags());
        }
        self.filesystem().get_flags(fd).await
    }

    async fn get_type(&mut self, fd: Handle) -> FsResult<DescriptorType> {
        if let Some(scratch) = self.scratch_handle(&fd) {
            return Ok(scratch.kind());
        }
        self.filesystem().get_type(fd).await
    }

    async fn read(&mut self, fd: Handle, len: u64, offset: u64) -> FsResult<(Vec<u8>, bool)> {
        let wanted = usize::try_from(len).unwrap_or(usize::MAX).min(READ_BYTES_MAX);
        if let Some(scratch) = self.scratch_handle(&fd) {
            return Ok(scratch.read(offset, wanted)?);
        }
        let file = match self.table.get(&fd)? {
            Descriptor::File(file) => &file.file,
            Descriptor::Dir(_) => return Err(ErrorCode::IsDirectory.into()),
        };
        let mut bytes = Vec::with_capacity(wanted);
        let read = retry_on_intr(|| pread(file, spare_capacity(&mut bytes), offset));
        let read = read.map_err(std::io::Error::from)?;
        bytes.truncate(wanted);
        // Only at its end does a regular file give less than was asked for.
        Ok((bytes, read < wanted))
    }

    fn read_via_stream(&mut self, fd: Handle, offset: u64) -> FsResult<Resource<DynInputStream>> {
        if let Some(scratch) = self.scratch_handle(&fd) {
            return Ok(self.table.push(scratch.read_via_stream(offset)?)?);
        }
        let file = match self.table.get(&fd)? {
            Descriptor::File(file) => file.file.clone(),
            Descriptor::Dir(_) => return Err(ErrorCode::IsDirectory.into()),
        };
        Ok(self.table.push(stream_file(file, offset, self.disk.clone()))?)
    }

    fn drop(&mut self, fd: Handle) -> wasmtime::Result<()> {
        if self.scratch_handle(&fd).is_some() {
            self.table.delete(Resource::<ScratchHandle>::new_own(fd.rep()))?;
            return Ok(());
        }
        types::HostDescriptor::drop(&mut self.filesystem(), fd)
    }

    // There is nothing to flush in a read-only descriptor.
    async fn sync_data(&mut self, _: Handle) -> FsResult<()> {
        Ok(())
    }

    async fn sync(&mut self, _: Handle) -> FsResult<()> {
        Ok(())
    }

    async fn set_size(&mut self, fd: Handle, len: u64) -> FsResult<()> {
        Ok(self.writable_handle(&fd)?.set_size(len)?)
    }

    // Nobody sees the times of a scratch file.
    async fn set_times(
        &mut self,
        fd: Handle,
        _: types::NewTimestamp,
        _: types::NewTimestamp,
    ) -> FsResult<()> {
        self.writable_handle(&fd).map(drop)
    }

    async fn set_times_at(
        &mut self,
        fd: Handle,
        _: PathFlags,
        path: String,
        _: types::NewTimestamp,
        _: types::NewTimestamp,
    ) -> FsResult<()> {
        self.writable_handle(&fd)?.stat_at(&path)?;
        Ok(())
    }

    async fn write(&mut self, fd: Handle, bytes: Vec<u8>, offset: u64) -> FsResult<u64> {
        Ok(self.writable_handle(&fd)?.write(offset, &bytes)?)
    }

    fn write_via_stream(&mut self, fd: Handle, at: u64) -> FsResult<Resource<DynOutputStream>> {
        let stream = self.writable_handle(&fd)?.write_via_stream(Some(at))?;
        Ok(self.table.push(stream)?)
    }

    fn append_via_stream(&mut self, fd: Handle) -> FsResult<Resource<DynOutputStream>> {
        let stream = self.writable_handle(&fd)?.write_via_stream(None)?;
        Ok(self.table.push(stream)?)
    }

    async fn create_directory_at(&mut self, fd: Handle, path: String) -> FsResult<()> {
        Ok(self.writable_handle(&fd)?.create_directory_at(&path)?)
    }

    async fn remove_directory_at(&mut self, fd: Handle, path: String) -> FsResult<()> {
        Ok(self.writable_handle(&fd)?.remove_directory_at(&path)?)
    }

    async fn rename_at(&mut self, fd: Handle, from: String, to: Handle, path: String) -> FsResult<()> {
        let (from_dir, to) = (self.writable_handle(&fd)?, self.writable_handle(&to)?);
        Ok(from_dir.rename_at(&from, &to, &path)?)
    }

    async fn unlink_file_at(&mut self, fd: Handle, path: String) -> FsResult<()> {
        Ok(self.writable_handle(&fd)?.unlink_file_at(&path)?)
    }

    // There are no links in a scratch folder either: nothing in it leads elsewhere.
    async fn link_at(&mut self, fd: Handle, _: PathFlags, _: String, _: Handle, _: String) -> FsResult<()> {
        self.writable_handle(&fd)?;
        Err(ErrorCode::NotPermitted.into())
    }

    async fn symlink_at(&mut self, fd: Handle, _: String, _: String) -> FsResult<()> {
        self.writable_handle(&fd)?;
        Err(ErrorCode::NotPermitted.into())
    }
}
