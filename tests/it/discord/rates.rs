//! What Discord takes, and when it is asked again: limits over all, silence, pauses, a token that
//! is refused while the bot runs.

use super::world::{ANN, BEN, PATIENCE, World, save};
use std::time::{Duration, Instant};
use support::discord::{
    Command, Fault, GatewayConnection, Incoming, Media, Pushed, RequestRecord, Scope, SentMessage, Target,
};

/// The creates in the channel of a message.
fn creates(world: &World, of: &Pushed) -> Vec<RequestRecord> {
    world.server.requests(Target::method("create_message").with("channel_id", of.channel_id))
}

/// What the bot's token opens waits; first answers, edits of them and files do not.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn during_a_global_limit_only_interactions_and_files_go_on() -> anyhow::Result<()> {
    const LIMIT: Duration = Duration::from_secs(12);
    let world = World::running().await?;
    world.server.wait_for_request(PATIENCE, "put_commands").await?;
    world.server.wait_until_idle(PATIENCE, "put_commands").await?;
    world.server.fault("create_message", 1, Fault::rate_limited(LIMIT, Scope::Global));
    let first = world.server.push(Incoming::private(ANN).text("/help"));
    world.logs("Discord asks for a pause").await?;
    let (begun, limited) = (Instant::now(), creates(&world, &first).remove(0));
    let help = world.server.invoke(Command::new("help").by(BEN));
    let file = Incoming::private(ANN).text(&save(0, "/shared/a"));
    let file = world.server.push(file.attachment(Media::new("a", "fetched meanwhile")));
    // The queue is busy with the reply that waits, so the file is fetched from another place.
    let other = Incoming::private(BEN).attachment(Media::new("b", "fetched meanwhile"));
    let other = world.server.push(other);
    let acknowledged = |one: &support::discord::Interaction| one.acknowledged.is_some();
    let made = world.server.wait_for_interaction(PATIENCE, help.id, acknowledged).await?;
    assert!(made.acknowledged_after_ms < Some(3000), "{made:?}");
    world.server.wait_for_request(PATIENCE, "edit_response").await?;
    world.server.wait_for_request(PATIENCE, Target::download_of(&other.attachments[0].to_string())).await?;
    for pushed in [&first, &file, &other] {
        world.answer(pushed).await?;
    }
    let over = limited.at + LIMIT;
    let authorized = |one: &RequestRecord| one.header("authorization").is_some();
    let early: Vec<_> = world.server.journal().into_iter().filter(authorized).collect();
    let early: Vec<_> = early.iter().filter(|one| one.at > begun && one.at < over).collect();
    assert!(early.is_empty(), "{early:#?}");
    for target in [Target::method("create_response"), Target::method("edit_response"), Target::download()] {
        assert!(world.server.requests(target.clone())[0].at < over, "{target:?} does not wait");
    }
    let refused = world.server.journal().iter().filter(|one| one.status == Some(429)).count();
    assert_eq!(refused, 1, "only the one that told of it");
    world.end(4)
}

/// No bucket holds an interaction back for that, so the pause is made where it was told.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_global_limit_that_is_told_below_a_command_is_waited_for() -> anyhow::Result<()> {
    const LIMIT: Duration = Duration::from_secs(3);
    let world = World::running().await?;
    world.server.fault("edit_response", 1, Fault::rate_limited(LIMIT, Scope::Global));
    let help = world.server.invoke(Command::new("help").by(ANN));
    let tries = world.server.wait_for_requests(PATIENCE, "edit_response", 2).await?;
    assert!(tries[1].at - tries[0].at >= LIMIT, "{tries:#?}");
    let answers = |sent: &SentMessage| sent.interaction == Some(help.id) && !sent.is_loading();
    world.server.wait_for_message(PATIENCE, answers).await?;
    world.end(1)
}

/// A limit of one channel's bucket holds no other channel up.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_bucket_that_is_empty_is_that_of_one_channel() -> anyhow::Result<()> {
    const LIMIT: Duration = Duration::from_secs(8);
    let world = World::running().await?;
    world.server.fault("create_message", 1, Fault::rate_limited(LIMIT, Scope::User));
    let first = world.server.push(Incoming::private(ANN).text("/help"));
    world.logs("Discord asks for a pause").await?;
    let other = world.server.push(Incoming::private(BEN).text("/help"));
    world.answer(&other).await?;
    world.answer(&first).await?;
    let tries = creates(&world, &first);
    assert!(tries.len() == 2 && tries[1].at - tries[0].at >= LIMIT, "{tries:#?}");
    assert!(creates(&world, &other)[0].at - tries[0].at < LIMIT, "the other does not wait");
    world.end(2)
}

