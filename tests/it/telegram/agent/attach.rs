//! `cofferdam attach`: files of the operator's go out with the reply of a request that is being
//! answered, and with no other.

use super::*;
use crate::telegram::world::PATIENCE;
use support::home::Ran;
use support::llm::Gate;
use support::telegram::SentMessage;

/// A question of Ann's that is being answered until the gate opens.
async fn asked(fit: impl FnOnce(Home) -> Home) -> anyhow::Result<(World, LlmServer, Gate)> {
    let gate = Gate::new();
    let (world, llm) = agent_in(fit, [Turn::say("Here it is.").held_by(&gate)]).await?;
    world.server.push(text("send me the report"));
    llm.wait_for_requests(PATIENCE, 1).await?;
    Ok((world, llm, gate))
}

fn requests(world: &World) -> Vec<Value> {
    let status = world.home.run(&["status", "--json"]).json();
    status["requests"].as_array().expect("a list").clone()
}

fn refused(ran: &Ran, code: &str, said: &str) {
    assert_eq!((ran.code, ran.error().as_str()), (Some(1), code), "{ran:?}");
    assert!(ran.message().contains(said), "{said:?}: {ran:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn files_go_out_with_the_reply_as_they_were() -> anyhow::Result<()> {
    let (world, llm, gate) = asked(|home| home).await?;
    let (session, ann) = (world.session(ANN), format!("telegram:{ANN}"));
    let open = requests(&world);
    assert_eq!(open.len(), 1, "{open:?}");
    let request = open[0]["request"].as_str().expect("an id").to_owned();
    assert_eq!(open[0], json!({ "request": request, "session": session, "client": "telegram", "by": ann }));

    let (one, two) = (world.home.file("report.txt", b"as it was"), world.home.file("two.bin", &[7; 300_000]));
    let ran = world.home.run(&["attach", &one, &two, "--session", &session]);
    assert_eq!(
        (ran.code, ran.json()),
        (
            Some(0),
            json!({ "ok": true, "attachments": [
                { "filename": "report.txt", "mimeType": "text/plain", "bytes": 9 },
                { "filename": "two.bin", "mimeType": "application/octet-stream", "bytes": 300_000 },
            ] })
        ),
        "{ran:?}"
    );
    let three = world.home.file("three.txt", b"by the request");
    assert_eq!(world.home.run(&["attach", &three, "--request", &request]).code, Some(0));
    std::fs::write(&one, b"as it is now")?;
    gate.open();
    let is_last = |sent: &SentMessage| sent.file.as_ref().is_some_and(|file| file.bytes.len() == 14);
    world.server.wait_for_message(PATIENCE, is_last).await?;
    let sent = world.server.sent_messages();
    let files: Vec<_> = sent.iter().filter_map(|sent| sent.file.as_ref()).map(|file| &file.bytes).collect();
    assert_eq!(files.iter().map(|bytes| bytes.len()).collect::<Vec<_>>(), [9, 300_000, 14]);
    assert_eq!(&files[0][..], b"as it was");
    let records: Vec<Value> =
        world.home.audit().into_iter().filter(|record| record["tool"] == "cmd.attachment.add").collect();
    // What is going to be handed over is written down first, and then that it was.
    let events: Vec<_> = records.iter().map(|record| record["event"].as_str().unwrap_or_default()).collect();
    assert_eq!(events, ["intent", "outcome", "intent", "outcome"]);
    assert!(records[1]["code"].is_null() && records[1]["intent"] == records[0]["seq"], "{records:?}");
    let outcomes = [&records[1], &records[3]];
    let uid = rustix::process::getuid().as_raw().to_string();
    let first = &outcomes[0];
    assert_eq!(
        (&first["channel"], &first["sender"], &first["turn"], &first["session"]),
        (&json!("cli"), &json!(uid), &json!(request), &json!(session))
    );
    assert_eq!(
        (&first["files"][0]["attached"], &first["files"][0]["bytes"]),
        (&json!("report.txt"), &json!(9))
    );
    assert_eq!(world.home.run(&["audit", "verify"]).code, Some(0));
    end(world, &llm, sent.len())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_cannot_be_added_is_refused_and_nothing_of_it_goes_out() -> anyhow::Result<()> {
    let limits = "[replies]\nmax_bytes = \"1 KiB\"\nmax_call_bytes = \"3 KiB\"\nmax_count = 2\n";
    let (world, llm, gate) = asked(|home| home.config(limits)).await?;
    let session = world.session(ANN);
    let small = world.home.file("small.txt", b"x");
    let large = world.home.file("large.txt", &[b'x'; 1025]);
    let huge = world.home.file("huge.txt", &[b'x'; 3073]);
    let empty = world.home.file("empty.txt", b"");
    let home = &world.home;
    let at = |files: &[&str], to: &[&str]| home.run(&[&["attach"], files, to].concat());
    refused(
        &at(&[&small], &["--session", "telegram-1:9/0"]),
        "not_found",
        "no message is being answered in telegram-1:9/0",
    );
    refused(&at(&[&small], &["--request", "telegram-1:9/0/1"]), "not_found", "no message is being answered");
    let own = ["--session", session.as_str()];
    refused(&at(&[&small, &large], &own), "too_large", "a reply takes files of at most 1 KiB");
    refused(&at(&[&huge], &own), "quota_exceeded", "one command adds at most 3072");
    refused(&at(&[&small, &small, &small], &own), "quota_exceeded", "one reply takes 2 files");
    refused(&at(&[&empty], &own), "invalid_arguments", "is empty");
    let many = vec![small.as_str(); 101];
    refused(&at(&many, &own), "invalid_arguments", "name at most 100 files");
    // Wrong on this side.
    let fifo = home.dir().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status()?.success());
    for (files, to) in [
        (&["/nowhere/file"][..], &own[..]),
        (&[fifo.to_str().expect("UTF-8")], &own),
        (&[&small], &[]),
        (&[&small], &["--session", "a", "--request", "b"]),
        (&[], &own),
    ] {
        let ran = at(files, to);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    }
    assert_eq!(at(&[&small], &own).code, Some(0), "what was refused before took no place");
    gate.open();
    world.server.wait_for_message(PATIENCE, |sent| sent.file.is_some()).await?;
    end(world, &llm, 1)
}

fn at_end(world: &World, file: &str, session: &str) -> Ran {
    world.home.run(&["attach", file, "--session", session])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_kill_after_the_answer_costs_no_file_and_doubles_none() -> anyhow::Result<()> {
    let (mut world, llm, gate) = asked(|home| home).await?;
    let session = world.session(ANN);
    let file = world.home.file("report.txt", b"kept");
    assert_eq!(at_end(&world, &file, &session).code, Some(0));
    world.kill();
    let ran = at_end(&world, &file, &session);
    refused(&ran, "not_found", "no gateway that takes files runs");
    refused(&ran, "not_found", "; start it with cofferdam serve");
    assert!(requests(&world).is_empty());
    gate.open();
    llm.script([Turn::say("Here it is.")]);
    world.start()?;
    let sent = world.server.wait_for_message(PATIENCE, |sent| sent.file.is_some()).await?;
    assert_eq!(&sent.file.expect("a file").bytes[..], b"kept");
    end(world, &llm, 1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn who_goes_silent_is_given_up_and_the_next_one_served() -> anyhow::Result<()> {
    use std::io::{Read, Write};
    let (world, llm, gate) = asked(|home| home).await?;
    let session = world.session(ANN);
    let mut silent = std::os::unix::net::UnixStream::connect(world.home.state().join("attach.sock"))?;
    // All that is asked, and not all of the file.
    let head = json!({ "session": session, "request": null, "files": [{ "name": "a", "bytes": 2 }] });
    silent.write_all(format!("{head}\nx").as_bytes())?;
    let began = std::time::Instant::now();
    silent.set_read_timeout(Some(PATIENCE))?;
    let mut said = String::new();
    silent.read_to_string(&mut said)?;
    let waited = began.elapsed();
    assert!(waited >= std::time::Duration::from_secs(29), "{waited:?}: {said}");
    let file = world.home.file("report.txt", b"kept");
    assert_eq!(at_end(&world, &file, &session).code, Some(0));
    gate.open();
    let sent = world.server.wait_for_message(PATIENCE, |sent| sent.file.is_some()).await?;
    assert_eq!(&sent.file.expect("a file").bytes[..], b"kept");
    end(world, &llm, 1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_cannot_be_kept_is_not_said_to_be_added() -> anyhow::Result<()> {
    let (world, llm, gate) = asked(|home| home).await?;
    let session = world.session(ANN);
    let file = world.home.file("report.txt", b"lost");
    // The journal of the gateway takes nothing any more, as on a disk that fails.
    let database = rusqlite::Connection::open(world.home.state().join("cofferdam.db"))?;
    database.execute_batch(
        "CREATE TRIGGER full BEFORE INSERT ON delivery BEGIN SELECT RAISE(ABORT, 'no room'); END",
    )?;
    refused(&at_end(&world, &file, &session), "write_failed", "the files are not kept");
    database.execute_batch("DROP TRIGGER full")?;
    let of_attach = |record: &Value| record["tool"] == "cmd.attachment.add" && record["event"] == "outcome";
    let outcomes: Vec<Value> = world.home.audit().into_iter().filter(of_attach).collect();
    assert_eq!(outcomes.len(), 1, "{outcomes:?}");
    assert!(outcomes[0]["code"] == "write_failed" && outcomes[0]["files"].is_null(), "{outcomes:?}");
    gate.open();
    world.server.wait_for_message(PATIENCE, |sent| sent.text == "Here it is.").await?;
    assert_eq!(world.server.sent_messages().iter().filter(|sent| sent.file.is_some()).count(), 0);
    assert_eq!(world.home.run(&["audit", "verify"]).code, Some(0));
    end(world, &llm, 1)
}
