//! `tool test`: cases that are none, cases that fail with every difference told, and what makes one
//! pass.

use super::{guest, hostile_policy, refused, told, within};
use crate::sandbox::begun;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use support::guests;
use support::home::{Home, Ran};

/// Of the attacker.
const DEADLINE: &str = "deadline = \"2s\"";

/// A folder with these cases.
fn folder(home: &Home, cases: &[(&str, &str)]) -> String {
    let dir = tempfile::Builder::new().prefix("cases-").tempdir_in(home.dir()).expect("writable").keep();
    for (name, text) in cases {
        std::fs::write(dir.join(name), text).expect("writable");
    }
    dir.to_str().expect("text").to_owned()
}

/// Tests a guest with these cases.
fn test(home: &Home, guest_name: &str, cases: &[(&str, &str)], more: &[&str]) -> Ran {
    let dir = folder(home, cases);
    home.run(&[&["tool", "test", &guest(guest_name), "--cases", &dir], more].concat())
}

#[test]
fn no_cases_is_no_pass() {
    let home = Home::new();
    refused(&test(&home, "minimal", &[], &[]), &["there are no cases in "]);
    refused(&test(&home, "minimal", &[("a.txt", "{}"), ("b.json~", "{}")], &[]), &["there are no cases in "]);
    let ran = home.run(&["tool", "test", &guest("minimal")]);
    refused(&ran, &["cannot read the cases in ./cases"]);
    let ran = home.run(&["tool", "test", &guest("minimal"), "--workspace", "w"]);
    refused(&ran, &["each case has a workspace of its own"]);
    let many: Vec<(String, String)> = (0..=1000).map(|n| (format!("{n}.json"), "{}".into())).collect();
    let many: Vec<_> = many.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    refused(&test(&home, "minimal", &many, &[]), &["has 1001 cases; at most 1000"]);
}

