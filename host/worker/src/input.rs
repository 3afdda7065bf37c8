//! Streams that a guest reads. The bytes are got when it asks, on its own thread; a read that has
//! to wait for the gateway does so by itself, so no stream ever has to be waited for.

use bytes::Bytes;
use wasmtime_wasi::p2::{DynInputStream, InputStream, Pollable, StreamResult};

/// What gives the bytes that a guest reads.
struct StreamFrom<F>(F);

#[async_trait::async_trait]
impl<F: Send + 'static> Pollable for StreamFrom<F> {
    async fn ready(&mut self) {}
}

impl<F: FnMut(usize) -> StreamResult<Bytes> + Send + 'static> InputStream for StreamFrom<F> {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        (self.0)(size)
    }
}

/// A stream of what `read` gives, which is asked for at most so many bytes each time.
pub(crate) fn stream_from(read: impl FnMut(usize) -> StreamResult<Bytes> + Send + 'static) -> DynInputStream {
    Box::new(StreamFrom(read))
}
