//! The judge: one call, one effective policy, one verdict.
//!
//! The only place where a [`Permit`] comes into being. It does no I/O: facts that need the disk are
//! settled where the disk is, by code that can only refuse more.

use super::approval::{ApprovalCondition, Facts, PathSnapshot, Reason};
use super::classes::{ArgumentClass, PathUse, Safety};
use super::effective::{EntryPolicy, ToolPolicy};
use super::rulings::{Ruling, rulings};
use cofferdam_core::audit::sha256_hex;
use cofferdam_core::capability::Grants;
use cofferdam_core::entry::EntryCall;
use cofferdam_core::id::CallId;
use cofferdam_core::limits::Limits;
use cofferdam_core::network::{BadAddress, HostPattern};
use cofferdam_core::path::{BadPath, GuestPath};
use cofferdam_core::tool::{ErrorCode, ToolError, ToolName};
use serde_json::Value;
use std::collections::BTreeMap;

/// A call that wants to be judged; its arguments have passed the tool's schema.
#[derive(Clone, Debug)]
pub struct JudgedCall {
    /// The key under which the call is idempotent.
    pub id: CallId,
    /// The tool.
    pub tool: ToolName,
    /// The arguments, a JSON object.
    pub arguments: Value,
}

/// What follows for a call. A refusal is not an error: it is an answer.
#[must_use]
#[derive(Debug)]
pub enum Verdict {
    /// The call may run, within what the permit carries.
    Permit(Permit),
    /// A person must approve it first.
    Ask(PendingPermit),
    /// The call may not run.
    Deny(Denial),
}

/// What follows for a call that is not denied.
#[must_use]
#[derive(Debug)]
pub enum PermittedCall {
    /// It may run.
    Permit(Permit),
    /// A person must approve it first, as far as is known yet.
    Ask(PendingPermit),
}

/// Why a call may not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// For programs.
    pub code: ErrorCode,
    /// What was refused and what to do instead; one line, virtual paths only.
    pub reason: String,
    /// The rule that decided, for those who ask what would have to change.
    pub cause: Cause,
}

/// The rule by which a call was denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The arguments are no JSON object.
    NotAnObject,
    /// No rule classifies the text at this place, or what stands there is no text although a path
    /// must.
    Unclassified,
    /// The text is no guest path.
    BadPath(BadPath),
    /// The text is nobody who can be written to.
    BadRecipient,
    /// The profile does not grant this mount.
    NotGranted {
        /// The first component of the path, e.g. `/vault`; not always a mount that exists.
        mount: String,
        /// What the path is for.
        how: PathUse,
    },
    /// The profile grants this mount for reading alone.
    ReadOnlyMount {
        /// The mount.
        mount: String,
    },
    /// The profile grants this mount for writing alone.
    WriteOnlyMount {
        /// The mount.
        mount: String,
    },
    /// The mount itself was to be written, which nothing allows.
    MountItself,
    /// The argument at this place cannot become an argument of the command.
    NoCommandArgument(String),
    /// The text is no address that is contacted.
    BadAddress(BadAddress),
    /// The policy gives the address at this place, and it is another one.
    AddressGiven,
    /// The profile does not name this host.
    HostNotGranted {
        /// What would stand for it alone.
        host: HostPattern,
    },
    /// Another call, or another state of things, was approved.
    NotApproved,
    /// The policy is that of another tool: a fault of the gateway.
    OtherTool,
}

impl From<Denial> for ToolError {
    fn from(denial: Denial) -> Self {
        ToolError::new(denial.code, denial.reason)
    }
}

/// The only key to the sandbox: a judged call with its restrictions.
///
/// Built by [`judge`] alone, consumed by running it, never cloned and never deserialized.
#[derive(Debug)]
pub struct Permit {
    call: JudgedCall,
    profile: String,
    entry: EntryCall,
    grants: Grants,
    limits: Limits,
    safety: Safety,
    reads: Vec<GuestPath>,
    writes: Vec<GuestPath>,
    writes_below: Vec<GuestPath>,
    recipients: Vec<String>,
    /// What the judge, or the person who approved, relied on.
    seen: Vec<(GuestPath, Option<PathSnapshot>)>,
    /// What the person who approved was told of the paths that are read.
    found: Vec<(GuestPath, Option<PathSnapshot>)>,
}

