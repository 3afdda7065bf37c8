//! Bytes of scratch files as streams.

use super::ScratchFile;
use bytes::Bytes;
use rustix::io::Errno;
use std::sync::Arc;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;
use wasmtime_wasi::p2::{InputStream, OutputStream, Pollable, StreamError, StreamResult};

/// One read or write has at most so many bytes.
const PIECE_BYTES: usize = 64 << 10;

/// What is left of a file from a place on.
pub(super) struct ScratchReader {
    file: Arc<ScratchFile>,
    at: u64,
}

/// What is written to a file, from a place on or at its end.
pub(super) struct ScratchWriter {
    file: Arc<ScratchFile>,
    at: Option<u64>,
}

impl ScratchReader {
    pub(super) fn new(file: Arc<ScratchFile>, at: u64) -> Self {
        Self { file, at }
    }
}

impl ScratchWriter {
    pub(super) fn new(file: Arc<ScratchFile>, at: Option<u64>) -> Self {
        Self { file, at }
    }
}

#[async_trait::async_trait]
impl Pollable for ScratchReader {
    async fn ready(&mut self) {}
}

impl InputStream for ScratchReader {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        if size == 0 {
            return Ok(Bytes::new());
        }
        let piece = self.file.read(self.at, size.min(PIECE_BYTES));
        if piece.is_empty() {
            return Err(StreamError::Closed);
        }
        self.at += piece.len() as u64;
        Ok(piece.into())
    }
}

#[async_trait::async_trait]
impl Pollable for ScratchWriter {
    async fn ready(&mut self) {}
}

impl OutputStream for ScratchWriter {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        if bytes.len() > PIECE_BYTES {
            return Err(StreamError::trap("more bytes than the stream permits at once"));
        }
        let written = match &mut self.at {
            None => self.file.append(&bytes),
            Some(at) => self.file.write(*at, &bytes).map(|()| *at += bytes.len() as u64),
        };
        written.map_err(|code| {
            let errno = if code == ErrorCode::FileTooLarge { Errno::FBIG } else { Errno::NOSPC };
            StreamError::LastOperationFailed(std::io::Error::from(errno).into())
        })
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(PIECE_BYTES)
    }

    // The stock one allocates as much as the guest asks for.
    fn write_zeroes(&mut self, nelem: usize) -> StreamResult<()> {
        if nelem > PIECE_BYTES {
            return Err(StreamError::trap("more zeroes than the stream permits at once"));
        }
        self.write(vec![0; nelem].into())
    }
}
