//! `chat` with a model: the conversation is remembered as long as the chat lasts.

use std::process::Command;
use support::home::{Home, Ran};
use support::llm::{Call, Dialect, Gate, LlmServer, Turn};
use support::terminal::Terminal;

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

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn on_a_terminal_an_answer_comes_as_it_is_written() -> anyhow::Result<()> {
    let (llm, gate) = (LlmServer::start().await?, Gate::new());
    llm.script([Turn::say("first second").in_pieces(2).pauses_after(2, &gate)]);
    let home = Home::new().model(&llm, Dialect::Chat, "");
    let config = home.config_file();
    let words = ["--config", config.to_str().expect("text"), "chat"];
    let mut terminal = Terminal::start(&home, home.dir(), &words, &[]);
    terminal.until("> ");
    terminal.types("go on\n");
    terminal.until("first ");
    gate.open();
    // Once, and then the next prompt.
    terminal.until("second\r\n> ");
    assert_eq!(llm.violations(), [""; 0]);
    Ok(())
}

#[test]
fn on_a_terminal_ctrl_c_stops_what_runs_and_then_the_chat() {
    let home = Home::new().hostile("deadline = \"120s\"");
    let config = home.config_file();
    let words = ["--config", config.to_str().expect("text"), "chat"];
    let mut terminal = Terminal::start(&home, home.dir(), &words, &[]);
    terminal.until("> ");
    terminal.types("/hostile behaviour=report_until:step path=/shared/go\n");
    terminal.until("\u{23f3} step");
    terminal.types("\x03");
    // The call ends as cancelled, and not as broken: Ctrl-C does not reach the worker that runs it.
    terminal.until("cancelled: ");
    terminal.types("hello\n");
    terminal.until("I run commands");
    terminal.types("\x03");
    let (code, screen) = terminal.ended();
    assert_eq!(code, Some(0), "and one that finds nothing running ends the chat: {screen:?}");
}
