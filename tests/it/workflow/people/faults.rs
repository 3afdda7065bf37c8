//! A clock that is set and disks that are full, under runs that wait: nothing is lost, nothing is
//! done twice, and it goes on by itself.

use super::super::PDF;
use super::approve::{PUBLISH, press, question};
use super::holding::Holding;
use super::{ANN, ASK, BEN, CAT, PATIENCE, World};
use crate::soak::clock::Clock;
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use std::time::{Duration, Instant};
use support::files::{Answer, FileServer};
use support::llm::{Dialect, LlmServer, Turn};
use support::serving::Serving;
use support::telegram::Incoming;

/// Over its limit a process is killed, unless it ignores the signal: then writing fails.
const IGNORING: [&str; 4] = ["sh", "-c", "trap '' XFSZ; exec \"$@\"", "sh"];

impl World {
    /// One that shows an agent a PDF file of this server at `/look`, not started yet.
    async fn downloading(llm: &LlmServer, files: &FileServer) -> anyhow::Result<Self> {
        let look = format!(
            "workflow: look\non: {{ command: look }}\nagents: [{{ id: a, actions: [{{ id: b, prompt: c, \
             attachments: [{{ type: pdf, url: {:?} }}] }}] }}]\ntasks: [{{ id: t, agent: a, action: b }}]\n",
            files.url("/a.pdf")
        );
        let mut world = Self::stopped(&[&look]).await?;
        let accepts = "accepts = [\"application/pdf\"]\n";
        let named = format!("[attachments]\nallowed_private_hosts = [{:?}]\n", files.host());
        world.home = std::mem::take(&mut world.home).model(llm, Dialect::Anthropic, accepts).config(&named);
        Ok(world)
    }

    fn launch(&mut self, wrapper: &[&str], environment: &[(&str, &str)]) -> anyhow::Result<()> {
        let serving = Serving::launch(&self.home, self.server.token(), wrapper, environment)?;
        self.serving = Some(serving.polling()?);
        Ok(())
    }

    /// Files of the running program may grow to so many bytes.
    fn allow(&self, bytes: Option<u64>) -> anyhow::Result<()> {
        let serving = self.serving.as_ref().expect("it runs");
        let pid = Pid::from_raw(i32::try_from(serving.pid())?);
        prlimit(pid, Resource::Fsize, Rlimit { current: bytes, maximum: None })?;
        Ok(())
    }

