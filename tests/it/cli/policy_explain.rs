//! `policy explain`: the verdict of exactly this call, and lines to write that are tried here the
//! way a program would: made in a copy of the folder, explained again, and compared with
//! `policy diff`.

use super::help::compare;
use super::{line, refused};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use support::home::{Home, Ran};

/// `/vault` written, `/shared` read; a narrow one; one that has everything that `mixed` has and
/// more.
const PROFILES: &[(&str, &str)] = &[
    (
        "mixed",
        "schema = 1\nprofile = \"mixed\"\nwhy = \"a test\"\ninterfaces = [\"turn-attachments\"]\nmounts = [\n  \
         { guest = \"/shared\", access = \"read-only\" },\n  { guest = \"/vault\", access = \"atomic-write\" },\n]\n",
    ),
    (
        "line",
        "schema = 1\nprofile = \"line\"\nwhy = \"a test\"\nmounts = [{ guest = \"/shared\", access = \"atomic-write\" }]\n\
         [limits]\narguments = \"4 KiB\"\n",
    ),
    ("none", "schema = 1\nprofile = \"none\"\nwhy = \"a test\"\nmounts = []\n"),
    (
        "wide",
        "schema = 1\nprofile = \"wide\"\nwhy = \"a test\"\ninterfaces = [\"turn-attachments\"]\nmounts = [\n  \
         { guest = \"/shared\", access = \"atomic-write\" },\n  { guest = \"/vault\", access = \"atomic-write\" },\n]\n",
    ),
];

const SAVE: &str = "component = \"builtin\"\nsafety = \"side-effecting\"\nwhy = \"a test\"\n[arguments]\nindex = \"value\"\n\
                    path = { path = \"write\" }\noverwrite = \"value\"\n";
const WRITE: &str = "component = \"builtin\"\nsafety = \"side-effecting\"\nwhy = \"a test\"\n[arguments]\n\
                     path = { path = \"write\" }\ncontent_base64 = \"content\"\n";
const READ: &str = "component = \"builtin\"\nsafety = \"read-only\"\nwhy = \"a test\"\n[arguments]\npath = { path = \"read\" }\n";

/// Tools with these profiles.
fn folder(home: &Home, tools: &[(&str, &str, &str)]) -> PathBuf {
    let dir = tempfile::Builder::new().prefix("policies-").tempdir_in(home.dir()).expect("writable").keep();
    for folder in ["profiles", "tools"] {
        std::fs::create_dir(dir.join(folder)).expect("writable");
    }
    for (name, text) in PROFILES {
        std::fs::write(dir.join(format!("profiles/{name}.toml")), text).expect("writable");
    }
    for (tool, profile, rest) in tools {
        let text = format!("schema = 1\ntool = \"{tool}\"\nprofile = \"{profile}\"\n{rest}");
        std::fs::write(dir.join(format!("tools/{tool}.toml")), text).expect("writable");
    }
    dir
}

fn explain(home: &Home, dir: &Path, words: &[&str]) -> Ran {
    let dir = dir.to_str().expect("text");
    home.run(&[&["policy", "explain"], words, &["--policies", dir, "--json"]].concat())
}

/// A copy of the folder with the edits made in it, by nothing but their fields.
fn edited(home: &Home, dir: &Path, edits: &Value) -> PathBuf {
    let copy = folder(home, &[]);
    for kind in ["profiles", "tools"] {
        for entry in std::fs::read_dir(dir.join(kind)).expect("there") {
            let entry = entry.expect("readable");
            std::fs::copy(entry.path(), copy.join(kind).join(entry.file_name())).expect("writable");
        }
    }
    for edit in edits.as_array().expect("a list") {
        let file = copy.join(edit["file"].as_str().expect("text"));
        let before = std::fs::read_to_string(&file).expect("there");
        let mut lines: Vec<&str> = before.split('\n').collect();
        let at = usize::try_from(edit["line"].as_u64().expect("a number")).expect("small") - 1;
        let text = edit["text"].as_str().expect("text");
        match edit["action"].as_str() {
            Some("insert") => lines.insert(at, text),
            Some("replace") => {
                assert_eq!(lines[at], edit["old"].as_str().expect("text"), "{edit}");
                lines[at] = text;
            }
            other => panic!("{other:?}"),
        }
        std::fs::write(&file, lines.join("\n")).expect("writable");
    }
    copy
}

