//! Two nodes that share a store in a real PostgreSQL and one bot: one is connected to Discord, both
//! answer.

use super::world::{ANN, BEN, PATIENCE, TOWN, World, save};
use crate::telegram::metrics::{get, told_in, watched};
use std::time::{Duration, Instant};
use support::discord::{Command, Fault, Hold, Incoming, Media, SentMessage, Target};
use support::home::Home;
use support::postgres::{PostgresServer, new_schema, shared};
use support::serving::Serving;

fn node(world: &World, name: &str) -> anyhow::Result<Serving> {
    let own = [("DISCORD_BOT_TOKEN", world.server.token()), ("COFFERDAM_CLUSTER_NODE", name)];
    Serving::launch(&world.home, "1:unused", &[], &own)
}

/// Node `a`, which is connected, and `b` beside it.
async fn two(server: &PostgresServer, schema: &str) -> anyhow::Result<(World, Serving)> {
    let fit = |home: Home| watched(home.postgres(server, schema).config("[cluster]\nlease = \"3s\"\n"));
    let mut world = World::stopped_in(fit, "").await?;
    let first = node(&world, "a")?.says("listening on Discord as")?;
    world.server.wait_until_connected(PATIENCE).await?;
    world.launch(&[("COFFERDAM_CLUSTER_NODE", "b")])?;
    world.says("another node hears discord-")?;
    Ok((world, first))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_turn_of_a_node_that_is_killed_goes_on_at_the_other_one_which_connects() -> anyhow::Result<()> {
    let Some(server) = shared("discord::nodes::a_turn_of_a_node_that_is_killed") else { return Ok(()) };
    let (mut world, first) = two(server, &new_schema()).await?;
    let gate = world.server.gate(Target::download(), Hold::BeforeEffect);
    let message = Incoming::private(ANN).text(&save(0, "/shared/once"));
    let pushed = world.server.push(message.attachment(Media::new("a", "once")));
    gate.reached().await?;
    let waiting = world.server.push(Incoming::private(ANN).text("/file_read path=/shared/once"));
    first.kill();
    gate.discard();
    world.answer(&pushed).await?;
    assert_eq!(world.saved("/shared/once"), b"once");
    world.says("listening on Discord as")?;
    assert!(world.answer(&waiting).await?.content.contains("once"), "in order");
    world.ask(Incoming::private(BEN).text("/help file_read")).await?;
    world.end(3)
}

/// A message that comes while nobody is connected is asked for by who connects next.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_node_that_ends_hands_the_connection_over() -> anyhow::Result<()> {
    let Some(server) = shared("discord::nodes::a_node_that_ends") else { return Ok(()) };
    let (mut world, first) = two(server, &new_schema()).await?;
    world.ask(Incoming::private(ANN).text("/file_write path=/shared/a content=one")).await?;
    first.end(PATIENCE)?;
    let meanwhile = world.server.push(Incoming::private(ANN).text("/file_read path=/shared/a"));
    world.says("listening on Discord as")?;
    assert!(world.answer(&meanwhile).await?.content.contains("one"));
    world.end(2)
}

/// The node that hears it has as many conversations as it takes, so another one has this one, and
/// is at something else.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_command_is_acknowledged_though_it_waits_for_another_node() -> anyhow::Result<()> {
    const CLAIMED_MAX: u64 = 8;
    let Some(server) = shared("discord::nodes::a_command_is_acknowledged") else { return Ok(()) };
    let schema = new_schema();
    let (world, first) = two(server, &schema).await?;
    let gates: Vec<_> =
        (0..=CLAIMED_MAX).map(|_| world.server.gate(Target::download(), Hold::BeforeEffect)).collect();
    let mut pushed = Vec::new();
    for (n, gate) in (0..).zip(&gates) {
        let from = match n < CLAIMED_MAX {
            true => {
                world.server.open_channel(TOWN + n);
                Incoming::guild(TOWN + n, ANN).mention_bot()
            }
            false => Incoming::private(ANN),
        };
        let message = from.text(&save(0, &format!("/shared/{n}")));
        pushed.push(world.server.push(message.attachment(Media::new("a", "some"))));
        gate.reached().await?;
    }
    assert_eq!(server.sql(&format!("SELECT count(DISTINCT holder) FROM {schema}.claim")), "2");
    let made = world.server.invoke(Command::new("help").by(ANN));
    let until = Instant::now() + PATIENCE;
    let told = || world.server.interaction(made.id).expect("it was made");
    while told().acknowledged.is_none() {
        assert!(Instant::now() < until, "{:?}\n{}", told(), first.log());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(told().acknowledged_after_ms < Some(3000), "{:?}", told());
    gates.into_iter().for_each(|gate| gate.release());
    for message in &pushed {
        world.answer(message).await?;
    }
    let answers = |sent: &SentMessage| sent.interaction == Some(made.id) && !sent.is_loading();
    world.server.wait_for_message(PATIENCE, answers).await?;
    first.end(PATIENCE)?;
    world.end(pushed.len() + 1)
}

/// A node beside the one that is connected is well, though it is not; once it is to be connected,
/// Discord's silence counts.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_connection_that_was_taken_over_and_is_not_made_is_no_other_nodes() -> anyhow::Result<()> {
    let Some(server) = shared("discord::nodes::a_connection_that_was_taken_over") else { return Ok(()) };
    let (mut world, first) = two(server, &new_schema()).await?;
    let log = world.log();
    let age = || -> anyhow::Result<bool> {
        let (_, page) = get(told_in(&log)?, "/metrics")?;
        Ok(page.contains("last_poll_age_seconds"))
    };
    assert!(!age()?, "the other one is connected");
    world.server.fault("gateway", usize::MAX, Fault::server_error(503));
    first.end(PATIENCE)?;
    world.server.wait_for_requests(PATIENCE, "gateway", 3).await?;
    let until = Instant::now() + PATIENCE;
    while !age()? {
        assert!(Instant::now() < until, "its silence does not count: {}", world.tail());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    world.server.clear_faults();
    world.says("listening on Discord as")?;
    world.ask(Incoming::private(ANN).text("/help file_read")).await?;
    world.end(1)
}