/// What must stand at a path for the permit to hold there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedEntry<'a> {
    /// Anything, or nothing.
    Anything,
    /// Nothing: nobody agreed to more.
    Nothing,
    /// What was seen.
    This(&'a PathSnapshot),
}

impl<'a> ExpectedEntry<'a> {
    fn from_snapshot(seen: &'a [(GuestPath, Option<PathSnapshot>)], path: &GuestPath) -> Self {
        match seen.iter().find(|(seen, _)| seen == path) {
            None => Self::Anything,
            Some((_, None)) => Self::Nothing,
            Some((_, Some(seen))) => Self::This(seen),
        }
    }
}

impl Permit {
    /// The judged call.
    pub fn call(&self) -> &JudgedCall {
        &self.call
    }

    /// The profile it was judged under.
    pub fn profile(&self) -> &str {
        &self.profile
    }

    /// What of the component is called, and with what.
    pub fn entry(&self) -> &EntryCall {
        &self.entry
    }

    /// Mounts and interfaces within reach.
    pub fn grants(&self) -> &Grants {
        &self.grants
    }

    /// The limits of the call.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Whether the call may change anything.
    pub fn safety(&self) -> Safety {
        self.safety
    }

    /// What must stand at `path` when the call changes it.
    pub fn expected(&self, path: &GuestPath) -> ExpectedEntry<'_> {
        ExpectedEntry::from_snapshot(&self.seen, path)
    }

    /// What must be found at `path` when the call reads it.
    pub fn expected_to_read(&self, path: &GuestPath) -> ExpectedEntry<'_> {
        ExpectedEntry::from_snapshot(&self.found, path)
    }

    /// What must be found at the paths that the call reads, for the check once it has ended.
    pub fn found(&self) -> &[(GuestPath, Option<PathSnapshot>)] {
        &self.found
    }

    /// Whether this very path was judged for reading: what leaves with a reply, or is copied out of
    /// a folder that the guest does not have, is named in the call.
    pub fn may_take(&self, path: &GuestPath) -> bool {
        self.reads.contains(path)
    }

    /// Whether this very person was judged as somebody who is written to.
    pub fn may_write_to(&self, recipient: &str) -> bool {
        self.recipients.iter().any(|judged| judged == recipient)
    }

    /// Everybody whom the call may write to.
    pub fn recipients(&self) -> &[String] {
        &self.recipients
    }

    /// Whether this very path was judged for writing.
    pub fn may_stage(&self, path: &GuestPath) -> bool {
        self.writes.contains(path) || self.writes_below.iter().any(|dir| path.is_below(dir))
    }
}

/// A call that a person must approve: the permit that it would get, with what was seen for it.
/// Only an approval of this very call brings that out.
#[derive(Debug)]
pub struct PendingPermit {
    permit: Permit,
    policy_sha256: String,
    reasons: Vec<Reason>,
}

impl PendingPermit {
    /// The judged call.
    pub fn call(&self) -> &JudgedCall {
        &self.permit.call
    }

    /// Why it must be approved; never empty.
    pub fn reasons(&self) -> &[Reason] {
        &self.reasons
    }

    /// The paths that it may write, about which there may be facts.
    pub fn writes(&self) -> &[GuestPath] {
        &self.permit.writes
    }

    /// The paths that it names for reading, about which there may be facts.
    pub fn reads(&self) -> &[GuestPath] {
        &self.permit.reads
    }

    /// Everybody whom it writes to.
    pub fn recipients(&self) -> &[String] {
        &self.permit.recipients
    }

    /// What stands at the paths that it may write, as far as facts were given.
    pub fn snapshots(&self) -> &[(GuestPath, Option<PathSnapshot>)] {
        &self.permit.seen
    }

    /// What reading finds at the paths that it names for that, as far as facts were given.
    pub fn found(&self) -> &[(GuestPath, Option<PathSnapshot>)] {
        &self.permit.found
    }

