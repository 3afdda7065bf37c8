//! Suggestions: each is applied as a program would, permits the call, and widens what it says and
//! no more.

use crate::diff::{Direction, Subject, diff};
use crate::edit::{Action, PolicyEdit};
use crate::explain::explain;
use crate::mend::{Suggestion, suggest_for_call, suggest_for_size};
use cofferdam_core::id::TurnId;
use cofferdam_core::tool::ToolName;
use cofferdam_policy::{JudgedCall, PolicySet, Verdict, judge};
use serde_json::{Value, json};

const READS: &str = "[arguments]\nread = { path = \"read\" }\n";
const ARGUMENTS: &str = "[arguments]\nread = { path = \"read\" }\n\"writes[]\" = { path = \"write\" }\n";

/// The tool `t` and a neighbour under a profile `p` whose file goes on with `profile`, and a
/// profile `q`.
fn set(profile: &str) -> PolicySet {
    let profile = format!("schema = 1\nprofile = \"p\"\nwhy = \"w\"\n{profile}\n");
    let all = "schema = 1\nprofile = \"q\"\nwhy = \"w\"\nmounts = [ { guest = \"/vault\", access = \"read-only\" } ]\n";
    // A tool that writes does not load under a profile that grants nothing to write.
    let tool = format!("{}{}", super::TOOL, if profile.contains("atomic-write") { ARGUMENTS } else { READS });
    let other = format!("{}{READS}", super::TOOL).replace("tool = \"t\"", "tool = \"u\"");
    PolicySet::parse([
        ("profiles/p.toml", &*profile),
        ("profiles/q.toml", all),
        ("tools/t.toml", &*tool),
        ("tools/u.toml", &*other),
    ])
    .expect("sound")
}

fn permitted(set: &PolicySet, arguments: &Value) -> bool {
    let tool = ToolName::parse("t").expect("a name");
    let call = JudgedCall { id: TurnId::new("turn").call(0), tool, arguments: arguments.clone() };
    matches!(judge(call, set.get("t").expect("there")), Verdict::Permit(_))
}

fn suggested(set: &PolicySet, arguments: &Value) -> Vec<Suggestion> {
    let policy = set.get("t").expect("there");
    let denials: Vec<_> = explain(policy, arguments)
        .into_iter()
        .flat_map(|place| place.denials)
        .map(|told| told.denial)
        .collect();
    assert!(!denials.is_empty() && !permitted(set, arguments), "{arguments}");
    suggest_for_call(set, policy, arguments, &denials)
}

#[test]
fn what_no_policy_permits_has_no_suggestion() {
    let set = set("mounts = [ { guest = \"/shared\", access = \"atomic-write\" } ]");
    for arguments in [
        json!({ "read": "/etc/passwd" }),
        json!({ "read": "/shared/../vault/a" }),
        json!({ "read": "/shared/.cofferdam-1" }),
        json!({ "writes": ["/shared"] }),
        json!({ "writes": ["/vault"] }),
        json!({ "other": "x" }),
        // A policy could permit one half only.
        json!({ "read": "/tmp/a", "writes": ["/shared/../b"] }),
        json!([]),
    ] {
        assert_eq!(suggested(&set, &arguments), [], "{arguments}");
    }
}

#[test]
fn a_suggestion_permits_the_call_however_the_profile_is_written() {
    for profile in [
        "mounts = []",
        "mounts = [ ]",
        "mounts=[{guest=\"/shared\",access=\"atomic-write\"}]",
        "mounts = [ { guest = \"/shared\", access = 'read-only' } ] # why not",
        "mounts = [\n  { guest = \"/shared\", access = \"atomic-write\" },\n  { guest = \"/tmp\", access = \"read-only\" }\n]",
        "mounts = [ # the list\n  { access = \"read-only\", guest = \"/tmp\" }, # first\n]\n[limits]\nmemory = \"1 MiB\"",
        "mounts = [{ guest = \"/tmp\",\n access = \"read-only\" }]",
        "[[mounts]]\nguest = \"/shared\"\naccess = \"atomic-write\"\n\n[[mounts]]\nguest = \"/tmp\"\naccess = \"read-only\"",
        "mounts = [ { guest = \"/shared\", access = \"atomic-write\" } ]\r\ninterfaces = []\r",
        "mounts = [ { guest = \"/shared\", access = \"copy-out\" }, { guest = \"/tmp\", access = \"atomic-write\" } ]",
    ] {
        let set = set(profile);
        let reads = [json!({ "read": "/vault/a" })];
        let writes = [
            json!({ "writes": ["/vault/a"] }),
            json!({ "writes": ["/shared/a", "/tmp/b", "/vault/c"], "read": "/vault/d" }),
        ];
        let writes = writes.into_iter().filter(|_| profile.contains("atomic-write"));
        for arguments in reads.into_iter().chain(writes) {
            let suggestions = suggested(&set, &arguments);
            assert!(!suggestions.is_empty(), "{profile}: {arguments}");
            for Suggestion { edits, changes } in suggestions {
                let new = edits.iter().try_fold(set.clone(), |set, edit| edit.apply(&set)).expect("applies");
                assert!(permitted(&new, &arguments), "{profile}: {edits:?}");
                assert_eq!(diff(&set, &new), changes);
                let only_mounts = changes.iter().all(|c| {
                    c.direction == Direction::Widens && matches!(c.subject, Subject::Mount(_))
                        || matches!(c.subject, Subject::Profile | Subject::WhyOfProfile)
                });
                assert!(only_mounts, "{changes:?}");
            }
        }
    }
}

