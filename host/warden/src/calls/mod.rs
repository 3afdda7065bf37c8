//! One call from its permit to its audited end, and the other things that the trusted core does for
//! a caller.
//!
//! [`Warden::run`] is the one way in which a guest runs and in which files change: the journal
//! first, then the intent, then the files, then the outcome.

mod network;
mod output;
mod publication;
mod quota;
mod record;
mod replay;
mod run;
mod settle;
#[cfg(test)]
mod tests;
mod unwritten;

pub use output::{KEEPING_TIME_MAX, OutputKeeper};
pub use record::{CallRecord, CountedAs};
pub use replay::EarlierRun;
pub use run::CallJob;
pub use settle::{SETTLE_LOOK, SETTLE_WAIT, SettleError};
pub use unwritten::journal_error;

use crate::attachments::outgoing::Outgoing;
use crate::audit::{AuditError, AuditLog, Durability};
use crate::publish::{FileOwner, Workspaces};
use crate::sandbox::{Component, Sandbox, SandboxError};
use cofferdam_core::audit::{self, ApprovalRecord, AuditEvent};
use cofferdam_core::limits::ByteSize;
use cofferdam_core::tool::{ErrorCode, ToolError};
use cofferdam_core::web::Web;
use cofferdam_policy::{ExpectedEntry, Facts, GuestPath, PendingPermit, ToolPolicy};
use quota::WriteQuota;
use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

/// What the trusted core is made of, opened. Cheap to clone.
#[derive(Clone)]
pub struct Parts {
    /// Where guests run.
    pub sandbox: Arc<Sandbox>,
    /// The tools' files.
    pub workspaces: Arc<Workspaces>,
    /// What is written down of every call.
    pub audit: Arc<AuditLog>,
    /// What calls add to replies.
    pub outgoing: Outgoing,
    /// Who sends what guests ask of the network.
    pub web: Arc<dyn Web>,
}

/// The trusted core. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct Warden {
    parts: Parts,
    quota: Arc<WriteQuota>,
}

impl Warden {
    /// The trusted core over its parts. The calls of one turn write `turn_bytes` at most.
    pub fn new(parts: Parts, turn_bytes: ByteSize) -> Self {
        Self { parts, quota: Arc::new(WriteQuota::new(turn_bytes)) }
    }

    /// Other limits over the same parts. What was begun with these goes on with them.
    #[must_use]
    pub fn renewed(&self, outgoing: Outgoing, web: Arc<dyn Web>, turn_bytes: ByteSize) -> Self {
        Self::new(Parts { outgoing, web, ..self.parts.clone() }, turn_bytes)
    }

    /// Where guests run.
    pub fn sandbox(&self) -> &Arc<Sandbox> {
        &self.parts.sandbox
    }

    /// The tools' files.
    pub fn workspaces(&self) -> &Arc<Workspaces> {
        &self.parts.workspaces
    }

    /// What calls add to replies.
    pub fn outgoing(&self) -> &Outgoing {
        &self.parts.outgoing
    }

    /// What is written down of every call.
    pub fn audit(&self) -> &Arc<AuditLog> {
        &self.parts.audit
    }

    /// Writes the missing outcome of every intent that a crash cut off, here or in another process
    /// with the same audit, and by nodes of which `is_gone` holds. Publishing that is under way is
    /// waited for, as long as `wait`. A node whose chain cannot be settled keeps no other from it.
    ///
    /// # Errors
    /// The first [`SettleError`]; [`AuditError::Busy`] where somebody publishes for longer.
    pub fn settle(&self, is_gone: &dyn Fn(&str) -> bool, wait: Duration) -> Result<(), SettleError> {
        let Parts { workspaces, audit, outgoing, .. } = &self.parts;
        let own = settle::settle(audit, None, (workspaces, outgoing), wait);
        let settle = |left: Result<AuditLog, AuditError>| {
            settle::settle(&left?, audit.node(), (workspaces, outgoing), wait)
        };
        let siblings = audit.open_siblings(is_gone)?.into_iter().map(settle);
        let settled: Vec<_> = std::iter::once(own).chain(siblings).collect();
        settled.into_iter().collect()
    }

    /// Sees whether a worker starts, confined as is demanded: one for the first call of the
    /// component, where users share their workspace.
    ///
    /// # Errors
    /// [`SandboxError::Engine`] when none does.
    pub fn try_worker(&self, first: Option<(&Component, &ToolPolicy)>) -> Result<(), SandboxError> {
        let Parts { sandbox, workspaces, .. } = &self.parts;
        match first.filter(|_| !workspaces.is_per_user()) {
            Some((component, policy)) => {
                sandbox.try_worker_for(component, policy, workspaces.default_workspace())
            }
            None => sandbox.try_worker(),
        }
    }

    /// What the disk says of the paths that a call is asked about. What cannot be looked at is left
    /// out, which asks.
    pub fn facts(&self, pending: &PendingPermit, owner: &FileOwner) -> Facts {
        let workspace = self.parts.workspaces.open_for(owner).ok();
        let look = |path: &GuestPath| Some((path.clone(), workspace.as_ref()?.snapshot(path).ok()?));
        let there = pending.writes().iter().filter_map(look).collect();
        let find = |path: &GuestPath| Some((path.clone(), workspace.as_ref()?.read_snapshot(path).ok()?));
        let found = pending.reads().iter().filter_map(find).collect();
        Facts { there, found, ..Facts::default() }
    }

    /// A file of a workspace, open for reading, and its length: what an operator shows with a task.
    /// It is read as a tool would read it.
    ///
    /// # Errors
    /// There is no such regular file.
    pub fn open_file(&self, owner: &FileOwner, path: &GuestPath) -> Result<(File, u64), ToolError> {
        let workspace = self.parts.workspaces.open_for(owner).map_err(|error| {
            tracing::error!(%error, "a workspace cannot be opened");
            ToolError::new(ErrorCode::Internal, "the workspace cannot be opened; see the log")
        })?;
        Ok(workspace.open_file(path, ExpectedEntry::Anything)?)
    }

    /// Writes down what a run of a workflow came to.
    ///
    /// # Errors
    /// What to answer when the audit cannot be written; the run then goes no further.
    pub fn note_workflow(&self, event: audit::Workflow) -> Result<(), ToolError> {
        self.append(AuditEvent::Workflow(event), Durability::Synced)
    }

    /// Writes down that a call is about to write to somebody.
    ///
    /// # Errors
    /// What to answer when the audit cannot be written; nothing is sent then.
    pub fn note_message(&self, message: audit::MessageRecord) -> Result<(), ToolError> {
        self.append(AuditEvent::Message(message), Durability::Synced)
    }

    /// Writes down that a person is asked about a call, or what came of that.
    ///
    /// # Errors
    /// What to answer when the audit cannot be written; the call then goes no further.
    pub fn note(&self, approval: ApprovalRecord) -> Result<(), ToolError> {
        self.append(AuditEvent::Approval(approval), Durability::Buffered)
    }

    fn append(&self, event: AuditEvent, durability: Durability) -> Result<(), ToolError> {
        self.parts.audit.append(event, durability).map(drop).map_err(unwritten::audit_error)
    }
}
