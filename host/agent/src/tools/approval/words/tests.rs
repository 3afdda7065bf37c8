//! All that a call holds is shown to the person who approves it, whole or with how much more there
//! is; or the call is refused.

use super::*;
use cofferdam_core::id::TurnId;
use cofferdam_policy::{Facts, JudgedCall, PermittedCall, PolicySet, Verdict, judge};
use serde_json::json;

const PROFILE: &str = "schema = 1\nprofile = \"p\"\nwhy = \"a test\"\n\
    mounts = [ { guest = \"/shared\", access = \"atomic-write\" } ]\ninterfaces = [\"turn-attachments\"]\n";
const TOOL: &str = "schema = 1\ntool = \"t\"\nprofile = \"p\"\ncomponent = \"builtin\"\nsafety = \"side-effecting\"\n\
    why = \"a test\"\n[arguments]\nfrom = { path = \"read\" }\nto = { path = \"write\" }\n\
    paths = { path = \"read\" }\n\"paths[]\" = { path = \"read\" }\n\"deep[].at[]\" = { path = \"write\" }\n\
    \"deep[].note\" = \"value\"\n\"jobs[].old_text\" = { path = \"write\" }\n\"jobs[].new_text\" = \"content\"\n\
    \"pair[0]\" = { path = \"write\" }\n\"pair[1]\" = \"content\"\n\
    \"edits[].old_text\" = \"content\"\n\"edits[].new_text\" = \"content\"\nnote = \"value\"\nany = \"value\"\nbody = \"content\"\n\
    who = \"recipient\"\nmail = \"content\"\n\"mail.at\" = { path = \"write\" }\n\
    [approval]\n\"*\" = \"always\"\n";

/// What is shown of a call with these arguments, without the lines that every call has.
fn shown_of(arguments: &Value, attachments: &[AttachmentInfo]) -> Option<Vec<String>> {
    let text = text_under(TOOL, arguments, attachments)?;
    Some(text.lines().skip(2).filter(|line| !line.starts_with("Rule: ")).map(str::to_owned).collect())
}

/// All that is shown of it under this policy.
fn text_under(tool: &str, arguments: &Value, attachments: &[AttachmentInfo]) -> Option<String> {
    let policies = PolicySet::parse([("profiles/p.toml", PROFILE), ("tools/t.toml", tool)]).expect("sound");
    let policy = policies.get("t").expect("there");
    let call = JudgedCall {
        id: TurnId::new("turn").call(0),
        tool: policy.tool.clone(),
        arguments: arguments.clone(),
    };
    let Verdict::Ask(pending) = judge(call, policy) else { panic!("{arguments}: it asks") };
    let PermittedCall::Ask(pending) = pending.decide(&Facts::default()) else {
        panic!("{arguments}: it asks")
    };
    let caller = Caller { channel: "test".into(), sender: "1".into() };
    let text = describe_call(policy, &pending, (&caller, None), attachments)?;
    assert!(text.encode_utf16().count() <= SHOWN_UNITS_MAX);
    assert!(!text.chars().any(|c| c != '\n' && cofferdam_core::text::is_deceptive(c)), "{text:?}");
    Some(text)
}

#[test]
fn an_approval_that_is_not_remembered_is_not_said_to_be() {
    let tool = TOOL.replace("\"*\" = \"always\"", "to = \"first-time-per-path\"");
    let longest = format!("/shared{}a", "/aaaaaaaaa".repeat(204));
    assert_eq!(longest.len(), APPROVED_PATH_BYTES_MAX);
    for (path, is_remembered) in [(longest.clone(), true), (format!("{longest}a"), false)] {
        let text = text_under(&tool, &json!({ "to": path }), &[]).expect("it is shown whole");
        let said = "this path is not asked about again";
        assert!(text.contains("Rule: to = ") && text.contains(said) == is_remembered, "{text}");
    }
}

#[test]
fn whoever_asks_is_shown_by_their_id_and_in_quotes_by_their_name() {
    for (called, expected) in [
        (None, "7"),
        (Some(" "), "7"),
        (Some("Ann"), "7 (\"Ann\")"),
        (Some("x\").\nRule: none \u{202e}("), "7 (\"x\\\"). Rule: none  (\")"),
    ] {
        assert_eq!(person("7", called), expected, "{called:?}");
    }
}

