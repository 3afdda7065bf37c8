//! `cofferdam say`: a message of the operator's own to somebody who is served, once, whether a
//! gateway runs or not; and to nobody else.

use super::world::{ANN, EVE, PATIENCE, World};
use serde_json::{Value, json};
use std::process::{Command, Stdio};
use support::home::Ran;
use support::telegram::{Fault, Hold, Incoming, SentMessage};

/// The command with the bot's token, as an operator's script runs it.
fn command(world: &World, arguments: &[&str]) -> Command {
    let mut command = world.home.command(&[&["say"], arguments].concat());
    command.env("TELEGRAM_BOT_TOKEN", world.server.token());
    command
}

fn say(world: &World, arguments: &[&str]) -> Ran {
    command(world, arguments).output().expect("the program starts").into()
}

/// What was told of a message that is out.
fn told(sent: &SentMessage) -> Value {
    json!({ "channel": "telegram", "channelId": sent.chat_id.to_string(), "messageId": sent.message_id.to_string() })
}

fn audited(world: &World) -> Vec<Value> {
    world.home.audit().into_iter().filter(|record| record["tool"] == "cmd.message.send").collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_message_goes_out_with_its_files_and_is_in_the_audit() -> anyhow::Result<()> {
    let world = World::running().await?;
    world.server.open_chat(ANN);
    let (to, file) = (format!("telegram:{ANN}"), world.home.file("backup.log", b"all is well"));
    let ran = say(&world, &[&to, "The *backup* is done.", "--file", &file, "--json"]);
    let sent = world.server.sent_messages().remove(0);
    assert_eq!((ran.code, ran.json()), (Some(0), told(&sent)), "{ran:?}\n{}", world.tail());
    assert_eq!((sent.chat_id, sent.text.as_str(), sent.reply_to), (ANN, "The *backup* is done.", None));
    assert_eq!(&sent.file.expect("a file").bytes[..], b"all is well");
    let plain = say(&world, &[&to, "For people."]);
    assert_eq!(plain.code, Some(0), "{plain:?}");
    assert!(plain.stdout.starts_with("sent as message "), "{plain:?}");
    let records = audited(&world);
    assert_eq!(records.len(), 2, "{records:?}");
    let uid = rustix::process::getuid().as_raw().to_string();
    assert_eq!((&records[0]["channel"], &records[0]["sender"]), (&json!("cli"), &json!(uid)));
    assert_eq!((&records[0]["verdict"], &records[0]["arguments"]["to"]), (&json!("permit"), &json!(to)));
    assert_eq!(records[0]["files"][0]["attached"], "backup.log");
    let words = records[0]["arguments"].to_string();
    assert!(!words.contains("backup*"), "the words are told by their SHA-256 alone: {words}");
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn nobody_else_is_written_to() -> anyhow::Result<()> {
    let world = World::running().await?;
    for to in [format!("telegram:{EVE}"), "telegram:ann".to_owned(), format!("discord:{ANN}")] {
        let ran = say(&world, &[&to, "hello", "--json"]);
        assert_eq!((ran.code, ran.error().as_str()), (Some(1), "recipient_denied"), "{ran:?}");
        assert!(ran.message().starts_with(&to), "{ran:?}");
        let plain = say(&world, &[&to, "hello"]);
        assert_eq!((plain.code, plain.stdout.as_str()), (Some(1), ""), "{plain:?}");
        assert!(plain.stderr.contains("recipient_denied: "), "{plain:?}");
    }
    let records = audited(&world);
    assert_eq!(records.len(), 6, "{records:?}");
    for record in records {
        assert_eq!((&record["verdict"], &record["code"]), (&json!("deny"), &json!("recipient_denied")));
    }
    let ran = say(&world, &["ann", "hello", "--json"]);
    assert_eq!((ran.code, ran.error().as_str()), (Some(1), "invalid_arguments"), "{ran:?}");
    let to = format!("telegram:{ANN}");
    for usage in [vec![&*to, ""], vec![&to, "x", "--timeout", "2h"], vec![&to, "x", "--key", ""]] {
        assert_eq!(say(&world, &usage).code, Some(2), "{usage:?}");
    }
    let long = "x".repeat(70_000);
    let ran = say(&world, &[&to, &long, "--json"]);
    assert_eq!((ran.code, ran.error().as_str()), (Some(1), "too_large"), "{ran:?}");
    world.end(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn without_a_gateway_the_command_sends_it_itself() -> anyhow::Result<()> {
    let mut world = World::stopped(|home| home).await?;
    world.server.open_chat(ANN);
    // Nobody answers it but a gateway.
    let asked = world.server.push(Incoming::private(ANN).text("/help"));
    let to = format!("telegram:{ANN}");
    let file = world.home.file("one.txt", b"one");
    let ran = say(&world, &[&to, "From a script.", "--file", &file, "--json"]);
    let sent = world.server.sent_messages();
    assert_eq!((ran.code, sent.len()), (Some(0), 1), "{ran:?}");
    assert_eq!(ran.json(), told(&sent[0]));
    for to in [format!("telegram:{EVE}"), format!("discord:{ANN}")] {
        let denied = say(&world, &[&to, "hello", "--json"]);
        assert_eq!((denied.code, denied.error().as_str()), (Some(1), "recipient_denied"), "{denied:?}");
    }
    let mut bad = command(&world, &[&to, "x"]);
    let bad: Ran = bad.env("TELEGRAM_BOT_TOKEN", "7:refused-and-long-enough-000000000").output()?.into();
    assert_eq!(bad.code, Some(2), "{bad:?}");
    world.start()?;
    world.answer(&asked).await?;
    assert_eq!(audited(&world).len(), 3);
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_cannot_be_sent_is_told_and_what_is_late_is_kept() -> anyhow::Result<()> {
    let world = World::running().await?;
    world.server.open_chat(ANN);
    let to = format!("telegram:{ANN}");
    world.server.fault("sendMessage", 1, Fault::blocked_by_user());
    let ran = say(&world, &[&to, "hello", "--json"]);
    assert_eq!((ran.code, ran.error().as_str()), (Some(1), "send_failed"), "{ran:?}");
    assert!(ran.message().contains("blocked"), "{ran:?}");
    let gate = world.server.gate("sendMessage", Hold::BeforeEffect);
    let arguments = [&*to, "Once.", "--key", "k", "--json"];
    let ran = say(&world, &[&arguments[..], &["--timeout", "1s"]].concat());
    assert_eq!((ran.code, ran.error().as_str()), (Some(1), "timed_out"), "{ran:?}");
    gate.release();
    let ran = say(&world, &arguments);
    let sent = world.server.wait_for_message(PATIENCE, |sent| sent.text == "Once.").await?;
    assert_eq!((ran.code, ran.json()), (Some(0), told(&sent)), "{ran:?}");
    assert_eq!(say(&world, &arguments).json(), told(&sent), "under its key it is the same message");
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn words_come_from_stdin_too() -> anyhow::Result<()> {
    let world = World::running().await?;
    world.server.open_chat(ANN);
    let mut command = command(&world, &[&format!("telegram:{ANN}"), "-", "--json"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    std::io::Write::write_all(&mut child.stdin.take().expect("piped"), "two\nlines\n".as_bytes())?;
    let ran: Ran = child.wait_with_output()?.into();
    let sent = world.server.sent_messages().remove(0);
    assert_eq!((ran.code, ran.json(), sent.text.as_str()), (Some(0), told(&sent), "two\nlines"), "{ran:?}");
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_fifo_for_the_lock_of_a_gateway_is_told_and_not_waited_for() -> anyhow::Result<()> {
    let world = World::stopped(|home| home).await?;
    world.server.open_chat(ANN);
    std::fs::create_dir_all(world.home.state())?;
    // Nobody is at its other end.
    rustix::fs::mkfifoat(rustix::fs::CWD, world.home.state().join("serve.lock"), 0o600.into())?;
    let ran = say(&world, &[&format!("telegram:{ANN}"), "hello"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    assert!(ran.stderr.contains("serve.lock: it is not a regular file"), "{ran:?}");
    assert!(world.server.sent_messages().is_empty(), "it has the state for itself, or sends nothing");
    Ok(())
}
