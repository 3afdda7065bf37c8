//! Standard output and error that are closed or full: a reader that has seen enough is no error, a
//! full disk is one, and a log that nobody takes any more changes nothing.

use std::fs::File;
use std::net::Shutdown;
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};
use support::home::{Home, Ran};

const COMMANDS: &[&[&str]] = &[
    &["--help"],
    &["--version"],
    &["call", "--help"],
    &["call", "file_read", "path=/shared/missing"],
    &["tools"],
    &["tools", "--json"],
    &["policy", "check"],
    &["policy", "check", "--json"],
    &["audit", "verify"],
    &["audit", "show"],
    &["audit", "show", "--json"],
    &["init", "written.toml"],
];

/// Runs with this as standard output.
fn to(mut command: Command, stdout: impl Into<Stdio>) -> Ran {
    let child = command.stdout(stdout).stderr(Stdio::piped()).spawn().expect("the program starts");
    child.wait_with_output().expect("it ends").into()
}

/// The writing end of a pipe that nobody reads any more.
fn closed() -> std::io::PipeWriter {
    let (_reader, writer) = std::io::pipe().expect("a pipe");
    writer
}

#[test]
fn without_any_standard_output_the_exit_code_still_tells() {
    let home = Home::new();
    super::put(&home, "/shared/there", b"x");
    // The shell closes descriptor 1 before the program starts.
    for (file, code) in [("there", 0), ("missing", 1)] {
        let script = format!("exec \"$@\" call file_read path=/shared/{file} >&-");
        let mut command = home.command_under(&["sh", "-c", &script, "sh"], &[]);
        let ran = super::run(&mut command);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(code), ""), "{ran:?}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let home = Home::new();
    home.call(&["file_read", "path=/shared/missing"]);
    for words in COMMANDS {
        let ran = to(home.command(words), closed());
        assert!(!ran.stderr.contains("panicked"), "{words:?}: {ran:?}");
        // What became of the call stays true, whoever reads it.
        let code = if words.contains(&"path=/shared/missing") { 1 } else { 0 };
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(code), ""), "{words:?}");
    }
}

#[test]
fn a_chat_that_nobody_reads_ends() {
    let home = Home::new();
    let file = home.file("lines", b"/help\n/help\n/help\n");
    let mut command = home.command(&["chat"]);
    command.stdin(File::open(file).expect("there"));
    let ran = to(command, closed());
    assert!(!ran.stderr.contains("panicked"), "{ran:?}");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
}

/// A gateway that takes no more is no reader of our output: nothing was added.
#[test]
fn a_gateway_that_stops_listening_is_an_error() {
    let home = Home::new();
    let listener = UnixListener::bind(home.state().join("attach.sock")).expect("writable");
    let gateway = std::thread::spawn(move || {
        let (stream, _) = listener.accept().expect("it connects");
        stream.shutdown(Shutdown::Both).expect("ours");
        // Not closed: that would reset the connection, which is another error.
        stream
    });
    let file = home.file("large", &vec![0; 1 << 20]);
    let ran = home.run(&["attach", &file, "--session", "telegram-7/0"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    assert!(ran.stderr.contains("not all of it reached the gateway: Broken pipe"), "{ran:?}");
    drop(gateway.join().expect("it connected"));
}

#[test]
fn a_result_that_could_not_be_written_is_an_error() {
    let home = Home::new();
    home.call(&["file_read", "path=/shared/missing"]);
    for words in COMMANDS.iter().filter(|words| !words.contains(&"--help") && !words.contains(&"--version")) {
        let _ = std::fs::remove_file(home.dir().join("written.toml"));
        let full = File::options().write(true).open("/dev/full").expect("there");
        let ran = to(home.command(words), full);
        assert_eq!(ran.code, Some(2), "{words:?}: {ran:?}");
        assert!(
            ran.stderr.contains("cannot write to standard output: No space left")
                && !ran.stderr.contains("panicked"),
            "{words:?}: {ran:?}"
        );
    }
}

#[test]
fn a_log_that_nobody_takes_changes_nothing() {
    let home = Home::new().hostile("");
    super::put(&home, "/shared/a", b"x");
    let full = || File::options().write(true).open("/dev/full").expect("there");
    for (words, code) in [
        (&["call", "hostile", "behaviour=stdout_flood", "bytes=300"][..], 0),
        (&["call", "file_read", "path=/shared/missing"], 1),
        (&["call", "file_write_bytes", "path=/shared/b", "content_base64=eA==", "overwrite=true"], 0),
        (&["call", "attachment_add", "path=/shared/a"], 0),
        (&["tools"], 0),
        (&["policy", "check"], 0),
        (&["serve"], 2),
        (&["nope"], 2),
        (&["tools", "--config", "missing.toml"], 2),
    ] {
        for stderr in [Stdio::from(closed()), full().into()] {
            let mut command = home.command(words);
            command.env("COFFERDAM_LOG", "trace").stdout(Stdio::piped()).stderr(stderr);
            let child = command.spawn().expect("the program starts");
            let ran: Ran = child.wait_with_output().expect("it ends").into();
            assert_eq!(ran.code, Some(code), "{words:?}: {ran:?}");
        }
    }
}

/// No file may grow beyond 512 bytes: a disk that takes the beginning of a file and no more.
const FULL: [&str; 4] = ["sh", "-c", "trap '' XFSZ; ulimit -f 1; exec \"$@\"", "sh"];

#[test]
fn a_file_that_a_full_disk_cuts_short_is_not_left() {
    let home = Home::new();
    for (words, made) in [
        (&["init", "fresh.toml"][..], "fresh.toml"),
        (&["policy", "export", "mine"], "mine/tools"),
        (&["wit", "contract"], "contract/tool.wit"),
    ] {
        let ran: Ran = home.command_under(&FULL, words).output().expect("the program starts").into();
        assert_eq!(ran.code, Some(2), "{words:?}: {ran:?}");
        assert!(ran.stderr.contains("File too large"), "{words:?}: {ran:?}");
        assert!(!home.dir().join(made).exists(), "{words:?} left {made}");
        let ran = home.run(words);
        assert_eq!(ran.code, Some(0), "with room again, {words:?}: {ran:?}");
    }
}
