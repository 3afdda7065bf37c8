//! The audit's records: what is written down of every call, before and after.
//!
//! One record is one line of JSON. Lines are chained by the SHA-256 of the exact bytes of the line
//! before (without its newline), so a reviewer needs no canonical form to check them: the bytes on
//! disk are the canonical form.

use crate::id::{CallId, Caller, SessionId, TurnId};
use crate::policy::{ArgumentClass, ToolPolicy};
use crate::tool::ErrorCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

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
    pub event: Event,
}

/// What a record tells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A side effect is about to happen; durable on disk before it does.
    Intent(Intent),
    /// A call ended: done, failed, or refused.
    Outcome(Outcome),
    /// A person was asked about a call, or what came of that.
    Approval(Approval),
    /// The operator let somebody in, or did not any more.
    Access(Access),
    /// The configuration was read anew while the gateway ran.
    Reload(Reload),
    /// The line before this one was cut by a crash; this continues the chain without hiding it.
    Recovered(Recovered),
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

/// A file that a call writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
/// In JSON each is an object with `path`, told apart by `moved_from`, `removed` and `attached`; what was attached and is
/// no file of the workspace has none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Effect {
    /// A file or directory has another name now.
    Moved(Moved),
    /// A name is gone, with what lay below it.
    Removed(Removed),
    /// The bytes of a file, or bytes that the call composed, are part of the reply. The file itself stays as it is.
    Attached(Attached),
    /// A file has these bytes.
    Written(FileFacts),
}

/// A rename.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// The virtual path it has now.
    pub path: String,
    /// The virtual path it had.
    pub moved_from: String,
    /// What was moved.
    pub kind: EntryKind,
    /// Its inode number, by which a start after a crash recognizes it.
    pub inode: u64,
}

/// A removal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removed {
    /// The virtual path that is gone.
    pub path: String,
    /// What was removed.
    pub removed: EntryKind,
    /// Files and directories, the named one included.
    pub entries: u64,
}

/// A file that goes out with a reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attached {
    /// The virtual path that the bytes were read from; none where the call composed them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The name that the person sees.
    pub attached: String,
    /// Length in bytes.
    pub bytes: u64,
    /// SHA-256 of the bytes, lower-case hex.
    pub sha256: String,
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The virtual path that it is about, if any; for a rename the new one.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Written(file) => Some(&file.path),
            Self::Moved(moved) => Some(&moved.path),
            Self::Removed(removed) => Some(&removed.path),
            Self::Attached(attached) => attached.path.as_deref(),
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
pub struct Approval {
    /// The call.
    #[serde(flatten)]
    pub facts: CallFacts,
    /// SHA-256 of the very call with its policy and the words in which it was shown, lower-case hex.
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

/// The operator let somebody in, or did not any more; on disk before it holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// Who is served, or is not any more.
    #[serde(flatten)]
    pub person: Caller,
    /// Which of the two.
    pub access: AccessChange,
    /// Who decided it: channel and sender, `cli:1000`.
    pub by: String,
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
pub struct Outcome {
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

/// A configuration that was read anew: in force for what began after this record, or refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reload {
    /// What became of it.
    pub reload: ReloadState,
    /// SHA-256 of the configuration's file, lower-case hex; absent when there is none, or it could not be understood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_sha256: Option<String>,
    /// SHA-256 over the policies: of a line `<tool> <policy_sha256>` for each tool, in order of their names; absent
    /// unless it is in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policies_sha256: Option<String>,
    /// Why it was refused; one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What became of a configuration that was read anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReloadState {
    /// It is in force.
    Applied,
    /// It is not; the one before stays.
    Refused,
}

/// A torn line, described so that verification accepts exactly it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recovered {
    /// Length of the torn line in bytes.
    pub torn_bytes: u64,
    /// SHA-256 of its bytes, lower-case hex.
    pub torn_sha256: String,
}

/// A string argument longer than this is audited as its length and hash.
pub const VALUE_BYTES_MAX: usize = 1024;

/// Longer redacted arguments are audited as their length and hash alone, so that a record fits its line.
pub const ARGUMENTS_BYTES_MAX: usize = 16 * 1024;

/// Deeper arguments are audited as their length and hash alone.
const DEPTH_MAX: usize = 16;

/// Arguments as the audit may hold them: `content` as length and SHA-256, `value` bounded, everything
/// that no policy classifies treated as content.
pub fn redact(arguments: &Value, policy: Option<&ToolPolicy>) -> Value {
    let Value::Object(object) = arguments else { return digest_of(arguments) };
    if depth(arguments) > DEPTH_MAX {
        return digest_of(arguments);
    }
    let shown = redact_object(object, policy);
    if shown.to_string().len() > ARGUMENTS_BYTES_MAX { digest_of(arguments) } else { shown }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn redact_object(object: &Map<String, Value>, policy: Option<&ToolPolicy>) -> Value {
    let mut shown = Map::new();
    for (key, value) in object.iter().take(ARGUMENTS_MAX) {
        let name = crate::text::one_line(key, 80);
        shown.insert(name, redact_at(key, value, policy));
    }
    if object.len() > ARGUMENTS_MAX {
        shown.insert("…".into(), json!(object.len() - ARGUMENTS_MAX));
    }
    Value::Object(shown)
}

/// More arguments than this are counted, not listed.
const ARGUMENTS_MAX: usize = 64;

fn redact_at(at: &str, value: &Value, policy: Option<&ToolPolicy>) -> Value {
    match policy.and_then(|p| p.class(at)) {
        Some(ArgumentClass::Content) => digest_of(value),
        // One or a list of them: each in the list has a class of its own.
        Some(_) if value.is_array() && policy.is_some_and(|p| p.class(&format!("{at}[]")).is_some()) => {
            redact_items(at, value, policy)
        }
        Some(ArgumentClass::Value | ArgumentClass::Path(_)) => bounded(value),
        None => match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
            Value::String(_) => digest_of(value),
            Value::Array(_) => redact_items(at, value, policy),
            Value::Object(fields) => fields
                .iter()
                .take(ARGUMENTS_MAX)
                .map(|(k, v)| (crate::text::one_line(k, 80), redact_at(&format!("{at}.{k}"), v, policy)))
                .collect::<Map<_, _>>()
                .into(),
        },
    }
}

