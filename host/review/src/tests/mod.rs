//! What reviewers are told, held against what the judge does.

mod approving;
mod diffing;
mod explaining;
#[cfg(feature = "warden")]
mod filtering;
mod mending;
#[cfg(feature = "warden")]
mod rows;

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
