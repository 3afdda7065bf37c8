//! `turn-attachments` and `recent-attachments`: the list, and bytes as streams that copy as little
//! as possible.

use crate::bindings::cofferdam::tool::recent_attachments as recent;
use crate::bindings::cofferdam::tool::turn_attachments as wit;
use crate::gateway::expect_reply;
use crate::state::{Answered, StoreState};
use bytes::Bytes;
use cofferdam_core::attachment::AttachmentInfo;
use cofferdam_core::host_call::Request;
use cofferdam_core::tool::ToolError;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use wasmtime::component::Resource;
use wasmtime_wasi::p2::{DynInputStream, InputStream, Pollable, StreamError, StreamResult};

/// An attachment that a guest has opened.
#[derive(Clone)]
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct OpenAttachment {
    len: u64,
    content: AttachmentContent,
}

/// Where the bytes are.
#[derive(Clone)]
enum AttachmentContent {
    Memory(Bytes),
    File(Arc<File>),
}

impl StoreState {
    fn infos(&self) -> wasmtime::Result<Vec<AttachmentInfo>> {
        self.gateway.ask(Request::Attachments, expect_reply!(Attachments)).map_err(wasmtime::Error::new)
    }

    fn open_attachment(&self, index: u32) -> Result<OpenAttachment, ToolError> {
        let bytes = self.gateway.ask(Request::Attachment(index), expect_reply!(Attachment))?;
        let content = match bytes.inline {
            Some(inline) => AttachmentContent::Memory(inline.into_vec().into()),
            None => AttachmentContent::File(Arc::new(self.gateway.descriptor()?)),
        };
        Ok(OpenAttachment { len: bytes.len, content })
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
        let attachment = self.table.get(&this)?.clone();
        let stream: DynInputStream = Box::new(BodyStream { attachment, at: 0 });
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

struct BodyStream {
    attachment: OpenAttachment,
    at: u64,
}

#[async_trait::async_trait]
impl Pollable for BodyStream {
    async fn ready(&mut self) {}
}

#[async_trait::async_trait]
impl InputStream for BodyStream {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        let left = self.attachment.len.saturating_sub(self.at);
        if left == 0 {
            return Err(StreamError::Closed);
        }
        let want = usize::try_from(left).unwrap_or(usize::MAX).min(size).min(PIECE_BYTES);
        let piece = match &self.attachment.content {
            AttachmentContent::Memory(bytes) => {
                let start = usize::try_from(self.at).expect("bytes in memory are indexed by usize");
                let end = bytes.len().min(start + want);
                if start >= end {
                    return Err(StreamError::trap("there are fewer bytes than the attachment has"));
                }
                bytes.slice(start..end)
            }
            AttachmentContent::File(file) => {
                let mut piece = vec![0; want];
                let read = file.read_at(&mut piece, self.at);
                let read = read.map_err(|e| StreamError::LastOperationFailed(e.into()))?;
                if read == 0 {
                    return Err(StreamError::trap("a spool file is shorter than its attachment"));
                }
                piece.truncate(read);
                piece.into()
            }
        };
        self.at += piece.len() as u64;
        Ok(piece)
    }
}
