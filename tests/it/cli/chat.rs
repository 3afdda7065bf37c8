//! `chat`: turns from a terminal's lines, through the same machinery as a channel.

use super::put;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use support::home::{Home, Ran};
use support::samples;

/// Runs `chat` with these lines as standard input.
fn said(home: &Home, flags: &[&str], lines: &str) -> Ran {
    let file = home.file("lines", lines.as_bytes());
    let mut command = home.command(&[&["chat"], flags].concat());
    super::run(command.stdin(std::fs::File::open(file).expect("there")))
}

/// The replies to these lines.
fn replies(home: &Home, flags: &[&str], lines: &str) -> String {
    let ran = said(home, flags, lines);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    ran.stdout
}

#[test]
fn a_command_is_one_call_and_its_answer_one_reply() {
    let home = Home::new();
    put(&home, "/shared/a b", b"x");
    assert!(replies(&home, &[], "/file_read path='/shared/a b'\n").starts_with("{\"path\":\"/shared/a b\","));
    assert!(replies(&home, &[], "/file_read {\"path\":\"/shared/a b\"}\n").starts_with("{\"path\":"));
    assert!(replies(&home, &[], "  /file_read@my_bot   path=\"/shared/a b\"  \n").starts_with("{\"path\":"));
    for (line, reply) in [
        ("/file_read path=/shared/missing", "not_found: "),
        ("/file_read path=/vault/a", "path_denied: /vault/a is not in a mount"),
        (
            "/file_read {\"path\":\"/shared/a\",\"path\":\"/shared/b\"}",
            "invalid_arguments: the arguments are not JSON: duplicate key",
        ),
        ("/file_read path=a path=b", "invalid_arguments: \"path\" is given twice"),
        ("/file_read path=\"/shared/a", "invalid_arguments: a quote is not closed"),
        ("/file_read index=0", "invalid_arguments: "),
        // Nothing that was typed is dropped, as a shell would drop a comment.
        ("/file_read path=/shared/a #b.txt", "invalid_arguments: \"#b.txt\" is not key=value"),
        ("/nope", "unknown_tool: no tool \"nope\"; there is attachment_add, attachment_download, "),
        ("/FILE_READ path=/shared/a", "unknown_tool: "),
        ("/attachment_save index=0 path=/shared/x", "no_attachments: "),
        ("hello", "I run commands, not conversations. /help lists them."),
    ] {
        let reply_to = replies(&home, &[], &format!("{line}\n"));
        assert!(reply_to.starts_with(reply), "{line}: {reply_to}");
        assert_eq!(reply_to.matches('\n').count(), 1, "{line}: {reply_to}");
    }
    let caller = home.audit().pop().expect("recorded");
    let uid = rustix::process::getuid().as_raw().to_string();
    assert_eq!((&caller["channel"], &caller["sender"]), (&"terminal".into(), &uid.into()));
}

#[test]
fn help_lists_the_tools_and_a_tool_alone_explains_its_arguments() {
    let home = Home::new();
    let help = replies(&home, &[], "/help\n");
    for tool in [
        "/attachment_save index=N path=TEXT [overwrite=true|false]\n",
        "/file_read path=TEXT ",
        "/file_write_bytes path=TEXT ",
    ] {
        assert!(help.contains(tool), "{tool} in {help}");
    }
    assert!(help.chars().count() <= 1500, "{}", help.chars().count());
    assert_eq!(replies(&home, &[], "/start\n"), help);
    let usage = replies(&home, &[], "/attachment_save\n");
    assert!(
        usage.contains("\nindex: ") && usage.contains("\npath: ") && usage.contains("\noverwrite: "),
        "{usage}"
    );
    assert!(home.audit().is_empty(), "asking for help calls nothing");
}

#[test]
fn attachments_belong_to_the_first_message_alone() {
    let home = Home::new();
    let (photo, note) = (home.file("photo.jpg", &samples::jpeg(0)), home.file("note.txt", b"a note"));
    let flags = ["--attach", &*photo, "--attach", &*note];
    let lines = "/attachment_save index=0 path=/shared/0\n/attachment_save index=1 path=/shared/1\n/attachment_save index=0 path=/shared/2\n";
    let answer = replies(&home, &flags, lines);
    let answers: Vec<_> = answer.lines().collect();
    assert!(
        answers[0].starts_with("{\"saved\":true,\"path\":\"/shared/0\",\"mime_type\":\"image/jpeg\""),
        "{answer}"
    );
    assert!(
        answers[1].starts_with("no_attachments: ") && answers[2].starts_with("no_attachments: "),
        "{answer}"
    );
    assert_eq!(std::fs::read(home.host("/shared/0")).expect("saved"), samples::jpeg(0));
    assert!(!home.host("/shared/1").exists());
}