/// After 30 s without an answer the same is asked again, under the same nonce; an answer that takes
/// 10 s is waited for.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_server_that_says_nothing_for_30_s_is_asked_again() -> anyhow::Result<()> {
    let world = World::running().await?;
    world.server.fault("create_message", 1, Fault::stall());
    let unheard = world.server.push(Incoming::private(ANN).text("/help"));
    world.server.wait_for_request(PATIENCE, "create_message").await?;
    world.server.fault("create_message", 1, Fault::delayed(Duration::from_secs(10)));
    let slow = world.server.push(Incoming::private(BEN).text("/help"));
    world.answer(&slow).await?;
    world.answer(&unheard).await?;
    let tries = creates(&world, &unheard);
    assert_eq!(tries.len(), 2);
    assert!(tries[1].at - tries[0].at >= Duration::from_secs(30), "{tries:#?}");
    assert_eq!(tries[0].params["nonce"], tries[1].params["nonce"]);
    world.server.wait_until_idle(PATIENCE, "create_message").await?;
    assert_eq!(creates(&world, &slow).len(), 1, "not asked again within 10 s");
    world.end(2)
}

/// A gateway that takes connections and says nothing is a failure like any other: it is told, and
/// paused after.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_gateway_that_says_no_hello_is_left_and_paused_after() -> anyhow::Result<()> {
    let mut world = World::stopped_with("").await?;
    world.server.withhold_hello(true);
    world.launch(&[])?;
    world.logs("the gateway fails: the gateway says no hello").await?;
    world.server.withhold_hello(false);
    world.server.wait_until_connected(PATIENCE).await?;
    let all = world.server.connections();
    let apart = all[1].at - all[0].at;
    assert!(apart >= Duration::from_millis(20_500), "20 s for hello, then a pause: {apart:?}");
    world.ask(Incoming::private(ANN).text("/help")).await?;
    world.end(1)
}

/// Hello and heartbeats that are acknowledged are no session: neither a first one nor one that is
/// to go on is waited for without end.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_gateway_that_begins_no_session_is_left_and_paused_after() -> anyhow::Result<()> {
    let mut world = World::stopped_with("").await?;
    world.server.set_heartbeat_interval(Duration::from_secs(1));
    world.server.withhold_sessions(true);
    world.launch(&[])?;
    world.logs("the gateway fails: the gateway begins no session").await?;
    world.server.withhold_sessions(false);
    world.server.wait_until_connected(PATIENCE).await?;
    let all = world.server.connections();
    assert!(all[0].heartbeats.len() > 10, "{all:?}");
    let apart = all[1].at - all[0].at;
    assert!(apart >= Duration::from_millis(20_500), "20 s for a session, then a pause: {apart:?}");
    world.server.withhold_sessions(true);
    world.server.break_gateway();
    let is_left = |one: &GatewayConnection| one.number == 2 && one.closed.is_some();
    world.server.wait_for_connection(PATIENCE, is_left).await?;
    world.server.withhold_sessions(false);
    world.ask(Incoming::private(ANN).text("/help")).await?;
    world.end(1)
}

/// Each pause is at least half of what the doubling gives; the longest is tested where it is made.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn pauses_between_failing_attempts_grow() -> anyhow::Result<()> {
    let mut world = World::stopped_with("").await?;
    world.server.fault("get_gateway_bot", 4, Fault::server_error(503));
    world.launch(&[])?;
    let asked = world.server.wait_for_requests(PATIENCE, "get_gateway_bot", 5).await?;
    for (n, pair) in asked.windows(2).enumerate() {
        let least = Duration::from_millis(500 << n);
        assert!(pair[1].at - pair[0].at >= least, "pause {n} is shorter than {least:?}");
    }
    world.server.wait_until_connected(PATIENCE).await?;
    world.ask(Incoming::private(ANN).text("/help")).await?;
    world.end(1)
}

/// Told with the seconds, however many; and a stop does not wait for the end of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_limit_on_what_a_connection_begins_with_is_told_and_waited_for() -> anyhow::Result<()> {
    const LIMIT: Duration = Duration::from_secs(3);
    let mut world = World::stopped_with("").await?;
    let told = [
        ("get_current_user", "waiting for Discord: Discord asks to wait 900 s"),
        ("get_gateway_bot", "the gateway fails: Discord asks to wait 900 s"),
    ];
    for (method, words) in told {
        world.server.fault(method, 1, Fault::rate_limited(Duration::from_secs(900), Scope::User));
        world.launch(&[])?;
        world.logs(words).await?;
        assert!(world.stop()? < Duration::from_secs(10));
        world.server.clear_faults();
    }
    for (method, _) in told {
        world.server.fault(method, 1, Fault::rate_limited(LIMIT, Scope::User));
    }
    world.start().await?;
    for (method, _) in told {
        let asked = world.server.requests(method);
        let [.., limited, taken] = asked.as_slice() else { panic!("{method}: {asked:#?}") };
        assert!(limited.status == Some(429) && taken.at - limited.at >= LIMIT, "{asked:#?}");
    }
    world.ask(Incoming::private(ANN).text("/help")).await?;
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_token_that_is_refused_while_the_bot_runs_ends_it_and_loses_nothing() -> anyhow::Result<()> {
    let mut world = World::running().await?;
    world.server.fault("create_message", 9, Fault::discord_error(401, 0, "401: Unauthorized"));
    let pushed = world.server.push(Incoming::private(ANN).text("/help"));
    assert_eq!(world.ended()?, Some(2), "{}", world.log());
    let log = world.log();
    assert!(log.contains("DISCORD_BOT_TOKEN") && log.contains("401"), "{log}");
    world.server.clear_faults();
    world.start().await?;
    world.answer(&pushed).await?;
    world.end(1)
}
