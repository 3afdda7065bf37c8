//! The gateway itself, confined: what people ask of it still works, and the kernel holds it to the
//! rest.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use support::home::Home;

#[test]
fn files_named_on_the_command_line_are_read_wherever_they_are() {
    let home = Home::new();
    let elsewhere = tempfile::tempdir().expect("a folder");
    let file = elsewhere.path().join("photo.txt");
    std::fs::write(&file, "x").expect("writable");
    let link = elsewhere.path().join("link.txt");
    std::os::unix::fs::symlink("photo.txt", &link).expect("writable");
    for (n, file) in [&file, &link].iter().enumerate() {
        let file = file.to_str().expect("text");
        let ran = home.call(&["attachment_save", "index=0", &format!("path=/shared/{n}"), "--attach", file]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    let arguments = elsewhere.path().join("arguments.json");
    std::fs::write(&arguments, r#"{"path":"/shared/0"}"#).expect("writable");
    let ran = home.call(&["file_read", "--args", &format!("@{}", arguments.display())]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn a_running_gateway_is_confined_before_it_has_threads() {
    let home = Home::new();
    let mut command = home.command(&["chat"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("starts");
    let mut input = child.stdin.take().expect("piped");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    writeln!(input, "/help").expect("it listens");
    // It has answered: everything is up.
    lines.next().expect("an answer").expect("text");
    let mut threads = 0;
    for task in std::fs::read_dir(format!("/proc/{}/task", child.id())).expect("it runs") {
        let status = std::fs::read_to_string(task.expect("readable").path().join("status"));
        let status = status.expect("readable");
        for line in ["NoNewPrivs:\t1", "Seccomp:\t2"] {
            assert!(status.lines().any(|found| found == line), "{line:?} in {status}");
        }
        threads += 1;
    }
    assert!(threads > 1, "{threads} threads: this test looks too early");
    // Files that the person names as they go are read.
    let file = home.file("later.txt", b"later");
    writeln!(input, "/attach {file}\n/attachment_save index=0 path=/shared/later").expect("it listens");
    let saved = lines.map_while(Result::ok).any(|line| line.contains("\"saved\":true"));
    drop(input);
    assert!(saved && child.wait().expect("ours").success());
}
