//! One try in a child: what it does to its process ends with it.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// Runs `work` in a child of this process, which ends with the code that `work` returns, and waits
/// for it. A child is a copy: it costs a start of the program no more than its pages.
///
/// # Errors
/// When this process has further threads, or the system refuses a child.
#[allow(unsafe_code, reason = "no safe library offers `fork`; see SAFETY")]
pub fn run_in_child(work: impl FnOnce() -> u8) -> io::Result<ExitStatus> {
    crate::status::single_threaded().map_err(io::Error::other)?;
    // SAFETY: this process has one thread, so that the child's copy holds no lock of another and
    // may do all that this process may.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => std::process::exit(work().into()),
        child => {
            let child = rustix::process::Pid::from_raw(child);
            let ended = rustix::process::waitpid(child, rustix::process::WaitOptions::empty())?;
            let (_, status) = ended.ok_or(io::ErrorKind::WouldBlock)?;
            Ok(ExitStatus::from_raw(status.as_raw()))
        }
    }
}
