//! `audit replay`: an audited call made again comes to the same, or what differs is told; and
//! nothing of the gateway is written by it.

use super::put;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use support::guests::sha256;
use support::home::{Home, Ran};

/// Every file and folder below one, with the digest of what it holds.
fn below(dir: &Path) -> BTreeMap<PathBuf, String> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type().expect("readable").is_dir() {
            true => {
                all.extend(below(&path));
                all.insert(path, "a folder".into());
            }
            false => drop(all.insert(path.clone(), sha256(&fs::read(&path).expect("readable")))),
        }
    }
    all
}

/// Replays a record, and holds that state, workspace and policies are as before.
fn replay(home: &Home, arguments: &[&str]) -> Ran {
    let before = below(home.dir());
    let ran = home.run(&[&["audit", "replay"], arguments].concat());
    assert_eq!(below(home.dir()), before, "{arguments:?} changed something: {ran:?}");
    ran
}

/// The seq of the newest record, of a call that came to this code.
fn called(home: &Home, arguments: &[&str], code: i32) -> String {
    let ran = home.call(arguments);
    assert_eq!(ran.code, Some(code), "{ran:?}");
    home.audit().last().expect("a record")["seq"].to_string()
}

fn says(ran: &Ran, code: i32, said: &[&str]) {
    assert_eq!(ran.code, Some(code), "{ran:?}");
    let all = format!("{}{}", ran.stdout, ran.stderr);
    for said in said {
        assert!(all.contains(said), "{said} in {ran:?}");
    }
}

#[test]
fn what_cannot_be_made_again_is_refused_with_its_reason() {
    let home = Home::new().own_policies();
    let fetch = home.policies_dir().join("profiles/web-fetch.toml");
    let text = fs::read_to_string(&fetch).expect("there");
    fs::write(&fetch, text.replace("hosts = []", "hosts = [\"example.com\"]")).expect("writable");
    put(&home, "/shared/gone", b"x");
    let unknown = called(&home, &["nope"], 1);
    let removed = called(&home, &["file_delete", "path=/shared/gone"], 0);
    let written = called(&home, &["file_write", "path=/shared/a", "content=hello"], 0);
    let network = called(&home, &["web_fetch", "url=https://example.org/a?key=1"], 1);
    let other = home.file("other", b"hullo");
    let same = home.file("same", b"hello");
    for (arguments, said) in [
        (&["9999"][..], &["no record of this seq"][..]),
        (&["nobody/0"], &["no outcome of such a call"]),
        (&[&*unknown], &["no policy for \"nope\""]),
        (&[&*removed], &["/shared/gone was removed", "--files DIR"]),
        (&[&*written], &["by digest alone", "--argument content=@FILE"]),
        (
            &[&*written, "--argument", &format!("content=@{other}")],
            &["content: the file has 5 bytes", &sha256(b"hello")],
        ),
        (&[&*written, "--argument", "content=hello"], &["write @FILE"]),
        (
            &[&*written, "--argument", &format!("content=@{same}"), "--argument", &format!("path=@{same}")],
            &["path: the record holds no digest there"],
        ),
        (&[&*written, "--args", &format!("@{same}")], &["does not have the sha256 of the arguments"]),
        (&[&*network], &["reaches the network", "--network"]),
        (&[&*network, "--network"], &["without its query", "--args @FILE"]),
    ] {
        let ran = replay(&home, arguments);
        assert_eq!(ran.stdout, "", "{ran:?}");
        says(&ran, 2, said);
    }
    let arguments = home.file("arguments", b"{\"url\":\"https://example.org/a?key=1\"}");
    let asked = replay(&home, &[&network, "--network", "--args", &format!("@{arguments}")]);
    says(&asked, 0, &["same: denied network_denied, 0 files"]);
}

