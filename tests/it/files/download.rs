//! `attachment_download` from the command line: names by content, what lies there already, and
//! where it may write.

use super::check::{home, refuses, verified, works};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use support::guests::sha256;
use support::home::{Home, Ran};
use support::samples;

/// Runs the tool with these files.
fn download(home: &Home, arguments: &[&str], files: &[&str]) -> Ran {
    let attached = files.iter().flat_map(|file| ["--attach", file]);
    let all: Vec<&str> =
        ["attachment_download"].into_iter().chain(arguments.iter().copied()).chain(attached).collect();
    home.call(&all)
}

fn sha10(bytes: &[u8]) -> String {
    sha256(bytes)[..10].to_owned()
}

#[test]
fn the_result_has_this_very_shape() {
    let home = home();
    let (jpeg, odd) = (samples::jpeg(1000), vec![0xfd, 0xfd, 0, 1, 2, 3, 0]);
    let files =
        [home.file("photo.png", &jpeg), home.file("some.ODD", &odd), home.file("bare", &[0xfd, 9, 0])];
    let ran = download(&home, &[], &files.each_ref().map(String::as_str));
    let (one, two, three) = (sha10(&jpeg), sha10(&odd), sha10(&[0xfd, 9, 0]));
    let dir = "/shared/Downloads";
    let expected = json!({ "ok": true, "downloadDir": dir, "files": [
        { "path": format!("{dir}/{one}.jpg"), "sha10": one, "bytes": jpeg.len(), "sourceUrl": "file:photo.png",
          "mimeType": "image/jpeg" },
        { "path": format!("{dir}/{two}.odd"), "sha10": two, "bytes": 7, "sourceUrl": "file:some.ODD" },
        { "path": format!("{dir}/{three}"), "sha10": three, "bytes": 3, "sourceUrl": "file:bare" },
    ] });
    assert_eq!((ran.code, ran.json()), (Some(0), expected), "{ran:?}");
    assert!(fs::read(home.host(&format!("{dir}/{one}.jpg"))).expect("there") == jpeg);
    let outcome = home.audit().pop().expect("recorded");
    assert_eq!(outcome["arguments"]["downloadDir"], dir, "the default is in the audit: {outcome}");
    assert_eq!(outcome["files"].as_array().map(Vec::len), Some(3), "{outcome}");
    works(&home);
}

#[test]
fn only_what_is_missing_is_written() {
    let home = home();
    let (first, second) = (home.file("a.txt", b"first"), home.file("b.txt", b"second"));
    assert_eq!(download(&home, &[], &[&first]).code, Some(0));
    let path = home.host(&format!("/shared/Downloads/{}.txt", sha10(b"first")));
    let inode = fs::metadata(&path).expect("there").ino();
    // The same content twice in one call is one file.
    let copy = home.file("copy.md", b"first");
    let ran = download(&home, &[], &[&first, &second, &copy]);
    assert_eq!(ran.json()["files"].as_array().map(Vec::len), Some(2), "{ran:?}");
    assert_eq!(fs::metadata(&path).expect("there").ino(), inode, "it was not written again");
    let written: Value = home.audit().pop().expect("recorded")["files"].clone();
    assert_eq!(written.as_array().map(Vec::len), Some(1), "{written}");
    works(&home);
}

#[test]
fn what_lies_there_is_never_trusted() {
    let home = home();
    let (file, other) = (home.file("a.txt", b"abc"), home.file("other.txt", b"other"));
    let dir = home.host("/shared/Downloads");
    fs::create_dir(&dir).expect("writable");
    let there = dir.join(format!("{}.txt", sha10(b"abc")));
    let refused = |code: &str| {
        let ran = refuses(&home, code, &["attachment_download", "--attach", &other, "--attach", &file]);
        assert!(ran.message().contains("nothing was written"), "{ran:?}");
    };
    for held in [&b"abd"[..], b"", b"abcd"] {
        fs::write(&there, held).expect("writable");
        refused("already_exists");
    }
    fs::remove_file(&there).expect("there");
    fs::write(dir.join("real"), "abc").expect("writable");
    symlink("real", &there).expect("writable");
    refused("not_a_regular_file");
    fs::remove_file(&there).expect("there");
    symlink("nowhere", &there).expect("writable");
    refused("not_a_regular_file");
    fs::remove_file(&there).expect("there");
    super::check::special(&there, rustix::fs::FileType::Fifo, 0);
    refused("not_a_regular_file");
    fs::remove_file(&there).expect("there");
    fs::create_dir(&there).expect("writable");
    refused("is_a_directory");
}

