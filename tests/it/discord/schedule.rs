//! A schedule whose answer goes to somebody on Discord.

use super::world::{ANN, PATIENCE, World};
use rusqlite::Connection;
use support::discord::{Hold, SentMessage};
use support::workers::until;

/// Where they have their private channel is asked of Discord first.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_stop_does_not_wait_until_discord_says_where_somebody_is_told() -> anyhow::Result<()> {
    let daily = format!(
        "workflow: daily\non: {{ schedule: \"0 0 * * *\", to: \"discord:{ANN}\" }}\n\
         tasks: [{{ id: a, tool: file_list, with: {{ path: /shared }} }}]\noutput: \"it is time\"\n"
    );
    let mut world = World::running_in(|home| home.offering("daily.yaml", &daily), "").await?;
    let database = Connection::open(world.home.state().join("cofferdam.db"))?;
    let set = "UPDATE run_schedule SET looked_at = looked_at - 3 * 24 * 3600 * 1000";
    let gate = world.server.gate("create_dm", Hold::BeforeEffect);
    until("the schedule is looked at", || database.execute(set, []).is_ok_and(|changed| changed == 1));
    gate.reached().await?;
    world.stop()?;
    gate.discard();
    world.start().await?;
    let is_told = |sent: &SentMessage| sent.content == "it is time";
    world.server.wait_for_message(PATIENCE, is_told).await?;
    world.end(1)
}
