//! `kill -9` at each step of the gateway's own bookkeeping: where it keeps an update, records a
//! result, writes its intent, publishes, ends a turn and marks an answer as sent.

use super::tracer::{Tracer, available};
use super::world::{ANN, World, save};
use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use support::samples;
use support::telegram::{Hold, Incoming, Media, Target};
use support::workers::until;

const WAL: &str = "cofferdam.db-wal";
const AUDIT: &str = "audit.jsonl";

/// The system call that is the program's last: its name, which one of that name on its thread, and,
/// if that matters, on which file of the state.
type Last = (&'static str, u32, Option<&'static str>);

/// What the person asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// A file to be saved where none is.
    New,
    /// The same in the session's own folder.
    Private,
    /// A file to be replaced.
    Overwrite,
    /// Nothing: a listing.
    Listing,
    /// The same of a file that is too large: the reply begins with a notice.
    Notice,
}

const NEW: &str = "/shared/new/a.jpg";
const PRIVATE: &str = "/tmp/new/a.jpg";
const OLD: &str = "/shared/old.jpg";
const OLD_CONTENT: &[u8] = b"the old content";

/// A turn with a file, held at `hold` until the tracer has joined, killed at `last`, and started
/// again. Beyond the one answer there may be `repeats`.
async fn killed(asked: Asked, hold: (Target, Hold), last: Last, repeats: usize) -> anyhow::Result<()> {
    // Spooled to disk, not held in memory.
    let bytes = samples::jpeg(400_000);
    // As much as the turn writes: were it counted twice, the call that runs again would be refused.
    let share = format!("[turns]\nwritten_bytes = \"{} B\"\n", bytes.len());
    let mut world = World::running_in(|home| home.config(&share)).await?;
    std::fs::write(world.home.host(OLD), OLD_CONTENT)?;
    // The session has its folders, so that they are not among the calls that are counted.
    world.ask(Incoming::private(ANN).text("/file_info path=/tmp")).await?;
    // What is written next belongs to the turn that is killed.
    let database = world.home.state().join("cofferdam.db");
    until("an answer that is marked as sent", || marked_as_sent(&database).unwrap_or(false));
    let (path, caption) = match asked {
        Asked::New => (NEW, save(0, NEW)),
        Asked::Private => (PRIVATE, save(0, PRIVATE)),
        Asked::Overwrite => (OLD, format!("{} overwrite=true", save(0, OLD))),
        Asked::Listing | Asked::Notice => (NEW, "what is this?".to_owned()),
    };
    let gate = world.server.gate(hold.0, hold.1);
    let media = Media::with_content("p", bytes.clone());
    let message = match asked {
        Asked::Notice => Incoming::private(ANN).document(media.name("a.bin").size(21 << 20)),
        _ => Incoming::private(ANN).photo(media),
    };
    let question = world.server.push(message.caption(&caption));
    gate.reached().await?;
    let of = last.2.map(|name| world.home.state().join(name));
    let tracer = Tracer::kills(world.serving().pid(), last.0, last.1, of.as_deref());
    gate.release();
    assert_eq!(world.ended()?, None, "it was not killed at {last:?}");
    drop(tracer);
    if let Ok(found) = std::fs::read(world.host(path)) {
        assert!(found == bytes || (path == OLD && found == OLD_CONTENT), "torn by a kill at {last:?}");
    }
    world.start()?;
    let answer = world.answer(&question).await?.text;
    if asked == Asked::Listing {
        assert!(answer.starts_with("1 file came:\n"), "killed at {last:?}: {answer}");
    } else if asked == Asked::Notice {
        assert!(answer.starts_with("[0] a.bin: too large: "), "killed at {last:?}: {answer}");
        assert_eq!(answer.matches("too large").count(), 1, "killed at {last:?}: {answer}");
    } else {
        assert!(answer.contains(r#""saved":true"#), "killed at {last:?}: {answer}");
        assert!(world.saved(path) == bytes, "killed at {last:?}");
    }
    // Telegram delivers it once more, and another message comes behind it in the same chat.
    world.server.redeliver(question.update_id)?;
    let next = world.server.push(Incoming::private(ANN).text("hello"));
    world.answer(&next).await?;
    let count = world.server.sent_messages().len();
    assert!((3..=3 + repeats).contains(&count), "{count} messages after a kill at {last:?}");
    if asked == Asked::Notice {
        assert_eq!(count, 3 + repeats, "messages after a kill at {last:?}");
    }
    world.end(count)
}

/// Whether each answer is out, as far as the database knows.
fn marked_as_sent(database: &Path) -> rusqlite::Result<bool> {
    let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let held = "SELECT count(*) FROM reply WHERE finished_at IS NULL";
    connection.query_row(held, [], |row| Ok(row.get::<_, i64>(0)? == 0))
}

/// From the last byte of the download on: staging, recording, publishing and ending are still to
/// come.
fn downloaded() -> (Target, Hold) {
    (Target::download(), Hold::InBody(399_999))
}

/// A turn that saves, killed at each of these.
async fn saving(name: &str, asked: Asked, lasts: &[Last]) -> anyhow::Result<()> {
    if available(&format!("telegram::kill_inside::{name}")) {
        for last in lasts {
            killed(asked, downloaded(), *last, 0).await?;
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn while_an_update_is_kept() -> anyhow::Result<()> {
    if available("telegram::kill_inside::while_an_update_is_kept") {
        for call in ["pwrite64", "fdatasync"] {
            let polled = (Target::method("getUpdates"), Hold::BeforeAnswer);
            killed(Asked::New, polled, (call, 1, Some(WAL)), 0).await?;
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn while_the_file_is_staged() -> anyhow::Result<()> {
    saving("while_the_file_is_staged", Asked::New, &[("copy_file_range", 1, None), ("fsync", 1, None)]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn while_the_result_and_the_intent_are_recorded() -> anyhow::Result<()> {
    let lasts = [
        ("fdatasync", 1, Some(WAL)),
        ("pwrite64", 1, Some(WAL)),
        ("fsync", 1, Some(WAL)),
        ("write", 1, Some(AUDIT)),
        ("fdatasync", 1, Some(AUDIT)),
    ];
    saving("while_the_result_and_the_intent_are_recorded", Asked::New, &lasts).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn while_a_new_file_is_published() -> anyhow::Result<()> {
    // The third is of the folder that got a folder, the fourth of the one that got the file.
    let lasts = [("mkdirat", 1, None), ("fsync", 3, None), ("linkat", 1, None), ("fsync", 4, None)];
    saving("while_a_new_file_is_published", Asked::New, &lasts).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn while_a_file_is_replaced() -> anyhow::Result<()> {
    let lasts = [("linkat", 1, None), ("renameat", 1, None), ("fsync", 3, None)];
    saving("while_a_file_is_replaced", Asked::Overwrite, &lasts).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn while_the_outcome_is_recorded() -> anyhow::Result<()> {
    for asked in [Asked::New, Asked::Overwrite, Asked::Private] {
        // Locked for the intent, unlocked, locked for the outcome, unlocked: the answer is not
        // stored yet.
        let lasts = [("write", 2, Some(AUDIT)), ("flock", 4, Some(AUDIT))];
        saving("while_the_outcome_is_recorded", asked, &lasts).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn while_the_answer_is_stored() -> anyhow::Result<()> {
    // Without a tool call nothing else is written to the database after the download.
    let lasts = [("pwrite64", 1, Some(WAL)), ("fdatasync", 1, Some(WAL))];
    saving("while_the_answer_is_stored", Asked::Listing, &lasts).await
}

/// The one window in which an answer may be repeated: silence would be worse.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn while_the_answer_is_marked_as_sent() -> anyhow::Result<()> {
    if available("telegram::kill_inside::while_the_answer_is_marked_as_sent") {
        for call in ["pwrite64", "fdatasync"] {
            let sent = (Target::method("sendMessage"), Hold::BeforeAnswer);
            killed(Asked::New, sent, (call, 1, Some(WAL)), 1).await?;
        }
    }
    Ok(())
}

/// A notice is part of its reply: it comes again with it, whole, where the kill came between the
/// sending and the mark, and nowhere else.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_notice_comes_again_only_with_a_reply_that_was_sent_and_not_marked() -> anyhow::Result<()> {
    if available("telegram::kill_inside::a_notice_comes_again_only_with_a_reply_that_was_sent_and_not_marked")
    {
        let polled = || (Target::method("getUpdates"), Hold::BeforeAnswer);
        let sent = || (Target::method("sendMessage"), Hold::BeforeAnswer);
        for (hold, call, repeats) in [
            (polled(), "pwrite64", 0),
            (polled(), "fdatasync", 0),
            (sent(), "pwrite64", 1),
            // It is marked by then, which outlasts the program.
            (sent(), "fdatasync", 0),
        ] {
            killed(Asked::Notice, hold, (call, 1, Some(WAL)), repeats).await?;
        }
    }
    Ok(())
}
