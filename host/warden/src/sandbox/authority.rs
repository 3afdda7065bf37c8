//! The authority of one call, in the gateway: its permit, the turn's attachments, and the
//! publisher.
//!
//! Takes exactly the paths of the permit, and no other that the guest asks for. It publishes
//! nothing: the plan that it gathers is carried out by somebody else, after the call succeeded.

pub(super) mod http;
mod messaging;
mod staging;

pub use messaging::{MESSAGE_FILES_MAX, NOBODY_REACHED};

use super::CallInputs;
use super::clock::CallClock;
use super::workers::{Answer, HostCalls};
use crate::attachments::outgoing::{Addition, OutgoingBytes, OutgoingFile};
use crate::attachments::{Attachments, Blob, BlobBytes};
use crate::files::reopen;
use crate::publish::{CallBudget, ChangePlan, LinkRule, PlannedChange, PublishError, StagedFile, Workspace};
use cofferdam_core::capability::{Access, Interface};
use cofferdam_core::entry::EntryCall;
use cofferdam_core::host_call::{
    AttachmentBytes, Disposition, Notification, OUTPUT_BYTES_MAX, Reply, ReplyFile, ReplySource, Request,
    StagedId,
};
use cofferdam_core::message::OutgoingAttachment;
use cofferdam_core::text::one_line;
use cofferdam_core::tool::{ErrorCode, ToolError};
use cofferdam_core::web::{Allowance, Terms};
use cofferdam_policy::{ExpectedEntry, GuestPath, Permit};
use http::Exchanges;
use serde_bytes::ByteBuf;
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

/// Longer progress messages are cut.
pub const REPORT_BYTES_MAX: usize = 200;

/// What one call may do beyond reading its mounts, and what it has planned so far.
pub(super) struct Authority {
    permit: Permit,
    inputs: CallInputs,
    workspace: Arc<Workspace>,
    clock: CallClock,
    budget: Arc<CallBudget>,
    staged: BTreeMap<StagedId, StagedFile>,
    staged_ever: u32,
    plan: ChangePlan,
    log_left: usize,
    exchanges: Option<Exchanges>,
    /// To whom messages of the call are out, or may go out yet.
    written_to: BTreeSet<String>,
}

impl Authority {
    /// The authority of a permit over a workspace.
    pub(super) fn new(permit: Permit, mut inputs: CallInputs, workspace: Arc<Workspace>) -> Self {
        let grants = permit.grants();
        let attachments = [Interface::TurnAttachments, Interface::RecentAttachments];
        if !attachments.iter().any(|interface| grants.allows(*interface)) {
            inputs.attachments = Attachments::default();
        }
        let clock = inputs.clock(permit.limits());
        let (turn, made) = (inputs.turn, std::mem::take(&mut inputs.made));
        let watched = clock.clone();
        let mut budget = CallBudget::new(permit.limits().written_bytes, move || watched.stop_reason());
        budget.changes_max = permit.limits().changes;
        budget.turn = Some(turn);
        budget.made = made.into_iter().collect();
        let exchanges = exchanges(&permit, &mut inputs, &clock);
        Self {
            exchanges,
            workspace,
            clock,
            budget: Arc::new(budget),
            staged: BTreeMap::new(),
            staged_ever: 0,
            plan: ChangePlan::default(),
            // What was dropped is told in a line more.
            log_left: OUTPUT_BYTES_MAX + 1024,
            written_to: BTreeSet::new(),
            permit,
            inputs,
        }
    }

    /// What is to be carried out if the call succeeded, in order; the bytes that were staged for
    /// it; and what it adds to the reply. Legal once.
    pub(super) fn take_plan(&mut self) -> (Vec<PlannedChange>, u64, Option<Addition>) {
        (std::mem::take(&mut self.plan).into_steps(), self.budget.spent(), self.inputs.reply.take())
    }

    /// Lets go of what is still being read over the network.
    ///
    /// # Errors
    /// What could not be written down: there is no answer without it.
    pub(super) fn end_requests(&mut self) -> Result<(), ToolError> {
        self.exchanges.as_mut().map_or(Ok(()), Exchanges::finish)
    }

    /// What a guest failed with, or that it was kept from the network: it is told no more than that
    /// it was, and who reads this wants to know what to do. Only what a guest may say because of
    /// that is told so; all else has a cause of its own.
    pub(super) fn tell_denied(&self, error: ToolError) -> ToolError {
        let may_follow =
            matches!(error.code, ErrorCode::Failed | ErrorCode::NotFound | ErrorCode::WriteFailed);
        match self.exchanges.as_ref().and_then(|exchanges| exchanges.denied.as_ref()) {
            Some(denied) if may_follow => {
                ToolError::new(ErrorCode::NetworkDenied, format!("{denied} ({})", error.message))
            }
            _ => error,
        }
    }