    pub(super) async fn logs(&self, words: &str) -> anyhow::Result<()> {
        let began = Instant::now();
        while !self.log().contains(words) {
            anyhow::ensure!(began.elapsed() < PATIENCE, "{words:?}:\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_clock_that_is_set_neither_ends_a_wait_nor_prolongs_it() -> anyhow::Result<()> {
    let mut world = World::stopped(&[&ASK.replace("24h", "1h")]).await?;
    let Some(clock) = Clock::make(world.home.dir())? else { return Ok(()) };
    let moved = clock.environment()?;
    let environment: Vec<_> = moved.iter().map(|(name, value)| (*name, value.as_str())).collect();
    world.launch(&[], &environment)?;
    let (asked, question) = world.asked().await?;
    let until = world.stands("waiting").await?["waiting"]["until"].clone();
    // Far more than it waits, to and fro: what is left of its hour stays the same.
    for ahead in [3 * 3600, -3 * 3600, 0] {
        let seen = world.log().matches("the clock was set").count();
        clock.jump(ahead)?;
        let began = Instant::now();
        while world.log().matches("the clock was set").count() == seen {
            anyhow::ensure!(began.elapsed() < PATIENCE, "{}", world.log());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        world.follows(&until, ahead).await?;
    }
    world.reply(BEN, &question, "noon");
    world.answer(&asked, "They say: noon").await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_clock_that_is_set_while_the_store_is_away_is_told_once_waits_follow() -> anyhow::Result<()> {
    let mut world = World::stopped(&[ASK]).await?;
    let Some(clock) = Clock::make(world.home.dir())? else { return Ok(()) };
    let moved = clock.environment()?;
    let environment: Vec<_> = moved.iter().map(|(name, value)| (*name, value.as_str())).collect();
    world.launch(&[], &environment)?;
    world.asked().await?;
    let until = world.stands("waiting").await?["waiting"]["until"].clone();
    let database = rusqlite::Connection::open(world.home.state().join("cofferdam.db"))?;
    database.execute_batch(
        "CREATE TRIGGER away BEFORE UPDATE OF waits_until ON run_task
         BEGIN SELECT RAISE(ABORT, 'it is away'); END",
    )?;
    clock.jump(3600)?;
    let began = Instant::now();
    while world.log().matches("runs of workflows cannot be looked up").count() < 3 {
        anyhow::ensure!(began.elapsed() < PATIENCE, "{}", world.log());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(!world.log().contains("the clock was set"), "nothing follows yet: {}", world.log());
    database.execute_batch("DROP TRIGGER away")?;
    world.logs("the clock was set").await?;
    world.follows(&until, 3600).await?;
    assert_eq!(world.log().matches("the clock was set").count(), 1, "{}", world.log());
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_clock_that_is_set_leaves_a_question_its_time() -> anyhow::Result<()> {
    let mut world = World::stopped(&[PUBLISH]).await?;
    let Some(clock) = Clock::make(world.home.dir())? else { return Ok(()) };
    let moved = clock.environment()?;
    let environment: Vec<_> = moved.iter().map(|(name, value)| (*name, value.as_str())).collect();
    world.launch(&[], &environment)?;
    let asked = world.ask("/publish");
    let shown = question(&world).await?;
    world.stands("waiting").await?;
    // Far more than the hour that it waits.
    clock.jump(3 * 3600)?;
    world.logs("the clock was set").await?;
    world.server.push(press(BEN, &shown, 0));
    world.answer(&asked, "published by telegram:5000000002").await?;
    Ok(())
}

impl World {
    /// Waits until the run waits until this time and so many seconds, by a second or two.
    async fn follows(&self, until: &serde_json::Value, ahead: i64) -> anyhow::Result<()> {
        let time = |value: &serde_json::Value| value.as_str().expect("a time").parse::<jiff::Timestamp>();
        let wanted = time(until)?.as_second() + ahead;
        let began = Instant::now();
        loop {
            let shown = self.shown();
            anyhow::ensure!(shown["state"] == "waiting", "{shown}");
            if (time(&shown["waiting"]["until"])?.as_second() - wanted).abs() <= 2 {
                return Ok(());
            }
            anyhow::ensure!(began.elapsed() < PATIENCE, "{ahead}: {shown}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_reply_waits_for_room_on_the_disk_and_counts_once() -> anyhow::Result<()> {
    let mut world = World::stopped(&[ASK]).await?;
    world.launch(&IGNORING, &[])?;
    let (asked, question) = world.asked().await?;
    world.stands("waiting").await?;
    world.allow(Some(0))?;
    let reply = world.reply(BEN, &question, "noon");
    world.logs("the store fails; waiting for it").await?;
    assert!(world.server.unconfirmed_updates().contains(&reply.update_id), "it is not acknowledged");
    assert_eq!(world.shown()["state"], "waiting");
    world.allow(None)?;
    world.answer(&asked, "They say: noon").await?;
    world.stands("done").await?;
    let resumed = world.audited().into_iter().filter(|line| line.starts_with("resumed")).count();
    assert_eq!(resumed, 1, "{:?}", world.audited());
    Ok(())
}

/// What a task needs kept before it goes on: its message, and that it asks.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_task_that_the_store_refuses_for_a_moment_is_begun_once_more() -> anyhow::Result<()> {
    for (workflow, command, refused, said) in [
        (ASK, "/ask question=one", "INSERT ON run_message", "5000000001 asks: one"),
        (PUBLISH, "/publish", "UPDATE OF waits_until ON run_task", "Publish it?"),
    ] {
        let world = World::running(&[workflow]).await?;
        let database = rusqlite::Connection::open(world.home.state().join("cofferdam.db"))?;
        database.execute_batch(&format!(
            "CREATE TRIGGER away BEFORE {refused} BEGIN SELECT RAISE(ABORT, 'it is away'); END"
        ))?;
        world.ask(command);
        world.logs("a run of a workflow cannot go on; trying again").await?;
        assert_ne!(world.shown()["state"], "failed", "{command}");
        database.execute_batch("DROP TRIGGER away")?;
        world.said_to(BEN, said).await?;
        world.stands("waiting").await?;
        assert_eq!(world.texts_to(BEN).len(), 1, "{:?}", world.texts_to(BEN));
    }
    Ok(())
}

/// Channels hold runs, and runs channels: a stop lets go of both, and so of the store, which then
/// takes in its log.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_stop_closes_the_store_while_a_run_waits() -> anyhow::Result<()> {
    let mut world = World::running(&[ASK]).await?;
    world.ask("/ask question=one");
    world.said_to(BEN, "5000000001 asks: one").await?;
    world.stands("waiting").await?;
    let log = world.home.state().join("cofferdam.db-wal");
    assert!(log.exists(), "it is open");
    world.serving.take().expect("it runs").end(PATIENCE)?;
    assert!(!log.exists(), "it is left open");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_download_that_finds_no_room_fails_its_task_and_leaves_nothing() -> anyhow::Result<()> {
    let (llm, files) = (LlmServer::start().await?, FileServer::start().await?);
    let mut world = World::downloading(&llm, &files).await?;
    // Held in memory it would need no room.
    files.answer("/a.pdf", Answer::Bytes([PDF, &[b'x'; 6 << 20]].concat()));
    world.launch(&IGNORING, &[])?;
    // The audit and the database are shorter than that, the file is longer.
    world.allow(Some(4 << 20))?;
    let asked = world.ask("/look");
    let answer = world.answer(&asked, "attachment_unavailable: ").await?;
    assert!(answer.text.contains("the gateway could not store it"), "{answer:?}");
    assert!(llm.requests().is_empty(), "nothing was asked");
    let left: Vec<_> = std::fs::read_dir(world.home.state().join("blobs"))?.collect();
    assert!(left.is_empty(), "{left:?}");
    world.allow(None)?;
    llm.script([Turn::say("seen")]);
    let again = world.ask("/look");
    world.answer(&again, "{\"text\":\"seen\"}").await?;
    Ok(())
}

/// As many downloads as the runtime has threads, on a disk that answers none of them for now.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_disk_under_downloads_keeps_nobody_else_waiting() -> anyhow::Result<()> {
    let (llm, files) = (LlmServer::start().await?, FileServer::start().await?);
    let mut world = World::downloading(&llm, &files).await?;
    files.answer("/a.pdf", Answer::Bytes([PDF, &[b'x'; 1 << 20]].concat()));
    world.start()?;
    let spool = world.home.state().join("blobs");
    let test = "workflow::people::faults::a_slow_disk_under_downloads_keeps_nobody_else_waiting";
    let Some(disk) = Holding::calls(test, world.served(), "openat", &spool) else { return Ok(()) };
    let looking = [ANN, BEN].map(|person| world.server.push(Incoming::private(person).text("/look")));
    disk.holds(looking.len(), PATIENCE).await?;
    let asked = world.server.push(Incoming::private(CAT).text("/help file_read"));
    world.answer(&asked, "").await?;
    assert!(disk.holds_all() && llm.requests().is_empty(), "nothing was held");
    llm.script([Turn::say("seen"), Turn::say("seen")]);
    drop(disk);
    for looking in &looking {
        world.answer(looking, "{\"text\":\"seen\"}").await?;
    }
    let left: Vec<_> = std::fs::read_dir(spool)?.collect();
    assert!(left.is_empty(), "{left:?}");
    Ok(())
}

/// Somebody ends a run when its reply has come and before its lock is taken.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_run_that_is_ended_before_it_goes_on_leaves_no_lock() -> anyhow::Result<()> {
    let world = World::running(&[ASK]).await?;
    let (asked, question) = world.asked().await?;
    world.stands("waiting").await?;
    let lock = world.home.state().join("runs").join(format!("{}.lock", world.run_id()));
    let test = "workflow::people::faults::a_run_that_is_ended_before_it_goes_on_leaves_no_lock";
    let Some(taking) = Holding::calls(test, world.served(), "flock", &lock) else { return Ok(()) };
    world.reply(BEN, &question, "noon");
    taking.holds(1, PATIENCE).await?;
    assert_eq!(world.cancel().code, Some(0));
    assert!(!lock.exists(), "who ends it removes it");
    drop(taking);
    world.answer(&asked, "cancelled: ").await?;
    // It is made anew by who takes it, and goes again.
    let other = world.ask("/ask question=two");
    world.said_to(BEN, "5000000001 asks: two").await?;
    world.answer(&other, "ask-colleague-").await?;
    let began = Instant::now();
    while lock.exists() {
        anyhow::ensure!(began.elapsed() < PATIENCE, "{} is left", lock.display());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}
