//! `attachment_add` from the command line and in `chat`: what goes out with a reply, all of it or
//! none, and what of the workspace can never leave it so.

use super::changing::{call, denies, does, put};
use super::check::{bytes, home, special, verified, with_folders};
use rustix::fs::FileType;
use serde_json::{Value, json};
use std::os::unix::fs::symlink;
use support::guests::sha256;
use support::home::Home;
use support::samples;

const TOOL: &str = "attachment_add";

/// What `chat` prints for these lines.
fn chat(home: &Home, lines: &str) -> Vec<String> {
    let file = home.file("lines", lines.as_bytes());
    let mut command = home.command(&["chat"]);
    let output = command.stdin(std::fs::File::open(file).expect("there")).output().expect("it starts");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect()
}

#[test]
fn the_result_has_this_very_shape() {
    let home = home();
    let jpeg = samples::jpeg(1000);
    put(&home, "/shared/photos/cat", &jpeg);
    put(&home, "/tmp/report.pdf", samples::pdf());
    let arguments = json!({ "paths": ["/shared/photos/cat", "/tmp/report.pdf", "/shared/photos/cat"],
        "filenames": [null, "a/b/May\nreport.pdf"], "mimeTypes": ["image/png"] });
    let expected = json!({ "ok": true, "attachments": [
        { "filename": "cat.jpg", "mimeType": "image/jpeg", "bytes": jpeg.len() },
        { "filename": "May report.pdf", "mimeType": "application/pdf", "bytes": samples::pdf().len() },
        { "filename": "cat.jpg", "mimeType": "image/jpeg", "bytes": jpeg.len() },
    ] });
    assert_eq!(does(&home, TOOL, &arguments), expected);
    let outcome = home.audit().pop().expect("recorded");
    let attached: Vec<_> =
        outcome["files"].as_array().into_iter().flatten().map(|file| file["path"].clone()).collect();
    assert_eq!(attached, ["/shared/photos/cat", "/tmp/report.pdf", "/shared/photos/cat"], "{outcome}");
    let first = json!({ "path": "/shared/photos/cat", "attached": "cat.jpg", "bytes": jpeg.len(),
        "sha256": sha256(&jpeg) });
    assert_eq!(outcome["files"][0], first);
    assert_eq!(outcome["arguments"]["paths"], arguments["paths"], "paths are told as they are");
    assert!(home.audit().iter().any(|record| record["event"] == "intent"), "written down before");
    assert_eq!(verified(&home)["intents_open"], 0);
    let shown = home.run(&["audit", "show"]);
    assert!(shown.stdout.contains("attached /shared/photos/cat "), "{shown:?}");
}

#[test]
fn a_single_call_says_that_nobody_gets_the_file() {
    let home = home();
    put(&home, "/shared/a.txt", "words");
    let ran = home.call(&[TOOL, "path=/shared/a.txt"]);
    assert_eq!(ran.json()["attachments"][0]["filename"], "a.txt", "{ran:?}");
    assert!(ran.stderr.contains("not sent, since a single call has no reply: a.txt (text/plain"), "{ran:?}");
    let held = std::fs::read_dir(home.state().join("outgoing")).expect("made").count();
    assert_eq!(held, 0, "nothing is held for nobody");
}

