//! Opening beneath a mount: every path is resolved by `openat2`, first as a bare handle, and
//! nothing of the gateway's own is found.

use cofferdam_core::path::GuestPath;
use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::path::DecInt;
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::sync::OnceLock;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

/// A bare handle (`O_PATH`) on what lies at `path` beneath `dir`.
pub(crate) fn look(dir: &File, path: &str, follow: bool) -> Result<File, ErrorCode> {
    let leaf = if follow { OFlags::empty() } else { OFlags::NOFOLLOW };
    open_checked(dir, path, OFlags::PATH | leaf)
}

/// The directory at `path` beneath `dir`, for reading. Nothing has to be looked at first: what is
/// no directory, the kernel refuses before it is opened.
pub(crate) fn look_into(dir: &File, path: &str, follow: bool) -> Result<File, ErrorCode> {
    let leaf = if follow { OFlags::empty() } else { OFlags::NOFOLLOW };
    open_checked(dir, path, OFlags::RDONLY | OFlags::DIRECTORY | leaf)
}

fn open_checked(dir: &File, path: &str, flags: OFlags) -> Result<File, ErrorCode> {
    if path.split('/').any(|name| name.starts_with(GuestPath::RESERVED_PREFIX)) {
        return Err(ErrorCode::NoEntry);
    }
    // Without a link on the way there is nothing more to ask; that is nearly always.
    match open_beneath(dir, path, flags, ResolveFlags::NO_SYMLINKS) {
        Err(Errno::LOOP) => {}
        found => return found.map_err(refusal),
    }
    let found = open_beneath(dir, path, flags, ResolveFlags::empty()).map_err(refusal)?;
    match is_reserved(dir, &found) {
        Ok(false) => Ok(found),
        Ok(true) => Err(ErrorCode::NoEntry),
        Err(_) => Err(ErrorCode::Io),
    }
}

/// Whether what was found through a link is the gateway's own.
fn is_reserved(dir: &File, found: &File) -> Result<bool, Errno> {
    let place = |file: &File| {
        let target = rustix::fs::readlinkat(own_handles()?, DecInt::from_fd(file).as_c_str(), Vec::new())?;
        Ok::<_, Errno>(OsString::from_vec(target.into_bytes()))
    };
    let (root, found) = (place(dir)?, place(found)?);
    Ok(GuestPath::is_reserved_below(Path::new(&root), Path::new(&found)))
}

fn open_beneath(dir: &File, path: &str, flags: OFlags, resolve: ResolveFlags) -> Result<File, Errno> {
    let flags = flags | OFlags::CLOEXEC;
    let resolve = resolve | ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
    // EAGAIN: something was renamed meanwhile, and the kernel cannot tell whether the path still
    // lies beneath. A guest that makes this happen only delays itself.
    for _ in 0..16 {
        match rustix::fs::openat2(dir, path, flags, Mode::empty(), resolve) {
            Ok(fd) => return Ok(File::from(fd)),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Err(Errno::AGAIN)
}

fn refusal(errno: Errno) -> ErrorCode {
    match errno {
        Errno::AGAIN => ErrorCode::Busy,
        // Leaves the mount, or enters another one.
        Errno::XDEV => ErrorCode::NotPermitted,
        errno => std::io::Error::from(errno).into(),
    }
}

/// This process's own handles by number, opened once: each path through /proc would be four
/// look-ups, and a confined process cannot open it any more.
pub(crate) fn own_handles() -> Result<BorrowedFd<'static>, Errno> {
    static HANDLES: OnceLock<Result<OwnedFd, Errno>> = OnceLock::new();
    let own = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let handles = HANDLES.get_or_init(|| rustix::fs::open("/proc/self/fd", own, Mode::empty()));
    handles.as_ref().map(AsFd::as_fd).map_err(|errno| *errno)
}

/// Opens for reading what a bare handle stands for, by the handle itself, so nothing can be
/// swapped.
pub(crate) fn reopen(handle: &File, flags: OFlags) -> Result<OwnedFd, ErrorCode> {
    // Without /proc nothing can be read; that is no "not found".
    let handles = own_handles().map_err(|_| ErrorCode::Io)?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY | flags;
    let name = DecInt::from_fd(handle);
    rustix::fs::openat(handles, name.as_c_str(), flags, Mode::empty())
        .map_err(|errno| std::io::Error::from(errno).into())
}