#[test]
fn a_mount_that_is_written_alone_can_be_read_by_the_suggested_line() {
    let set = set("mounts = [ { guest = \"/vault\", access = \"write-only\" } ]");
    let arguments = json!({ "read": "/vault/a" });
    let mut told = Vec::new();
    for Suggestion { edits, changes } in suggested(&set, &arguments) {
        let new = edits.iter().try_fold(set.clone(), |set, edit| edit.apply(&set)).expect("applies");
        assert!(permitted(&new, &arguments), "{edits:?}");
        told.push(changes.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "));
    }
    // The other profile of the set reads it too, and its mount loses the writing.
    let by_line = ["t", "u"].map(|tool| format!("widens: {tool}: mount /vault: write-only → atomic-write"));
    assert!(told.contains(&by_line.join("; ")), "{told:?}");
}

#[test]
fn the_suggestion_that_widens_least_comes_first() {
    let shared = "mounts = [ { guest = \"/tmp\", access = \"atomic-write\" } ]";
    let wide = "schema = 1\nprofile = \"wide\"\nwhy = \"w\"\nmounts = [ { guest = \"/tmp\", access = \"atomic-write\" }, \
                { guest = \"/vault\", access = \"read-only\" } ]\n";
    let p = format!("schema = 1\nprofile = \"p\"\nwhy = \"w\"\n{shared}\n");
    let tool = format!("{}{ARGUMENTS}", super::TOOL);
    let other = tool.replace("tool = \"t\"", "tool = \"u\"");
    let set = PolicySet::parse([
        ("profiles/p.toml", &*p),
        ("profiles/wide.toml", wide),
        ("tools/t.toml", &*tool),
        ("tools/u.toml", &*other),
    ])
    .expect("sound");
    let suggestions = suggested(&set, &json!({ "read": "/vault/a" }));
    let files: Vec<_> = suggestions.iter().map(|s| (s.edits[0].file.as_str(), s.changes.len())).collect();
    // Another profile for this tool alone, then the profile of both.
    assert_eq!(files, [("tools/t.toml", 2), ("profiles/p.toml", 2)]);
    let tools: Vec<_> = suggestions[1].changes.iter().map(|change| change.tool.as_str()).collect();
    assert_eq!(tools, ["t", "u"], "all that it widens is told");
}

#[test]
fn a_profile_that_takes_something_away_is_not_suggested() {
    let set = set("mounts = [ { guest = \"/shared\", access = \"atomic-write\" } ]");
    let suggestions = suggested(&set, &json!({ "read": "/vault/a" }));
    assert_eq!(suggestions.len(), 1, "the profile q has the mount, and not /shared: {suggestions:?}");
    assert_eq!(suggestions[0].edits[0].file, "profiles/p.toml");
}

#[test]
fn room_for_long_arguments_is_made_where_it_is_missing() {
    let check = |profile_limit: &str, tool_limits: &str, bytes: usize, expected: &[&str]| {
        let profile =
            format!("schema = 1\nprofile = \"p\"\nwhy = \"w\"\nmounts = []\n[limits]\n{profile_limit}\n");
        let tool = format!("{}{tool_limits}", super::TOOL);
        let set =
            PolicySet::parse([("profiles/p.toml", &*profile), ("tools/t.toml", &*tool)]).expect("sound");
        let suggestions = suggest_for_size(&set, set.get("t").expect("there"), bytes);
        let files: Vec<_> =
            suggestions.iter().flat_map(|s| &s.edits).map(|edit| edit.file.as_str()).collect();
        assert_eq!(files, expected, "{profile_limit} {tool_limits}");
        for Suggestion { edits, changes } in suggestions {
            let new = edits.iter().try_fold(set.clone(), |set, edit| edit.apply(&set)).expect("applies");
            assert!(new.get("t").expect("there").limits.arguments.0 >= bytes as u64);
            assert_eq!(
                changes.iter().map(|c| c.subject.to_string()).collect::<Vec<_>>(),
                ["limit arguments"]
            );
        }
    };
    check("", "", 17 << 20, &[]);
    check("", "", 2 << 20, &["tools/t.toml"]);
    check("", "[limits]\nmemory = \"1 MiB\"\n", 2 << 20, &["tools/t.toml"]);
    check("", "[limits]\narguments = \"1 KiB\"\n", 1025, &["tools/t.toml"]);
    check("arguments = \"1 KiB\"", "", 1025, &["profiles/p.toml", "tools/t.toml"]);
    check(
        "arguments = \"2 KiB\"",
        "[limits]\narguments = \"1 KiB\"",
        4000,
        &["profiles/p.toml", "tools/t.toml"],
    );
}

#[test]
fn an_edit_that_does_not_fit_is_not_made() {
    let edit = |line, action, old: Option<&str>| PolicyEdit {
        file: "f".into(),
        line,
        action,
        old: old.map(str::to_owned),
        text: "new".into(),
    };
    for (edit, expected) in [
        (edit(0, Action::Insert, None), None),
        (edit(5, Action::Insert, None), None),
        (edit(2, Action::Replace, Some("other")), None),
        (edit(2, Action::Replace, None), None),
        (edit(9, Action::Replace, None), None),
        (edit(1, Action::Insert, None), Some("new\na\nb\n")),
        (edit(3, Action::Insert, None), Some("a\nb\nnew\n")),
        (edit(2, Action::Replace, Some("b")), Some("a\nnew\n")),
    ] {
        assert_eq!(edit.apply_text("a\nb\n").as_deref(), expected, "{edit:?}");
    }
}