#[test]
fn where_it_may_write() {
    let home = home();
    let file = home.file("a.txt", b"abc");
    let name = format!("{}.txt", sha10(b"abc"));
    for (dir, lies) in [
        ("downloadDir=~", "/shared"),
        ("downloadDir=~/x/y", "/shared/x/y"),
        ("downloadDir=/tmp", "/tmp"),
        ("downloadDir=/shared/.hidden", "/shared/.hidden"),
    ] {
        let ran = download(&home, &[dir], &[&file]);
        assert_eq!((ran.code, &ran.json()["downloadDir"]), (Some(0), &json!(lies)), "{ran:?}");
        assert_eq!(fs::read(home.host(&format!("{lies}/{name}"))).expect("there"), b"abc");
    }
    for dir in
        ["/vault", "/etc", "~/../vault", "~root", "~//x", "~/", "/shared/", "shared", "", "/shared/../vault"]
    {
        let dir = format!("downloadDir={dir}");
        refuses(&home, "path_denied", &["attachment_download", &dir, "--attach", &file]);
    }
    refuses(
        &home,
        "invalid_arguments",
        &["attachment_download", "--args", r#"{"downloadDir":5}"#, "--attach", &file],
    );
    refuses(
        &home,
        "invalid_arguments",
        &["attachment_download", "--args", r#"{"url":"https://x/y"}"#, "--attach", &file],
    );
    // Writing follows no link, and what lies behind one is not taken for written.
    symlink("x/y", home.host("/shared/link")).expect("writable");
    refuses(&home, "path_denied", &["attachment_download", "downloadDir=/shared/link", "--attach", &file]);
    symlink("/etc", home.host("/shared/out")).expect("writable");
    refuses(&home, "path_denied", &["attachment_download", "downloadDir=/shared/out/d", "--attach", &file]);
}

#[test]
fn all_files_or_none() {
    let home = super::check::with_folders(Home::new().config("[attachments]\nmax_bytes = \"1 KiB\"\n"));
    let (small, large) = (home.file("small.txt", b"small"), home.file("large.bin", &[0; 2000]));
    let ran = refuses(
        &home,
        "attachment_unavailable",
        &["attachment_download", "--attach", &small, "--attach", &large],
    );
    assert!(ran.message().starts_with("Attachment 1 (large.bin) is not available"), "{ran:?}");
    let ran = refuses(&home, "no_attachments", &["attachment_download"]);
    assert!(ran.message().contains("No message of the user"), "{ran:?}");
}

#[test]
fn downloads_at_once_leave_each_file_once() {
    let home = home();
    let file = home.file("a.txt", b"abc");
    let start = || {
        let mut command = home.command(&["call", "attachment_download", "--attach", &file]);
        command
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("it starts")
    };
    let all: Vec<_> = (0..4).map(|_| start()).collect();
    let mut done = 0;
    for child in all {
        let ran = Ran::from(child.wait_with_output().expect("ours"));
        match ran.error().as_str() {
            "" => done += 1,
            // Another one was faster between looking and publishing: it says so, and nothing is
            // lost.
            "already_exists" => assert!(ran.message().contains("/shared/Downloads/"), "{ran:?}"),
            other => panic!("{other}: {ran:?}"),
        }
    }
    assert!(done >= 1);
    assert_eq!(download(&home, &[], &[&file]).code, Some(0), "called again, it finds the file");
    assert_eq!(fs::read_dir(home.host("/shared/Downloads")).expect("there").count(), 1);
    verified(&home);
}
