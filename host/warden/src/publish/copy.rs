//! Copies a whole file into a staged one, inside the kernel where it can, in slices between which
//! the call's stop is looked at. It holds at most one buffer of [`BUFFER_BYTES`].

use super::error::PublishError;
use super::stage::StageTarget;
use rustix::fs::{FallocateFlags, copy_file_range, fallocate, ioctl_ficlone};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Between two looks at the stop check lies at most this much work.
pub(super) const SLICE_BYTES: usize = 1 << 20;

/// Large enough that a copy through memory is bound by memory, small enough to go unnoticed.
pub(super) const BUFFER_BYTES: usize = 256 << 10;

/// Appends the first `len` bytes of `source` to `target`, which holds `at` bytes. Where the
/// filesystem can let two files share their blocks, a whole file costs next to nothing.
pub(super) fn append(
    place: &StageTarget,
    source: &File,
    len: u64,
    target: &File,
    at: u64,
) -> Result<(), PublishError> {
    if at == 0 && try_clone_blocks(source, len, target).map_err(place.failed("copying"))? {
        return Ok(());
    }
    preallocate(place, target, at, len)?;
    let mut done = 0;
    while done < len {
        place.check()?;
        let (mut from, mut to) = (done, at + done);
        let slice = usize::try_from(len - done).unwrap_or(usize::MAX).min(SLICE_BYTES);
        match copy_file_range(source, Some(&mut from), target, Some(&mut to), slice) {
            // Two filesystems, or one that cannot do it. Some say 0 where there is something to
            // read; reading tells the truth.
            Ok(0) | Err(Errno::XDEV | Errno::NOSYS | Errno::OPNOTSUPP | Errno::INVAL | Errno::PERM) => {
                return for_each_buffer(place, source, done..len, |offset, bytes| {
                    target.write_all_at(bytes, at + offset)
                });
            }
            Ok(copied) => done += copied as u64,
            Err(Errno::INTR) => {}
            // It does not tell which side failed; reading tells of one.
            Err(errno) => {
                for_each_buffer(place, source, done..done + slice as u64, |_, _| Ok(()))?;
                return Err(place.failed("copying")(errno));
            }
        }
    }
    Ok(())
}

/// Whether `target` shares the blocks of all of `source` now, which is `len` long.
fn try_clone_blocks(source: &File, len: u64, target: &File) -> io::Result<bool> {
    let whole = source.metadata().is_ok_and(|m| m.len() == len);
    if !whole || ioctl_ficlone(target, source).is_err() { Ok(false) } else { keep_if_whole(target, len) }
}

/// Whether a clone is as long as what was charged and will be hashed. A source that grew or shrank
/// since it was looked at was cloned as it was then: such a clone is emptied, and its bytes are to
/// be copied.
fn keep_if_whole(target: &File, len: u64) -> io::Result<bool> {
    if target.metadata()?.len() == len {
        return Ok(true);
    }
    target.set_len(0)?;
    Ok(false)
}

/// Sets aside room for `len` bytes at `at`, so that a full disk is told before anything is copied,
/// and so that copying needs no room found piece by piece (measured: a tenth less time for 40 MiB).
fn preallocate(place: &StageTarget, target: &File, at: u64, len: u64) -> Result<(), PublishError> {
    match fallocate(target, FallocateFlags::empty(), at, len) {
        Err(errno @ (Errno::NOSPC | Errno::DQUOT)) => Err(place.failed("making room for it")(errno)),
        // Where it is not offered, copying finds the room, or tells the error.
        _ => Ok(()),
    }
}

/// Hands a part of `file` to `take`, buffer by buffer, each with its offset.
///
/// # Errors
/// Also when the file ends before the part does.
pub(super) fn for_each_buffer(
    place: &StageTarget,
    file: &File,
    part: std::ops::Range<u64>,
    mut take: impl FnMut(u64, &[u8]) -> io::Result<()>,
) -> Result<(), PublishError> {
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut offset = part.start;
    while offset < part.end {
        place.check()?;
        let want = usize::try_from(part.end - offset).unwrap_or(usize::MAX).min(BUFFER_BYTES);
        let bytes = &mut buffer[..want];
        file.read_exact_at(bytes, offset).map_err(|error| place.reading_failed(error))?;
        take(offset, bytes).map_err(place.failed("writing"))?;
        offset += want as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_of_a_source_that_changed_is_not_kept() {
        let clone = tempfile::tempfile().expect("writable");
        for (found, expected) in [(5, true), (4, false), (6, false), (0, false), (1 << 20, false)] {
            clone.set_len(found).expect("writable");
            assert_eq!(keep_if_whole(&clone, 5).expect("a file"), expected, "{found} bytes");
            let left = if expected { found } else { 0 };
            assert_eq!(clone.metadata().expect("a file").len(), left, "{found} bytes");
        }
    }
}
