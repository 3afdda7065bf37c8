//! `turn-attachments` and `recent-attachments`: the list, and bytes as streams that copy as little as possible.

use super::bindings::cofferdam::tool::recent_attachments as recent;
use super::bindings::cofferdam::tool::turn_attachments as wit;
use super::bindings::cofferdam::tool::types::ToolError as WitError;
use super::state::State;
use crate::attachments::{Blob, BlobBytes};
use bytes::Bytes;
use cofferdam_core::attachment::AttachmentInfo;
use wasmtime::component::Resource;
use wasmtime_wasi::p2::{DynInputStream, InputStream, Pollable, StreamError, StreamResult};

/// An attachment that a guest has opened.
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct OpenAttachment(Blob);

impl wit::Host for State {
    fn list(&mut self) -> wasmtime::Result<Vec<wit::AttachmentInfo>> {
        let infos = self.calls().attachments().map_err(wasmtime::Error::new)?;
        Ok(infos.into_iter().map(info).collect())
    }

    fn open(&mut self, index: u32) -> wasmtime::Result<Result<Resource<OpenAttachment>, WitError>> {
        let opened = self.calls().attachment(index);
        match opened {
            Ok(blob) => Ok(Ok(self.table.push(OpenAttachment(blob))?)),
            Err(error) => Ok(Err(self.error(error)?)),
        }
    }
}

impl recent::Host for State {
    fn list(&mut self) -> wasmtime::Result<Vec<recent::RecentAttachment>> {
        let infos = self.calls().attachments().map_err(wasmtime::Error::new)?;
        let recent = infos.into_iter().map(|a| recent::RecentAttachment {
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

impl wit::HostAttachment for State {
    fn body(&mut self, this: Resource<OpenAttachment>) -> wasmtime::Result<Resource<DynInputStream>> {
        let blob = self.table.get(&this)?.0.clone();
        let stream: DynInputStream = Box::new(BlobStream { blob, at: 0 });
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

struct BlobStream {
    blob: Blob,
    at: u64,
}

#[async_trait::async_trait]
impl Pollable for BlobStream {
    async fn ready(&mut self) {}
}

#[async_trait::async_trait]
impl InputStream for BlobStream {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        let left = self.blob.len() - self.at;
        if left == 0 {
            return Err(StreamError::Closed);
        }
        let want = usize::try_from(left).unwrap_or(usize::MAX).min(size).min(PIECE_BYTES);
        let piece = match self.blob.bytes() {
            BlobBytes::Memory(bytes) => {
                let start = usize::try_from(self.at).expect("a blob in memory is indexed by usize");
                bytes.slice(start..start + want)
            }
            BlobBytes::File(_) => {
                let mut piece = vec![0; want];
                let read = self.blob.read_at(&mut piece, self.at);
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
