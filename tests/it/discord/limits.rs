//! Bounds of this channel, each tripped; and what a stop does while the network is away.

use super::world::{ANN, PATIENCE, World};
use std::time::Duration;
use support::discord::{Fault, Incoming};

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