    /// The network of this call.
    fn network(&mut self) -> Result<&mut Exchanges, ToolError> {
        let said = "no network is granted here; the policy's profile grants it";
        self.exchanges.as_mut().ok_or_else(|| ToolError::new(ErrorCode::NetworkDenied, said))
    }

    /// The workspace, to be written.
    fn workspace(&self) -> Result<Arc<Workspace>, ToolError> {
        match self.permit.grants().may_write() {
            true => Ok(self.workspace.clone()),
            false => Err(denied("nothing may be written here")),
        }
    }

    /// What is to go out: bytes as the guest composed them, or a path that the judge named for
    /// reading, opened. No call hands out a file of the workspace that it does not name.
    fn source(&self, file: ReplyFile) -> Result<OutgoingFile, ToolError> {
        let ReplyFile { source, name, mime_type } = file;
        let body = match source {
            ReplySource::Path(path) => self.permitted_body(&path)?,
            ReplySource::Contents(bytes) => OutgoingBytes::Contents(bytes.into_vec()),
        };
        Ok(OutgoingFile { body, name, mime_type })
    }

    fn permitted_body(&self, path: &str) -> Result<OutgoingBytes, ToolError> {
        let path = self.readable(path)?;
        if !self.permit.may_take(&path) {
            return Err(not_judged(&path, "reading"));
        }
        let (file, len) = self.workspace.open_file(&path, self.permit.expected_to_read(&path))?;
        Ok(OutgoingBytes::File { path: path.to_string(), file, len })
    }

    /// Refuses what a command does not do: it publishes its outputs, and changes no name.
    fn may_change_names(&self) -> Result<(), ToolError> {
        match self.permit.entry() {
            EntryCall::Command(_) => Err(denied("a command renames and removes nothing; it has its outputs")),
            EntryCall::Tool | EntryCall::Function(_) => Ok(()),
        }
    }

    /// A path that the judge named for writing.
    fn judged_path(&self, path: &str) -> Result<GuestPath, ToolError> {
        let path = parse_path(path)?;
        if self.permit.may_stage(&path) { Ok(path) } else { Err(not_judged(&path, "writing")) }
    }

    /// A path on a mount that this call may read.
    fn readable(&self, path: &str) -> Result<GuestPath, ToolError> {
        let path = parse_path(path)?;
        if self.permit.grants().may_open(path.mount()) {
            return Ok(path);
        }
        Err(denied(format!("{path} is in no mount of this call; use a path below one that is granted")))
    }

    /// A path whose file the host may copy for this call, and whether links lead to it: of a mount
    /// that the guest may not open, the very path that was judged, and no link.
    fn copyable(&self, path: &str) -> Result<(GuestPath, LinkRule), ToolError> {
        let parsed = parse_path(path)?;
        if self.permit.grants().access(parsed.mount()) == Some(Access::CopyOut) {
            return match self.permit.may_take(&parsed) {
                true => Ok((parsed, LinkRule::Refuse)),
                false => Err(not_judged(&parsed, "reading")),
            };
        }
        self.readable(path).map(|path| (path, LinkRule::Follow))
    }

    /// What becomes of what is at `path`, where the call was permitted for what was seen there.
    fn as_approved(&self, path: &GuestPath, wanted: Disposition) -> Result<Disposition, ToolError> {
        match self.permit.expected(path) {
            ExpectedEntry::Anything => Ok(wanted),
            ExpectedEntry::Nothing => Ok(Disposition::CreateNew),
            ExpectedEntry::This(seen) if self.workspace()?.snapshot(path)?.as_ref() == Some(seen) => {
                Ok(wanted)
            }
            ExpectedEntry::This(_) => Err(PublishError::NotAsApproved { path: path.clone() }.into()),
        }
    }

    /// The same for a name that goes: what nobody saw does not.
    fn may_go(&self, path: &GuestPath) -> Result<(), ToolError> {
        let disposition = self.as_approved(path, Disposition::Replace)?;
        if disposition == Disposition::CreateNew && self.workspace()?.snapshot(path)?.is_some() {
            return Err(PublishError::NotAsApproved { path: path.clone() }.into());
        }
        Ok(())
    }

    fn add(&self, reply: &mut Addition, files: Vec<ReplyFile>) -> Result<Vec<OutgoingAttachment>, ToolError> {
        // Before so many files are open.
        reply.admit(files.len())?;
        let sources = files.into_iter().map(|file| self.source(file)).collect::<Result<_, _>>()?;
        let limits = *self.permit.limits();
        let check = || self.clock.stop_reason().map_or(Ok(()), |stopped| Err(stopped.to_tool_error(&limits)));
        reply.take(sources, &check)
    }

