//! Streams that a guest writes to. What takes the bytes is done with them at once, on the guest's
//! own thread, so no stream ever has to be waited for.

use bytes::Bytes;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};

/// What takes the bytes that a guest writes.
pub(crate) trait ByteSink: Send + 'static {
    /// Bytes that a guest is told it may write at once.
    const PERMIT_BYTES: usize;

    /// Takes all of them.
    fn append(&mut self, bytes: &[u8]) -> StreamResult<()>;

    /// Takes so many zeroes. The stock stream allocates as much as the guest asks for.
    fn append_zeroes(&mut self, zeroes: usize) -> StreamResult<()> {
        if zeroes > Self::PERMIT_BYTES {
            return Err(StreamError::trap("more zeroes than the stream permits at once"));
        }
        self.append(&vec![0; zeroes])
    }
}

/// Ends a guest that writes more at once than it may.
pub(crate) fn check_permit<S: ByteSink>(bytes: &[u8]) -> StreamResult<()> {
    if bytes.len() > S::PERMIT_BYTES {
        return Err(StreamError::trap("more bytes than the stream permits at once"));
    }
    Ok(())
}

/// A stream to a sink.
#[derive(Clone)]
pub(crate) struct StreamTo<S>(pub(crate) S);

#[async_trait::async_trait]
impl<S: ByteSink> Pollable for StreamTo<S> {
    async fn ready(&mut self) {}
}

impl<S: ByteSink> OutputStream for StreamTo<S> {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.0.append(&bytes)
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(S::PERMIT_BYTES)
    }

    fn write_zeroes(&mut self, nelem: usize) -> StreamResult<()> {
        self.0.append_zeroes(nelem)
    }
}

impl<S> IsTerminal for StreamTo<S> {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl<S: ByteSink + Clone> StdoutStream for StreamTo<S> {
    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        // Only WASI 0.3 asks for this form, and it is not linked.
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}
