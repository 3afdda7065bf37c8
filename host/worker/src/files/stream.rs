//! A file's bytes as a stream, read on the guest's own thread when it asks: the stock stream reads
//! on a thread of its own unless the guest says that it waits, and a worker may start none.

use bytes::Bytes;
use rustix::io::Errno;
use std::fs::File;
use std::sync::Arc;
use wasmtime_wasi::p2::{InputStream, Pollable, StreamError, StreamResult};

/// One read gives at most so many bytes.
const PIECE_BYTES: usize = 64 << 10;

/// What is left of a file from a place on.
pub(super) struct FileStream {
    /// None at the end, and after an error.
    file: Option<Arc<File>>,
    at: u64,
}

impl FileStream {
    pub(super) fn new(file: Arc<File>, at: u64) -> Self {
        Self { file: Some(file), at }
    }
}

#[async_trait::async_trait]
impl Pollable for FileStream {
    /// A regular file always has something to say.
    async fn ready(&mut self) {}
}

#[async_trait::async_trait]
impl InputStream for FileStream {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        let Some(file) = &self.file else { return Err(StreamError::Closed) };
        if size == 0 {
            return Ok(Bytes::new());
        }
        let mut piece = vec![0; size.min(PIECE_BYTES)];
        let read = loop {
            match rustix::io::pread(file, &mut piece, self.at) {
                Err(Errno::INTR) => {}
                read => break read,
            }
        };
        match read {
            Ok(read) if read > 0 => {
                self.at += read as u64;
                piece.truncate(read);
                Ok(piece.into())
            }
            ended => {
                self.file = None;
                Err(match ended {
                    Ok(_) => StreamError::Closed,
                    Err(errno) => StreamError::LastOperationFailed(std::io::Error::from(errno).into()),
                })
            }
        }
    }
}
