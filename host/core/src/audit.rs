//! The audit's records: what is written down of every call, before and after.
//!
//! One record is one line of JSON. Lines are chained by the SHA-256 of the exact bytes of the line
//! before (without its newline), so a reviewer needs no canonical form to check them: the bytes on
//! disk are the canonical form.

mod network;
mod reload;
mod workflow;

pub use network::NetworkRequest;
pub use reload::{Reload, ReloadState};
pub use workflow::{Workflow, WorkflowAttachment, WorkflowState};

use crate::id::{CallId, Caller, SessionId, TurnId};
use crate::tool::ErrorCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// The `prev` of the first record.
pub const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// One line of the audit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Version of this layout: 1.
    pub v: u32,
    /// Position in the chain, from 1, without gaps.
    pub seq: u64,
    /// UTC, RFC 3339, milliseconds.
    pub time: String,
    /// SHA-256 of the line before, lower-case hex; [`GENESIS`] for the first.
    pub prev: String,
    /// What happened.
    #[serde(flatten)]
    pub event: AuditEvent,
}

/// What a record tells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum AuditEvent {
    /// A side effect is about to happen; durable on disk before it does.
    Intent(Intent),
    /// A call ended: done, failed, or refused.
    Outcome(CallOutcome),
    /// A person was asked about a call, or what came of that.
    Approval(ApprovalRecord),
    /// The operator let somebody in, or did not any more; on disk before it holds.
    Access {
        /// Who is served, or is not any more.
        #[serde(flatten)]
        person: Caller,
        /// Which of the two.
        access: AccessChange,
        /// Who decided it: channel and sender, `cli:1000`.
        by: String,
    },
    /// The configuration was read anew while the gateway ran.
    Reload(Reload),
    /// A guest asked a server for something, or was kept from it.
    Network(NetworkRequest),
    /// A run of a workflow began, ended or went on, or asked an agent.
    Workflow(Workflow),
    /// A call is about to write to somebody; durable on disk before it does.
    Message(MessageRecord),
    /// Other nodes of the same gateway told the last records of their chains: who changes one of
    /// these chains has to change this one, too.
    Heads {
        /// By node, `SEQ:SHA256`. That of the chain's own node is there where the database had it
        /// and the chain does not hold it.
        heads: BTreeMap<String, String>,
    },
    /// The line before this one was cut by a crash; this continues the chain without hiding it.
    Recovered(Recovered),
}

/// A message that a call writes to somebody.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageRecord {
    /// The call.
    #[serde(flatten)]
    pub facts: CallFacts,
    /// Who gets it: channel and person, `telegram:1002`.
    pub to: String,
    /// SHA-256 of what it says, lower-case hex.
    pub text_sha256: String,
    /// Its files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Effect>,
    /// The run that it belongs to, if to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

/// Which call a record is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallFacts {
    /// The call, `<turn>/<n>`.
    pub call: CallId,
    /// The turn it belongs to.
    pub turn: TurnId,
    /// The session whose `/tmp` its paths are in; absent for a call that belongs to none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// Channel and sender.
    #[serde(flatten)]
    pub caller: Caller,
    /// Whether its paths are in the sender's own workspace, not in the one that users share.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own_workspace: bool,
    /// The tool as it was asked for, bounded.
    pub tool: String,
    /// SHA-256 of the component that ran or would have run; absent for an unknown tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component_sha256: Option<String>,
    /// SHA-256 over profile and tool policy; absent for an unknown tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_sha256: Option<String>,
    /// The profile the call was judged under.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The arguments, redacted by their class.
    pub arguments: Value,
    /// SHA-256 of the arguments as given (compact JSON), lower-case hex.
    pub arguments_sha256: String,
}

impl CallFacts {
    /// What the gateway does itself, by no component and under no policy: in no session, and in the
    /// workspace that users share.
    pub fn new(call: CallId, turn: TurnId, caller: Caller, tool: &str, arguments: Value) -> Self {
        Self {
            call,
            turn,
            session: None,
            caller,
            own_workspace: false,
            tool: tool.to_owned(),
            component_sha256: None,
            policy_sha256: None,
            profile: None,
            arguments_sha256: sha256_hex(arguments.to_string().as_bytes()),
            arguments,
        }
    }
}

/// A file that a call writes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileFacts {
    /// The virtual path.
    pub path: String,
    /// Length in bytes.
    pub bytes: u64,
    /// SHA-256 of the bytes, lower-case hex.
    pub sha256: String,
}

