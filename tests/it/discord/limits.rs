//! Bounds of this channel, each tripped; and what a stop does while the network is away.

use super::world::{ANN, EVE, PATIENCE, TOWN, World, read, save};
use crate::telegram::limits::peak_kib;
use std::time::Duration;
use support::discord::{Closed, Command, Fault, GatewayConnection, Incoming, Media, Target};

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_stop_does_not_wait_for_a_network_that_is_away() -> anyhow::Result<()> {
    let mut world = World::stopped_with("").await?;
    world.server.fault("get_gateway_bot", 10_000, Fault::server_error(503));
    world.launch(&[])?;
    world.server.wait_for_requests(PATIENCE, "get_gateway_bot", 2).await?;
    assert!(world.stop()? < Duration::from_secs(10));
    world.server.clear_faults();
    world.server.fault("get_current_user", 10_000, Fault::stall());
    world.launch(&[])?;
    world.server.wait_for_requests(PATIENCE, "get_current_user", 2).await?;
    assert!(world.stop()? < Duration::from_secs(10));
    Ok(())
}

/// The session is there for the next start.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_stop_keeps_the_session() -> anyhow::Result<()> {
    let mut world = World::running().await?;
    world.ask(Incoming::private(ANN).text("/help")).await?;
    world.stop()?;
    assert_eq!(world.server.sessions().len(), 1, "it was not ended");
    world.start().await?;
    assert!(world.server.connections()[1].resume.is_some());
    world.end(1)
}

/// What a message announces of a file decides nothing: what comes is counted.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_size_that_lies_costs_no_memory() -> anyhow::Result<()> {
    let world = World::running().await?;
    let with = |media: Media| Incoming::private(ANN).text(&save(0, "/shared/a")).attachment(media);
    world.ask(with(Media::new("warm", "up"))).await?;
    let before = peak_kib(world.serving().pid());
    for fault in [None, Some(Fault::without_length())] {
        if let Some(fault) = fault {
            world.server.fault(Target::download(), 1, fault);
        }
        let huge = Media::repeated("a.bin", b'x', 300 << 20).size(10);
        let answer = read(&world.ask(with(huge)).await?);
        assert!(answer.contains("attachment_unavailable: ") && answer.contains("too large"), "{answer}");
    }
    let grown = peak_kib(world.serving().pid()).saturating_sub(before);
    assert!(grown < 12 << 10, "{grown} KiB more for files that were refused");
    world.end(3)
}

/// An event that is too large breaks its connection, and nothing else.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_event_that_is_too_large_is_not_read() -> anyhow::Result<()> {
    let world = World::running().await?;
    world.server.send_text(&"x".repeat((64 << 20) + 1));
    let resumed = |one: &GatewayConnection| one.number == 1 && one.established && one.resume.is_some();
    world.server.wait_for_connection(PATIENCE, resumed).await?;
    world.ask(Incoming::private(ANN).text("/help")).await?;
    world.end(1)
}

/// However many strangers use commands, so many answers are under way, and those who are served
/// wait for none.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_crowd_of_strangers_is_answered_in_part() -> anyhow::Result<()> {
    let mut world = World::running().await?;
    world.server.open_channel(TOWN);
    world.server.fault("create_response", 200, Fault::stall());
    for n in 0..100 {
        world.server.invoke(Command::new("help").by(EVE + n).channel(TOWN));
    }
    world.server.wait_for_requests(PATIENCE, "create_response", 64).await?;
    // Events come in their order: by then all of these were taken.
    world.ask(Incoming::private(ANN).text("/help")).await?;
    assert_eq!(world.server.max_concurrent("create_response"), 64);
    world.stop()?;
    let count = world.server.sent_messages().iter().filter(|sent| !sent.deleted).count();
    world.end(count)
}

/// Of a flood that was missed the first fifty pages are looked at.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_flood_that_was_missed_is_looked_at_in_part() -> anyhow::Result<()> {
    let mut world = World::running().await?;
    world.server.open_channel(TOWN);
    let say = |text: &str| Incoming::guild(TOWN, ANN).mention_bot().text(text);
    world.ask(say("/help")).await?;
    world.stop()?;
    world.server.forget_sessions();
    let talk = || Incoming::guild(TOWN, EVE).text("talk").untold();
    let early = world.server.push(say("/help").untold());
    world.server.push_all((0..5000).map(|_| talk()));
    let late = world.server.push(say("/help").untold());
    world.launch(&[])?;
    world.answer(&early).await?;
    world.logs("too many messages were missed").await?;
    world.ask(Incoming::private(ANN).text("/help")).await?;
    let asked = world.server.requests("get_messages").len();
    assert_eq!(asked, 50);
    let answered = world.server.sent_messages().iter().any(|sent| sent.reply_to == Some(late.message_id));
    assert!(!answered, "the latest are left out");
    world.end(3)
}

/// While nothing can be kept, so many events wait; then the connection is left, and what it had not
/// kept comes again.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn events_that_come_faster_than_they_can_be_kept_come_again() -> anyhow::Result<()> {
    let mut world = World::running().await?;
    world.server.open_channel(TOWN);
    let database = rusqlite::Connection::open(world.home.state().join("cofferdam.db"))?;
    database.execute_batch("BEGIN IMMEDIATE")?;
    let first = world.server.push(Incoming::private(ANN).text("/help"));
    world.server.push_all((0..4200).map(|_| Incoming::guild(TOWN, EVE).text("talk")));
    let last = world.server.push(Incoming::private(ANN).text("/help"));
    let left = |one: &GatewayConnection| one.number == 0 && one.closed == Some(Closed::ByClient(Some(4900)));
    world.server.wait_for_connection(PATIENCE, left).await?;
    database.execute_batch("ROLLBACK")?;
    let resumed = |one: &GatewayConnection| one.number == 1 && one.established && one.resume.is_some();
    world.server.wait_for_connection(PATIENCE, resumed).await?;
    world.answer(&first).await?;
    world.answer(&last).await?;
    world.logs("events come faster than they can be kept").await?;
    world.stop()?;
    world.end(2)
}

/// A gateway that takes a connection and says nothing is given up, and another one is found.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_gateway_that_says_nothing_is_given_up() -> anyhow::Result<()> {
    let mut world = World::stopped_with("").await?;
    let own = world.server.gateway_url();
    let silent = std::net::TcpListener::bind("127.0.0.1:0")?;
    world.server.set_gateway_url(&format!("ws://{}", silent.local_addr()?));
    world.launch(&[])?;
    world.logs("the gateway has not answered within 20 s").await?;
    world.server.set_gateway_url(&own);
    world.says("listening on Discord as")?;
    world.ask(Incoming::private(ANN).text("/help")).await?;
    world.end(1)
}