    fn file(&mut self, file: StagedId) -> Result<&mut StagedFile, ToolError> {
        self.staged.get_mut(&file).ok_or_else(no_such_file)
    }
}

/// The network that a permit grants.
fn exchanges(permit: &Permit, inputs: &mut CallInputs, clock: &CallClock) -> Option<Exchanges> {
    let network = permit.grants().network.clone()?;
    let watched = clock.clone();
    let terms = Terms {
        allowance: Allowance::new(network.bytes.0),
        network,
        stopped: Arc::new(move || watched.stop_reason().is_some()),
    };
    Some(Exchanges::new(inputs.web.take()?, terms))
}

fn denied(reason: impl AsRef<str>) -> ToolError {
    ToolError::new(ErrorCode::PathDenied, reason)
}

fn not_judged(path: &GuestPath, to_do: &str) -> ToolError {
    denied(format!("{path} was not judged for {to_do} in this call; use the path argument itself"))
}

fn parse_path(path: &str) -> Result<GuestPath, ToolError> {
    GuestPath::parse(path).map_err(|bad| denied(bad.to_string()))
}

/// Only a worker that does not keep to the protocol asks for one.
fn no_such_file() -> ToolError {
    ToolError::new(ErrorCode::Internal, "the sandbox asked for a staged file that does not exist")
}

impl HostCalls for Authority {
    fn handle(&mut self, request: Request<'_>) -> Answer {
        let mut descriptor = None;
        let reply = match request {
            Request::Attachments => Ok(Reply::Attachments(self.inputs.attachments.infos())),
            Request::Attachment(index) => self.attachment(index).and_then(|blob| {
                let (bytes, file) = hand_over_bytes(&blob)?;
                descriptor = file;
                Ok(Reply::Attachment(bytes))
            }),
            Request::Stage { path, disposition } => self.stage(path, disposition).map(Reply::Staged),
            Request::Write { file, bytes } => self.write(file, bytes).map(|()| Reply::Done),
            Request::AppendAttachment { file, index } => {
                self.append_attachment(file, index).map(Reply::Appended)
            }
            Request::AppendFile { file, path } => self.append_file(file, path).map(Reply::Taken),
            Request::Expect { file, sha256 } => self.expect(file, sha256).map(|()| Reply::Done),
            Request::Seal(file) => self.seal(file).map(Reply::Taken),
            Request::Rename { from, to, disposition } => {
                self.rename(from, to, disposition).map(Reply::Planned)
            }
            Request::Remove { path, contents } => self.remove(path, contents).map(Reply::Planned),
            Request::Cancelled => Ok(Reply::Cancelled(self.inputs.cancel.is_cancelled())),
            Request::AddToReply(files, to) => self.add_to_reply(files, to).map(Reply::Added),
            Request::Send(message) => self.send(message).map(Reply::Sent),
            Request::BeginWorkflow(summary) => {
                self.messaging().and_then(|(people, of)| people.begin(of, summary)).map(Reply::Begun)
            }
            Request::WaitForReply { workflow, message, timeout_ms } => {
                let timeout = timeout_ms.map(Duration::from_millis);
                let waits = self.messaging().and_then(|(to, of)| to.wait(of, &workflow, &message, timeout));
                waits.map(|()| Reply::Done)
            }
            Request::HttpBody(piece) => self.network().and_then(|network| network.body(piece)),
            Request::HttpSend(request) => self.network().and_then(|network| network.send(request)),
            Request::HttpRead(id) => self.network().and_then(|network| network.read(id)),
        };
        Answer { reply, descriptor }
    }

    fn note(&mut self, notification: Notification<'_>) {
        match notification {
            Notification::Discard(file) => drop(self.staged.remove(&file)),
            Notification::Report(message) => {
                if let Some(report) = &self.inputs.report {
                    report(&one_line(message, REPORT_BYTES_MAX));
                }
            }
            Notification::Log(line) => self.log(line),
            Notification::HttpClose(id) => {
                if let Some(network) = &mut self.exchanges {
                    network.close(id);
                }
            }
        }
    }
}

/// An attachment's bytes as a worker is handed them: small ones inline, a larger one as a file that
/// it cannot write.
fn hand_over_bytes(blob: &Blob) -> Result<(AttachmentBytes, Option<OwnedFd>), ToolError> {
    let bytes = |inline| AttachmentBytes { len: blob.len(), inline };
    match blob.bytes() {
        BlobBytes::Memory(held) => Ok((bytes(Some(ByteBuf::from(&held[..]))), None)),
        BlobBytes::File(file) => {
            let unreadable = |error| {
                let said = format!("the attachment cannot be read: {error}");
                ToolError::new(ErrorCode::AttachmentUnavailable, said)
            };
            Ok((bytes(None), Some(reopen(file).map_err(unreadable)?)))
        }
    }
}

#[cfg(test)]
mod tests;