#[test]
fn cases_that_are_none_are_refused_before_anything_runs() {
    let home = Home::new();
    let good = r#"{ "arguments": { "name": "Ada" }, "expect": { "result": { "greeting": "Hello, Ada!" } } }"#;
    let long = format!("{{\"name\":\"{}\"}}", "x".repeat(4 << 20));
    for (text, said) in [
        ("", "not JSON"),
        ("[]", "expected struct Case"),
        ("{}", "missing field `expect`"),
        (r#"{"expect":{}}"#, "exactly one of result, result_includes and error"),
        (r#"{"expect":{"result":{},"error":"not_found"}}"#, "exactly one of"),
        (r#"{"expect":{"result":{},"result_includes":{}}}"#, "exactly one of"),
        (r#"{"expect":{"result":{},"message_contains":"x"}}"#, "message_contains goes with error"),
        (r#"{"expect":{"error":"nope"}}"#, "unknown variant `nope`"),
        (r#"{"expect":{"error":"not_found","files":{"/shared/a":"x"}}}"#, "a call that fails writes nothing"),
        (
            r#"{"expect":{"error":"not_found","reply":[{"name":"a","content":""}]}}"#,
            "a call that fails sends nothing",
        ),
        (r#"{"expect":{"result":{},"reply":[{"content":"a"}]}}"#, "missing field `name`"),
        (r#"{"expect":{"result":{}},"expected":{}}"#, "unknown field `expected`"),
        (r#"{"expect":{"result":{},"file":{}}}"#, "unknown field `file`"),
        (r#"{"expect":{"result":{}},"expect":{"result":{}}}"#, "not JSON"),
        (r#"{"expect":{"result":{}},"arguments":[]}"#, "invalid type"),
        (r#"{"expect":{"result":{}},"workspace":{"/shared/a":1}}"#, "write \"text\" or"),
        (r#"{"expect":{"result":{}},"workspace":{"/shared/a":{"base64":"*"}}}"#, "base64"),
        (r#"{"expect":{"result":{}},"workspace":{"/shared/a":["YQ=="]}}"#, "base64"),
        (r#"{"expect":{"result":{}},"workspace":{"/shared/../../etc/x":""}}"#, "/shared/../../etc/x"),
        (r#"{"expect":{"result":{}},"workspace":{"/etc/passwd":""}}"#, "/etc/passwd"),
        (r#"{"expect":{"result":{}},"workspace":{"shared/a":""}}"#, "shared/a"),
        (r#"{"expect":{"result":{}},"workspace":{"/shared":""}}"#, "write e.g. /shared/a.txt"),
        (&long, "longer than 4194304 bytes"),
    ] {
        let ran = test(&home, "minimal", &[("a.json", good), ("b.json", text)], &[]);
        let shown = &text[..text.len().min(80)];
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{shown}: {ran:?}");
        told(&ran, &["b.json: ", said]);
    }
    // All in one round.
    refused(&test(&home, "minimal", &[("a.json", "{}"), ("b.json", "[")], &[]), &["a.json: ", "b.json: "]);
    let dir = folder(&home, &[]);
    std::fs::create_dir(format!("{dir}/a.json")).expect("ours");
    refused(&home.run(&["tool", "test", &guest("minimal"), "--cases", &dir]), &["not a regular file"]);
    let missing = r#"{ "attachments": ["nowhere.jpg"], "expect": { "result": {} } }"#;
    refused(&test(&home, "minimal", &[("a.json", missing)], &[]), &["a.json cannot be run", "cannot attach"]);
}

#[test]
fn a_failure_is_told_difference_by_difference() {
    let home = Home::new();
    let cases = [
        (
            "a.json",
            r#"{ "name": "greets", "arguments": { "name": "Ada" }, "expect": { "result": { "greeting": "Hello, Ada!" } } }"#,
        ),
        (
            "b.json",
            r#"{ "name": "greets Bob", "arguments": { "name": "Bob" }, "expect": { "result": { "greeting": "Hello, Ada!", "n": 1 } } }"#,
        ),
        ("c.json", r#"{ "arguments": {}, "expect": { "error": "not_found" } }"#),
        (
            "d.json",
            r#"{ "arguments": { "name": 1 }, "expect": { "error": "invalid_arguments", "message_contains": "must be text" } }"#,
        ),
    ];
    let ran = test(&home, "minimal", &cases, &[]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let dir = ran
        .stdout
        .split(['(', ')'])
        .nth(1)
        .and_then(|file| file.strip_suffix("/b.json"))
        .expect("told")
        .to_owned();
    assert_eq!(
        ran.stdout.replace(&dir, "cases"),
        "ok    greets\n\
         FAIL  greets Bob (cases/b.json)\n      result.greeting: expected \"Hello, Ada!\", got \"Hello, Bob!\"\n      \
         result.n: expected 1, got nothing\n\
         FAIL  c (cases/c.json)\n      expected the error not_found, got the error invalid_arguments: name is \
         missing; give name=…\n\
         ok    d\n2 passed, 2 failed\n"
    );
    let json = test(&home, "minimal", &cases, &["--json"]);
    assert_eq!(json.code, Some(1));
    let json = json.json();
    assert_eq!((&json["ok"], &json["passed"], &json["failed"]), (&json!(false), &json!(2), &json!(2)));
    assert_eq!(json["cases"][1]["differences"][1], json!("result.n: expected 1, got nothing"));
    assert_eq!(test(&home, "minimal", &cases[..1], &[]).code, Some(0));
}

#[test]
fn a_case_says_all_that_changes() {
    // Whatever the gateway's users have: a case is nobody's.
    let home = Home::new().config("[workspace]\nroot = \"workspace\"\nper_user = true\n");
    let policy = hostile_policy(&home, DEADLINE);
    let write = |expect: &str| {
        format!(
            r#"{{ "arguments": {{ "behaviour": "write_bytes", "path": "/shared/a", "bytes": 3 }},
                 "workspace": {{ "/shared/deep/old": "old", "/tmp/b": {{ "base64": "AP8=" }} }}, "expect": {expect} }}"#
        )
    };
    let run = |expect: &str| test(&home, "hostile", &[("a.json", &write(expect))], &["--policy", &policy]);
    let ran = run(r#"{ "result_includes": {} }"#);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("/shared/a: not in expect.files, got "), "{ran:?}");
    let (_, got) = ran.stdout.split_once("got ").expect("told");
    let got = got.lines().next().expect("a line").to_owned();
    let ran = run(&format!(r#"{{ "result_includes": {{}}, "files": {{ "/shared/a": {got} }} }}"#));
    assert_eq!(ran.code, Some(0), "each case has a workspace of its own: {ran:?}");
    let ran =
        run(&format!(r#"{{ "result_includes": {{}}, "files": {{ "/shared/a": {got}, "/tmp/b": null }} }}"#));
    assert!(ran.code == Some(1) && ran.stdout.contains("/tmp/b: expected no file, got 2 bytes"), "{ran:?}");
    // After a failure nothing has changed.
    let spins = r#"{ "arguments": { "behaviour": "stage_then_trap", "path": "/shared/a" }, "expect": { "error": "trapped" } }"#;
    let ran = test(&home, "hostile", &[("a.json", spins)], &["--policy", &policy]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!home.workspace().exists(), "a gateway's workspace is not used");
    assert_eq!(home.audit(), Vec::<Value>::new());
}

#[test]
fn attachments_are_found_beside_the_case() {
    let home = Home::new();
    let policy = hostile_policy(&home, DEADLINE);
    let sum = guests::sha256(b"attached");
    let case = format!(
        r#"{{ "arguments": {{ "behaviour": "attachments" }}, "attachments": ["a.bin"],
             "expect": {{ "result_includes": {{ "attachments": [ {{ "name": "a.bin", "sha256": "{sum}" }} ] }} }} }}"#
    );
    let ran = test(&home, "hostile", &[("a.json", &case), ("a.bin", "attached")], &["--policy", &policy]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn what_a_case_does_not_expect_to_be_sent_is_told() {
    let home = Home::new();
    let text = format!(
        "schema = 1\ntool = \"careless\"\nprofile = \"attachment-add\"\nwhy = \"a test\"\nsafety = \"side-effecting\"\n\
         component = {{ file = \"careless.wasm\", sha256 = \"{}\" }}\n[arguments]\nthen = \"value\"\n\
         path = {{ path = \"read\" }}\nunjudged = \"value\"\ncomposed = \"value\"\nname = \"value\"\n",
        "0".repeat(64)
    );
    let policy = home.file("careless.toml", text.as_bytes());
    let run = |reply: &str| {
        let case = format!(
            r#"{{ "arguments": {{ "then": "end", "path": "/shared/a", "composed": "/shared/a", "name": "b.txt" }},
                 "workspace": {{ "/shared/a": "words" }}, "expect": {{ "result_includes": {{}}{reply} }} }}"#
        );
        test(&home, "careless", &[("a.json", &case)], &["--policy", &policy])
    };
    let file = r#"{ "name": "b.txt", "content": "words" }"#;
    let ran = run(&format!(r#", "reply": [{file}, {file}]"#));
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let ran = run("");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    for n in 0..2 {
        let told = format!("reply[{n}]: not in expect.reply, got \"b.txt\" with \"words\"");
        assert!(ran.stdout.contains(&told), "{told}: {ran:?}");
    }
    let ran = run(r#", "reply": [{ "name": "b.txt", "content": "other" }]"#);
    assert!(
        ran.stdout.contains("reply[0]: expected \"b.txt\" with \"other\", got \"b.txt\" with"),
        "{ran:?}"
    );
}

#[test]
fn a_tool_that_does_not_load_fails() {
    let home = Home::new();
    let case = [("a.json", r#"{ "expect": { "error": "tool_unavailable" } }"#)];
    let text = std::fs::read_to_string(hostile_policy(&home, DEADLINE)).expect("written");
    let strict = text
        .replace("why = ", "imports = \"strict\"\nwhy = ")
        .replace("file-read-write", "file-read-only")
        .replace("side-effecting", "read-only")
        .replace("\"write\"", "\"read\"");
    let strict = home.file("hostile.toml", strict.as_bytes());
    let ran = test(&home, "hostile", &case, &["--policy", &strict]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
    told(&ran, &["the tool does not load: ", "interfaces = [\"turn-attachments\"]"]);
    let json = test(&home, "hostile", &case, &["--policy", &strict, "--json"]).json();
    assert_eq!((&json["ok"], &json["passed"]), (&json!(false), &json!(0)));
    let file = home.file("no.wasm", b"no");
    let dir = folder(&home, &case);
    let ran = home.run(&["tool", "test", &file, "--cases", &dir]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    told(&ran, &["is not a component"]);
}

#[test]
fn a_folder_that_was_not_built_is_refused() {
    let home = Home::new();
    refused(
        &home.run(&["tool", "test"]),
        &["cannot read ./Cargo.toml; give the folder of a tool in Rust, or a .wasm file"],
    );
    let piped = home.dir().join("piped");
    std::fs::create_dir(&piped).expect("writable");
    rustix::fs::mkfifoat(rustix::fs::CWD, piped.join("Cargo.toml"), 0o600.into()).expect("ours");
    refused(&home.run(&["tool", "test", "piped"]), &["cannot read piped/Cargo.toml", "not a regular file"]);
    assert_eq!(home.run(&["tool", "new", "hello"]).code, Some(0));
    let said = [
        "there is no ./target/wasm32-wasip2/release/hello.wasm; build the tool first: cargo build --release",
    ];
    refused(&within(&home, &home.dir().join("hello"), &["tool", "test"]), &said);
    refused(&home.run(&["tool", "test", "hello"]), &["there is no hello/target/wasm32-wasip2"]);
}

#[test]
fn a_case_that_fails_by_a_crash_says_what_was_printed_last() {
    let home = Home::new();
    let policy = hostile_policy(&home, DEADLINE);
    let case = |expect: &str| format!(r#"{{ "arguments": {{ "behaviour": "panic" }}, "expect": {expect} }}"#);
    let text = case(r#"{ "result": {} }"#);
    let ran = test(&home, "hostile", &[("a.json", &text)], &["--policy", &policy]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("\n      it printed last:\n        thread '"), "{ran:?}");
    assert!(ran.stdout.contains("\n        hostile  [31mpanic [0m\n"), "{ran:?}");
    // One that expects the crash passes, and says no more.
    let text = case(r#"{ "error": "trapped", "message_contains": "saying: hostile" }"#);
    let ran = test(&home, "hostile", &[("a.json", &text)], &["--policy", &policy]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "ok    a\n1 passed, 0 failed\n"), "{ran:?}");
}

#[test]
fn what_a_stranger_calls_files_of_a_tool_is_spelled_out() {
    let home = Home::new();
    let (name, spelled) = ("a\u{1b}[2J\u{202e}.json", r"/a\u{1b}[2J\u{202e}.json");
    let fails = [(name, r#"{ "name": "fails", "expect": { "error": "not_found" } }"#)];
    let ran = test(&home, "minimal", &fails, &[]);
    assert!(ran.code == Some(1) && ran.stdout.contains(&format!("{spelled})\n")), "{ran:?}");
    let ran = test(&home, "minimal", &fails, &["--json"]);
    assert!(!ran.stdout.contains('\u{202e}'), "{ran:?}");
    let json = ran.json();
    let file = json["cases"][0]["file"].as_str().expect("a path");
    assert!(file.ends_with(name), "a program reads the name as it is: {file:?}");
    refused(&test(&home, "minimal", &[(name, "{}")], &[]), &[&format!("{spelled}: missing field")]);
    let attached = r#"{ "attachments": ["b\u001b[2J"], "expect": { "result": {} } }"#;
    refused(
        &test(&home, "minimal", &[(name, attached)], &[]),
        &[&format!("{spelled} cannot be run"), "cannot attach ", r"/b\u{1b}[2J"],
    );
    std::fs::create_dir(home.dir().join("stranger")).expect("ours");
    home.file("stranger/Cargo.toml", br#"package.name = "c\u001b[2J""#);
    let said = [r"there is no stranger/target/wasm32-wasip2/release/c\u{1b}[2J.wasm; build the tool first"];
    refused(&home.run(&["tool", "test", "stranger"]), &said);
}

#[test]
fn a_signal_ends_the_case_that_runs_and_no_other_one_is_begun() {
    let home = Home::new();
    let policy = hostile_policy(&home, "memory = \"16 MiB\"\ndeadline = \"120s\"");
    let case = |behaviour: &str| {
        format!(
            r#"{{ "arguments": {{ "behaviour": "{behaviour}" }}, "expect": {{ "result": {{ "ok": true }} }} }}"#
        )
    };
    let dir = folder(&home, &[("a.json", &case("spin")), ("b.json", &case("ok"))]);
    let arguments = ["tool", "test", &guest("hostile"), "--cases", &dir, "--policy", &policy];
    let (child, mut log) = begun(home.command(&arguments));
    assert!(log.any(|line| line.contains("guest: spinning")), "it runs");
    kill_process(Pid::from_child(&child), Signal::INT).expect("ours");
    let rest: Vec<String> = log.collect();
    let ran = Ran::from(child.wait_with_output().expect("ours"));
    assert_eq!(ran.code, Some(1), "{ran:?} {rest:?}");
    assert!(ran.stdout.starts_with("FAIL  a (") && ran.stdout.contains("got the error cancelled"), "{ran:?}");
    assert!(ran.stdout.ends_with("\n0 passed, 1 failed\n"), "{ran:?}");
    let said = "cofferdam: stopped by a signal; 1 of 2 cases were not run";
    assert!(rest.iter().any(|line| line == said), "{rest:?}");
}
