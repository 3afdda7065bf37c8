//! `--attach`: files as if a person had sent them, under the limits of a channel.

use super::{line, refused};
use std::process::Stdio;
use std::time::{Duration, Instant};
use support::home::{Home, Ran};
use support::samples;

fn save(home: &Home, index: usize, files: &[&str]) -> Ran {
    let (index, path) = (format!("index={index}"), format!("path=/shared/{index}"));
    let mut arguments = vec!["attachment_save", &*index, &*path];
    arguments.extend(files.iter().flat_map(|file| ["--attach", file]));
    let ran = home.call(&arguments);
    line(&ran);
    ran
}

/// Asserts `attachment_unavailable` with this reason.
fn unavailable(ran: &Ran, reason: &str) {
    assert_eq!((ran.code, ran.error().as_str()), (Some(1), "attachment_unavailable"), "{ran:?}");
    assert!(ran.message().contains(reason), "{reason:?} in {ran:?}");
}

#[test]
fn what_is_no_regular_file_is_refused_at_once() {
    let home = Home::new();
    let fifo = home.dir().join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status().expect("mkfifo is there");
    assert!(made.success());
    let socket = home.dir().join("socket");
    let _listening = std::os::unix::net::UnixListener::bind(&socket).expect("writable");
    std::os::unix::fs::symlink("nowhere", home.dir().join("dangling")).expect("writable");
    let good = home.file("good", b"x");
    for (what, said) in [
        ("missing", "No such file"),
        ("dangling", "No such file"),
        (".", "not a regular file"),
        ("fifo", "not a regular file"),
        ("socket", ""),
        ("/dev/zero", "not a regular file"),
        ("", ""),
    ] {
        let words =
            ["call", "attachment_save", "index=0", "path=/shared/a", "--attach", &good, "--attach", what];
        let mut command = home.command(&words);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
        let started = Instant::now();
        while child.try_wait().expect("ours").is_none() {
            if started.elapsed() > Duration::from_secs(20) {
                child.kill().expect("ours");
                panic!("--attach {what} blocks");
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let ran = child.wait_with_output().expect("it ended").into();
        refused(&ran, &[said, what]);
    }
    assert!(!home.host("/shared/a").exists() && home.audit().is_empty());
}

#[test]
fn several_keep_their_order() {
    let home = Home::new();
    let files = [
        home.file("photo.jpg", &samples::jpeg(10)),
        home.file("b.txt", b"second"),
        home.file("c", &samples::pdf()),
    ];
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    for (index, mime_type) in ["image/jpeg", "text/plain", "application/pdf"].iter().enumerate() {
        let ran = save(&home, index, &files);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(
            (&ran.json()["source_index"], &ran.json()["mime_type"]),
            (&index.into(), &(*mime_type).into())
        );
        let saved = std::fs::read(home.host(&format!("/shared/{index}"))).expect("saved");
        assert_eq!(saved, std::fs::read(files[index]).expect("there"));
    }
    // The same file twice is two attachments.
    assert_eq!(
        home.call(&["attachment_save", "index=1", "path=/tmp/x", "--attach", files[1], "--attach", files[1]])
            .code,
        Some(0)
    );
}

#[test]
fn an_index_that_is_not_there_names_the_count() {
    let home = Home::new();
    assert_eq!(save(&home, 0, &[]).error(), "no_attachments");
    let file = home.file("a", b"x");
    for (index, files) in [(1, vec![&*file]), (2, vec![&*file, &*file]), (4_294_967_296, vec![&*file])] {
        let ran = save(&home, index, &files);
        assert_eq!((ran.code, ran.error().as_str()), (Some(1), "index_out_of_range"), "{ran:?}");
        assert!(ran.message().contains(&format!("{} attachment", files.len())), "{ran:?}");
    }
}

#[test]
fn a_file_over_the_limit_is_listed_with_its_reason_and_the_others_stay() {
    let home = Home::new().config("[attachments]\nmax_bytes = \"1 KiB\"\nmax_turn_bytes = \"10 KiB\"\n");
    let (most, over) = (home.file("most", &[b'x'; 1024]), home.file("over", &[b'x'; 1025]));
    let files = [&*most, &*over, &*most];
    unavailable(&save(&home, 1, &files), "too large");
    unavailable(&save(&home, 1, &files), "1 KiB");
    assert_eq!((save(&home, 0, &files).code, save(&home, 2, &files).code), (Some(0), Some(0)));
}

#[test]
fn files_over_the_turns_limit_are_listed_with_their_reason() {
    let home = Home::new().config("[attachments]\nmax_bytes = \"2 KiB\"\nmax_turn_bytes = \"2 KiB\"\n");
    let (half, small) = (home.file("half", &[b'x'; 1024]), home.file("small", b"x"));
    // Exactly full with the second; what comes after finds no room, however small.
    let files = [&*half, &*half, &*small];
    assert_eq!((save(&home, 0, &files).code, save(&home, 1, &files).code), (Some(0), Some(0)));
    unavailable(&save(&home, 2, &files), "2 KiB");
    unavailable(&save(&home, 2, &files), "too large together");
    // One that does not fit leaves its room to the next.
    let most = home.file("most", &[b'x'; 2047]);
    let files = [&*most, &*half, &*small];
    unavailable(&save(&home, 1, &files), "together");
    assert_eq!(save(&home, 2, &files).code, Some(0));
}

#[test]
fn more_files_than_allowed_are_listed_with_their_reason() {
    let home = Home::new().config("[attachments]\nmax_count = 2\n");
    let file = home.file("a", b"x");
    let files = [&*file; 3];
    assert_eq!(save(&home, 1, &files).code, Some(0));
    unavailable(&save(&home, 2, &files), "too many");
    assert_eq!(save(&home, 3, &files).error(), "index_out_of_range");
    let none = Home::new().config("[attachments]\nmax_count = 0\n");
    unavailable(&save(&none, 0, &[&file]), "too many");
}

#[test]
fn an_empty_file_is_a_file() {
    let home = Home::new();
    let file = home.file("empty", b"");
    let ran = save(&home, 0, &[&file]);
    assert_eq!((ran.code, &ran.json()["bytes_written"]), (Some(0), &0.into()), "{ran:?}");
}
