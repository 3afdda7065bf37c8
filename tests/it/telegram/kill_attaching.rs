//! `kill -9` at each step of a call that adds a file to the reply, one of the workspace or one that
//! it composed: the file goes out once, and it is the one of the call whose result is told.

use super::attachments_out::slow;
use super::tracer::{Tracer, available};
use super::world::{ANN, PATIENCE, World};
use std::time::{Duration, Instant};
use support::telegram::Incoming;

const WAL: &str = "cofferdam.db-wal";
const AUDIT: &str = "audit.jsonl";
const FIRST: &[u8] = b"as it was";
const THEN: &[u8] = b"something else";

/// The host reads the file.
const READ: &str = "path=/shared/a.txt";
/// The guest reads it, and composes its own of that: a call that runs again composes another.
const COMPOSED: &str = "composed=/shared/a.txt name=a.txt";

/// Waits until the call has taken its file.
fn taken(world: &World) -> anyhow::Result<()> {
    let started = Instant::now();
    let held = || {
        let entries = std::fs::read_dir(world.home.state().join("outgoing")).into_iter().flatten().flatten();
        entries.into_iter().any(|entry| entry.file_name().len() == 64)
    };
    while !held() {
        anyhow::ensure!(started.elapsed() < PATIENCE, "no file was taken:\n{}", world.tail());
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// A turn whose call adds a file so, and is killed at the `nth` system call of this name on a file
/// of the state; what the person gets.
async fn killed(adds: &str, at: (&str, u32, &str), expected: &[u8]) -> anyhow::Result<()> {
    let (call, nth, of) = at;
    let mut world = World::running_in(slow).await?;
    std::fs::write(world.home.host("/shared/a.txt"), FIRST)?;
    world.server.push(Incoming::private(ANN).text(&format!("/careless then=hold {adds}")));
    taken(&world)?;
    let tracer = Tracer::kills(world.serving().pid(), call, nth, Some(&world.home.state().join(of)));
    std::fs::write(world.home.host("/shared/go"), "")?;
    assert_eq!(world.ended()?, None, "it was not killed at {call} {nth} of {of}");
    drop(tracer);
    std::fs::write(world.home.host("/shared/a.txt"), THEN)?;
    world.start()?;
    let sent = world.server.wait_for_messages(PATIENCE, 1).await?.remove(0);
    let file = sent.file.expect("a file");
    assert_eq!((sent.text.as_str(), file.name.as_str()), (r#"{"added":["a.txt"]}"#, "a.txt"));
    assert_eq!(&file.bytes[..], expected, "killed at {call} {nth} of {of}");
    world.ask(Incoming::private(ANN).text("hello")).await?;
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn before_the_intent_the_call_runs_again() -> anyhow::Result<()> {
    if available("telegram::kill_attaching::before_the_intent_the_call_runs_again") {
        for (call, of) in [("pwrite64", WAL), ("fsync", WAL), ("write", AUDIT)] {
            killed(READ, (call, 1, of), THEN).await?;
        }
        killed(COMPOSED, ("write", 1, AUDIT), THEN).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn after_the_intent_the_reply_has_what_was_taken() -> anyhow::Result<()> {
    if available("telegram::kill_attaching::after_the_intent_the_reply_has_what_was_taken") {
        for (call, nth) in [("fdatasync", 1), ("write", 2), ("flock", 4)] {
            killed(READ, (call, nth, AUDIT), FIRST).await?;
            killed(COMPOSED, (call, nth, AUDIT), FIRST).await?;
        }
    }
    Ok(())
}
