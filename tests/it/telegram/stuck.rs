//! `/cancel` against what does not listen: a guest that never looks, and a worker that cannot. The
//! answer comes long before the deadline, the worker is gone, nothing is left, and the next call
//! works.

use super::world::{ANN, PATIENCE, World};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use support::telegram::Incoming;
use support::workers;

/// Longer than the patience of these tests: no call here ends by it.
const DEADLINE: &str = "memory = \"16 MiB\"\ndeadline = \"120s\"";

fn text(text: &str) -> Incoming {
    Incoming::private(ANN).text(text)
}

async fn works(world: &World) -> anyhow::Result<()> {
    assert_eq!(world.ask(text("/hostile behaviour=ok")).await?, r#"{"ok":true}"#);
    Ok(())
}

/// Cancels a call of this behaviour while it runs, which its guest says with a word; before that
/// something happens to the gateway of this process.
async fn cancelled(
    config: &str,
    behaviour: &str,
    running: &str,
    happens: impl FnOnce(u32),
) -> anyhow::Result<()> {
    let world = World::running_in(|home| home.config(config).hostile(DEADLINE)).await?;
    let gateway = world.serving().pid();
    works(&world).await?;
    let slow = world.server.push(text(&format!("/hostile behaviour={behaviour}")));
    world.logs(&format!("guest: {running}")).await?;
    let before = workers::of(gateway);
    happens(gateway);
    world.server.push(text("/cancel"));
    let said = world.server.wait_for_message(PATIENCE, |sent| sent.text.starts_with("cancelled: ")).await?;
    assert_eq!(said.text, "cancelled: the turn was cancelled; nothing was changed");
    assert_eq!(said.reply_to, Some(slow.message_id));
    if !before.is_empty() {
        workers::until("its worker to be gone", || before.iter().any(|worker| workers::is_gone(*worker)));
    }
    works(&world).await?;
    let gone = before.iter().filter(|worker| workers::is_gone(**worker)).count();
    assert_eq!(gone, before.len().min(1), "no other worker goes");
    assert!(!world.host("/shared/late").exists());
    world.end(3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_guest_that_does_not_listen_is_ended_with_its_worker() -> anyhow::Result<()> {
    for (behaviour, running) in [
        ("spin", "spinning"),
        ("sleep", "sleeping"),
        ("spin_mid_write path=/shared/late", "spinning"),
        ("stage_then_spin path=/shared/late", "spinning"),
    ] {
        cancelled("", behaviour, running, |_| {}).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_worker_that_does_not_move_any_more_is_killed_after_a_cancellation() -> anyhow::Result<()> {
    cancelled("", "stage_then_spin path=/shared/late", "spinning", |gateway| {
        // As if the system never returned from a call: it can look at no clock, and only a kill
        // ends it.
        let stuck = Pid::from_raw(i32::try_from(busy(gateway)).expect("small")).expect("not 0");
        kill_process(stuck, Signal::STOP).expect("ours to signal");
    })
    .await
}

/// The worker that runs a guest which spins.
fn busy(gateway: u32) -> u32 {
    let ticks = || workers::of(gateway).into_iter().map(|worker| (worker, workers::ticks(worker)));
    let before: BTreeMap<u32, u64> = ticks().collect();
    let found = std::cell::Cell::new(None);
    workers::until("a worker that spins", || {
        let used = |(worker, ticks): &(u32, u64)| ticks - before.get(worker).unwrap_or(ticks);
        found.set(ticks().find(|now| used(now) > 20).map(|(worker, _)| worker));
        found.get().is_some()
    });
    found.get().expect("found")
}
