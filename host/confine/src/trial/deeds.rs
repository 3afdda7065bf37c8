//! Deeds that take more than a line: sockets, programs, and system calls that no safe library
//! offers.

use rustix::net::{AddressFamily, SocketAddrV4, SocketType};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

fn socket() -> io::Result<OwnedFd> {
    Ok(rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None)?)
}

/// A listener on a free port of loopback.
pub(super) fn listen() -> io::Result<OwnedFd> {
    let socket = socket()?;
    rustix::net::bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?;
    rustix::net::listen(&socket, 1)?;
    Ok(socket)
}

/// The port of a listener.
pub(super) fn port(listener: &OwnedFd) -> io::Result<u16> {
    Ok(SocketAddrV4::try_from(rustix::net::getsockname(listener)?)?.port())
}

/// Connects to a port of loopback.
pub(super) fn connect(port: u16) -> io::Result<()> {
    Ok(rustix::net::connect(socket()?, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))?)
}

/// Starts a program and waits for it to succeed. What it prints is dropped.
pub(super) fn start(program: &str, arguments: &[&std::ffi::OsStr]) -> io::Result<()> {
    // Not the null device, which is refused too.
    let output = Command::new(program).args(arguments).stdin(Stdio::inherit()).output()?;
    match output.status {
        status if status.success() => Ok(()),
        status => Err(io::Error::other(status.to_string())),
    }
}

/// Opens `/etc/passwd`, or in a root without one a file that the kernel has there.
pub(super) fn open_anybodys_file() -> io::Result<()> {
    match std::fs::File::open("/etc/passwd") {
        Err(absent) if absent.kind() == io::ErrorKind::NotFound => std::fs::File::open("/proc/version"),
        opened => opened,
    }
    .map(drop)
}

/// Starts a thread and waits for its end. musl says "try again" for every error of `clone`, so
/// there that counts as a refusal.
pub(super) fn start_thread() -> io::Result<()> {
    match std::thread::Builder::new().name("trial".into()).spawn(|| ()) {
        Ok(thread) => thread.join().map_err(|_| io::ErrorKind::Other.into()),
        Err(error) if cfg!(target_env = "musl") && error.kind() == io::ErrorKind::WouldBlock => {
            Err(rustix::io::Errno::PERM.into())
        }
        Err(error) => Err(error),
    }
}

/// Becomes a program. What comes back is why not.
pub(super) fn become_program(program: &str) -> io::Result<()> {
    Err(Command::new(program).exec())
}

/// Makes a system call with these numbers and zeros after them: it is refused, or the kernel finds
/// them wrong.
#[allow(unsafe_code, reason = "these calls have no safe interface, and are to be refused; see SAFETY")]
pub(super) fn call(number: libc::c_long, arguments: [libc::c_long; 3]) -> io::Result<()> {
    let [first, second, third] = arguments;
    // SAFETY: every pointer is null and every length is zero, so that no call of the tables can
    // touch this process's memory, with or without a filter. Calls for which zeros mean to start a
    // process are not in the tables, or have flags there with which the kernel starts none.
    match unsafe { libc::syscall(number, first, second, third, 0, 0, 0) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Asks for a page of memory, shared or private.
#[allow(unsafe_code, reason = "mapping has no safe interface; see SAFETY")]
pub(super) fn map(kind: libc::c_int) -> io::Result<()> {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, kind | libc::MAP_ANONYMOUS);
    // SAFETY: the kernel chooses a place where nothing is, and nobody uses the page.
    match unsafe { libc::mmap(std::ptr::null_mut(), 4096, protection, flags, -1, 0) } {
        libc::MAP_FAILED => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
