//! What a running guest can ask of the gateway: the seam between the place where guest code runs and the
//! place that holds authority.
//!
//! Every method refuses unless it is implemented: an implementation grants, nothing else does. Everything
//! that crosses is plain data, so that the guest can run in another process.

pub(super) use cofferdam_core::host_call::{Contents, Planning, ReplyFile, ReplySource, StagedId, Taken};

use crate::attachments::Blob;
use crate::publish::Disposition;
use cofferdam_core::attachment::AttachmentInfo;
use cofferdam_core::message::{Address, OutgoingAttachment};
use cofferdam_core::tool::{ErrorCode, ToolError};
use std::sync::{Arc, Mutex};

/// The gateway's side of a call. An error with a code that only the host may say ends the guest.
pub(super) trait HostCalls: Send {
    /// The attachments within reach.
    fn attachments(&mut self) -> Result<Vec<AttachmentInfo>, ToolError> {
        Ok(Vec::new())
    }

    /// The bytes of one.
    fn attachment(&mut self, _index: u32) -> Result<Blob, ToolError> {
        Err(nothing_granted())
    }

    /// Stages a file.
    fn stage(&mut self, _path: &str, _disposition: Disposition) -> Result<StagedId, ToolError> {
        Err(nothing_granted())
    }

    /// Appends bytes to a staged file.
    fn write(&mut self, _file: StagedId, _bytes: &[u8]) -> Result<(), ToolError> {
        Err(nothing_granted())
    }

    /// Appends an attachment to a staged file; returns its length.
    fn append_attachment(&mut self, _file: StagedId, _index: u32) -> Result<u64, ToolError> {
        Err(nothing_granted())
    }

    /// Appends a workspace file to a staged file.
    fn append_file(&mut self, _file: StagedId, _path: &str) -> Result<Taken, ToolError> {
        Err(nothing_granted())
    }

    /// Publishes the staged file only over a file with this SHA-256.
    fn expect(&mut self, _file: StagedId, _sha256: &str) -> Result<(), ToolError> {
        Err(nothing_granted())
    }

    /// Seals a staged file.
    fn seal(&mut self, _file: StagedId) -> Result<Taken, ToolError> {
        Err(nothing_granted())
    }

    /// Forgets a staged file.
    fn discard(&mut self, _file: StagedId) {}

    /// Plans a rename.
    fn rename(&mut self, _from: &str, _to: &str, _disposition: Disposition) -> Result<Planning, ToolError> {
        Err(nothing_granted())
    }

    /// Plans a removal.
    fn remove(&mut self, _path: &str, _contents: Contents) -> Result<Planning, ToolError> {
        Err(nothing_granted())
    }

    /// Adds files to the reply to a request, all of them or none.
    fn add_to_reply(
        &mut self,
        _files: Vec<ReplyFile>,
        _to: Address,
    ) -> Result<Vec<OutgoingAttachment>, ToolError> {
        Err(nothing_granted())
    }

    /// Tells what the call is doing.
    fn report(&mut self, _message: &str) {}

    /// Whether the turn was cancelled.
    fn cancelled(&mut self) -> bool {
        false
    }

    /// Takes a line that the guest printed.
    fn log(&mut self, _line: &str) {}
}

/// The calls of one guest, shared by its handles and streams.
pub(super) type SharedCalls = Arc<Mutex<dyn HostCalls>>;

/// Grants nothing: for `describe`.
pub(super) struct Nothing;

impl HostCalls for Nothing {}

fn nothing_granted() -> ToolError {
    ToolError::new(ErrorCode::PathDenied, "nothing is granted here; the policy's profile grants it")
}