/// What a call changes: one step of its plan.
///
/// In JSON each is an object with `path`, told apart by `moved_from`, `removed` and `attached`;
/// what was attached and is no file of the workspace has none.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Effect {
    /// A file or directory has another name now.
    Moved {
        /// The virtual path it has now.
        path: String,
        /// The virtual path it had.
        moved_from: String,
        /// What was moved.
        kind: EntryKind,
        /// Its inode number, by which a start after a crash recognizes it.
        inode: u64,
    },
    /// A name is gone, with what lay below it.
    Removed {
        /// The virtual path that is gone.
        path: String,
        /// What was removed.
        removed: EntryKind,
        /// Files and directories, the named one included.
        entries: u64,
    },
    /// The bytes of a file, or bytes that the call composed, are part of the reply. The file itself
    /// stays as it is.
    Attached {
        /// The virtual path that the bytes were read from; none where the call composed them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// The name that the person sees.
        attached: String,
        /// Length in bytes.
        bytes: u64,
        /// SHA-256 of the bytes, lower-case hex.
        sha256: String,
    },
    /// A file has these bytes.
    Written(FileFacts),
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, FIFO, socket or device.
    Other,
}

impl Effect {
    /// The same of bytes that lie nowhere in the workspace.
    #[must_use]
    pub fn without_path(self) -> Self {
        match self {
            Self::Attached { attached, bytes, sha256, .. } => {
                Self::Attached { path: None, attached, bytes, sha256 }
            }
            other => other,
        }
    }

    /// The virtual path that it is about, if any; for a rename the new one.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Written(file) => Some(&file.path),
            Self::Moved { path, .. } | Self::Removed { path, .. } => Some(path),
            Self::Attached { path, .. } => path.as_deref(),
        }
    }
}

impl From<FileFacts> for Effect {
    fn from(facts: FileFacts) -> Self {
        Self::Written(facts)
    }
}

/// The plan of a call is about to be carried out, in this order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Intent {
    /// The call.
    #[serde(flatten)]
    pub facts: CallFacts,
    /// What will be changed.
    pub files: Vec<Effect>,
}

/// A person is asked about a call, or what came of that.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRecord {
    /// The call.
    #[serde(flatten)]
    pub facts: CallFacts,
    /// SHA-256 of the very call with its policy and the words in which it was shown, lower-case
    /// hex.
    pub call_sha256: String,
    /// What came of it.
    pub approval: ApprovalState,
    /// Who decided: channel and sender, `telegram:5000000001`; absent unless somebody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The rules that ask, or why nobody could be asked; one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Where an approval stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    /// Somebody is being asked.
    Asked,
    /// Somebody agreed.
    Approved,
    /// Somebody did not.
    Denied,
    /// Nobody answered in time.
    Expired,
    /// The call ended before anybody answered.
    Withdrawn,
}

/// What the operator decided about a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessChange {
    /// They are served from now on.
    Allowed,
    /// They are not served any more.
    Removed,
}

/// A call ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallOutcome {
    /// The call.
    #[serde(flatten)]
    pub facts: CallFacts,
    /// What the judge said.
    pub verdict: VerdictKind,
    /// Why it was denied, or why it failed; one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The error code; absent when the call succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<ErrorCode>,
    /// What was changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Effect>,
    /// The `seq` of the intent that this settles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<u64>,
    /// Written by a later start, from what lies on disk, because a crash cut the call off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reconciled: bool,
    /// The node that wrote it, where that of this chain was gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_by: Option<String>,
    /// From the request to the end of publishing, in microseconds.
    pub duration_us: u64,
}

/// What the judge said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictKind {
    /// The call ran.
    Permit,
    /// The call was refused.
    Deny,
}

/// A torn line, described so that verification accepts exactly it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recovered {
    /// Length of the torn line in bytes.
    pub torn_bytes: u64,
    /// SHA-256 of its bytes, lower-case hex.
    pub torn_sha256: String,
}

/// SHA-256 as lower-case hex.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_effects_of_a_record_are_told_apart() {
        let sha256 = "ab".repeat(32);
        let attached = |path: Option<&str>| {
            let (path, sha256) = (path.map(str::to_owned), sha256.clone());
            Effect::Attached { path, attached: "a".into(), bytes: 1, sha256 }
        };
        for effect in [
            attached(Some("/shared/a")),
            attached(None),
            Effect::Written(FileFacts { path: "/shared/a".into(), bytes: 1, sha256: sha256.clone() }),
            Effect::Removed { path: "/shared/a".into(), removed: EntryKind::File, entries: 1 },
        ] {
            let text = serde_json::to_string(&effect).expect("plain data");
            assert_eq!(serde_json::from_str::<Effect>(&text).expect("as it was"), effect);
        }
    }
}