fn redact_items(at: &str, value: &Value, policy: Option<&ToolPolicy>) -> Value {
    let at = format!("{at}[]");
    let items = value.as_array().into_iter().flatten();
    items.take(ARGUMENTS_MAX).map(|v| redact_at(&at, v, policy)).collect()
}

fn bounded(value: &Value) -> Value {
    match value {
        Value::String(text) if text.len() <= VALUE_BYTES_MAX => value.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        _ => digest_of(value),
    }
}

fn digest_of(value: &Value) -> Value {
    match value {
        Value::String(text) => json!({ "bytes": text.len(), "sha256": sha256_hex(text.as_bytes()) }),
        other => {
            let text = other.to_string();
            json!({ "json_bytes": text.len(), "sha256": sha256_hex(text.as_bytes()) })
        }
    }
}

/// SHA-256 as lower-case hex.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::PolicySet;

    fn policy() -> PolicySet {
        let profile = "schema = 1\nprofile = \"p\"\nwhy = \"w\"\nmounts = [ { guest = \"/shared\", access = \"atomic-write\" } ]";
        let tool = "schema = 1\ntool = \"t\"\nprofile = \"p\"\ncomponent = \"builtin\"\nsafety = \"side-effecting\"\nwhy = \"w\"\n\
                    [arguments]\npath = { path = \"write\" }\ncontent = \"content\"\n\"edits[].new\" = \"content\"\nnote = \"value\"";
        PolicySet::parse([("profiles/p.toml", profile), ("tools/t.toml", tool)]).expect("sound")
    }

    #[test]
    fn content_and_the_unclassified_never_appear() {
        let set = policy();
        let arguments = json!({ "path": "/shared/a", "content": "SECRET", "note": "seen", "edits": [{ "new": "SECRET", "n": 1 }],
                                "unknown": "SECRET", "nested": { "deep": ["SECRET"] }, "flag": true });
        let shown = redact(&arguments, set.get("t")).to_string();
        assert!(!shown.contains("SECRET"), "{shown}");
        assert!(
            shown.contains("\"path\":\"/shared/a\"")
                && shown.contains("\"note\":\"seen\"")
                && shown.contains("\"flag\":true")
        );
        assert!(shown.contains(&sha256_hex(b"SECRET")));
        assert!(!redact(&arguments, None).to_string().contains("seen"));
    }

    #[test]
    fn one_path_or_a_list_of_them_is_told_as_it_is() {
        let profile = "schema = 1\nprofile = \"p\"\nwhy = \"w\"\nmounts = [ { guest = \"/shared\", access = \"read-only\" } ]";
        let tool = "schema = 1\ntool = \"t\"\nprofile = \"p\"\ncomponent = \"builtin\"\nsafety = \"read-only\"\nwhy = \"w\"\n\
                    [arguments]\npaths = { path = \"read\" }\n\"paths[]\" = { path = \"read\" }\nlist = \"value\"";
        let set = PolicySet::parse([("profiles/p.toml", profile), ("tools/t.toml", tool)]).expect("sound");
        let told = |arguments: Value| redact(&arguments, set.get("t"));
        for arguments in [json!({ "paths": "/shared/a" }), json!({ "paths": ["/shared/a", "/shared/b"] })] {
            assert_eq!(told(arguments.clone()), arguments);
        }
        assert!(!told(json!({ "list": ["SECRET"] })).to_string().contains("SECRET"));
        assert!(!told(json!({ "paths": [{ "x": "SECRET" }] })).to_string().contains("SECRET"));
    }

    #[test]
    fn the_effects_of_a_record_are_told_apart() {
        let sha256 = "ab".repeat(32);
        let attached = |path: Option<&str>| {
            let (path, sha256) = (path.map(str::to_owned), sha256.clone());
            Effect::Attached(Attached { path, attached: "a".into(), bytes: 1, sha256 })
        };
        for effect in [
            attached(Some("/shared/a")),
            attached(None),
            Effect::Written(FileFacts { path: "/shared/a".into(), bytes: 1, sha256: sha256.clone() }),
            Effect::Removed(Removed { path: "/shared/a".into(), removed: EntryKind::File, entries: 1 }),
        ] {
            let text = serde_json::to_string(&effect).expect("plain data");
            assert_eq!(serde_json::from_str::<Effect>(&text).expect("as it was"), effect);
        }
    }

    #[test]
    fn whatever_is_given_the_record_stays_small_and_flat() {
        let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
        let wide: Value =
            (0..1000).map(|n| (format!("k{n}"), json!("v".repeat(1000)))).collect::<Map<_, _>>().into();
        let numbers = json!({ "n": vec![vec![1; 60]; 60], "m": vec![vec![vec![12345678; 60]; 60]; 60] });
        for arguments in [
            json!({ "a": deep }),
            wide,
            numbers,
            json!("x".repeat(100_000)),
            json!({ "note": "x".repeat(100_000) }),
        ] {
            let shown = redact(&arguments, policy().get("t"));
            assert!(shown.to_string().len() <= ARGUMENTS_BYTES_MAX && depth(&shown) <= DEPTH_MAX);
        }
    }
}
