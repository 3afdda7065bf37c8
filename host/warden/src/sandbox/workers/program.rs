//! The program that workers run: embedded in this one when it was built, and started from a sealed
//! memory file, so that nobody changes it on the way and nothing has to be installed beside the
//! gateway.

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::OnceLock;

include!(concat!(env!("OUT_DIR"), "/worker.rs"));

/// Its size, in bytes.
pub fn worker_bytes() -> usize {
    WORKER.len()
}

/// Where the program can be started from, as long as this process runs.
///
/// # Errors
/// What the system says where it makes or runs no memory file.
pub(super) fn path() -> io::Result<PathBuf> {
    static PROGRAM: OnceLock<OwnedFd> = OnceLock::new();
    let program = match PROGRAM.get() {
        Some(program) => program,
        // Two at once make two, and one of them stays.
        None => {
            let made = seal_memory_file("cofferdam-worker", &[WORKER], MemfdFlags::EXEC)?;
            let_go(WORKER);
            PROGRAM.get_or_init(|| made)
        }
    };
    Ok(format!("/proc/self/fd/{}", program.as_raw_fd()).into())
}

/// Lets the pages of embedded bytes go, which were read once to be copied: the gateway needs them
/// no more, and they would count as its memory. Read again, they come from the program's file.
#[allow(unsafe_code, reason = "the system cannot check what is advised; see SAFETY")]
pub(super) fn let_go(embedded: &'static [u8]) {
    let page = rustix::param::page_size();
    let (start, end) = (embedded.as_ptr() as usize, embedded.as_ptr() as usize + embedded.len());
    let (first, last) = (start.next_multiple_of(page), end / page * page);
    if first < last {
        // SAFETY: whole pages within constant bytes of the program, which nobody writes: without
        // its page such a byte is read from the file anew, and is the same.
        let advised =
            unsafe { rustix::mm::madvise(first as *mut _, last - first, rustix::mm::Advice::LinuxDontNeed) };
        // They stay, and nothing else is different.
        let _ = advised;
    }
}

/// A memory file with these bytes, which nobody can change any more.
///
/// # Errors
/// What the system says.
pub(super) fn seal_memory_file(name: &str, parts: &[&[u8]], kind: MemfdFlags) -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let made = match memfd_create(name, flags | kind) {
        // Linux before 6.3 does not know whether one may be run: all may.
        Err(Errno::INVAL) => memfd_create(name, flags),
        made => made,
    };
    let file = File::from(made?);
    for part in parts {
        (&file).write_all(part)?;
    }
    fcntl_add_seals(&file, SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE)?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_is_as_it_was_and_stays_so() {
        let sealed =
            File::from(seal_memory_file("test", &[b"by", b"tes"], MemfdFlags::NOEXEC_SEAL).expect("made"));
        assert_eq!(
            std::io::read_to_string(File::open(path_of(&sealed)).expect("open")).expect("read"),
            "bytes"
        );
        let refused =
            |done: io::Result<()>| assert_eq!(done.expect_err("sealed").raw_os_error(), Some(libc::EPERM));
        refused((&sealed).write_all(b"x"));
        refused(sealed.set_len(0));
        refused(sealed.set_len(100));
    }

    fn path_of(file: &File) -> PathBuf {
        format!("/proc/self/fd/{}", file.as_raw_fd()).into()
    }

    #[test]
    fn the_program_is_the_one_that_was_built() {
        assert_eq!(
            cofferdam_core::audit::sha256_hex(&std::fs::read(path().expect("made")).expect("read")),
            WORKER_SHA256
        );
        // Its pages were let go, and come back as they were.
        let_go(WORKER);
        assert_eq!(cofferdam_core::audit::sha256_hex(WORKER), WORKER_SHA256);
    }
}
