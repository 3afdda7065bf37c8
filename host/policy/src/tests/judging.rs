//! The judge in tables: what one call comes to under one profile, refusals first.

use super::{MIXED, READING, WRITING, policies};
use crate::{Cause, GuestPath, JudgedCall, PathUse, Safety, ToolPolicy, Verdict, judge};
use cofferdam_core::id::TurnId;
use cofferdam_core::tool::{ErrorCode, ToolName};
use serde_json::{Value, json};

/// What the judge says, on one line: `deny: CODE REASON`, or `permit` with the paths for writing.
fn said(policy: &ToolPolicy, arguments: &Value) -> String {
    let call = JudgedCall {
        id: TurnId::new("turn").call(0),
        tool: ToolName::parse("t").expect("a name"),
        arguments: arguments.clone(),
    };
    match judge(call, policy) {
        Verdict::Deny(denial) => format!("deny: {} {}", denial.code, denial.reason),
        Verdict::Ask(pending) => panic!("{pending:?}"),
        Verdict::Permit(permit) => {
            assert_eq!(permit.call().arguments, *arguments, "the permit owns the very call that was judged");
            assert_eq!(permit.limits(), &policy.limits);
            assert_eq!(permit.grants(), &policy.grants);
            assert_eq!((permit.profile(), permit.safety()), ("p", Safety::SideEffecting));
            "permit".to_owned()
        }
    }
}

/// `/vault` is copied out of, the others are written alone.
const VAULT: &str = r#"{ guest = "/vault", access = "copy-out" }, { guest = "/shared", access = "write-only" },
{ guest = "/tmp", access = "write-only" }"#;

/// The profile by a word, `read`, `write` and `below` being the classes of the arguments of that
/// name.
fn profile(word: &str) -> ToolPolicy {
    let (mounts, written) = match word {
        "file-read-only" => (READING, ""),
        "mixed" => (MIXED, "write = { path = \"write\" }\nbelow = { path = \"write-below\" }\n"),
        "file-read-write" => (WRITING, "write = { path = \"write\" }\nbelow = { path = \"write-below\" }\n"),
        "nothing" => ("", ""),
        "vault" => (VAULT, "write = { path = \"write\" }\nbelow = { path = \"write-below\" }\n"),
        other => panic!("no profile {other}"),
    };
    let arguments = format!(
        "read = {{ path = \"read\" }}\n\"reads[]\" = {{ path = \"read\" }}\n\"edits[].at\" = {{ path = \"read\" }}\n\
         text = \"value\"\nbody = \"content\"\n\"deep.body\" = \"content\"\n{written}"
    );
    policies(mounts, &arguments).get("t").expect("there").clone()
}

fn check(word: &str, arguments: &str, expected: &str) {
    let value: Value = serde_json::from_str(arguments).expect("JSON");
    assert_eq!(said(&profile(word), &value), expected, "{word} {arguments}");
}

#[test]
fn the_policy_of_another_tool_denies() {
    let call = JudgedCall {
        id: TurnId::new("turn").call(0),
        tool: ToolName::parse("u").expect("a name"),
        arguments: json!({}),
    };
    let Verdict::Deny(denial) = judge(call, &profile("nothing")) else {
        panic!("another tool's policy permits")
    };
    assert_eq!((denial.code, denial.cause), (ErrorCode::Internal, Cause::OtherTool));
}