#[test]
fn files_without_a_command_are_listed_with_the_way_to_save_them() {
    let home = Home::new().config("[attachments]\nmax_bytes = \"1 KiB\"\n");
    let (photo, large) = (home.file("photo.jpg", &samples::jpeg(0)), home.file("large.bin", &[0; 2000]));
    let listing = replies(&home, &["--attach", &photo, "--attach", &large], "what is this\nand now\n");
    assert!(listing.starts_with("[1] large.bin: too large"), "what is missing comes first: {listing}");
    assert!(listing.contains("\n2 files came:\n[0] photo.jpg image/jpeg (~"), "{listing}");
    assert!(listing.contains("/attachment_save index=0 path=/shared/"), "{listing}");
    assert!(
        listing.ends_with("I run commands, not conversations. /help lists them.\n"),
        "the second message has none: {listing}"
    );
    assert!(home.audit().is_empty() && std::fs::read_dir(home.host("/shared")).expect("there").count() == 0);
}

#[test]
fn attach_adds_to_the_next_message() {
    let home = Home::new();
    let (first, second) = (home.file("first", b"1"), home.file("second", b"2"));
    let lines = format!(
        "/attach missing\n/attach .\n/attach {first}\n/attach  {second} \n/attachment_save index=1 path=/shared/b\n/attachment_save index=0 path=/shared/c\n"
    );
    let answer = replies(&home, &[], &lines);
    let answers: Vec<_> = answer.lines().collect();
    assert!(
        answers[0].contains("cannot attach missing") && answers[1].contains("not a regular file"),
        "{answer}"
    );
    assert!(
        answers[2].starts_with("{\"saved\":true") && answers[3].starts_with("no_attachments: "),
        "{answer}"
    );
    assert_eq!(std::fs::read(home.host("/shared/b")).expect("saved"), b"2");
    assert_eq!(replies(&home, &[], "/attach\n /attach \n"), "name a file: /attach FILE\n".repeat(2));
    // Files alone are a message, too.
    assert!(replies(&home, &["--attach", &first], "\n").starts_with("1 file came:\n[0] first "));
}

#[test]
fn it_ends_with_quit_and_with_the_input() {
    let home = Home::new();
    assert_eq!(replies(&home, &[], ""), "");
    assert_eq!(replies(&home, &[], "\n  \n\n"), "");
    assert_eq!(replies(&home, &[], "/quit\n/help\n"), "");
    assert_eq!(replies(&home, &[], " /quit \nhello\n"), "");
    let last = replies(&home, &[], "hello");
    assert_eq!(
        last, "I run commands, not conversations. /help lists them.\n",
        "a last line without its end counts"
    );
}

#[test]
fn a_line_that_is_no_text_is_told_and_the_next_one_is_answered() {
    let home = Home::new();
    let file = home.file("lines", b"\xff\xfe\n/file_info path=/shared\n\xff");
    let ran = super::run(home.command(&["chat"]).stdin(std::fs::File::open(file).expect("there")));
    assert_eq!(ran.stderr.matches("that line is not UTF-8 text").count(), 2, "{ran:?}");
    assert!(ran.code == Some(0) && ran.stdout.contains("directory"), "{ran:?}");
}

#[test]
fn a_line_without_end_is_not_read_for_ever() {
    let home = Home::new();
    let endless = std::fs::File::open("/dev/zero").expect("there");
    let ran = super::run(home.command(&["chat"]).stdin(endless));
    assert!(ran.code == Some(2) && ran.stderr.contains("a line is longer than 17 MiB"), "{ran:?}");
    assert!(home.audit().is_empty() && ran.stdout.is_empty(), "{ran:?}");
}

/// A chat whose input stays open.
struct Open {
    child: Child,
    replies: BufReader<std::process::ChildStdout>,
}

impl Open {
    fn start(home: &Home) -> Self {
        let mut command = home.command(&["chat"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let replies = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, replies }
    }

    fn write(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().expect("piped"), "{line}").expect("it reads");
    }

    fn read(&mut self) -> String {
        let mut line = String::new();
        self.replies.read_line(&mut line).expect("text");
        line
    }

    /// Sends a signal and gives the exit code; none when it had to be killed after 10 s.
    fn stop(&mut self, signal: Signal) -> Option<i32> {
        kill_process(Pid::from_child(&self.child), signal).expect("ours");
        let started = Instant::now();
        while started.elapsed() < Duration::from_secs(10) {
            if let Some(status) = self.child.try_wait().expect("ours") {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        None
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_signal_ends_it_while_it_waits_for_a_line() {
    let home = Home::new();
    for signal in [Signal::INT, Signal::TERM] {
        let mut chat = Open::start(&home);
        chat.write("hello");
        assert!(chat.read().starts_with("I run commands"), "each reply comes at once");
        assert_eq!(chat.stop(signal), Some(0), "{signal:?}");
    }
}

#[test]
fn a_signal_ends_it_while_a_tool_spins() {
    let home = Home::new().hostile("deadline = \"60s\"");
    let mut chat = Open::start(&home);
    chat.write("/hostile behaviour=stage_then_spin path=/shared/half bytes=10");
    super::until_staged(&home, chat.child.id());
    assert_eq!(chat.stop(Signal::INT), Some(0));
    assert!(chat.read().starts_with("cancelled: "));
    assert!(home.leftovers().is_empty() && !home.host("/shared/half").exists(), "nothing of it stays");
    let record = home.audit().pop().expect("recorded");
    assert_eq!((&record["tool"], &record["code"]), (&"hostile".into(), &"cancelled".into()));
}
