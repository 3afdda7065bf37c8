//! `kill -9` between two steps of one call's plan: the turn that is replayed does the rest and
//! answers as if nothing had happened, or says what is done and what is not. It never meets its own
//! files as somebody else's.

use super::recent::{DOWNLOAD, document, place};
use super::tracer::{Tracer, available};
use super::world::{ANN, World};
use serde_json::{Value, json};
use std::fs;
use support::namespace::{self, Namespace};
use support::telegram::{Incoming, Pushed};

/// Asks for it; the gateway is killed at this system call of the call's thread, the nth of its
/// name.
async fn cut_off(world: &mut World, last: (&str, u32), asked: &str) -> anyhow::Result<Pushed> {
    let tracer = Tracer::kills(world.serving().pid(), last.0, last.1, None);
    let question = world.server.push(Incoming::private(ANN).text(asked));
    assert_eq!(world.ended()?, None, "it was not killed at {last:?}");
    drop(tracer);
    Ok(question)
}

/// The codes of all outcomes, and the paths that the last of them changed.
fn outcomes(world: &World) -> (Vec<Value>, Vec<Value>) {
    let outcomes: Vec<_> = world.home.audit().into_iter().filter(|r| r["event"] == "outcome").collect();
    let last = outcomes.last().expect("one")["files"].as_array().cloned().unwrap_or_default();
    (
        outcomes.iter().map(|outcome| outcome["code"].clone()).collect(),
        last.iter().map(|file| file["path"].clone()).collect(),
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_download_of_three_files_is_finished() -> anyhow::Result<()> {
    if !available("telegram::cut_off::a_download_of_three_files_is_finished") {
        return Ok(());
    }
    let held = ["one", "two", "three"];
    let places = held.map(|holds| place(holds.as_bytes(), "txt"));
    for nth in [2, 3] {
        let mut world = World::running().await?;
        let part = |(n, holds): (usize, &str)| {
            document(ANN, &format!("part-{n}"), holds).media_group("g").message_id(11 + n as i64)
        };
        let parts: Vec<_> = held.into_iter().enumerate().map(part).collect();
        world.server.push_all(parts);
        world.texts(1).await?;
        let question = cut_off(&mut world, ("linkat", nth), DOWNLOAD).await?;
        let there = places.iter().filter(|place| world.home.host(place).exists()).count();
        assert_eq!(there, nth as usize - 1);
        world.start()?;
        let answer = world.answer(&question).await?.text;
        for (place, holds) in places.iter().zip(held) {
            assert!(world.saved(place) == holds.as_bytes());
        }
        let (codes, paths) = outcomes(&world);
        assert_eq!(
            (codes, paths),
            (vec!["write_failed".into(), Value::Null], places.iter().cloned().map(Value::from).collect())
        );
        // As undisturbed as one that finds all of them.
        assert_eq!(world.ask(Incoming::private(ANN).text(DOWNLOAD)).await?, answer);
        world.end(3)?;
    }
    Ok(())
}

/// With the guest that makes plans of two steps below a path.
async fn with_plans() -> anyhow::Result<World> {
    let policy = "safety = \"side-effecting\"\n[arguments]\nbehaviour = \"value\"\npath = { path = \"write-below\" }\n\
                  bytes = \"value\"\n";
    let world = World::running_in(|home| home.tool("hostile", "file-read-write", "hostile", policy)).await?;
    fs::create_dir(world.home.host("/shared/n"))?;
    Ok(world)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_tool_of_others_that_makes_two_files_is_finished() -> anyhow::Result<()> {
    if !available("telegram::cut_off::a_tool_of_others_that_makes_two_files_is_finished") {
        return Ok(());
    }
    // Killed once, and once more while it is finished.
    for kills in [1, 2] {
        let mut world = with_plans().await?;
        let question =
            cut_off(&mut world, ("linkat", 2), "/hostile behaviour=make_two path=/shared/n").await?;
        assert_eq!(fs::read(world.home.host("/shared/n/a"))?, b"first");
        assert!(!world.home.host("/shared/n/b").exists());
        if kills == 2 {
            world.launch(
                &[
                    "strace",
                    "-f",
                    "-o",
                    "/dev/null",
                    "-e",
                    "trace=linkat",
                    "-e",
                    "inject=linkat:signal=KILL:when=1",
                ],
                &[],
            )?;
            assert_eq!(world.ended()?, None, "it was not killed again");
        }
        world.start()?;
        let answer = world.answer(&question).await?.text;
        assert_eq!(serde_json::from_str::<Value>(&answer)?, json!({ "made": "/shared/n/b", "bytes": 6 }));
        assert_eq!(
            (world.saved("/shared/n/a"), world.saved("/shared/n/b")),
            (b"first".to_vec(), b"second".to_vec())
        );
        let (codes, paths) = outcomes(&world);
        assert_eq!(codes.len(), kills + 1, "{codes:?}");
        assert_eq!(paths, ["/shared/n/a", "/shared/n/b"]);
        world.end(1)?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_plan_of_very_many_files_is_finished() -> anyhow::Result<()> {
    if !available("telegram::cut_off::a_plan_of_very_many_files_is_finished") {
        return Ok(());
    }
    let policy = "safety = \"side-effecting\"\n[arguments]\nbehaviour = \"value\"\npath = { path = \"write-below\" }\n\
                  bytes = \"value\"\n[limits]\nchanges = 2000\nwritten_bytes = \"50 MiB\"\ndeadline = \"120s\"\n";
    let mut world =
        World::running_in(|home| home.tool("hostile", "file-read-write", "hostile", policy)).await?;
    // The first steps have no name before; the others wait by name, and get theirs by a rename.
    let asked = "/hostile behaviour=make_many path=/shared/n bytes=1500";
    let question = cut_off(&mut world, ("renameat2", 700), asked).await?;
    let there = |n: u32| world.home.host(&format!("/shared/n/{:03}/{n}", n / 100)).exists();
    let made = (0..1500).filter(|n| there(*n)).count();
    assert!((700..800).contains(&made), "{made} files are there");
    world.start()?;
    let answer = world.answer(&question).await?.text;
    assert_eq!(serde_json::from_str::<Value>(&answer)?, json!({ "made": 1500 }));
    for n in 0..1500 {
        assert!(world.saved(&format!("/shared/n/{:03}/{n}", n / 100)) == format!("file {n}").as_bytes());
    }
    let (codes, paths) = outcomes(&world);
    assert_eq!((codes, paths.len()), (vec!["write_failed".into(), Value::Null], 1500));
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_cannot_be_finished_says_what_is_done() -> anyhow::Result<()> {
    if !available("telegram::cut_off::what_cannot_be_finished_says_what_is_done") {
        return Ok(());
    }
    for (behaviour, nth, done, left) in [
        // Run again, it would append again.
        ("append_and_make", 2, "saved /shared/n/a", Some("oldmore")),
        ("remove_and_make", 1, "removed /shared/n/a", None),
    ] {
        let mut world = with_plans().await?;
        fs::write(world.home.host("/shared/n/a"), "old")?;
        let asked = format!("/hostile behaviour={behaviour} path=/shared/n");
        let question = cut_off(&mut world, ("linkat", nth), &asked).await?;
        world.start()?;
        let answer = world.answer(&question).await?.text;
        assert!(answer.starts_with("write_failed: the gateway stopped while"), "{answer}");
        assert!(answer.contains(&format!("done before that: {done}; not done: /shared/n/b.")), "{answer}");
        let found = fs::read_to_string(world.home.host("/shared/n/a")).ok();
        assert_eq!(found.as_deref(), left, "{behaviour}");
        assert!(!world.home.host("/shared/n/b").exists(), "{behaviour}");
        let (codes, paths) = outcomes(&world);
        assert_eq!(codes, ["write_failed", "write_failed"], "by the start, and by the turn");
        assert_eq!(paths, ["/shared/n/a"]);
        world.end(1)?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_move_to_another_filesystem_is_finished() -> anyhow::Result<()> {
    let name = "telegram::cut_off::a_move_to_another_filesystem_is_finished";
    if !available(name) || !namespace::available(name) {
        return Ok(());
    }
    let mut world = World::stopped(|home| home).await?;
    let mounts = Namespace::new(
        world.home.dir(),
        "mkdir -p workspace/shared; mount -t tmpfs none workspace/shared; echo moved > workspace/shared/a",
    );
    let (enter, shared) = (mounts.wrapper(), mounts.seen(&world.home.host("/shared")));
    let enter: Vec<&str> = enter.iter().map(String::as_str).collect();
    world.launch(&enter, &[])?;
    world.logs("polling as ").await?;
    // The copy is there then, and the source as well.
    let question = cut_off(&mut world, ("unlinkat", 1), "/file_move from=/shared/a to=/tmp/new/b").await?;
    assert_eq!(
        (fs::read(shared.join("a"))?, world.saved("/tmp/new/b")),
        (b"moved\n".to_vec(), b"moved\n".to_vec())
    );
    world.launch(&enter, &[])?;
    world.logs("polling as ").await?;
    let answer: Value = serde_json::from_str(&world.answer(&question).await?.text)?;
    let expected = json!({ "moved": true, "from": "/shared/a", "to": "/tmp/new/b", "kind": "file", "bytes": 6, "entries": 1 });
    assert_eq!(answer, expected);
    assert!(!shared.join("a").exists());
    assert_eq!(world.saved("/tmp/new/b"), b"moved\n");
    let (codes, paths) = outcomes(&world);
    assert_eq!(
        (codes, paths),
        (vec!["write_failed".into(), Value::Null], vec!["/tmp/new/b".into(), "/shared/a".into()])
    );
    world.end(1)
}
