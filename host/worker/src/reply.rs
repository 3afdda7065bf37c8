//! `reply-attachments` as guests call it: paths go to the gateway, which takes their bytes by
//! itself, and contents as they are.

use crate::bindings::cofferdam::tool::reply_attachments as wit;
use crate::gateway::expect_reply;
use crate::state::{Answered, StoreState};
use cofferdam_core::host_call::{FILES_MAX, ReplyFile, ReplySource, Request};
use cofferdam_core::message::{Address, OutgoingAttachment};
use cofferdam_core::tool::{ErrorCode, ToolError};

fn reply_file(file: wit::ReplyFile) -> ReplyFile {
    let source = match file.source {
        wit::Source::Path(path) => ReplySource::Path(path),
        wit::Source::Contents(bytes) => ReplySource::Contents(bytes.into()),
    };
    ReplyFile { source, name: file.name, mime_type: file.mime_type }
}

impl From<OutgoingAttachment> for wit::AddedFile {
    fn from(added: OutgoingAttachment) -> Self {
        let OutgoingAttachment { sha256, name, mime_type, bytes } = added;
        Self { name, mime_type, bytes, sha256 }
    }
}

impl wit::Host for StoreState {
    fn add(&mut self, files: Vec<wit::ReplyFile>) -> Answered<Vec<wit::AddedFile>> {
        self.add_to(files, wit::Address { session: None, request: None })
    }

    fn add_to(&mut self, files: Vec<wit::ReplyFile>, to: wit::Address) -> Answered<Vec<wit::AddedFile>> {
        // Too many are not even sent.
        if files.len() > FILES_MAX {
            let said = format!("one call adds at most {FILES_MAX} files to a reply");
            return Ok(Err(self.error(ToolError::new(ErrorCode::QuotaExceeded, said))?));
        }
        let to = Address { session: to.session, request: to.request };
        let files = files.into_iter().map(reply_file).collect();
        let added = self.gateway.ask(Request::AddToReply(files, to), expect_reply!(Added));
        self.answer(added.map(|files| files.into_iter().map(wit::AddedFile::from).collect::<Vec<_>>()))
    }
}
