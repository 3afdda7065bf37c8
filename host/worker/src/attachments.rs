//! `turn-attachments` and `recent-attachments`: the list, and bytes as streams that copy as little
//! as possible.

use crate::bindings::cofferdam::tool::recent_attachments as recent;
use crate::bindings::cofferdam::tool::turn_attachments as wit;
use crate::gateway::expect_reply;
use crate::input::stream_from;
use crate::state::{Answered, StoreState};
use bytes::Bytes;
use cofferdam_core::attachment::AttachmentInfo;
use cofferdam_core::host_call::{AttachmentBytes, Request};
use cofferdam_core::tool::{ErrorCode, ToolError};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use wasmtime::component::Resource;
use wasmtime_wasi::p2::pipe::MemoryInputPipe;
use wasmtime_wasi::p2::{DynInputStream, StreamError};

/// An attachment that a guest has opened.
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub enum OpenAttachment {
    /// Its bytes.
    Memory(Bytes),
    /// The file that begins with them, and how many they are.
    File(Arc<File>, u64),
}

impl StoreState {
    fn infos(&self) -> wasmtime::Result<Vec<AttachmentInfo>> {
        self.gateway.ask(Request::Attachments, expect_reply!(Attachments)).map_err(wasmtime::Error::new)
    }

    fn open_attachment(&self, index: u32) -> Result<OpenAttachment, ToolError> {
        let AttachmentBytes { len, inline } =
            self.gateway.ask(Request::Attachment(index), expect_reply!(Attachment))?;
        match inline {
            Some(inline) if inline.len() as u64 == len => {
                Ok(OpenAttachment::Memory(inline.into_vec().into()))
            }
            Some(_) => {
                let said = "the gateway hands over more or fewer bytes than the attachment has";
                Err(ToolError::new(ErrorCode::Internal, said))
            }
            None => Ok(OpenAttachment::File(Arc::new(self.gateway.descriptor()?), len)),
        }
    }
}

impl wit::Host for StoreState {
    fn list(&mut self) -> wasmtime::Result<Vec<wit::AttachmentInfo>> {
        Ok(self.infos()?.into_iter().map(info).collect())
    }

    fn open(&mut self, index: u32) -> Answered<Resource<OpenAttachment>> {
        match self.open_attachment(index) {
            Ok(opened) => Ok(Ok(self.table.push(opened)?)),
            Err(error) => Ok(Err(self.error(error)?)),
        }
    }
}

impl recent::Host for StoreState {
    fn list(&mut self) -> wasmtime::Result<Vec<recent::RecentAttachment>> {
        let recent = self.infos()?.into_iter().map(|a| recent::RecentAttachment {
            source_url: a.source.clone().unwrap_or_default(),
            info: info(a),
        });
        Ok(recent.collect())
    }
}

fn info(a: AttachmentInfo) -> wit::AttachmentInfo {
    wit::AttachmentInfo {
        index: a.index,
        name: a.name,
        mime_type: a.mime_type,
        size: if a.unavailable.is_some() { 0 } else { a.size },
        sha256: a.sha256,
        unavailable: a.unavailable,
    }
}

impl wit::HostAttachment for StoreState {
    fn body(&mut self, this: Resource<OpenAttachment>) -> wasmtime::Result<Resource<DynInputStream>> {
        let stream: DynInputStream = match self.table.get(&this)? {
            OpenAttachment::Memory(bytes) => Box::new(MemoryInputPipe::new(bytes.clone())),
            OpenAttachment::File(file, len) => stream_spooled(file.clone(), *len),
        };
        // Not a child: it holds the bytes itself, so a guest may drop the attachment first.
        Ok(self.table.push(stream)?)
    }

    fn drop(&mut self, this: Resource<OpenAttachment>) -> wasmtime::Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

/// A spooled attachment is read in pieces of this size.
const PIECE_BYTES: usize = 256 << 10;

/// The first `len` bytes of a spool file.
fn stream_spooled(file: Arc<File>, len: u64) -> DynInputStream {
    let mut at = 0;
    stream_from(move |size| {
        let left = len.saturating_sub(at);
        if left == 0 {
            return Err(StreamError::Closed);
        }
        if size == 0 {
            return Ok(Bytes::new());
        }
        let want = usize::try_from(left).unwrap_or(usize::MAX).min(size).min(PIECE_BYTES);
        let mut piece = vec![0; want];
        let read = file.read_at(&mut piece, at);
        let read = read.map_err(|e| StreamError::LastOperationFailed(e.into()))?;
        if read == 0 {
            return Err(StreamError::trap("a spool file is shorter than its attachment"));
        }
        piece.truncate(read);
        at += read as u64;
        Ok(piece.into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_may_ask_a_spool_file_for_nothing() {
        let mut body = stream_spooled(Arc::new(File::open("/dev/zero").expect("it is there")), 2);
        assert!(matches!(body.read(0), Ok(nothing) if nothing.is_empty()));
        assert!(matches!(body.read(5), Ok(piece) if piece.len() == 2));
        assert!(matches!(body.read(0), Err(StreamError::Closed)));
    }
}
