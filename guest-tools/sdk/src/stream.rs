//! The blocking side of `wasi:io` streams, in the terms of `std::io`. It never writes more than the
//! host permits, which would trap, and keeps the host's reason when a stream breaks.

use std::io;

use crate::bindings::wasi::io::streams::{InputStream, OutputStream, StreamError};
use crate::{ErrorCode, ToolError};

/// Reads up to `buffer.len()` bytes, waiting for at least one; 0 at the end.
pub(crate) fn read(stream: &InputStream, buffer: &mut [u8]) -> io::Result<usize> {
    if buffer.is_empty() {
        return Ok(0);
    }
    loop {
        match stream.blocking_read(buffer.len() as u64) {
            // The contract allows a host to wake up early.
            Ok(bytes) if bytes.is_empty() => {}
            Ok(bytes) => {
                buffer[..bytes.len()].copy_from_slice(&bytes);
                return Ok(bytes.len());
            }
            Err(StreamError::Closed) => return Ok(0),
            Err(StreamError::LastOperationFailed(why)) => {
                return Err(reason(&why.to_debug_string(), ErrorCode::AttachmentUnavailable));
            }
        }
    }
}

/// Writes as much of `bytes` as the host permits, waiting until it permits some; returns how much.
pub(crate) fn write(stream: &OutputStream, bytes: &[u8]) -> io::Result<usize> {
    if bytes.is_empty() {
        return Ok(0);
    }
    let permitted = loop {
        match stream.check_write().map_err(broken)? {
            0 => stream.subscribe().block(),
            permitted => break usize::try_from(permitted).unwrap_or(usize::MAX),
        }
    };
    let length = bytes.len().min(permitted);
    stream.write(&bytes[..length]).map_err(broken)?;
    Ok(length)
}

/// Waits until the host has taken everything written so far.
pub(crate) fn flush(stream: &OutputStream) -> io::Result<()> {
    stream.blocking_flush().map_err(broken)
}

fn broken(error: StreamError) -> io::Error {
    match error {
        StreamError::Closed => {
            ToolError::new(ErrorCode::WriteFailed, "The host takes no more of this file").into()
        }
        StreamError::LastOperationFailed(why) => reason(&why.to_debug_string(), ErrorCode::WriteFailed),
    }
}

fn reason(said: &str, otherwise: ErrorCode) -> io::Error {
    ToolError::from_reason(said, otherwise).into()
}
