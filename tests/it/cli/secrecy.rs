//! Contents stay out of everything that is kept: an argument classed as content is audited as its
//! length and hash, and an attachment's bytes are nowhere but where a tool saved them.

use super::{line, run};
use std::path::Path;
use support::guests::sha256;
use support::home::{Home, Ran};

/// What must not be found anywhere, as plain bytes and as base64 of them.
const SECRET: &str = "the-secret-of-the-day";
const SECRET_BASE64: &str = "dGhlLXNlY3JldC1vZi10aGUtZGF5";

fn contains(bytes: &[u8], needle: &str) -> bool {
    support::holds(bytes, needle.as_bytes())
}

/// Asserts that no file below `dir` holds the secret in either form.
fn nowhere_in(dir: &Path) {
    for entry in std::fs::read_dir(dir).expect("readable") {
        let entry = entry.expect("readable");
        if entry.file_type().expect("known").is_dir() {
            nowhere_in(&entry.path());
            continue;
        }
        let bytes = std::fs::read(entry.path()).expect("readable");
        for needle in [SECRET, SECRET_BASE64] {
            assert!(!contains(&bytes, needle), "{} holds it", entry.path().display());
        }
    }
}

/// Runs a call with the loudest log, and looks for the secret in the log and in the whole state.
fn kept_secret(home: &Home, arguments: &[&str]) -> Ran {
    let ran = run(home.command(&[&["call"], arguments].concat()).env("COFFERDAM_LOG", "trace"));
    line(&ran);
    for needle in [SECRET, SECRET_BASE64] {
        assert!(!ran.stderr.contains(needle), "{arguments:?}: {ran:?}");
    }
    nowhere_in(&home.state());
    ran
}

#[test]
fn content_is_audited_by_length_and_hash() {
    let home = Home::new();
    let ran = kept_secret(
        &home,
        &["file_write_bytes", "path=/shared/a", &format!("content_base64={SECRET_BASE64}")],
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(std::fs::read(home.host("/shared/a")).expect("written"), SECRET.as_bytes());
    for record in home.audit() {
        let shown = &record["arguments"]["content_base64"];
        let expected =
            serde_json::json!({ "bytes": SECRET_BASE64.len(), "sha256": sha256(SECRET_BASE64.as_bytes()) });
        assert_eq!(shown, &expected, "{record}");
        assert_eq!(record["files"][0]["sha256"], sha256(SECRET.as_bytes()));
    }
    let shown = home.run(&["audit", "show"]).stdout + &home.run(&["audit", "show", "--json"]).stdout;
    assert!(!contains(shown.as_bytes(), SECRET_BASE64), "{shown}");
}

#[test]
fn a_refused_call_keeps_its_content_secret_as_well() {
    let home = Home::new();
    let content = format!("content_base64={SECRET_BASE64}");
    let json = |text: &str| text.replace("SECRET", SECRET);
    for (arguments, code) in [
        (vec!["file_write_bytes", "path=/vault/a", &content], "path_denied"),
        (vec!["file_write_bytes", "path=../a", &content], "path_denied"),
        (vec!["file_write_bytes", &content], "invalid_arguments"),
        (vec!["file_write_bytes", "path=/shared/a", "overwrite=perhaps", &content], "invalid_arguments"),
        (vec!["file_read", "path=/shared/a", &content], "invalid_arguments"),
        (vec!["nope", &content], "unknown_tool"),
        (vec!["file_write_bytes", "path=/shared/missing", &content, &content], "invalid_arguments"),
        (vec!["file_write_bytes", "--args", &json(r#"{"content_base64":"SECRET""#)], "invalid_arguments"),
        (vec!["file_write_bytes", "--args", &json(r#""SECRET""#)], "invalid_arguments"),
        (vec!["file_write_bytes", "--args", &json("SECRET")], "invalid_arguments"),
        (
            vec!["file_write_bytes", "--args", &json(r#"{"path":"/shared/a","content_base64":["SECRET"]}"#)],
            "invalid_arguments",
        ),
        (
            vec![
                "file_write_bytes",
                "--args",
                &json(r#"{"path":"/shared/a","content_base64":{"x":"SECRET"}}"#),
            ],
            "invalid_arguments",
        ),
        (
            vec!["file_write_bytes", "--args", &json(r#"{"path":["SECRET"],"content_base64":"eA=="}"#)],
            "invalid_arguments",
        ),
        (
            vec!["file_write_bytes", "--args", &json(r#"{"path":"/shared/a","content":"SECRET"}"#)],
            "invalid_arguments",
        ),
        (
            vec![
                "file_write_bytes",
                "--args",
                &json(r#"{"path":"/shared/a","content_base64":"SECRET","content_base64":"x"}"#),
            ],
            "invalid_arguments",
        ),
        // Refused by the tool itself, who has seen it: no base64.
        (
            vec!["file_write_bytes", "--args", &json(r#"{"path":"/shared/a","content_base64":"SECRET"}"#)],
            "invalid_arguments",
        ),
    ] {
        let ran = kept_secret(&home, &arguments);
        assert_eq!(ran.error(), code, "{arguments:?}: {ran:?}");
        assert!(
            !ran.stdout.contains(SECRET) && !ran.stdout.contains(SECRET_BASE64),
            "{arguments:?}: {ran:?}"
        );
    }
    assert!(!home.host("/shared/a").exists());
}

#[test]
fn an_attachments_bytes_are_only_where_a_tool_saved_them() {
    let home = Home::new();
    // Small enough for memory, and large enough for the spool.
    for (name, padding) in [("small", 0), ("large", 1 << 20)] {
        let bytes = [SECRET.as_bytes(), &vec![b'.'; padding], SECRET_BASE64.as_bytes()].concat();
        let file = home.file(name, &bytes);
        let path = format!("path=/shared/{name}");
        let ran = kept_secret(&home, &["attachment_save", "index=0", &path, "--attach", &file]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let unsaved = kept_secret(&home, &["file_read", "path=/shared/missing", "--attach", &file]);
        assert_eq!(unsaved.error(), "not_found");
        let refused = kept_secret(&home, &["attachment_save", "index=0", "path=/vault/a", "--attach", &file]);
        assert_eq!(refused.error(), "path_denied");
    }
    assert!(home.leftovers().is_empty());
    let names: std::collections::BTreeSet<_> = std::fs::read_dir(home.host("/shared"))
        .expect("there")
        .map(|e| e.expect("readable").file_name())
        .collect();
    assert_eq!(names, ["large", "small"].map(Into::into).into());
}

#[test]
fn what_a_tool_reads_is_in_its_answer_alone() {
    let home = Home::new();
    super::put(&home, "/shared/a", SECRET.as_bytes());
    let ran = kept_secret(&home, &["file_read", "path=/shared/a"]);
    assert_eq!(ran.json()["content"], SECRET);
}