/// A denied call; which files its suggestions edit, in order; and what each suggestion changes.
struct Case<'a> {
    tools: &'a [(&'a str, &'a str, &'a str)],
    call: &'a [&'a str],
    files: &'a [&'a [&'a str]],
    changes: &'a [&'a [&'a str]],
}

fn check(home: &Home, case: &Case<'_>) {
    let Case { tools, call, files, changes } = case;
    let dir = folder(home, tools);
    let ran = explain(home, &dir, call);
    let answer = line(&ran);
    assert_eq!((ran.code, answer["verdict"].as_str()), (Some(1), Some("deny")), "{call:?}: {ran:?}");
    let suggestions = answer["suggestions"].as_array().expect("a list");
    let edits = |s: &Value| -> Vec<String> {
        s["edits"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|e| e["file"].as_str().expect("text").to_owned())
            .collect()
    };
    assert_eq!(suggestions.iter().map(edits).collect::<Vec<_>>(), *files, "{call:?}: {answer}");
    assert_eq!(suggestions.len(), changes.len());
    for (suggestion, expected) in suggestions.iter().zip(*changes) {
        let new = edited(home, &dir, &suggestion["edits"]);
        let again = explain(home, &new, call);
        assert_eq!(
            (again.code, line(&again)["verdict"].as_str()),
            (Some(0), Some("permit")),
            "{suggestion}: {again:?}"
        );
        let sides = [&dir, &new].map(|side| side.to_str().expect("text"));
        let diff = home.run(&["policy", "diff", sides[0], sides[1], "--json"]);
        assert_eq!(diff.code, Some(3), "{diff:?}");
        assert_eq!(line(&diff)["changes"], suggestion["changes"], "what the suggestion says of itself");
        let text = home.run(&["policy", "diff", sides[0], sides[1]]).stdout;
        assert_eq!(text.lines().collect::<Vec<_>>(), **expected, "{call:?}");
        assert_eq!(home.run(&["policy", "check", sides[1]]).code, Some(0), "the new folder is sound");
    }
}

#[test]
fn every_suggested_line_permits_the_call_and_widens_nothing_else() {
    let home = Home::new();
    let (changing, long) =
        (READ.replace("read-only", "side-effecting"), format!("content_base64={}", "QUJD".repeat(2000)));
    let long_call = ["file_write_bytes", "path=/shared/a", &*long];
    let changing_read = [("file_read", "line", &*changing)];
    let case = |tools, call, files, changes| check(&home, &Case { tools, call, files, changes });
    case(
        &[("file_read", "none", READ)],
        &["file_read", "path=/shared/a"],
        &[&["profiles/none.toml"]],
        &[&["widens: file_read: mount /shared: none → read-only"]],
    );
    case(
        &changing_read,
        &["file_read", "path=/vault/a"],
        &[&["profiles/line.toml"], &["tools/file_read.toml"]],
        &[
            &["widens: file_read: mount /vault: none → read-only"],
            &[
                "widens: file_read: mount /vault: none → atomic-write",
                "widens: file_read: interface turn-attachments: none → turn-attachments",
                "widens: file_read: limit arguments: 4 KiB → 1 MiB",
                "neutral: file_read: profile: line → wide",
            ],
        ],
    );
    // The right raised where it stands; or the profile that has it already.
    case(
        &[("attachment_save", "mixed", SAVE)],
        &["attachment_save", "index=0", "path=/shared/a"],
        &[&["profiles/mixed.toml"], &["tools/attachment_save.toml"]],
        &[
            &["widens: attachment_save: mount /shared: read-only → atomic-write"],
            &[
                "widens: attachment_save: mount /shared: read-only → atomic-write",
                "neutral: attachment_save: profile: mixed → wide",
            ],
        ],
    );
    // A neighbour under the same profile is told, and the way around it comes first.
    case(
        &[("attachment_save", "mixed", SAVE), ("file_write_bytes", "mixed", WRITE)],
        &["attachment_save", "--args", r#"{"index":0,"path":"/shared/a"}"#],
        &[&["tools/attachment_save.toml"], &["profiles/mixed.toml"]],
        &[
            &[
                "widens: attachment_save: mount /shared: read-only → atomic-write",
                "neutral: attachment_save: profile: mixed → wide",
            ],
            &[
                "widens: attachment_save: mount /shared: read-only → atomic-write",
                "widens: file_write_bytes: mount /shared: read-only → atomic-write",
            ],
        ],
    );
    // Two edits, one after the other: the profile's limit, then the tool's.
    case(
        &[("file_write_bytes", "line", WRITE)],
        &long_call,
        &[&["profiles/line.toml", "tools/file_write_bytes.toml"]],
        &[&["widens: file_write_bytes: limit arguments: 4 KiB → 8 KiB"]],
    );
}

#[test]
fn a_read_only_tool_is_never_led_to_a_profile_that_writes() {
    let home = Home::new();
    let dir = folder(&home, &[("file_read", "none", READ)]);
    let answer = line(&explain(&home, &dir, &["file_read", "path=/vault/a"]));
    let files: Vec<_> =
        answer["suggestions"].as_array().expect("a list").iter().map(|s| s["edits"].clone()).collect();
    let only = json!([{ "file": "profiles/none.toml", "line": 4, "action": "replace", "old": "mounts = []",
                        "text": "mounts = [{ guest = \"/vault\", access = \"read-only\" }]" }]);
    assert_eq!(files, [only]);
}

#[test]
fn what_no_policy_permits_is_told_with_how_to_change_the_call() {
    let home = Home::new();
    let dir = folder(
        &home,
        &[
            ("file_read", "mixed", &READ.replace("read-only", "side-effecting")),
            ("attachment_save", "mixed", SAVE),
        ],
    );
    for (call, code, said) in [
        (&["file_read", "path=/shared/../vault/a"][..], "path_denied", "no policy permits such a path"),
        (&["file_read", "path=/shared/.cofferdam-1"], "path_denied", "no policy permits such a path"),
        (
            &["file_read", "path=/etc/passwd"],
            "path_denied",
            "no policy can grant /etc: a workspace has /shared, /tmp, /vault",
        ),
        (&["attachment_save", "index=0", "path=/vault"], "path_denied", "name a file below it"),
        (
            &["file_read", "path=/shared/a", "nope=1"],
            "invalid_arguments",
            "`cofferdam tools --json` shows the schema of file_read",
        ),
        (&["file_read"], "invalid_arguments", "the schema of file_read"),
        (
            &["attachment_save", "index=first", "path=/vault/a"],
            "invalid_arguments",
            "schema of attachment_save",
        ),
        (&["file_read", "path"], "invalid_arguments", "schema of file_read"),
        (
            &["file_read", "--args", "{\"path\":\"/shared/a\",\"path\":\"/vault/a\"}"],
            "invalid_arguments",
            "schema",
        ),
        (&["file_read", "--args", "[]"], "invalid_arguments", "schema"),
    ] {
        let ran = explain(&home, &dir, call);
        let answer = line(&ran);
        assert_eq!((ran.code, answer["code"].as_str()), (Some(1), Some(code)), "{call:?}: {ran:?}");
        assert_eq!(answer["suggestions"], json!([]), "{call:?}");
        let how = answer["change_call"].to_string();
        assert!(how.contains(said), "{call:?}: {said:?} in {how}");
    }
}

#[test]
fn a_tool_that_cannot_be_called_is_denied() {
    let home = Home::new();
    let dir = folder(&home, &[("file_read", "none", &READ.replace("path = { path = \"read\" }\n", ""))]);
    let ran = explain(&home, &dir, &["nope", "a=b"]);
    assert_eq!((ran.code, line(&ran)["code"].as_str()), (Some(1), Some("unknown_tool")), "{ran:?}");
    let ran = explain(&home, &dir, &["file_read", "path=/shared/a"]);
    let answer = line(&ran);
    assert_eq!((ran.code, answer["code"].as_str()), (Some(1), Some("tool_unavailable")), "{ran:?}");
    let problem = &answer["problems"][0];
    assert_eq!((&problem["file"], &problem["line"]), (&json!("tools/file_read.toml"), &json!(7)));
    // Which of the three lines is right, only a person can know.
    assert!(
        problem["problem"].as_str().expect("text").contains("add to [arguments]: path = \"value\""),
        "{problem}"
    );
    assert_eq!(answer["suggestions"], json!([]));
    std::fs::write(dir.join("tools/file_read.toml"), "nope").expect("writable");
    refused(&explain(&home, &dir, &["file_read"]), &["tools/file_read.toml:1: "]);
    refused(&explain(&home, Path::new("missing"), &["file_read"]), &["missing/profiles"]);
}

/// Every call here is explained and made; both must come to the same.
#[test]
fn the_verdict_is_that_of_a_real_call() {
    let home = Home::new();
    for call in [
        &["file_read", "path=/shared/a"][..],
        &["file_read", "path=/vault/a"],
        &["file_read", "path=/shared/a", "offset=-1"],
        &["file_read", "path=/shared/a", "path=/shared/b"],
        &["file_write_bytes", "path=/tmp/a", "content_base64=eA=="],
        &["file_write_bytes", "path=/tmp", "content_base64=eA=="],
        &["attachment_save", "--args", "{}"],
        &["attachment_save", "--args", "nope"],
        &["nope"],
    ] {
        let explained = home.run(&[&["policy", "explain"], call, &["--json"]].concat());
        let answer = line(&explained);
        let made = home.call(call);
        let made = made.json();
        match answer["verdict"].as_str() {
            Some("permit") => {
                let code = made["error"]["code"].as_str().unwrap_or_default();
                assert!(["", "not_found"].contains(&code), "{call:?}: {made}");
            }
            _ => {
                assert_eq!(answer["code"], made["error"]["code"], "{call:?}: {made}");
                assert_eq!(answer["reason"], made["error"]["message"], "{call:?}: {made}");
            }
        }
    }
}

#[test]
fn explaining_runs_nothing_and_leaves_nothing() {
    let home = Home::new();
    let words = ["policy", "explain", "file_write_bytes", "path=/shared/a", "content_base64=U0VDUkVU"];
    let ran = home.run(&words);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!ran.stdout.contains("U0VDUkVU"), "a content is not repeated: {ran:?}");
    assert!(!home.workspace().exists() && home.audit().is_empty());
    let file = home.file("arguments.json", br#"{"path":"/vault/a"}"#);
    let ran = home.run(&["policy", "explain", "file_read", "--args", &format!("@{file}")]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
}

#[test]
fn an_explanation_reads_as_reviewed() {
    let home = Home::new();
    let mut text = String::new();
    for call in [
        &["file_read", "path=/shared/a", "offset=3"][..],
        &["file_read", "path=/vault/key"],
        &["attachment_save", "index=0", "path=/vault/a"],
        &["file_read", "path=/etc/passwd"],
        &["file_read", "file=a"],
        &["nope"],
    ] {
        text.push_str(&format!("$ cofferdam policy explain {}\n", call.join(" ")));
        text.push_str(&home.run(&[&["policy", "explain"], call].concat()).stdout);
        text.push('\n');
    }
    compare("policy-explain", &text);
}
