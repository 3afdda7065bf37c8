//! The program that workers run: embedded in this one when it was built, packed, and started from a
//! sealed memory file, so that nobody changes it on the way and nothing has to be installed beside
//! the gateway.

use lz4_flex::frame::FrameDecoder;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, Write};
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::OnceLock;

include!(concat!(env!("OUT_DIR"), "/worker.rs"));

/// Bytes that are embedded in this program: as they are, or as an LZ4 frame (the specification is
/// in the repository `lz4/lz4`, `doc/lz4_Frame_format.md`). Only ever read from the program's own
/// image.
#[derive(Clone, Copy)]
pub struct EmbeddedBytes(pub &'static [u8]);

/// What an LZ4 frame begins with, and neither a program nor machine code does.
const FRAME: &[u8] = &0x184d_2204_u32.to_le_bytes();

impl fmt::Debug for EmbeddedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EmbeddedBytes({} bytes)", self.0.len())
    }
}

impl EmbeddedBytes {
    /// Writes what they are into a memory file; its size besides. A frame is unpacked piece by
    /// piece, so that it is never in this process's own memory as a whole.
    ///
    /// # Errors
    /// What the system says, or that the frame is damaged.
    pub(super) fn seal(self, name: &str, kind: MemfdFlags) -> io::Result<(OwnedFd, u64)> {
        let mut size = 0;
        let sealed = seal_memory_file(name, kind, |file| {
            if !self.0.starts_with(FRAME) {
                size = self.0.len() as u64;
                return file.write_all(self.0);
            }
            let mut unpacked = FrameDecoder::new(self.0);
            loop {
                let piece = unpacked.fill_buf()?;
                let length = piece.len();
                if length == 0 {
                    return Ok(());
                }
                file.write_all(piece)?;
                unpacked.consume(length);
                size += length as u64;
            }
        })?;
        // Read once to be unpacked, they would count as the gateway's memory. Read again, they come
        // from the program's file.
        let Range { start, end } = self.0.as_ptr_range();
        let_pages_go(start as usize..end as usize);
        Ok((sealed, size))
    }
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
            let (made, _) = WORKER.seal("cofferdam-worker", MemfdFlags::EXEC)?;
            PROGRAM.get_or_init(|| made)
        }
    };
    Ok(format!("/proc/self/fd/{}", program.as_raw_fd()).into())
}

/// Lets the pages of this program's code go: what a start alone needs is most of what is mapped by
/// then. What is run again is mapped again, from the page cache.
pub fn let_start_go() {
    let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else { return };
    let Ok(program) = std::fs::read_link("/proc/self/exe") else { return };
    code_of(&maps, &program.to_string_lossy()).for_each(let_pages_go);
}

/// Where the kernel's list of mappings (proc_pid_maps(5)) has the code of a file:
/// `START-END r-xp OFFSET DEVICE INODE PATH`. What may only be read is left out: the loader has
/// written into a part of that.
fn code_of<'m>(maps: &'m str, file: &'m str) -> impl Iterator<Item = Range<usize>> + 'm {
    maps.lines().filter_map(move |line| {
        let mut words = line.split_whitespace();
        let (start, end) = words.next()?.split_once('-')?;
        if words.next()? != "r-xp" || words.nth(3)? != file {
            return None;
        }
        Some(usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?)
    })
}

#[allow(unsafe_code, reason = "the system cannot check what is advised; see SAFETY")]
fn let_pages_go(within: Range<usize>) {
    let page = rustix::param::page_size();
    let (first, last) = (within.start.next_multiple_of(page), within.end / page * page);
    if first < last {
        // SAFETY: whole pages of the program's file that were never written: the one caller has
        // constant bytes without addresses, the other one code, into which no loader of a
        // position-independent program writes. Without its page such a byte is read from the file
        // anew, and is the same.
        let advised =
            unsafe { rustix::mm::madvise(first as *mut _, last - first, rustix::mm::Advice::LinuxDontNeed) };
        // They stay, and nothing else is different.
        let _ = advised;
    }
}

/// A memory file with what is written to it here, which nobody can change any more.
pub(super) fn seal_memory_file(
    name: &str,
    kind: MemfdFlags,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let made = match memfd_create(name, flags | kind) {
        // Linux before 6.3 does not know whether one may be run: all may.
        Err(Errno::INVAL) => memfd_create(name, flags),
        made => made,
    };
    let mut file = File::from(made?);
    write(&mut file)?;
    fcntl_add_seals(&file, SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE)?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_is_as_it_was_and_stays_so() {
        let made = seal_memory_file("test", MemfdFlags::NOEXEC_SEAL, |file| file.write_all(b"bytes"));
        let sealed = File::from(made.expect("made"));
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
        let is_built = |program: Vec<u8>| {
            assert_eq!(cofferdam_core::audit::sha256_hex(&program), WORKER_SHA256);
            assert_eq!(program.len(), WORKER_BYTES);
        };
        is_built(std::fs::read(path().expect("made")).expect("read"));
        // Its pages were let go, and come back as they were.
        let (again, size) = WORKER.seal("test", MemfdFlags::NOEXEC_SEAL).expect("made");
        assert_eq!(size, WORKER_BYTES as u64);
        is_built(std::fs::read(path_of(&File::from(again))).expect("read"));
    }

    #[test]
    fn code_that_was_let_go_runs_as_before() {
        let maps = "55d0-55e0 r--p 00000000 fe:01 7 /bin/a\n55e0-6000 r-xp 00010000 fe:01 7 /bin/a\n\
                    6000-7000 r--p 00a30000 fe:01 7 /bin/a\n7000-8000 rw-p 00b30000 fe:01 7 /bin/a\n\
                    8000-9000 r-xp 00000000 fe:01 8 /bin/a.so\n9000-a000 rw-p 00000000 00:00 0 \nffff r-xp\n";
        assert!(code_of(maps, "/bin/a").eq(std::iter::once(0x55e0..0x6000)));
        let own = std::fs::read_to_string("/proc/self/maps").expect("there");
        let program = std::env::current_exe().expect("it is known");
        assert!(code_of(&own, &program.to_string_lossy()).map(|part| part.len()).sum::<usize>() > 1 << 20);
        for _ in 0..3 {
            let_start_go();
            the_program_is_the_one_that_was_built();
        }
    }

    #[test]
    fn a_frame_is_unpacked_and_a_damaged_one_refused() {
        let bytes: Vec<u8> = (0..1_000_000).map(|at| (at / 7) as u8).collect();
        let mut packing = lz4::EncoderBuilder::new().block_mode(lz4::BlockMode::Linked).build(Vec::new());
        packing.as_mut().expect("memory").write_all(&bytes).expect("memory");
        let whole: &'static [u8] = packing.expect("memory").finish().0.leak();
        assert!(whole.len() < bytes.len() / 2);
        let (made, size) = EmbeddedBytes(whole).seal("test", MemfdFlags::NOEXEC_SEAL).expect("a frame");
        assert_eq!(size, bytes.len() as u64);
        assert!(std::fs::read(path_of(&File::from(made))).expect("read") == bytes);
        let half = EmbeddedBytes(&whole[..whole.len() / 2]);
        half.seal("test", MemfdFlags::NOEXEC_SEAL).expect_err("it is cut off");
    }
}