#[test]
fn a_path_outside_what_is_granted_is_denied() {
    let outside = |path: &str, usable: &str| {
        format!("deny: path_denied {path} is not in a mount of profile p; use {usable}")
    };
    check("mixed", r#"{"read":"/vault/key"}"#, &outside("/vault/key", "/shared/… or /tmp/…"));
    check("mixed", r#"{"write":"/vault/key"}"#, &outside("/vault/key", "/shared/…"));
    check("mixed", r#"{"below":"/vault"}"#, &outside("/vault", "/shared/…"));
    check("file-read-only", r#"{"read":"/etc/passwd"}"#, &outside("/etc/passwd", "/shared/… or /tmp/…"));
    check(
        "file-read-only",
        r#"{"reads":["/shared/a","/proc/self/mem"]}"#,
        &outside("/proc/self/mem", "/shared/… or /tmp/…"),
    );
    check(
        "file-read-only",
        r#"{"edits":[{"at":"/shared/a"},{"at":"/etc"}]}"#,
        &outside("/etc", "/shared/… or /tmp/…"),
    );
    check("nothing", r#"{"read":"/shared/a"}"#, &outside("/shared/a", "another tool: none is granted"));
    // A mount is a whole component, as it is written.
    check("mixed", r#"{"read":"/shared2/a"}"#, &outside("/shared2/a", "/shared/… or /tmp/…"));
    check("mixed", r#"{"read":"/SHARED/a"}"#, &outside("/SHARED/a", "/shared/… or /tmp/…"));
    check("mixed", r#"{"read":"/share/d/a"}"#, &outside("/share/d/a", "/shared/… or /tmp/…"));
}

#[test]
fn writing_where_only_reading_is_granted_is_denied() {
    let said = "deny: path_denied /tmp is read-only under profile p; write to /shared/…";
    check("mixed", r#"{"write":"/tmp/a"}"#, said);
    check("mixed", r#"{"below":"/tmp/dir"}"#, said);
    check("mixed", r#"{"write":"/shared/a","below":"/tmp"}"#, said);
}

#[test]
fn a_mount_itself_is_never_the_file_to_write() {
    let said = "deny: path_denied /shared is a mount, not a file; name a file below it, e.g. /shared/file";
    check("mixed", r#"{"write":"/shared"}"#, said);
    check("file-read-write", r#"{"write":"/shared"}"#, said);
}

#[test]
fn a_path_that_two_readers_could_read_differently_is_denied() {
    for (path, why) in [
        ("shared/a", r#""shared/a" is not absolute; start with a mount, e.g. /shared/photo.jpg"#),
        ("", r#""" is not absolute; start with a mount, e.g. /shared/photo.jpg"#),
        ("~/a", r#""~/a" is not absolute; start with a mount, e.g. /shared/photo.jpg"#),
        ("C:\\\\a", r#""C:\\a" is not absolute; start with a mount, e.g. /shared/photo.jpg"#),
        ("/shared//a", r#""/shared//a" has an empty component; remove the doubled or trailing /"#),
        ("/shared/", r#""/shared/" has an empty component; remove the doubled or trailing /"#),
        ("/", r#""/" has an empty component; remove the doubled or trailing /"#),
        (
            "/shared/../vault/key",
            r#""/shared/../vault/key" has a . or .. component; write the path without them"#,
        ),
        ("/shared/./a", r#""/shared/./a" has a . or .. component; write the path without them"#),
        ("/../etc/passwd", r#""/../etc/passwd" has a . or .. component; write the path without them"#),
        ("/shared/a\\u0000b", "the path has a control or invisible character (U+0000); use a plain name"),
        ("/shared/a\\nb", "the path has a control or invisible character (U+000A); use a plain name"),
        (
            "/shared/\\u202egpj.exe",
            "the path has a control or invisible character (U+202E); use a plain name",
        ),
        ("/shared/a\\u200bb", "the path has a control or invisible character (U+200B); use a plain name"),
        ("/shared/.cofferdam-1", "names starting with .cofferdam- are the gateway's own; use another name"),
        ("/shared/.cofferdam-x/a", "names starting with .cofferdam- are the gateway's own; use another name"),
    ] {
        for argument in ["read", "write", "below"] {
            check("mixed", &format!(r#"{{"{argument}":"{path}"}}"#), &format!("deny: path_denied {why}"));
        }
    }
}

#[test]
fn what_no_rule_classifies_is_denied_and_never_taken_for_harmless() {
    let unclassified =
        |at: &str| format!("deny: invalid_arguments the policy does not classify argument {at:?}; remove it");
    check("mixed", r#"{"other":"x"}"#, &unclassified("other"));
    check("mixed", r#"{"other":["x"]}"#, &unclassified("other[]"));
    check("mixed", r#"{"other":{"a":"x"}}"#, &unclassified("other.a"));
    check("mixed", r#"{"other":{"a":[{"b":[1,"x"]}]}}"#, &unclassified("other.a[].b[]"));
    check("mixed", r#"{"edits":[{"at":"/shared/a","new":"x"}]}"#, &unclassified("edits[].new"));
    check("mixed", r#"{"Read":"/shared/a"}"#, &unclassified("Read"));
    // A path class sits on a string: anything that could hide one is refused whole.
    check("mixed", r#"{"read":["/shared/a"]}"#, &unclassified("read"));
    check("mixed", r#"{"write":{"path":"/shared/a"}}"#, &unclassified("write"));
    check("mixed", r#"{"read":1}"#, &unclassified("read"));
    check("mixed", r#"{"write":true}"#, &unclassified("write"));
    check("mixed", r#"{"deep":"x"}"#, &unclassified("deep"));
    // Every name is shown on one line.
    check("mixed", "{\"a\\nb\\u202e\":\"x\"}", &unclassified("a b "));
    let not_an_object =
        "deny: invalid_arguments the arguments are not a JSON object; give {\"name\": value, …}";
    for text in ["null", "[]", "\"x\"", "1", "true"] {
        check("mixed", text, not_an_object);
    }
}

#[test]
fn a_name_with_a_dot_or_bracket_does_not_borrow_another_places_class() {
    // `{"deep.body": …}` is not the place deep → body, yet it may only ever be classified as
    // strictly.
    let policy = profile("mixed");
    for arguments in [json!({ "edits[].at": "/etc/passwd" }), json!({ "reads[]": "/etc/passwd" })] {
        assert!(said(&policy, &arguments).starts_with("deny: path_denied "), "{arguments}");
    }
}

#[test]
fn one_bad_argument_denies_the_call_whole() {
    check(
        "mixed",
        r#"{"write":"/shared/good","read":"/vault/key"}"#,
        "deny: path_denied /vault/key is not in a mount of profile p; use /shared/… or /tmp/…",
    );
    check(
        "mixed",
        r#"{"text":"fine","reads":["/shared/a","/tmp/b","/shared/../c"]}"#,
        "deny: path_denied \"/shared/../c\" has a . or .. component; write the path without them",
    );
}

#[test]
fn what_the_policy_allows_is_permitted() {
    for arguments in [
        "{}",
        r#"{"read":"/shared/a/b c/ü.txt","text":"/etc/passwd","body":"\u0000\u202e"}"#,
        r#"{"read":"/shared"}"#,
        r#"{"read":"/tmp/a","write":"/shared/a","below":"/shared"}"#,
        r#"{"reads":["/shared/a","/tmp/b"],"edits":[{"at":"/tmp/c","line":3,"all":true,"x":null}]}"#,
        r#"{"reads":[],"edits":[{}],"deep":{"body":"anything"}}"#,
        // An optional path that was not given.
        r#"{"read":null,"write":null}"#,
        r#"{"other":1,"more":[1,[2,{"n":null}]],"flag":false}"#,
        r#"{"write":"/shared/.hidden","read":"/shared/..."}"#,
    ] {
        check("mixed", arguments, "permit");
    }
    check("file-read-only", r#"{"read":"/tmp/a"}"#, "permit");
    check("nothing", r#"{"text":"x"}"#, "permit");
}

#[test]
fn a_reason_never_grows_with_what_was_asked_for() {
    let long = format!("/vault/{}", "x/".repeat(2000));
    let policy = profile("mixed");
    for arguments in [json!({ "read": long.trim_end_matches('/') }), json!({ "y".repeat(100_000): "x" })] {
        let said = said(&policy, &arguments);
        assert!(said.starts_with("deny: ") && said.len() < 600, "{} bytes", said.len());
    }
}

#[test]
fn the_uses_of_a_path_are_three() {
    for (word, how) in
        [("read", PathUse::Read), ("write", PathUse::Write), ("write-below", PathUse::WriteBelow)]
    {
        assert_eq!(serde_json::from_value::<PathUse>(json!(word)).ok(), Some(how));
    }
    assert!(serde_json::from_value::<PathUse>(json!("delete")).is_err());
}

#[test]
fn one_path_or_a_list_of_them_is_judged_path_by_path() {
    let arguments = "one = { path = \"read\" }\n\"one[]\" = { path = \"read\" }\n\
                     two = { path = \"read\" }\n\"two[]\" = \"value\"\n\
                     odd = { path = \"read\" }\n\"odd[]\" = { path = \"read\" }\n\
                     \"odd[1]\" = \"value\"\n\"odd[2].path\" = \"value\"\n";
    let policy = policies(READING, arguments).get("t").expect("there").clone();
    let check = |arguments: &str, expected: &str| {
        let value: Value = serde_json::from_str(arguments).expect("JSON");
        let said = said(&policy, &value);
        assert!(said.starts_with(expected), "{arguments}: {said}");
    };
    check(r#"{"one":"/shared/a"}"#, "permit");
    check(r#"{"one":["/shared/a","/tmp/b"]}"#, "permit");
    check(r#"{"one":[]}"#, "permit");
    check(r#"{"one":["/shared/a","/vault/b"]}"#, "deny: path_denied /vault/b");
    check(r#"{"one":["/shared/a",["/vault/b"]]}"#, "deny: invalid_arguments");
    check(r#"{"one":[{"path":"/vault/b"}]}"#, "deny: invalid_arguments");
    check(r#"{"one":{"path":"/vault/b"}}"#, "deny: invalid_arguments");
    // A list whose places are no paths is no list of paths.
    check(r#"{"two":["/vault/b"]}"#, "deny: invalid_arguments");
    // Nor is one with an item that is none by a class of its own.
    check(r#"{"odd":["/shared/a"]}"#, "permit");
    check(r#"{"odd":["/shared/a","/vault/b"]}"#, "deny: invalid_arguments");
    check(r#"{"odd":[null,null,{"path":"/vault/b"}]}"#, "deny: invalid_arguments");
}

#[test]
fn what_has_a_class_of_its_own_within_a_value_is_judged_by_that() {
    let arguments = "file = \"value\"\n\"file.path\" = { path = \"read\" }\n\"file.more[].path\" = { path = \"read\" }\n\
                     body = \"content\"\n\"body[]\" = { path = \"write\" }\n";
    let policy = policies(MIXED, arguments).get("t").expect("there").clone();
    let check = |arguments: &str, expected: &str| {
        let value: Value = serde_json::from_str(arguments).expect("JSON");
        let said = said(&policy, &value);
        assert!(said.starts_with(expected), "{arguments}: {said}");
    };
    check(r#"{"file":{"path":"/vault/b"}}"#, "deny: path_denied /vault/b");
    check(r#"{"file":{"more":[{},{"path":"/vault/b"}]}}"#, "deny: path_denied /vault/b");
    check(r#"{"body":["/shared/a","/tmp/b"]}"#, "deny: path_denied /tmp is read-only");
    check(r#"{"file":"/vault/b","body":"/vault/b"}"#, "permit");
    check(r#"{"file":{"path":"/shared/a"},"body":["/shared/a"]}"#, "permit");
    // Only the value's own class says anything of these.
    check(r#"{"file":{"name":"/vault/b","more":["/vault/b"]},"body":{"a":"/vault/b"}}"#, "permit");
}

#[test]
fn a_path_of_a_list_is_judged_by_its_own_class_where_it_has_one() {
    let arguments =
        "one = { path = \"read\" }\n\"one[]\" = { path = \"read\" }\n\"one[0]\" = { path = \"write\" }\n";
    let policy = policies(MIXED, arguments).get("t").expect("there").clone();
    let denied = said(&policy, &json!({ "one": ["/tmp/a", "/tmp/b"] }));
    assert!(denied.starts_with("deny: path_denied /tmp is read-only"), "{denied}");
    assert_eq!(said(&policy, &json!({ "one": ["/shared/a", "/tmp/b"] })), "permit");
}

#[test]
fn what_was_judged_for_reading_may_be_attached_and_nothing_else() {
    let arguments =
        "one = { path = \"read\" }\n\"one[]\" = { path = \"read\" }\nwrite = { path = \"write\" }\n";
    let policy = policies(WRITING, arguments).get("t").expect("there").clone();
    let call = JudgedCall {
        id: TurnId::new("turn").call(0),
        tool: ToolName::parse("t").expect("a name"),
        arguments: json!({ "one": ["/shared/a", "/tmp/b"], "write": "/shared/c" }),
    };
    let Verdict::Permit(permit) = judge(call, &policy) else { panic!("denied") };
    let may = |path: &str| permit.may_take(&GuestPath::parse(path).expect("a path"));
    assert!(may("/shared/a") && may("/tmp/b"));
    assert!(!may("/shared/c") && !may("/shared/a/b") && !may("/shared") && !may("/shared/b"));
}

#[test]
fn what_is_copied_out_is_not_written_and_what_is_written_alone_not_read() {
    let line = |mount: &str| {
        format!(
            "; to allow it write in profiles/p.toml: {{ guest = \"{mount}\", access = \"atomic-write\" }}"
        )
    };
    let unread = |mount: &str| {
        format!("deny: path_denied {mount} is write-only under profile p; read from /vault/…{}", line(mount))
    };
    let unwritten = format!(
        "deny: path_denied /vault is read-only under profile p; write to /shared/… or /tmp/…{}",
        line("/vault")
    );
    check("vault", r#"{"read":"/shared/a"}"#, &unread("/shared"));
    check("vault", r#"{"read":"/tmp"}"#, &unread("/tmp"));
    check("vault", r#"{"read":"/vault/a","write":"/vault/b"}"#, &unwritten);
    check("vault", r#"{"below":"/vault"}"#, &unwritten);
    check(
        "vault",
        r#"{"read":"/etc/a"}"#,
        "deny: path_denied /etc/a is not in a mount of profile p; use /vault/…",
    );
    check(
        "vault",
        r#"{"write":"/etc/a"}"#,
        "deny: path_denied /etc/a is not in a mount of profile p; use /shared/… or /tmp/…",
    );
    let call = r#"{"read":"/vault/a","write":"/shared/b"}"#;
    let value: Value = serde_json::from_str(call).expect("JSON");
    assert!(!said(&profile("vault"), &value).starts_with("deny"), "{call}");
}
