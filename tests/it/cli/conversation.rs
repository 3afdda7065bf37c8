//! `chat` with a model: the conversation is remembered as long as the chat lasts.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use support::home::{Home, Ran};
use support::llm::{Call, Dialect, Gate, LlmServer, Turn};
use support::program;

/// Runs `chat` with these lines as standard input.
fn chat(home: &Home, lines: &str) -> Ran {
    let file = home.file("lines", lines.as_bytes());
    let mut command: Command = home.command(&["chat"]);
    super::run(command.stdin(std::fs::File::open(file).expect("there")))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn it_remembers_forgets_and_tries_again() -> anyhow::Result<()> {
    let llm = LlmServer::start().await?;
    let home = Home::new().model(&llm, Dialect::Chat, "");
    super::put(&home, "/shared/a", b"hello");
    let read = Call::new("file_read", serde_json::json!({ "path": "/shared/a" }));
    llm.script([
        Turn::calls([read]),
        Turn::say("It says hello."),
        Turn::status(401),
        Turn::say("I said it says hello."),
        Turn::say("Said what?"),
    ]);
    let ran =
        chat(&home, "what is in a?\nwhat did you say?\n/retry\n/retry\n/new\nwhat did you say?\n/cancel\n");
    assert_eq!((ran.code, llm.violations()), (Some(0), vec![]), "{ran:?}");
    let said: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!((said[0], said[2]), ("It says hello.", "I said it says hello."), "{ran:?}");
    assert!(said[3].starts_with("There is nothing to retry"), "{ran:?}");
    assert!(said[4].starts_with("A new conversation begins here."), "{ran:?}");
    assert_eq!(said[5..], ["Said what?", "Nothing is running here."], "{ran:?}");
    let requests = llm.requests();
    assert!(requests[3].text().contains("It says hello.") && !requests[4].text().contains("hello"));
    assert!(!home.state().join("cofferdam.db").exists(), "it shares no database with serve");
    Ok(())
}

/// What a terminal shows, until these words have come.
fn until(terminal: &mut impl Read, seen: &mut String, words: &str) {
    let mut bytes = [0; 1024];
    while !seen.contains(words) {
        let count = terminal.read(&mut bytes).expect("readable");
        assert!(count > 0, "it ended without {words:?}: {seen:?}");
        seen.push_str(&String::from_utf8_lossy(&bytes[..count]));
    }
    seen.clear();
}

/// `chat` on a terminal: the program, what is typed, and what is shown.
fn terminal(home: &Home) -> (Child, ChildStdin, ChildStdout) {
    let chat = format!("{} --config {} chat", program::cofferdam().display(), home.config_file().display());
    // `script` is a terminal to the program, and hands on what is typed.
    let mut command = Command::new("script");
    command.args(["-qec", &chat, "/dev/null"]).env("HOME", home.dir()).current_dir(home.dir());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("script is there");
    let (keys, screen) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
    (child, keys, screen)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn on_a_terminal_an_answer_comes_as_it_is_written() -> anyhow::Result<()> {
    let (llm, gate) = (LlmServer::start().await?, Gate::new());
    llm.script([Turn::say("first second").in_pieces(2).pauses_after(2, &gate)]);
    let home = Home::new().model(&llm, Dialect::Chat, "");
    let (mut child, mut keys, mut screen) = terminal(&home);
    let mut seen = String::new();
    until(&mut screen, &mut seen, "> ");
    keys.write_all(b"go on\n")?;
    until(&mut screen, &mut seen, "first ");
    gate.open();
    // Once, and then the next prompt.
    until(&mut screen, &mut seen, "second\r\n> ");
    keys.write_all(b"/quit\n")?;
    assert_eq!((child.wait()?.code(), llm.violations()), (Some(0), vec![]));
    Ok(())
}

#[test]
fn on_a_terminal_ctrl_c_stops_what_runs_and_then_the_chat() {
    let home = Home::new().hostile("deadline = \"120s\"");
    let (mut child, mut keys, mut screen) = terminal(&home);
    let mut seen = String::new();
    until(&mut screen, &mut seen, "> ");
    keys.write_all(b"/hostile behaviour=report_until:step path=/shared/go\n").expect("it reads");
    until(&mut screen, &mut seen, "\u{23f3} step");
    keys.write_all(b"\x03").expect("it reads");
    until(&mut screen, &mut seen, "cancelled: ");
    keys.write_all(b"hello\n").expect("it reads");
    until(&mut screen, &mut seen, "I run commands");
    keys.write_all(b"\x03").expect("it reads");
    assert_eq!(
        child.wait().expect("ours").code(),
        Some(0),
        "and one that finds nothing running ends the chat"
    );
}
