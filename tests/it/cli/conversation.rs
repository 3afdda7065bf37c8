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

/// The same on a terminal, with its first prompt.
fn chat_on_terminal(home: &Home) -> Terminal {
    let config = home.config_file();
    let words = ["--config", config.to_str().expect("text"), "chat"];
    let mut terminal = Terminal::start(home, home.dir(), &words, &[]);
    terminal.until("> ");
    terminal
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
    let mut terminal = chat_on_terminal(&home);
    terminal.types("go on\n");
    terminal.until("first ");
    gate.open();
    // Once, and then the next prompt.
    terminal.until("second\r\n> ");
    assert_eq!(llm.violations(), [""; 0]);
    Ok(())
}

/// The default policies, where `file_write` asks each time.
fn asking(home: Home) -> Home {
    let home = home.own_policies();
    let text = std::fs::read_to_string(home.policies_dir().join("tools/file_write.toml")).expect("there");
    home.policy("tools/file_write.toml", &format!("{text}\n[approval]\n\"*\" = \"always\"\n"))
}

fn write(path: &str) -> Call {
    Call::new("file_write", serde_json::json!({ "path": path, "content": "x" }))
}

/// The code of the question that comes next on the screen.
fn code(terminal: &mut Terminal) -> String {
    terminal.until("Approve? [yes ");
    terminal.before("/no] ")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_was_typed_before_a_question_approves_nothing_and_is_not_lost() -> anyhow::Result<()> {
    let (llm, gate) = (LlmServer::start().await?, Gate::new());
    llm.script([
        Turn::calls([write("/shared/a")]).held_by(&gate),
        Turn::say("Written."),
        Turn::say("That is all."),
    ]);
    let home = asking(Home::new().model(&llm, Dialect::Chat, ""));
    let mut terminal = chat_on_terminal(&home);
    terminal.types("write it\n");
    llm.wait_for_requests(std::time::Duration::from_secs(100), 1).await?;
    terminal.types("y\nyes\nand then?\n");
    // The terminal has it, and the question is still to come.
    terminal.until("and then?");
    gate.open();
    let code = code(&mut terminal);
    for _ in ["y", "yes"] {
        terminal.until("That does not say which call it approves.");
    }
    terminal.until("Kept as a message for later; the call still waits.");
    terminal.until("/no] ");
    assert!(!home.host("/shared/a").exists());
    terminal.types(&format!("yes {code}\n"));
    terminal.until("Written.");
    assert!(home.host("/shared/a").exists());
    terminal.until("> and then?");
    terminal.until("That is all.");
    assert_eq!(llm.violations(), [""; 0]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_answer_to_a_question_that_expired_approves_no_other() -> anyhow::Result<()> {
    let (llm, gate) = (LlmServer::start().await?, Gate::new());
    llm.script([
        Turn::calls([write("/shared/a")]),
        Turn::calls([write("/shared/b")]).held_by(&gate),
        Turn::say("So be it."),
    ]);
    let home = asking(Home::new().model(&llm, Dialect::Chat, "").config("[approvals]\nexpires = \"3s\"\n"));
    let mut terminal = chat_on_terminal(&home);
    terminal.types("write both\n");
    let first = code(&mut terminal);
    terminal.until("This is not asked any more.");
    llm.wait_for_requests(std::time::Duration::from_secs(100), 2).await?;
    terminal.types(&format!("y\nyes {first}\nno\n"));
    terminal.until(&format!("yes {first}"));
    gate.open();
    let second = code(&mut terminal);
    assert_ne!(first, second);
    for _ in ["y", "yes with the code of the first"] {
        terminal.until("That does not say which call it approves.");
    }
    terminal.until("So be it.");
    assert!(!home.host("/shared/a").exists() && !home.host("/shared/b").exists());
    let states = home.audit().into_iter().filter(|record| record["event"] == "approval");
    let states: Vec<_> =
        states.map(|record| record["approval"].as_str().unwrap_or_default().to_owned()).collect();
    assert_eq!(
        (states, llm.violations()),
        (["asked", "expired", "asked", "denied"].map(String::from).to_vec(), vec![])
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn on_a_terminal_ctrl_d_and_quit_end_the_chat_whatever_is_asked_still() -> anyhow::Result<()> {
    for leave in ["\x04", "/quit\n"] {
        let llm = LlmServer::start().await?;
        // The model asks for another call when the first is refused.
        llm.script([
            Turn::calls([write("/shared/a")]),
            Turn::calls([write("/shared/b")]),
            Turn::say("So be it."),
            Turn::say("Nothing then."),
        ]);
        let home = asking(Home::new().model(&llm, Dialect::Chat, ""));
        let mut terminal = chat_on_terminal(&home);
        terminal.types("write both\n");
        code(&mut terminal);
        terminal.types("and then?\n");
        terminal.until("Kept as a message for later; the call still waits.");
        terminal.until("/no] ");
        terminal.types(leave);
        let (code, screen) = terminal.ended();
        assert_eq!(code, Some(0), "{screen:?}");
        assert!(screen.contains("So be it.") && screen.contains("Nothing then."), "{screen:?}");
        assert!(!home.host("/shared/a").exists() && !home.host("/shared/b").exists());
        assert_eq!((llm.left(), llm.violations()), (0, vec![]));
    }
    Ok(())
}
