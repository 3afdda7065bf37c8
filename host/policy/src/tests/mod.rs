//! Policies as a reviewer would check them: tables of refusals first, then properties with an
//! oracle.

mod addresses;
mod approving;
mod completing;
mod effective;
mod judging;
mod leaves;
mod paths;
mod staging;
mod writing;

use super::{ArgumentClass, PolicySet};

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
/// Nothing may be written.
const READING: &str =
    r#"{ guest = "/shared", access = "read-only" }, { guest = "/tmp", access = "read-only" }"#;
/// Both may be written.
const WRITING: &str =
    r#"{ guest = "/shared", access = "atomic-write" }, { guest = "/tmp", access = "atomic-write" }"#;

#[test]
fn a_class_is_found_by_place() {
    let set = policies(MIXED, "path = { path = \"write\" }\n\"edits[].new\" = \"content\"\nnote = \"value\"");
    let policy = set.get("t").expect("there");
    assert_eq!(policy.class("edits[].new"), Some(ArgumentClass::Content));
    assert_eq!(policy.class("note"), Some(ArgumentClass::Value));
    for other in ["edits[]", "edits", "new", "path.x", "Path", "", "path[]"] {
        assert_eq!(policy.class(other), None, "{other}");
    }
}