#[test]
fn a_chat_shows_what_it_would_send() {
    let home = home();
    put(&home, "/shared/a.txt", "words");
    let said =
        chat(&home, "/attachment_add path=/shared/a.txt filename=b.txt\n/file_info path=/shared/a.txt\n");
    assert!(said[0].starts_with(r#"{"ok":true,"attachments":[{"filename":"b.txt""#), "{said:?}");
    assert_eq!(said[1], format!("[attachment] b.txt (text/plain, ~5B) sha256 {}", &sha256(b"words")[..12]));
    assert_eq!(said.len(), 3, "{said:?}");
    let several = chat(&home, "/attachment_add paths='[\"/shared/a.txt\",\"/shared/a.txt\"]'\n");
    assert_eq!(several.len(), 3, "{several:?}");
}

#[test]
fn what_is_refused() {
    let home = home();
    put(&home, "/shared/a", "good");
    put(&home, "/shared/empty", "");
    put(&home, "/vault/secret", "secret");
    std::fs::create_dir(home.host("/shared/folder")).expect("writable");
    special(&home.host("/shared/fifo"), FileType::Fifo, 0);
    let outside = home.file("outside", b"secret");
    symlink(&outside, home.host("/shared/leads_out")).expect("writable");
    symlink("../vault/secret", home.host("/shared/vault")).expect("writable");
    put(&home, "/shared/.cofferdam-x", "reserved");
    symlink(".cofferdam-x", home.host("/shared/reserved")).expect("writable");
    for (path, code) in [
        ("/vault/secret", "path_denied"),
        ("/shared/../vault/secret", "path_denied"),
        ("/shared/leads_out", "path_denied"),
        ("/shared/vault", "path_denied"),
        ("/etc/passwd", "path_denied"),
        ("relative", "path_denied"),
        ("/shared/.cofferdam-x", "path_denied"),
        ("/shared/reserved", "not_found"),
        ("/shared/missing", "not_found"),
        ("/shared/a/below", "not_found"),
        ("/shared/folder", "is_a_directory"),
        ("/shared", "is_a_directory"),
        ("/tmp", "is_a_directory"),
        ("/shared/fifo", "not_a_regular_file"),
        ("/shared/empty", "invalid_arguments"),
    ] {
        let alone = call(&home, TOOL, &json!({ "path": path }));
        assert_eq!(alone.error(), code, "{path}: {alone:?}");
        // Among good ones, and as one that is ignored: what is named is judged.
        let among = call(&home, TOOL, &json!({ "paths": ["/shared/a", path] }));
        assert_eq!(among.error(), code, "{path}: {among:?}");
        let outcome = home.audit().pop().expect("recorded");
        assert_eq!(outcome["files"], Value::Null, "nothing was added: {outcome}");
    }
    std::fs::remove_file(home.host("/shared/.cofferdam-x")).expect("there");
    assert_eq!(
        call(&home, TOOL, &json!({ "path": "/vault/x", "paths": "/shared/a" })).error(),
        "path_denied"
    );
    denies(&home, TOOL, &json!({}), "invalid_arguments", &["paths"]);
    denies(
        &home,
        TOOL,
        &json!({ "paths": ["/shared/a", "/shared/a"], "filename": "x" }),
        "invalid_arguments",
        &[],
    );
    denies(
        &home,
        TOOL,
        &json!({ "path": "/shared/a", "session": "other" }),
        "invalid_arguments",
        &["session"],
    );
}

#[test]
fn the_limits_of_replies() {
    let limits = "[replies]\nmax_bytes = \"10 KiB\"\nmax_turn_bytes = \"15 KiB\"\nmax_count = 3\nmax_held_bytes = \"15 KiB\"\n";
    let home = with_folders(Home::new().config(limits));
    put(&home, "/shared/ten", bytes(10 << 10));
    put(&home, "/shared/five", bytes(5 << 10));
    put(&home, "/shared/more", bytes((10 << 10) + 1));
    put(&home, "/shared/one", "x");
    let refused = |paths: &[&str], code: &str, part: &str| {
        denies(&home, TOOL, &json!({ "paths": paths }), code, &[part]);
    };
    refused(&["/shared/more"], "too_large", "replies.max_bytes");
    refused(&["/shared/ten", "/shared/five", "/shared/one"], "quota_exceeded", "replies.max_turn_bytes");
    refused(&["/shared/one"; 4], "quota_exceeded", "replies.max_count");
    does(&home, TOOL, &json!({ "paths": ["/shared/ten", "/shared/five"] }));
    let home = with_folders(Home::new().config("[replies]\nmax_call_bytes = \"12 KiB\"\n"));
    for (path, len) in [("/shared/ten", 10 << 10), ("/shared/two", 2 << 10), ("/shared/more", (2 << 10) + 1)]
    {
        put(&home, path, bytes(len));
    }
    let over = json!({ "paths": ["/shared/ten", "/shared/more"] });
    denies(&home, TOOL, &over, "quota_exceeded", &["replies.max_call_bytes", "another call"]);
    does(&home, TOOL, &json!({ "paths": ["/shared/ten", "/shared/two"] }));
    let lines = "/attachment_add path=/shared/ten\n/attachment_add path=/shared/more\n";
    assert!(chat(&home, lines)[2].starts_with(r#"{"ok":true"#), "each call has its own");
    // Without a configuration the template's values hold.
    let home = super::check::home();
    put(&home, "/shared/one", "x");
    denies(&home, TOOL, &json!({ "paths": vec!["/shared/one"; 11] }), "quota_exceeded", &["10 files"]);
    std::fs::File::create(home.host("/shared/large"))
        .expect("writable")
        .set_len((20 << 20) + 1)
        .expect("sparse");
    denies(&home, TOOL, &json!({ "path": "/shared/large" }), "too_large", &["20 MiB"]);
}

/// A file that the call brings itself.
fn brought(content: &str, filename: &str) -> Value {
    json!({ "content": content, "filename": filename })
}

#[test]
fn a_file_may_come_with_the_call() {
    let home = home();
    let svg = r#"<svg xmlns="http://www.w3.org/2000/svg"/>"#;
    let added = |arguments: Value| does(&home, TOOL, &arguments)["attachments"].clone();
    let expected = json!([{ "filename": "table.csv", "mimeType": "text/plain", "bytes": 8 }]);
    assert_eq!(added(brought("a,b\n1,2\n", "table.csv")), expected);
    let expected = json!([{ "filename": "drawing.svg", "mimeType": "image/svg+xml", "bytes": svg.len() }]);
    assert_eq!(added(brought(svg, "drawing")), expected);
    let named = json!({ "content": "a,b", "filename": "t", "mimeType": "text/csv" });
    assert_eq!(added(named)[0]["filename"], "t.csv");
    let bytes = json!({ "contentBase64": "AAEC/w==", "filename": "b.bin" });
    assert_eq!(added(bytes)[0]["bytes"], 4);
    // What is written down of it: which bytes and which name, and nothing of what they say.
    does(&home, TOOL, &brought("CANARY-7f3a", "secret.md"));
    let (records, sum) = (home.audit(), sha256(b"CANARY-7f3a"));
    let outcome = records.last().expect("recorded");
    assert_eq!(outcome["arguments"]["content"], json!({ "bytes": 11, "sha256": sum }));
    assert_eq!(outcome["files"], json!([{ "attached": "secret.md", "bytes": 11, "sha256": sum }]));
    assert_eq!(records[records.len() - 2]["event"], "intent", "written down before");
    let file = std::fs::read_to_string(home.state().join("audit.jsonl")).expect("there");
    assert!(!file.contains("CANARY"), "the audit holds no content");
    let shown = home.run(&["audit", "show"]);
    assert!(
        shown.stdout.contains(&format!("attached \"secret.md\" of the call 11 bytes sha256 {}", &sum[..12]))
    );
    assert_eq!(verified(&home)["intents_open"], 0);
    for mount in ["/shared", "/tmp"] {
        let left = std::fs::read_dir(home.host(mount)).expect("there").count();
        assert_eq!(left, 0, "{mount} is as it was");
    }
}

#[test]
fn a_call_says_so_and_a_chat_shows_it() {
    let home = home();
    let ran = home.call(&[TOOL, "content=a,b", "filename=t.csv"]);
    assert_eq!(ran.json()["attachments"][0]["filename"], "t.csv", "{ran:?}");
    assert!(ran.stderr.contains("not sent, since a single call has no reply: t.csv (text/plain"), "{ran:?}");
    let said = chat(&home, "/attachment_add content='# Title' filename=t.md\n");
    assert!(said[0].starts_with(r#"{"ok":true,"attachments":[{"filename":"t.md""#), "{said:?}");
    assert_eq!(said[1], format!("[attachment] t.md (text/plain, ~7B) sha256 {}", &sha256(b"# Title")[..12]));
}

#[test]
fn what_is_refused_of_files_that_come_with_the_call() {
    let home = home();
    put(&home, "/shared/a", "good");
    let large = "x".repeat((1 << 20) + 1);
    let base64 = "AAAA".repeat((1 << 20) / 3 + 1);
    let with = |key: &str, value: Value| {
        let mut arguments = brought("x", "t.txt");
        arguments[key] = value;
        arguments
    };
    for (arguments, code, says) in [
        (with("path", json!("/shared/a")), "invalid_arguments", "both given"),
        (with("paths", json!(["/shared/a"])), "invalid_arguments", "both given"),
        (with("paths", json!([])), "invalid_arguments", "both given"),
        (with("contentBase64", json!("eA==")), "invalid_arguments", "both given"),
        (with("path", json!("/vault/a")), "path_denied", "/vault/a"),
        (json!({ "content": "x" }), "invalid_arguments", "needs a \"filename\""),
        (with("filename", json!("")), "invalid_arguments", "needs a \"filename\""),
        (with("filename", json!("a/t.txt")), "invalid_arguments", "folder"),
        (with("filename", json!("..\\t.txt")), "invalid_arguments", "folder"),
        (with("filename", json!("txt.\u{202e}exe")), "invalid_arguments", "invisible"),
        (with("filename", json!("t\n.txt")), "invalid_arguments", "control"),
        (with("filenames", json!(["a", "b"])), "invalid_arguments", "more entries"),
        (with("content", json!("")), "invalid_arguments", "nothing to send"),
        (with("content", json!(large)), "too_large", "1048577 bytes"),
        (with("session", json!("other")), "invalid_arguments", "session"),
        (json!({ "contentBase64": "", "filename": "t" }), "invalid_arguments", "nothing to send"),
        (json!({ "contentBase64": "eA", "filename": "t" }), "invalid_arguments", "cut short"),
        (json!({ "contentBase64": "e A=", "filename": "t" }), "invalid_arguments", "white space"),
        (json!({ "contentBase64": base64, "filename": "t" }), "too_large", "decoded"),
        (json!({ "filename": "t.txt" }), "invalid_arguments", "no file is named"),
    ] {
        denies(&home, TOOL, &arguments, code, &[says]);
        let outcome = home.audit().into_iter().rfind(|record| record["tool"] == TOOL).expect("recorded");
        assert_eq!(outcome["files"], Value::Null, "nothing was added: {outcome}");
    }
}

#[test]
fn what_comes_with_the_call_is_within_the_limits_of_replies() {
    let home = with_folders(Home::new().config("[replies]\nmax_bytes = \"1 KiB\"\n"));
    let more = brought(&"x".repeat(1025), "t.txt");
    denies(&home, TOOL, &more, "too_large", &["\"t.txt\" has 1025 bytes", "replies.max_bytes"]);
    let add = |bytes: usize| format!("/attachment_add content={} filename=t.txt", "x".repeat(bytes));
    let home = with_folders(Home::new().config("[replies]\nmax_turn_bytes = \"10 B\"\n"));
    let said = chat(&home, &format!("{}\n{}\n", add(10), add(11)));
    assert!(said[0].starts_with(r#"{"ok":true"#) && said[2].starts_with("quota_exceeded: "), "{said:?}");
}

#[test]
fn what_waits_to_be_sent_is_bounded() {
    let home = with_folders(Home::new().config("[replies]\nmax_held_bytes = \"1 KiB\"\n"));
    put(&home, "/shared/a", bytes((1 << 10) + 1));
    denies(&home, TOOL, &json!({ "path": "/shared/a" }), "no_space", &["replies.max_held_bytes"]);
}

/// A gateway with the tool that adds files and then misbehaves.
fn careless() -> Home {
    let policy = "safety = \"side-effecting\"\n[arguments]\nthen = \"value\"\npath = { path = \"read\" }\n\
                  unjudged = \"value\"\ncomposed = \"value\"\nname = \"value\"\n[limits]\nmemory = \"16 MiB\"\ndeadline = \"2s\"\n";
    with_folders(Home::new().tool("careless", "attachment-add", "careless", policy))
}

#[test]
fn a_call_that_does_not_end_well_adds_nothing() {
    let home = careless();
    put(&home, "/shared/a.txt", "words");
    for (then, code) in
        [("fail", "write_failed"), ("trap", "trapped"), ("exit", "trapped"), ("spin", "timed_out")]
    {
        let said = chat(&home, &format!("/careless then={then} path=/shared/a.txt\n"));
        assert!(said.len() == 1 && said[0].starts_with(&format!("{code}: ")), "{said:?}");
        let outcome = home.audit().pop().expect("recorded");
        assert_eq!((&outcome["code"], &outcome["files"]), (&code.into(), &Value::Null), "{outcome}");
    }
    assert!(home.audit().iter().all(|record| record["event"] == "outcome"), "nothing was about to happen");
    let said = chat(&home, "/careless then=end path=/shared/a.txt name=x.txt\n");
    assert_eq!(said[0], r#"{"added":["x.txt"]}"#);
    assert!(said[1].starts_with("[attachment] x.txt "), "{said:?}");
}

#[test]
fn no_file_leaves_that_the_call_does_not_name_for_reading() {
    let home = careless();
    put(&home, "/shared/a.txt", "words");
    put(&home, "/shared/other.txt", "words");
    put(&home, "/vault/secret", "secret");
    for path in ["/shared/other.txt", "/vault/secret", "/etc/passwd", "/shared", ""] {
        let ran = call(&home, "careless", &json!({ "then": "end", "unjudged": path }));
        assert_eq!(ran.error(), "path_denied", "{path}: {ran:?}");
        let both = json!({ "then": "end", "path": "/shared/a.txt", "unjudged": path });
        assert_eq!(call(&home, "careless", &both).error(), "path_denied", "{path}");
    }
    // One refusal does not undo what was added before, and does not spoil what comes after.
    let each = json!({ "then": "each", "path": "/shared/a.txt", "unjudged": "/shared/other.txt" });
    assert_eq!(does(&home, "careless", &each), json!({ "added": ["a.txt"] }));
}

/// The host takes nothing from a guest that its own tool would have refused.
#[test]
fn the_host_looks_at_what_a_guest_brings() {
    let home = careless();
    put(&home, "/shared/a.txt", "words");
    put(&home, "/shared/empty", "");
    put(&home, "/shared/most", bytes(1 << 20));
    put(&home, "/shared/more", bytes((1 << 20) + 1));
    put(&home, "/shared/far_more", bytes(7 << 20));
    let composed = |then: &str, path: &str| json!({ "then": then, "composed": path, "name": "../x.txt" });
    for then in ["end", "raw"] {
        denies(
            &home,
            "careless",
            &json!({ "then": then, "composed": "/shared/a.txt" }),
            "invalid_arguments",
            &["name"],
        );
        denies(&home, "careless", &composed(then, "/shared/empty"), "invalid_arguments", &["empty"]);
        denies(&home, "careless", &composed(then, "/shared/more"), "too_large", &["1 MiB"]);
        assert_eq!(does(&home, "careless", &composed(then, "/shared/most")), json!({ "added": ["x.txt"] }));
        // Before what is judged, or after it: one thing refused, and nothing is added.
        let both = json!({ "then": then, "path": "/shared/a.txt", "composed": "/shared/empty", "name": "x" });
        denies(&home, "careless", &both, "invalid_arguments", &["empty"]);
        let both =
            json!({ "then": then, "unjudged": "/shared/a.txt", "composed": "/shared/a.txt", "name": "x" });
        denies(&home, "careless", &both, "path_denied", &["/shared/a.txt"]);
    }
    assert_eq!(call(&home, "careless", &composed("end", "/shared/far_more")).error(), "too_large");
    // More than one host call takes.
    assert_eq!(call(&home, "careless", &composed("raw", "/shared/far_more")).error(), "trapped");
    let mixed =
        json!({ "then": "end", "path": "/shared/a.txt", "composed": "/shared/a.txt", "name": "x.txt" });
    assert_eq!(does(&home, "careless", &mixed), json!({ "added": ["x.txt", "x.txt"] }));
}

#[test]
fn a_profile_that_does_not_grant_it_does_not_load_the_tool() {
    let policy = "imports = \"strict\"\nsafety = \"side-effecting\"\n[arguments]\nthen = \"value\"\npath = { path = \"read\" }\n\
                  unjudged = \"value\"\ncomposed = \"value\"\nname = \"value\"\n";
    let home = Home::new().tool("careless", "file-read-only", "careless", policy);
    let ran = home.call(&["careless", "then=end"]);
    assert_eq!(ran.error(), "tool_unavailable", "{ran:?}");
    assert!(ran.message().contains("reply-attachments"), "{ran:?}");
}