#[test]
fn everything_that_a_call_holds_has_a_line() {
    for (arguments, lines) in [
        (
            json!({ "from": "/shared/a", "to": "/shared/b" }),
            vec!["reads /shared/a", "changes or replaces /shared/b"],
        ),
        // One path or a list of them.
        (json!({ "paths": "/shared/a" }), vec!["reads /shared/a"]),
        (json!({ "paths": ["/shared/a", null, "/shared/b"] }), vec!["reads /shared/a", "reads /shared/b"]),
        (json!({ "paths": [] }), vec!["paths: []"]),
        // A text or an object with a path in it.
        (json!({ "mail": "x" }), vec!["mail: 1 bytes, sha256 2d711642b726: \"x\""]),
        (
            json!({ "mail": { "at": "/shared/a", "x": "y" } }),
            vec!["changes or replaces /shared/a", "mail.x: \"y\""],
        ),
        // In lists of lists of objects; a list that is empty may mean everything.
        (
            json!({ "deep": [{ "at": [], "note": "x" }, { "at": ["/shared/a", "/shared/b"], "n": 5 }, {}] }),
            vec![
                "deep[0].at: []",
                "deep[0].note: \"x\"",
                "changes or replaces /shared/a",
                "changes or replaces /shared/b",
                "deep[1].n: 5",
                "deep[2]: {}",
            ],
        ),
        (json!({ "deep": [[1, [true]], []] }), vec!["deep[0][0]: 1", "deep[0][1][0]: true", "deep[1]: []"]),
        // In a tuple, where each field has a class of its own.
        (
            json!({ "pair": ["/shared/a", "x", 7] }),
            vec![
                "changes or replaces /shared/a",
                "pair[2]: 7",
                "pair[1]: 1 bytes, sha256 2d711642b726: \"x\"",
            ],
        ),
        // What looks like an edit and is a path is shown as a path.
        (
            json!({ "jobs": [{ "old_text": "/shared/key", "new_text": "x" }] }),
            vec!["changes or replaces /shared/key", "jobs[0].new_text: 1 bytes, sha256 2d711642b726: \"x\""],
        ),
        (
            json!({ "edits": [{ "old_text": "a", "new_text": "b" }, { "old_text": "\u{202e}", "new_text": "c\t", "all": true }] }),
            vec![
                "edits[1].all: true",
                "edits[0]: 1 bytes become 1:",
                "  - a",
                "  + b",
                "edits[1]: 3 bytes become 2:",
                r#"  - "\u{202e}""#,
                r#"  + "c\t""#,
            ],
        ),
        // Values of any shape, with what hides made visible.
        (
            json!({ "any": { "to": ["a\u{202e}", null], "k\n": {} } }),
            vec![r#"any: {"to":["a\u{202e}",null],"k\n":{}}"#],
        ),
        (json!({ "note": "x\nRule: none" }), vec![r#"note: "x\nRule: none""#]),
        (json!({ "note": "**a** <b>b</b> [c](d)" }), vec![r#"note: "**a** <b>b</b> [c](d)""#]),
        (json!({ "a: 1\nRule": 1, "": 2, "é": 3 }), vec![r#""a: 1\nRule": 1"#, r#""": 2"#, r#""é": 3"#]),
        (json!({ "body": "x" }), vec!["body: 1 bytes, sha256 2d711642b726: \"x\""]),
        (json!({ "body": ["x", 1] }), vec![r#"body: 7 bytes, sha256 59402b0471b4: "[\"x\",1]""#]),
        (json!({ "note": null, "flag": false }), vec!["flag: false"]),
    ] {
        let found = shown_of(&arguments, &[]).expect("short");
        assert_eq!(found, lines, "{arguments}");
    }
}

#[test]
fn words_to_people_are_shown_whole_also_where_they_look_like_an_edit() {
    let long = "x".repeat(CONTENT_BYTES_MAX) + "end";
    let edit = json!({ "new_text": long, "old_text": "a" });
    let found = shown_of(&json!({ "edits": [edit], "who": "telegram:7" }), &[]).expect("it fits");
    let whole = format!("edits[0].new_text: {long:?}");
    assert_eq!(found, [&*whole, r#"edits[0].old_text: "a""#, r#"who: "telegram:7""#]);
}

#[test]
fn paths_and_values_are_shown_whole_or_the_call_is_refused() {
    let long = |n: usize, len: usize| format!("/shared/{}/{n}", "d/".repeat(len / 2 - 1) + "d");
    let last = "/shared/private/key";
    // The second path of a list lies beyond what a value shows.
    let found = shown_of(&json!({ "paths": [long(0, 190), last] }), &[]).expect("it fits");
    assert_eq!(found, [format!("reads {}", long(0, 190)), format!("reads {last}")]);
    for (paths, len, fits) in [(12, 200, true), (20, 200, false), (50, 20, true), (150, 20, false)] {
        let mut paths: Vec<_> = (0..paths).map(|n| long(n, len)).collect();
        paths.push(last.to_owned());
        match shown_of(&json!({ "paths": paths }), &[]) {
            Some(found) => {
                assert!(fits, "{len}");
                let lines: Vec<_> = paths.iter().map(|path| format!("reads {path}")).collect();
                assert_eq!(found, lines);
            }
            None => assert!(!fits, "{} of {len}", paths.len()),
        }
    }
    let value = "x".repeat(1000) + "end";
    let found = shown_of(&json!({ "note": value, "any": [value] }), &[]).expect("it fits");
    assert!(found.iter().all(|line| line.contains("xend\"")), "{found:?}");
    assert_eq!(shown_of(&json!({ "note": "x".repeat(4000) }), &[]), None);
    assert_eq!(shown_of(&json!({ "any": ["x".repeat(4000)] }), &[]), None);
    let many: serde_json::Map<_, _> = (0..500).map(|n| (format!("n{n}"), json!(n))).collect();
    assert_eq!(shown_of(&Value::Object(many), &[]), None);
}

#[test]
fn of_contents_a_part_is_shown_and_how_much_more_there_is() {
    let found = shown_of(&json!({ "body": "x".repeat(5000) }), &[]).expect("a part fits");
    assert!(
        found[0].starts_with("body: 5000 bytes, sha256 c59d3c0480cc: \"xxx")
            && found[0].ends_with("\"… (5000 bytes)"),
        "{found:?}"
    );
    let edits: Vec<_> =
        (0..100).map(|n| json!({ "old_text": "a\n".repeat(40), "new_text": format!("{n}") })).collect();
    let found = shown_of(&json!({ "edits": edits, "to": "/shared/a" }), &[]).expect("a part fits");
    assert_eq!(found[0], "changes or replaces /shared/a", "what must be there comes first");
    assert!(found.contains(&"  - … and 29 more lines".to_owned()), "{found:?}");
    assert!(found.last().is_some_and(|line| line.ends_with(" more lines of contents")), "{found:?}");
}

fn attachment(index: u32) -> AttachmentInfo {
    AttachmentInfo {
        index,
        name: Some("a\nRule: none\u{202e}".into()),
        mime_type: "text/plain".into(),
        declared_mime_type: None,
        size: 3,
        sha256: "ab".repeat(32),
        unavailable: None,
        source: None,
    }
}

#[test]
fn of_many_attachments_the_first_are_told_and_how_many_more_there_are() {
    for (count, told, more) in [(20, 20, None), (23, 20, Some("and 3 more attachments"))] {
        let all: Vec<_> = (0..count).map(attachment).collect();
        let found = shown_of(&json!({ "to": "/shared/a" }), &all).expect("they fit");
        let (shown, rest): (Vec<&str>, Vec<&str>) =
            found[1..].iter().map(String::as_str).partition(|line| line.starts_with("attachment "));
        assert_eq!((shown.len(), rest), (told, Vec::from_iter(more)), "{found:?}");
    }
}

#[test]
fn attachments_are_told_before_long_contents() {
    let edits: Vec<_> = (0..200).map(|n| json!({ "old_text": "a", "new_text": format!("{n}") })).collect();
    let found =
        shown_of(&json!({ "edits": edits, "to": "/shared/a" }), &[attachment(0)]).expect("a part fits");
    assert_eq!(
        found[1],
        r#"attachment 0: "a\nRule: none\u{202e}", text/plain, 3 bytes, sha256 abababababab"#
    );
}
