//! A file's bytes as a stream, read on the guest's own thread when it asks: the stock stream reads
//! on a thread of its own unless the guest says that it waits, and a worker may start none.

use crate::input::stream_from;
use crate::state::DiskReads;
use bytes::Bytes;
use rustix::buffer::spare_capacity;
use rustix::io::{pread, retry_on_intr};
use std::fs::File;
use std::sync::Arc;
use wasmtime_wasi::p2::{DynInputStream, StreamError};

/// One read gives at most so many bytes.
const PIECE_BYTES: usize = 64 << 10;
/// A guest that asks for less finds the rest of so many bytes at hand when it asks again.
const AHEAD_BYTES: usize = 4 << 10;

/// What is left of a file from a place on. `disk` is told of a disk that fails: guests do not ask
/// what a stream's error was, their libraries take each for the same.
pub(super) fn stream_file(file: Arc<File>, mut at: u64, disk: DiskReads) -> DynInputStream {
    // None at the end, and after an error.
    let mut file = Some(file);
    // Read, and not given out yet.
    let mut ahead = Bytes::new();
    stream_from(move |size| {
        let Some(open) = &file else { return Err(StreamError::Closed) };
        if size == 0 {
            return Ok(Bytes::new());
        }
        if !ahead.is_empty() {
            return Ok(ahead.split_to(size.min(ahead.len())));
        }
        // Not zeroed first: most files are much shorter than what a guest asks for.
        let mut piece = Vec::with_capacity(size.clamp(AHEAD_BYTES, PIECE_BYTES));
        match retry_on_intr(|| pread(open, spare_capacity(&mut piece), at)) {
            Ok(read) if read > 0 => {
                at += read as u64;
                let mut piece = Bytes::from(piece);
                ahead = piece.split_off(read.min(size).min(PIECE_BYTES));
                Ok(piece)
            }
            ended => {
                file = None;
                Err(match ended {
                    Ok(_) => StreamError::Closed,
                    Err(errno) => {
                        disk.fail();
                        StreamError::LastOperationFailed(std::io::Error::from(errno).into())
                    }
                })
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_fails_under_a_stream_is_noted() {
        let read = |file: File| {
            let disk = DiskReads::default();
            let read = stream_file(Arc::new(file), 0, disk.clone()).read(1);
            (read, disk.have_failed())
        };
        let empty = File::open("/dev/null").expect("it is there");
        assert!(matches!(read(empty), (Err(StreamError::Closed), false)));
        // The system refuses to read what is open for writing alone.
        let unreadable = File::options().write(true).open("/dev/null").expect("it is there");
        assert!(matches!(read(unreadable), (Err(StreamError::LastOperationFailed(_)), true)));
    }
}