#[test]
fn a_call_made_again_comes_to_the_same() {
    let home = Home::new();
    for (name, content) in [("read", "text"), ("from", "moved"), ("there", "old")] {
        put(&home, &format!("/shared/{name}"), content.as_bytes());
    }
    let photo = home.file("photo.jpg", b"not really");
    let content = home.file("content", b"hello");
    let content = format!("content=@{content}");
    for (call, code, more, said) in [
        (&["file_read", "path=/shared/read"][..], 0, &[][..], "same: done, 0 files"),
        (&["file_read", "path=/vault/a"], 1, &[], "same: denied path_denied, 0 files"),
        (&["file_read", "path=/shared/none"], 1, &[], "same: failed not_found, 0 files"),
        (&["file_list", "path=/shared"], 0, &[], "same: done, 0 files"),
        (&["file_move", "from=/shared/from", "to=/tmp/to"], 0, &[], "same: done, 1 file"),
        (
            &["file_write", "path=/shared/d/a", "content=hello"],
            0,
            &["--argument", &*content],
            "same: done, 1 file",
        ),
        (
            &["file_write", "path=/shared/there", "content=hello"],
            1,
            &["--argument", &*content],
            "same: failed already_exists, 0 files",
        ),
        (
            &["attachment_save", "index=0", "path=/shared/photo.jpg", "--attach", &photo],
            0,
            &["--attach", &*photo],
            "same: done, 1 file",
        ),
    ] {
        let seq = called(&home, call, code);
        says(&replay(&home, &[&[&*seq], more].concat()), 0, &[said]);
        // By its call, and in JSON.
        let id = home.audit().last().expect("a record")["call"].as_str().expect("an id").to_owned();
        let ran = replay(&home, &[&[&*id, "--json"], more].concat());
        assert_eq!((ran.code, &ran.json()["same"]), (Some(0), &Value::Bool(true)), "{ran:?}");
        assert_eq!(ran.json()["record"].to_string(), seq);
    }
    // The intent of a call stands for it as well.
    let intent =
        home.audit().iter().rfind(|record| record["event"] == "intent").expect("one")["seq"].to_string();
    says(&replay(&home, &[&intent, "--attach", &photo]), 0, &["same: done, 1 file"]);
}

#[test]
fn what_differs_is_told_line_by_line() {
    let home = Home::new().own_policies();
    put(&home, "/shared/a", b"one");
    let read = called(&home, &["file_read", "path=/shared/a"], 0);
    let deleted = called(&home, &["file_delete", "path=/shared/a"], 0);
    says(&replay(&home, &[&read]), 1, &["differs: outcome: recorded done, now failed not_found"]);
    let copy = home.dir().join("copy");
    fs::create_dir_all(copy.join("shared")).expect("writable");
    fs::write(copy.join("shared/a"), "one").expect("writable");
    let copy = copy.to_str().expect("text");
    for seq in [&read, &deleted] {
        says(&replay(&home, &[seq, "--files", copy]), 0, &["same: done"]);
    }
    put(&home, "/shared/sent", b"as it was");
    let attached = called(&home, &["attachment_add", "path=/shared/sent"], 0);
    says(&replay(&home, &[&attached]), 0, &["same: done, 1 file"]);
    put(&home, "/shared/sent", b"as it is");
    let ran = replay(&home, &[&attached]);
    says(
        &ran,
        1,
        &[
            "differs: file 0: recorded attached sent 9 bytes",
            "now attached sent 8 bytes",
            &sha256(b"as it is"),
        ],
    );
    // Another policy is told, and judges.
    let policy = home.policies_dir().join("tools/file_delete.toml");
    let text = fs::read_to_string(&policy).expect("there");
    fs::write(&policy, text.replace("path = { path = \"write\" }", "path = { path = \"read\" }"))
        .expect("writable");
    let ran = replay(&home, &[&deleted, "--files", copy]);
    says(&ran, 1, &["remark: the policy has changed: recorded sha256 ", "differs: outcome: recorded done"]);
}
