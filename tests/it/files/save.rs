//! `attachment_save` when all is well: the bytes, the path and the answer are exact.

use super::check::{bytes, home, save, saves, works};
use std::fs;
use support::guests::sha256;
use support::samples;

#[test]
fn every_byte_arrives() {
    let home = home();
    // Around the size up to which attachments stay in memory; the largest takes other ways than
    // both.
    for len in [0, 1, 255 << 10, 256 << 10, (256 << 10) + 1, 257 << 10, 19 << 20] {
        let sent = bytes(len);
        saves(&home, &format!("/shared/{len}"), "overwrite=false", &sent);
        let records = home.audit();
        let outcome = records.last().expect("audited");
        assert_eq!(outcome["files"][0]["sha256"], sha256(&sent), "{outcome}");
        assert_eq!(outcome["files"][0]["bytes"], len, "{outcome}");
        assert_eq!(outcome["files"][0]["path"], format!("/shared/{len}"), "{outcome}");
    }
    works(&home);
}

#[test]
fn the_answer_is_exact() {
    let home = home();
    let photo = home.file("IMG_1.JPG", &samples::jpeg(142_000));
    let ran = home.call(&save("path=/shared/photo.jpg", "overwrite=false", &photo));
    let size = fs::metadata(home.host("/shared/photo.jpg")).expect("saved").len();
    let expected = format!(
        "{{\"saved\":true,\"path\":\"/shared/photo.jpg\",\"mime_type\":\"image/jpeg\",\"bytes_written\":{size},\"source_index\":0}}\n"
    );
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), expected.as_str(), ""));
}

#[test]
fn the_index_picks_and_the_path_is_taken_as_given() {
    let home = home();
    let (photo, paper) = (home.file("a.jpg", &samples::jpeg(0)), home.file("b.pdf", &samples::pdf()));
    let ran = home.call(&[
        "attachment_save",
        "index=1",
        "path=/tmp/no extension",
        "--attach",
        &photo,
        "--attach",
        &paper,
    ]);
    assert_eq!(ran.json()["source_index"], 1, "{ran:?}");
    assert_eq!(ran.json()["mime_type"], "application/pdf", "{ran:?}");
    assert_eq!(fs::read(home.host("/tmp/no extension")).expect("saved"), samples::pdf());
    let names: Vec<_> =
        fs::read_dir(home.host("/tmp")).expect("there").flatten().map(|e| e.file_name()).collect();
    assert_eq!(names, ["no extension"]);
}

#[test]
fn an_audit_names_who_what_and_where() {
    let home = home();
    saves(&home, "/shared/a", "overwrite=false", b"abc");
    let records = home.audit();
    let [intent, outcome] = &records[..] else { panic!("an intent and an outcome: {records:?}") };
    let file = serde_json::json!([{ "path": "/shared/a", "bytes": 3, "sha256": sha256(b"abc") }]);
    for record in [intent, outcome] {
        assert_eq!(record["channel"], "cli");
        assert_eq!(record["sender"], rustix::process::getuid().as_raw().to_string());
        assert_eq!(record["tool"], "attachment_save");
        assert_eq!(record["files"], file);
    }
    assert_eq!((&intent["event"], &outcome["event"]), (&"intent".into(), &"outcome".into()));
    assert_eq!((&outcome["intent"], &outcome["verdict"]), (&intent["seq"], &"permit".into()));
}

#[test]
fn missing_folders_are_made() {
    let home = home();
    saves(&home, "/shared/2026/11/21/photo.jpg", "overwrite=false", b"abc");
    saves(&home, "/shared/2026/11/22/photo.jpg", "overwrite=true", b"def");
    works(&home);
}

#[test]
fn overwriting_takes_longer_and_shorter_files() {
    let home = home();
    saves(&home, "/shared/a", "overwrite=true", b"the first");
    saves(&home, "/shared/a", "overwrite=true", &bytes(300 << 10));
    saves(&home, "/shared/a", "overwrite=true", b"short");
    saves(&home, "/shared/a", "overwrite=true", b"");
    works(&home);
}

#[test]
fn names_may_have_spaces_quotes_and_any_letters() {
    let home = home();
    let names = [
        "two words",
        "it's \"quoted\"",
        "naïve – ☕ 日本語",
        "--flag",
        "$HOME",
        "a\\b",
        "~",
        "*",
        "index=0",
        "…",
    ];
    for name in names {
        let guest = format!("/shared/{name}");
        saves(&home, &guest, "overwrite=false", name.as_bytes());
        let ran = home.call(&["file_read", &format!("path={guest}")]);
        assert_eq!(ran.json()["content"], *name, "{ran:?}");
    }
    works(&home);
}

#[test]
fn the_longest_name_can_be_created_and_overwritten() {
    let home = home();
    let name = format!("/shared/{}", "n".repeat(255));
    saves(&home, &name, "overwrite=false", b"old");
    saves(&home, &name, "overwrite=true", b"new");
    let deep = format!("/tmp{}/file", format!("/{}", "d".repeat(255)).repeat(15));
    assert!(deep.len() > 3800, "close to the longest path");
    saves(&home, &deep, "overwrite=false", b"old");
    saves(&home, &deep, "overwrite=true", b"new");
    works(&home);
}
