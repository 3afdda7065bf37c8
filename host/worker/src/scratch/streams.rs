//! Bytes of scratch files as streams.

use super::ScratchFile;
use crate::input::stream_from;
use crate::output::{ByteSink, check_permit};
use bytes::Bytes;
use rustix::io::Errno;
use std::sync::Arc;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;
use wasmtime_wasi::p2::{DynInputStream, StreamError, StreamResult};

/// One read or write has at most so many bytes.
const PIECE_BYTES: usize = 64 << 10;

/// What is written to a file, from a place on or at its end.
pub(super) struct ScratchWriter {
    pub(super) file: Arc<ScratchFile>,
    pub(super) at: Option<u64>,
}

/// What is left of a file from a place on.
pub(super) fn stream_scratch(file: Arc<ScratchFile>, mut at: u64) -> DynInputStream {
    stream_from(move |size| {
        if size == 0 {
            return Ok(Bytes::new());
        }
        let piece = file.read(at, size.min(PIECE_BYTES));
        if piece.is_empty() {
            return Err(StreamError::Closed);
        }
        at += piece.len() as u64;
        Ok(piece.into())
    })
}

impl ByteSink for ScratchWriter {
    const PERMIT_BYTES: usize = PIECE_BYTES;

    fn append(&mut self, bytes: &[u8]) -> StreamResult<()> {
        check_permit::<Self>(bytes)?;
        let written = match &mut self.at {
            None => self.file.append(bytes),
            Some(at) => self.file.write(*at, bytes).map(|()| *at += bytes.len() as u64),
        };
        written.map_err(|code| {
            let errno = if code == ErrorCode::FileTooLarge { Errno::FBIG } else { Errno::NOSPC };
            StreamError::LastOperationFailed(std::io::Error::from(errno).into())
        })
    }
}
