//! The guest's side of a call in a worker: every request is sent to the gateway, which alone has authority.

use super::super::host_calls::{Contents, HostCalls, Planning, ReplyFile, StagedId, Taken};
use super::asking::{ASK_BYTES_MAX, Ask, Content, FromWorker, Tell};
use super::socket::{Broken, Socket, decode};
use crate::attachments::Blob;
use crate::publish::Disposition;
use cofferdam_core::attachment::AttachmentInfo;
use cofferdam_core::host_call::FILES_MAX;
use cofferdam_core::message::{Address, OutgoingAttachment};
use cofferdam_core::tool::{ErrorCode, ToolError};
use serde::de::DeserializeOwned;
use serde_bytes::Bytes;
use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The way to the gateway.
#[derive(Clone)]
pub(super) struct Remote(pub(super) Arc<Mutex<Socket>>);

impl Remote {
    fn socket(&self) -> MutexGuard<'_, Socket> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask<T: DeserializeOwned>(&self, ask: Ask<'_>) -> Result<T, ToolError> {
        let mut socket = self.socket();
        let answer = socket.send(&FromWorker::Ask(ask), &[], || false).and_then(|()| {
            socket.receive(ASK_BYTES_MAX, || false, |bytes| decode::<Result<T, ToolError>>(bytes))
        });
        answer.unwrap_or_else(|broken| Err(gone(&broken)))
    }

    fn tell(&self, tell: Tell<'_>) {
        // A gateway that is gone is noticed by the next request, or at the end of the call.
        let _ = self.socket().send(&FromWorker::Tell(tell), &[], || false);
    }
}

/// Only the host may say this code, so the guest ends.
fn gone(broken: &Broken) -> ToolError {
    ToolError::new(ErrorCode::Internal, format!("the gateway does not answer: {broken}"))
}

impl HostCalls for Remote {
    fn attachments(&mut self) -> Result<Vec<AttachmentInfo>, ToolError> {
        self.ask(Ask::Attachments)
    }

    fn attachment(&mut self, index: u32) -> Result<Blob, ToolError> {
        let Content { len, sha256, inline } = self.ask(Ask::Attachment(index))?;
        match inline {
            Some(bytes) => Ok(Blob::in_memory(bytes.into_vec().into(), sha256)),
            None => {
                let file = self.socket().descriptor().map_err(|broken| gone(&broken))?;
                Ok(Blob::in_file(File::from(file), len, sha256))
            }
        }
    }

    fn stage(&mut self, path: &str, disposition: Disposition) -> Result<StagedId, ToolError> {
        self.ask(Ask::Stage { path, disposition })
    }

    fn write(&mut self, file: StagedId, bytes: &[u8]) -> Result<(), ToolError> {
        self.ask(Ask::Write { file, bytes: Bytes::new(bytes) })
    }

    fn append_attachment(&mut self, file: StagedId, index: u32) -> Result<u64, ToolError> {
        self.ask(Ask::AppendAttachment { file, index })
    }

    fn append_file(&mut self, file: StagedId, path: &str) -> Result<Taken, ToolError> {
        self.ask(Ask::AppendFile { file, path })
    }

    fn expect(&mut self, file: StagedId, sha256: &str) -> Result<(), ToolError> {
        self.ask(Ask::Expect { file, sha256 })
    }

    fn seal(&mut self, file: StagedId) -> Result<Taken, ToolError> {
        self.ask(Ask::Seal(file))
    }

    fn discard(&mut self, file: StagedId) {
        self.tell(Tell::Discard(file));
    }

    fn rename(&mut self, from: &str, to: &str, disposition: Disposition) -> Result<Planning, ToolError> {
        self.ask(Ask::Rename { from, to, disposition })
    }

    fn remove(&mut self, path: &str, contents: Contents) -> Result<Planning, ToolError> {
        self.ask(Ask::Remove { path, contents })
    }

    fn add_to_reply(
        &mut self,
        files: Vec<ReplyFile>,
        to: Address,
    ) -> Result<Vec<OutgoingAttachment>, ToolError> {
        if files.len() > FILES_MAX {
            let said = format!("one call adds at most {FILES_MAX} files to a reply");
            return Err(ToolError::new(ErrorCode::QuotaExceeded, said));
        }
        self.ask(Ask::AddToReply(files, to))
    }

    fn report(&mut self, message: &str) {
        self.tell(Tell::Report(message));
    }

    fn cancelled(&mut self) -> bool {
        // A gateway that does not answer waits for nothing.
        self.ask(Ask::Cancelled).unwrap_or(true)
    }

    fn log(&mut self, line: &str) {
        self.tell(Tell::Log(line));
    }
}
