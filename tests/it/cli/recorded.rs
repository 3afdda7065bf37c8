//! What the audit holds of a call: who, what, which paths, how it ended. Refusals are in it as
//! well.

use super::put;
use serde_json::{Value, json};
use support::guests::sha256;
use support::home::Home;
use support::samples;

#[test]
fn every_refusal_is_recorded_with_its_code() {
    let home = Home::new();
    put(&home, "/shared/there", b"x");
    let file = home.file("sent", b"x");
    let cases: &[(&[&str], &str, &str)] = &[
        (&["nope"], "deny", "unknown_tool"),
        (&["nope", "path=/shared/a"], "deny", "unknown_tool"),
        (&["file_read"], "deny", "invalid_arguments"),
        (&["file_read", "--args", "{"], "deny", "invalid_arguments"),
        (
            &["file_read", "--args", "{\"path\":\"/shared/a\",\"path\":\"/vault/a\"}"],
            "deny",
            "invalid_arguments",
        ),
        (&["file_read", "path=/vault/a"], "deny", "path_denied"),
        (&["file_read", "path=/shared/../vault/a"], "deny", "path_denied"),
        (&["file_read", "path=shared/a"], "deny", "path_denied"),
        (&["file_write_bytes", "path=/shared", "content_base64=eA=="], "deny", "path_denied"),
        (&["file_read", "path=/shared/missing"], "permit", "not_found"),
        (&["file_write_bytes", "path=/shared/there", "content_base64=eA=="], "permit", "already_exists"),
        (&["attachment_save", "index=0", "path=/shared/a"], "permit", "no_attachments"),
        (
            &["attachment_save", "index=7", "path=/shared/a", "--attach", &file],
            "permit",
            "index_out_of_range",
        ),
    ];
    for (n, (arguments, verdict, code)) in cases.iter().enumerate() {
        let ran = home.call(arguments);
        assert_eq!((ran.code, ran.error().as_str()), (Some(1), *code), "{arguments:?}: {ran:?}");
        let records = home.audit();
        assert_eq!(records.len(), n + 1, "{arguments:?} leaves one record");
        let record = &records[n];
        assert_eq!(record["event"], "outcome");
        assert_eq!((&record["verdict"], &record["code"]), (&json!(verdict), &json!(code)), "{arguments:?}");
        assert_eq!((&record["tool"], &record["channel"]), (&json!(arguments[0]), &json!("cli")));
        assert_eq!(record["reason"], ran.message(), "the reason is what was answered");
        assert!(record.get("files").is_none(), "{record}");
    }
    assert_eq!(home.run(&["audit", "verify"]).code, Some(0));
}

#[test]
fn words_that_cannot_be_typed_are_recorded_as_well() {
    let home = Home::new();
    for arguments in [&["file_read", "path"][..], &["file_read", "path=a", "path=b"], &["nope", "path"]] {
        let before = home.audit().len();
        assert_eq!(home.call(arguments).code, Some(1), "{arguments:?}");
        assert_eq!(home.audit().len(), before + 1, "{arguments:?} is refused and leaves no record");
    }
}

#[test]
fn a_write_is_announced_before_and_told_after() {
    let home = Home::new();
    let bytes = samples::jpeg(1000);
    let file = home.file("photo.jpg", &bytes);
    let ran = home.call(&["attachment_save", "index=0", "path=/shared/in/photo.jpg", "--attach", &file]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let records = home.audit();
    let events: Vec<_> = records.iter().map(|record| record["event"].as_str().expect("text")).collect();
    assert_eq!(events, ["intent", "outcome"]);
    let files = json!([{ "path": "/shared/in/photo.jpg", "bytes": bytes.len(), "sha256": sha256(&bytes) }]);
    let uid = rustix::process::getuid().as_raw().to_string();
    for record in &records {
        assert_eq!(record["files"], files);
        assert_eq!((&record["channel"], &record["sender"]), (&json!("cli"), &json!(uid)));
        assert_eq!(record["tool"], "attachment_save");
        assert_eq!(record["arguments"], json!({ "index": 0, "path": "/shared/in/photo.jpg" }));
        assert_eq!(record["arguments_sha256"], sha256(br#"{"index":0,"path":"/shared/in/photo.jpg"}"#));
        assert_eq!(record["call"], format!("{}/0", record["turn"].as_str().expect("text")));
    }
    assert_eq!((&records[1]["intent"], &records[1]["verdict"]), (&json!(1), &json!("permit")));
    assert!(records[1].get("code").is_none() && records[1].get("reason").is_none());
}

#[test]
fn every_call_has_an_id_of_its_own() {
    let home = Home::new();
    for _ in 0..3 {
        home.call(&["nope"]);
    }
    super::run(
        home.command(&["chat"])
            .stdin(std::fs::File::open(home.file("lines", b"/nope\n/nope\n")).expect("there")),
    );
    let ids: std::collections::BTreeSet<_> =
        home.audit().iter().map(|r| r["call"].as_str().expect("text").to_owned()).collect();
    assert_eq!(ids.len(), 5, "{ids:?}");
}

#[test]
fn values_are_shown_while_they_are_short() {
    let policy = "safety = \"read-only\"\n[arguments]\nname = \"value\"\n";
    let home = Home::new().tool("hello", "file-read-only", "minimal", policy);
    let (short, long) = ("a".repeat(1024), "b".repeat(1025));
    for name in [&short, &long] {
        assert_eq!(home.call(&["hello", &format!("name={name}")]).code, Some(0));
    }
    let shown: Vec<Value> = home.audit().iter().map(|record| record["arguments"]["name"].clone()).collect();
    assert_eq!(shown[0], short);
    assert_eq!(shown[1], json!({ "bytes": 1025, "sha256": sha256(long.as_bytes()) }));
}

#[test]
fn two_calls_at_once_keep_one_chain() {
    let home = Home::new();
    let children: Vec<_> = (0..6)
        .map(|n| {
            let words = ["call", "file_write_bytes", &format!("path=/shared/{n}"), "content_base64=eA=="]
                .map(str::to_owned);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let mut command = home.command(&words);
            command.stdout(std::process::Stdio::piped()).spawn().expect("the program starts")
        })
        .collect();
    for child in children {
        let ran: support::home::Ran = child.wait_with_output().expect("it ends").into();
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    let ran = home.run(&["audit", "verify"]);
    assert!(ran.stdout.starts_with("audit ok: 12 records"), "{ran:?}");
}
