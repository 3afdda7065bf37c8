//! What reviewers are told, held against what the judge does.

mod approving;
mod diffing;
mod explaining;
#[cfg(feature = "warden")]
mod filtering;
mod mending;
mod reporting;
#[cfg(feature = "warden")]
mod rows;

#[cfg(feature = "warden")]
use cofferdam_core::{
    audit::{CallFacts, CallOutcome, GENESIS, VerdictKind},
    id::{Caller, TurnId},
};
use cofferdam_policy::PolicySet;

/// What every tool of these tests says of itself.
const TOOL: &str = "schema = 1\ntool = \"t\"\nprofile = \"p\"\ncomponent = \"builtin\"\nsafety = \"side-effecting\"\nwhy = \"w\"\n";

/// A tool `t` under a profile `p` with these mounts, `[arguments]` holding these lines.
fn policies(mounts: &str, arguments: &str) -> PolicySet {
    let profile = format!("schema = 1\nprofile = \"p\"\nwhy = \"w\"\nmounts = [{mounts}]\n");
    let tool = format!("{TOOL}[arguments]\n{arguments}\n");
    PolicySet::parse([("profiles/p.toml", &*profile), ("tools/t.toml", &*tool)]).expect("sound policies")
}

/// `/shared` may be written, `/tmp` only read, `/vault` is not there.
const MIXED: &str =
    r#"{ guest = "/shared", access = "atomic-write" }, { guest = "/tmp", access = "read-only" }"#;
/// Both may be written.
const WRITING: &str =
    r#"{ guest = "/shared", access = "atomic-write" }, { guest = "/tmp", access = "atomic-write" }"#;

/// Facts of the `n`th call of a turn.
#[cfg(feature = "warden")]
fn facts(n: usize) -> CallFacts {
    let turn = TurnId::new("telegram-829110");
    CallFacts {
        call: turn.call(n),
        turn,
        session: None,
        own_workspace: false,
        caller: Caller { channel: "telegram".into(), sender: "123456789".into() },
        tool: "attachment_save".into(),
        component_sha256: None,
        policy_sha256: None,
        profile: None,
        arguments: serde_json::json!({}),
        arguments_sha256: GENESIS.into(),
    }
}

/// A call that was permitted and changed nothing.
#[cfg(feature = "warden")]
fn outcome() -> CallOutcome {
    CallOutcome {
        facts: facts(0),
        verdict: VerdictKind::Permit,
        reason: None,
        code: None,
        files: Vec::new(),
        intent: None,
        reconciled: false,
        settled_by: None,
        duration_us: 850,
    }
}
