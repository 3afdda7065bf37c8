//! A schedule whose answer goes to somebody on Discord.

use super::world::{ANN, PATIENCE, World};
use rusqlite::Connection;
use support::discord::{Fault, Hold, SentMessage};
use support::workers::until;

/// Has the schedule be one that was away for three days.
const AWAY: &str = "UPDATE run_schedule SET looked_at = looked_at - 3 * 24 * 3600 * 1000";

/// A gateway with a schedule for Ann, and its database.
async fn scheduled() -> anyhow::Result<(World, Connection)> {
    let daily = format!(
        "workflow: daily\non: {{ schedule: \"0 0 * * *\", to: \"discord:{ANN}\" }}\n\
         tasks: [{{ id: a, tool: file_list, with: {{ path: /shared }} }}]\noutput: \"it is time\"\n"
    );
    let world = World::running_in(|home| home.offering("daily.yaml", &daily), "").await?;
    let database = Connection::open(world.home.state().join("cofferdam.db"))?;
    Ok((world, database))
}

/// Where they have their private channel is asked of Discord first.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_stop_does_not_wait_until_discord_says_where_somebody_is_told() -> anyhow::Result<()> {
    let (mut world, database) = scheduled().await?;
    let gate = world.server.gate("create_dm", Hold::BeforeEffect);
    until("the schedule is looked at", || database.execute(AWAY, []).is_ok_and(|changed| changed == 1));
    gate.reached().await?;
    world.stop()?;
    gate.discard();
    world.start().await?;
    let is_told = |sent: &SentMessage| sent.content == "it is time";
    world.server.wait_for_message(PATIENCE, is_told).await?;
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_time_of_somebody_whom_discord_refuses_to_reach_passes_and_that_is_said_once() -> anyhow::Result<()>
{
    let (world, database) = scheduled().await?;
    let refusal = Fault::discord_error(403, 50007, "Cannot send messages to this user");
    world.server.fault("create_dm", usize::MAX, refusal);
    let is_over = "SELECT looked_at > (strftime('%s', 'now') - 2 * 24 * 3600) * 1000 FROM run_schedule";
    for _ in 0..2 {
        until("the schedule is looked at", || database.execute(AWAY, []).is_ok_and(|changed| changed == 1));
        until("its time passes", || database.query_row(is_over, [], |row| row.get(0)).unwrap_or(false));
    }
    assert_eq!(world.server.request_count("create_dm", 0), 2, "once for each time");
    let said = world.log().matches("its schedule begins nothing").count();
    assert_eq!(said, 1, "{}", world.log());
    Ok(())
}