    /// What follows in the light of the facts: a permit where no rule asks any more, valid only as
    /// long as nothing comes to be where nothing was.
    pub fn decide(mut self, facts: &Facts) -> PermittedCall {
        let mut new = Vec::new();
        let is_asker = |reason: &Reason| reason.recipient.is_some() && reason.recipient == facts.asker;
        self.reasons.retain(|reason| match (reason.when, &reason.path) {
            (ApprovalCondition::Others, _) => !is_asker(reason),
            (ApprovalCondition::OnOverwrite, Some(path)) if facts.there.get(path) == Some(&None) => {
                new.push((path.clone(), None));
                false
            }
            (ApprovalCondition::FirstTimePerPath, Some(path)) => !facts.approved.contains(path),
            _ => true,
        });
        if self.reasons.is_empty() {
            (self.permit.seen, self.permit.found) = (new, Vec::new());
            return PermittedCall::Permit(self.permit);
        }
        let known = |paths: &[GuestPath], facts: &BTreeMap<GuestPath, Option<PathSnapshot>>| {
            let known = paths.iter().filter_map(|path| facts.get_key_value(path));
            known.map(|(path, seen)| (path.clone(), seen.clone())).collect()
        };
        self.permit.seen = known(&self.permit.writes, &facts.there);
        self.permit.found = known(&self.permit.reads, &facts.found);
        PermittedCall::Ask(self)
    }

    /// Names this very call, its policy, what stands at its paths, and the words in which all that
    /// was shown: SHA-256, lower-case hex.
    pub fn sha256(&self, shown: &str) -> String {
        let JudgedCall { id, tool, arguments } = &self.permit.call;
        let (policy, there, found) = (&self.policy_sha256, &self.permit.seen, &self.permit.found);
        sha256_hex(format!("{id}\n{tool}\n{policy}\n{arguments}\n{there:?}\n{found:?}\n{shown}").as_bytes())
    }

    /// The permit, for the holder of the name of this very call as it was approved. It holds as
    /// long as what was seen at its paths stands there.
    ///
    /// # Errors
    /// The denial of a call that is not the one that was approved, or no longer.
    pub fn grant(self, shown: &str, approved_sha256: &str) -> Result<Permit, Denial> {
        if self.sha256(shown) != approved_sha256 {
            return Err(Denial {
                code: ErrorCode::ApprovalDenied,
                reason: "what this call would do has changed since it was approved; nothing was changed, ask again"
                    .into(),
                cause: Cause::NotApproved,
            });
        }
        Ok(self.permit)
    }
}

/// The verdict on `call` under `policy`.
///
/// Fails closed: a string that no rule classifies, a path that does not parse, a mount that is not
/// granted or not granted for this use, a write by a read-only tool, and a call of another tool
/// than the policy's are each denied.
pub fn judge(mut call: JudgedCall, policy: &ToolPolicy) -> Verdict {
    if call.tool != policy.tool {
        let reason = format!("the policy of {} does not judge a call of {}", policy.tool, call.tool);
        return Verdict::Deny(Denial { code: ErrorCode::Internal, reason, cause: Cause::OtherTool });
    }
    policy.complete(&mut call.arguments);
    let (mut reads, mut writes, mut writes_below) = (Vec::new(), Vec::new(), Vec::new());
    let (mut recipients, mut reasons) = (Vec::new(), Vec::new());
    let walked = rulings(&call.arguments, policy, |_, ruled| {
        let Ruling { class, path, recipient, asks, .. } = ruled?;
        reasons.extend(asks);
        recipients.extend(recipient);
        match class {
            Some(ArgumentClass::Path(PathUse::Read)) => reads.extend(path),
            Some(ArgumentClass::Path(PathUse::Write)) => writes.extend(path),
            Some(ArgumentClass::Path(PathUse::WriteBelow)) => writes_below.extend(path),
            _ => {}
        }
        Ok(())
    });
    if let Err(denial) = walked {
        return Verdict::Deny(denial);
    }
    if writes.len() + writes_below.len() + reads.len() == 0 {
        reasons.extend(policy.approval.call_reason());
    }
    let entry = match &policy.entry {
        EntryPolicy::Tool => EntryCall::Tool,
        EntryPolicy::Command(command) => match command.call(&call.arguments) {
            Ok(run) => EntryCall::Command(run),
            Err(denial) => return Verdict::Deny(denial),
        },
        EntryPolicy::Function(function) => EntryCall::Function(function.export.clone()),
    };
    let permit = Permit {
        entry,
        profile: policy.profile.clone(),
        grants: policy.grants.clone(),
        limits: policy.limits,
        safety: policy.safety,
        reads,
        writes,
        writes_below,
        recipients,
        seen: Vec::new(),
        found: Vec::new(),
        call,
    };
    if reasons.is_empty() {
        return Verdict::Permit(permit);
    }
    Verdict::Ask(PendingPermit { permit, policy_sha256: policy.sha256.clone(), reasons })
}
