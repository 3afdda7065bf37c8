//! Arguments that a policy completes: what the judge then sees, and policies that could never do.

use super::{MIXED, READING, TOOL, policies};
use crate::{GuestPath, JudgedCall, PolicySet, Verdict, judge};
use cofferdam_core::id::TurnId;
use cofferdam_core::tool::ToolName;
use serde_json::{Value, json};

const BOTH: &str = r#"dir = { path = "write-below", default = "/shared/Downloads", home = "/shared" }"#;

/// What the call comes to: the arguments that are left and whether a file below `dir` may be
/// staged.
fn judged(arguments: &str, given: Value) -> Result<(Value, bool), String> {
    let policies = policies(MIXED, arguments);
    let policy = policies.get("t").expect("there");
    let tool = ToolName::parse("t").expect("a name");
    match judge(JudgedCall { id: TurnId::new("turn").call(0), tool, arguments: given }, policy) {
        Verdict::Ask(pending) => panic!("{pending:?}"),
        Verdict::Deny(denial) => Err(denial.reason),
        Verdict::Permit(permit) => {
            let arguments = permit.call().arguments.clone();
            let below = format!("{}/a", arguments["dir"].as_str().unwrap_or_default());
            let may = GuestPath::parse(&below).is_ok_and(|path| permit.may_stage(&path));
            Ok((arguments, may))
        }
    }
}

#[test]
fn what_is_not_given_is_the_default_and_judged_like_any_other() {
    let completed = |given: Value, dir: &str| {
        assert_eq!(judged(BOTH, given.clone()), Ok((json!({ "dir": dir }), true)), "{given}");
    };
    completed(json!({}), "/shared/Downloads");
    completed(json!({ "dir": null }), "/shared/Downloads");
    completed(json!({ "dir": "/shared/x" }), "/shared/x");
    completed(json!({ "dir": "~" }), "/shared");
    completed(json!({ "dir": "~/x/y" }), "/shared/x/y");
}

#[test]
fn a_tilde_reaches_nothing_else() {
    for (dir, why) in [
        ("~/../vault", "/shared/../vault"),
        ("~/", "\"/shared/\" has an empty component"),
        ("~//x", "\"/shared//x\" has an empty component"),
        ("~root", "\"~root\" is not absolute"),
        ("~root/x", "\"~root/x\" is not absolute"),
        (" ~", "\" ~\" is not absolute"),
        ("x/~", "\"x/~\" is not absolute"),
        ("~/a\u{202E}b", "control or invisible character"),
        ("", "\"\" is not absolute"),
        ("/tmp/x", "/tmp is read-only"),
    ] {
        let denied = judged(BOTH, json!({ "dir": dir })).expect_err(dir);
        assert!(denied.contains(why), "{dir}: {denied}");
    }
    // In a list, in another argument, or where nobody asked for it, it is no path.
    assert!(judged(BOTH, json!({ "dir": ["~"] })).is_err());
    assert!(judged(BOTH, json!({ "dir": { "dir": "~" } })).is_err());
    let plain = r#"dir = { path = "write-below" }"#;
    assert!(judged(plain, json!({ "dir": "~" })).expect_err("denied").contains("not absolute"));
    assert_eq!(judged(plain, json!({})), Ok((json!({}), false)));
}

#[test]
fn completing_twice_is_completing_once() {
    let policies = policies(MIXED, BOTH);
    let policy = policies.get("t").expect("there");
    for mut arguments in [json!({}), json!({ "dir": "~/~" }), json!([]), json!("~")] {
        policy.complete(&mut arguments);
        let once = arguments.clone();
        policy.complete(&mut arguments);
        assert_eq!(arguments, once);
    }
}

#[test]
fn a_completion_that_could_never_do_is_refused_with_its_line() {
    let refused = |mounts: &str, line: &str| {
        let profile = format!("schema = 1\nprofile = \"p\"\nwhy = \"w\"\nmounts = [{mounts}]\n");
        let tool = format!("{TOOL}[arguments]\n{line}\n");
        let read = PolicySet::parse([("profiles/p.toml", &*profile), ("tools/t.toml", &*tool)]);
        let problem = read.expect_err(line).remove(0);
        assert_eq!((problem.file.as_str(), problem.line), ("tools/t.toml", Some(8)), "{line}");
        problem.problem
    };
    for (line, why) in [
        (r#"dir = { path = "write-below", default = "/vault/x" }"#, "in no mount of the profile"),
        (r#"dir = { path = "write-below", default = "/tmp/x" }"#, "may only be read"),
        (r#"dir = { path = "write", default = "/shared" }"#, "is a mount, not a file"),
        (r#"dir = { path = "write-below", default = "~/x" }"#, "is not absolute"),
        (r#"dir = { path = "write-below", default = "/shared/../x" }"#, ". or .. component"),
        (r#"dir = { path = "write-below", home = "/shared/x" }"#, "is no mount of the profile"),
        (r#"dir = { path = "write-below", home = "/vault" }"#, "is no mount of the profile"),
        (r#""dirs[]" = { path = "read", default = "/shared" }"#, "nothing is completed"),
        (r#""a.b" = { path = "read", home = "/shared" }"#, "nothing is completed"),
        (r#"dir = { default = "/shared" }"#, "not a class"),
        (r#"dir = { path = "read", fallback = "/shared" }"#, "not a class"),
    ] {
        let said = refused(MIXED, line);
        assert!(said.contains(why), "{line}: {said}");
    }
    let only_written = r#"{ guest = "/shared", access = "write-only" }"#;
    let said = refused(only_written, r#"dir = { path = "read", default = "/shared/x" }"#);
    assert!(said.contains("may only be written"), "{said}");
    let said = refused(READING, BOTH);
    assert!(said.contains("grants no mount for writing"), "{said}");
}
