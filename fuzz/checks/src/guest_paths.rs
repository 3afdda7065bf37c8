//! Guest paths: the parser, the completion of `~` and the judge against the slow oracle.
//!
//! The bytes are lines, each a text that wants to be a path.

use crate::assert_plain;
use crate::oracle;
use cofferdam_core::id::TurnId;
use cofferdam_core::tool::ErrorCode;
use cofferdam_policy::{GuestPath, JudgedCall, PolicySet, ToolPolicy, Verdict, judge};
use serde_json::json;
use std::sync::LazyLock;

/// `/shared` may be written, `/tmp` read, `/vault` is not granted.
const PROFILE: &str = "schema = 1\nprofile = \"p\"\nwhy = \"w\"\nmounts = [ { guest = \"/shared\", access = \"atomic-write\" }, { guest = \"/tmp\", access = \"read-only\" } ]\n";
const TOOL: &str = "schema = 1\ntool = \"t\"\nprofile = \"p\"\ncomponent = \"builtin\"\nsafety = \"side-effecting\"\nwhy = \"w\"\n\
                    [arguments]\nread = { path = \"read\", home = \"/shared\" }\nwrite = { path = \"write\", home = \"/shared\" }\n\
                    below = { path = \"write-below\", home = \"/shared\" }\n";

static POLICY: LazyLock<ToolPolicy> = LazyLock::new(|| {
    let set =
        PolicySet::parse([("profiles/p.toml", PROFILE), ("tools/t.toml", TOOL)]).expect("sound policies");
    set.get("t").expect("there").clone()
});

/// Holds every line, and every pair of neighbours, against the oracle.
pub fn guest_paths(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let lines: Vec<&str> = text.split('\n').take(16).collect();
    for line in &lines {
        parsed(line);
        for how in ["read", "write", "below"] {
            judged(line, how);
        }
    }
    for pair in lines.windows(2) {
        if let (Ok(path), Ok(dir)) = (GuestPath::parse(pair[0]), GuestPath::parse(pair[1])) {
            assert_eq!(path.is_below(&dir), oracle::is_below(pair[0], pair[1]), "{pair:?}");
            assert_eq!(dir.is_below(&path), oracle::is_below(pair[1], pair[0]), "{pair:?}");
        }
    }
}

fn parsed(text: &str) {
    let parsed = GuestPath::parse(text);
    assert_eq!(parsed.is_ok(), oracle::is_guest_path(text), "{text:?}");
    match parsed {
        Ok(path) => {
            let components = oracle::components(text);
            assert_eq!(path.as_str(), text);
            assert_eq!(path.mount(), format!("/{}", components[0]));
            assert_eq!(path.below_mount(), components[1..].join("/"));
            assert_eq!(path.is_mount(), components.len() == 1);
        }
        Err(bad) => {
            let said = bad.to_string();
            assert!(said.len() < 500, "{said}");
            assert_plain(&said);
        }
    }
}

fn judged(text: &str, how: &str) {
    let mut arguments = json!({ how: text });
    let whole = oracle::completed(text);
    POLICY.complete(&mut arguments);
    assert_eq!(arguments[how], json!(whole));
    let once = arguments.clone();
    POLICY.complete(&mut arguments);
    assert_eq!(arguments, once, "completing twice");

    let mount = format!("/{}", whole.split('/').nth(1).unwrap_or_default());
    let reachable = match how {
        "read" => mount == "/shared" || mount == "/tmp",
        "write" => mount == "/shared" && whole != mount,
        _ => mount == "/shared",
    };
    let expected = oracle::is_guest_path(&whole) && reachable;
    let call = JudgedCall {
        id: TurnId::new("fuzz").call(0),
        tool: POLICY.tool.clone(),
        arguments: json!({ how: text }),
    };
    match judge(call, &POLICY) {
        Verdict::Permit(permit) => {
            assert!(expected, "{how} {text:?} is permitted");
            let inside = format!("{whole}/x");
            for candidate in [whole.as_str(), &inside, "/shared", "/shared/other", "/tmp/x"] {
                let Ok(path) = GuestPath::parse(candidate) else { continue };
                let staged = match how {
                    "read" => false,
                    "write" => candidate == whole,
                    _ => oracle::is_below(candidate, &whole),
                };
                assert_eq!(permit.may_stage(&path), staged, "{how} {text:?}: staging {candidate:?}");
            }
        }
        Verdict::Ask(_) => panic!("this policy asks nobody"),
        Verdict::Deny(denial) => {
            assert!(!expected, "{how} {text:?} is denied: {}", denial.reason);
            assert_eq!(denial.code, ErrorCode::PathDenied);
            assert_plain(&denial.reason);
        }
    }
}
