//! The gateway's life: sessions resumed, lost and caught up with; each message one turn, whatever
//! is repeated.

use super::world::{ANN, PATIENCE, TOWN, World};
use crate::telegram::metrics::{get, told_in, watched};
use serde_json::json;
use std::time::Duration;
use support::discord::{
    Closed, DiscordServer, Fault, GatewayConnection, Hold, Incoming, Refusal, SentMessage,
};

/// A connection after so many others, which has a session.
async fn connection(world: &World, number: usize) -> anyhow::Result<GatewayConnection> {
    let up = |connection: &GatewayConnection| connection.number == number && connection.established;
    let found = world.server.wait_for_connection(PATIENCE, up).await;
    found.map_err(|error| anyhow::anyhow!("{error}\n{}", world.tail()))
}

/// How a connection ended.
async fn ended(world: &World, number: usize) -> anyhow::Result<Closed> {
    let over = |connection: &GatewayConnection| connection.number == number && connection.closed.is_some();
    let found = world.server.wait_for_connection(PATIENCE, over).await?;
    Ok(found.closed.expect("it ended"))
}

async fn help(world: &World) -> anyhow::Result<()> {
    world.ask(Incoming::private(ANN).text("/help")).await.map(|_| ())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_broken_connection_is_resumed_with_what_came_meanwhile() -> anyhow::Result<()> {
    let world = World::running().await?;
    help(&world).await?;
    for (number, breaks) in [(1, 0), (2, 4000), (3, 4001), (4, 4002), (5, 4003), (6, 4005), (7, 4008)] {
        match breaks {
            0 => world.server.break_gateway(),
            code => world.server.close_gateway(code),
        }
        help(&world).await?;
        let resumed = connection(&world, number).await?.resume.expect("it resumed");
        assert!(resumed["seq"].as_i64() > Some(0), "{resumed}");
    }
    world.server.request_reconnect();
    help(&world).await?;
    assert!(connection(&world, 8).await?.resume.is_some());
    match ended(&world, 7).await? {
        Closed::ByClient(Some(code)) => assert!(![1000, 1001].contains(&code), "the session would end"),
        other => panic!("{other:?}"),
    }
    world.end(9)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_session_that_is_over_is_followed_by_another_and_nothing_is_lost() -> anyhow::Result<()> {
    let world = World::running().await?;
    world.server.open_channel(TOWN);
    help(&world).await?;
    let before = world.server.push(Incoming::guild(TOWN, ANN).mention_bot().text("/help"));
    world.answer(&before).await?;
    for (number, code) in [(1, 4007), (2, 4009)] {
        world.server.close_gateway(code);
        assert!(connection(&world, number).await?.identify.is_some(), "{code}");
    }
    // Of these no event tells.
    let private = world.server.push(Incoming::private(ANN).text("/help").untold());
    let mentioned = world.server.push(Incoming::guild(TOWN, ANN).mention_bot().text("/help").untold());
    world.server.push(Incoming::guild(TOWN, ANN).text("/help").untold());
    world.server.invalidate_sessions(false);
    assert!(connection(&world, 3).await?.identify.is_some());
    for missed in [&private, &mentioned] {
        world.answer(missed).await?;
    }
    // What was missed may be found for the session before; this shows that the last one is known.
    help(&world).await?;
    world.server.invalidate_sessions(true);
    assert!(connection(&world, 4).await?.resume.is_some());
    help(&world).await?;
    world.end(6)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_restart_resumes_and_a_lost_session_is_caught_up_with() -> anyhow::Result<()> {
    let mut world = World::running().await?;
    help(&world).await?;
    world.stop()?;
    let missed = world.server.push(Incoming::private(ANN).text("/help"));
    world.start().await?;
    world.answer(&missed).await?;
    assert!(connection(&world, 1).await?.resume.is_some(), "the session was kept over the stop");
    world.kill();
    world.server.forget_sessions();
    let lost = world.server.push(Incoming::private(ANN).text("/help").untold());
    let old = Incoming::private(ANN).text("/help").ago(Duration::from_secs(25 * 60 * 60)).untold();
    world.server.push(old);
    world.launch(&[])?;
    world.answer(&lost).await?;
    help(&world).await?;
    world.end(4)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_killed_gateway_asks_again_for_all_that_it_had_begun_to_ask_for() -> anyhow::Result<()> {
    let mut world = World::running().await?;
    world.server.open_channel(TOWN);
    help(&world).await?;
    let before = world.server.push(Incoming::guild(TOWN, ANN).mention_bot().text("/help"));
    world.answer(&before).await?;
    let gate = world.server.gate("get_messages", Hold::BeforeEffect);
    let private = world.server.push(Incoming::private(ANN).text("/help").untold());
    let mentioned = world.server.push(Incoming::guild(TOWN, ANN).mention_bot().text("/help").untold());
    world.server.invalidate_sessions(false);
    gate.reached().await?;
    world.kill();
    gate.release();
    world.launch(&[])?;
    for missed in [&private, &mentioned] {
        world.answer(missed).await?;
    }
    assert!(connection(&world, 2).await?.resume.is_some(), "the session that had begun goes on");
    world.end(4)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_was_missed_is_answered_though_the_machines_clock_is_days_ahead() -> anyhow::Result<()> {
    let mut world = World::stopped_with("").await?;
    world.server.set_back(Duration::from_secs(3 * 24 * 60 * 60));
    world.start().await?;
    help(&world).await?;
    let missed = world.server.push(Incoming::private(ANN).text("/help").untold());
    world.server.invalidate_sessions(false);
    assert!(connection(&world, 1).await?.identify.is_some());
    world.answer(&missed).await?;
    world.end(2)
}

/// Events need not come in the order of their messages.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_message_before_the_last_known_one_is_answered_though_its_session_was_lost() -> anyhow::Result<()> {
    let world = World::running().await?;
    help(&world).await?;
    let early = world.server.push(Incoming::private(ANN).text("/help").untold());
    help(&world).await?;
    world.server.invalidate_sessions(false);
    assert!(connection(&world, 1).await?.identify.is_some());
    world.answer(&early).await?;
    world.end(3)
}

/// It is asked for again.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn nothing_that_was_missed_is_lost_by_an_answer_that_cannot_be_read() -> anyhow::Result<()> {
    let world = World::running().await?;
    help(&world).await?;
    for (number, fault) in [(1, Fault::garbage()), (2, Fault::empty_body())] {
        world.server.fault("get_messages", 1, fault);
        let missed = world.server.push(Incoming::private(ANN).text("/help").untold());
        world.server.invalidate_sessions(false);
        assert!(connection(&world, number).await?.identify.is_some());
        world.answer(&missed).await?;
    }
    world.end(3)
}

/// What comes from there later does not stand for it, and the operator is told once.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_was_missed_where_the_bot_may_not_read_is_answered_once_it_may() -> anyhow::Result<()> {
    let world = World::running().await?;
    world.server.open_channel(TOWN);
    let asks = || Incoming::guild(TOWN, ANN).mention_bot().text("/help");
    let before = world.server.push(asks().ago(Duration::from_secs(600)));
    world.answer(&before).await?;
    world.server.refuse(TOWN, Some(Refusal::MissingAccess));
    // By more than what is asked for again in any case.
    let missed = world.server.push(asks().ago(Duration::from_secs(300)).untold());
    world.server.invalidate_sessions(false);
    world.logs("what was said in a place meanwhile cannot be read").await?;
    world.server.invalidate_sessions(false);
    world.logs("a place still cannot be asked").await?;
    world.server.refuse(TOWN, None);
    for _ in 0..2 {
        let later = world.server.push(asks());
        world.answer(&later).await?;
    }
    world.server.invalidate_sessions(false);
    world.answer(&missed).await?;
    assert_eq!(world.log().matches("what was said in a place meanwhile cannot be read").count(), 1);
    world.end(4)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_was_missed_is_answered_before_what_is_said_now() -> anyhow::Result<()> {
    missed_first(false).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_was_missed_is_answered_before_what_a_resumed_session_brings() -> anyhow::Result<()> {
    missed_first(true).await
}

/// Says something after a lost session while its place is asked for what was missed; or says it
/// while the next session is broken, and is resumed.
async fn missed_first(is_resumed: bool) -> anyhow::Result<()> {
    let world = World::running().await?;
    help(&world).await?;
    let gate = world.server.gate("get_messages", Hold::BeforeEffect);
    let missed = world.server.push(Incoming::private(ANN).text("/help").untold());
    world.server.invalidate_sessions(false);
    gate.reached().await?;
    if is_resumed {
        world.server.break_gateway();
        ended(&world, 1).await?;
    }
    let now = world.server.push(Incoming::private(ANN).text("/help"));
    if is_resumed {
        assert!(connection(&world, 2).await?.resume.is_some());
    }
    let answers = |sent: &SentMessage| sent.reply_to == Some(now.message_id);
    let early = world.server.wait_for_message(Duration::from_millis(500), answers).await;
    gate.release();
    assert!(early.is_err(), "{early:?}");
    world.answer(&missed).await?;
    world.answer(&now).await?;
    let order: Vec<_> = world.server.sent_messages().iter().skip(1).map(|sent| sent.reply_to).collect();
    assert_eq!(order, [Some(missed.message_id), Some(now.message_id)]);
    world.end(3)
}

/// Presses wait behind it.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_is_said_now_does_not_wait_long_for_what_was_missed() -> anyhow::Result<()> {
    let world = World::running().await?;
    help(&world).await?;
    let gate = world.server.gate("get_messages", Hold::BeforeEffect);
    world.server.invalidate_sessions(false);
    gate.reached().await?;
    help(&world).await?;
    gate.release();
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn each_message_is_one_turn_however_often_and_late_it_comes() -> anyhow::Result<()> {
    let world = World::running().await?;
    let first = world.server.push(Incoming::private(ANN).text("/help"));
    let second = world.server.push(Incoming::private(ANN).text("/help"));
    for _ in 0..3 {
        world.server.redeliver(&first)?;
    }
    world.answer(&first).await?;
    world.answer(&second).await?;
    world.server.redeliver(&second)?;
    world.server.redeliver(&first)?;
    // One with a smaller number that comes late.
    let late = Incoming::private(ANN).text("/help").ago(Duration::from_secs(60));
    let late = world.server.push(late);
    world.answer(&late).await?;
    help(&world).await?;
    world.end(4)
}

/// Events need not come in the order of what they tell.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_message_whose_deletion_comes_first_is_not_run() -> anyhow::Result<()> {
    let world = World::running().await?;
    let writes = Incoming::private(ANN).text("/file_write path=/shared/gone content=x");
    let gone = world.server.push(writes.untold());
    let (id, channel) = (gone.message_id.to_string(), gone.channel_id.to_string());
    world.server.push_event("MESSAGE_DELETE", &json!({ "id": id, "channel_id": channel }));
    world.server.redeliver(&gone)?;
    help(&world).await?;
    assert!(!world.home.host("/shared/gone").exists(), "it was deleted before its turn");
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn heartbeats_are_answered_asked_for_and_missed() -> anyhow::Result<()> {
    let mut world = World::stopped_with("").await?;
    world.server.set_heartbeat_interval(Duration::from_millis(300));
    world.start().await?;
    help(&world).await?;
    let beats = |count: usize| move |connection: &GatewayConnection| connection.heartbeats.len() >= count;
    let seen = world.server.wait_for_connection(PATIENCE, beats(3)).await?;
    assert!(seen.heartbeats.iter().any(|beat| beat.seq > Some(0)), "{:?}", seen.heartbeats);
    let count = world.server.connections()[0].heartbeats.len();
    world.server.request_heartbeat();
    world.server.wait_for_connection(PATIENCE, beats(count + 1)).await?;
    world.server.withhold_acks(true);
    match ended(&world, 0).await? {
        Closed::ByClient(Some(code)) => assert!(![1000, 1001].contains(&code), "the session would end"),
        other => panic!("{other:?}"),
    }
    world.server.withhold_acks(false);
    help(&world).await?;
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_cannot_be_read_is_passed_over() -> anyhow::Result<()> {
    let world = World::running().await?;
    world.server.send_text("not even JSON");
    world.server.send_payload(&json!({ "op": 77, "d": { "a": [1] } }));
    world.server.push_event("SOMETHING_NEW", &json!({ "id": 5 }));
    world.server.push_event("MESSAGE_CREATE", &json!({ "id": "no number" }));
    world.server.push_event("MESSAGE_CREATE", &json!("no object"));
    world.server.push_event("INTERACTION_CREATE", &json!({ "type": 9 }));
    world.server.push_event("MESSAGE_DELETE", &json!([]));
    world.server.push(Incoming::private(ANN).text("/help").without("author"));
    world.server.push(Incoming::private(ANN).text("/help").kind(7));
    help(&world).await?;
    world.logs("unknown shape").await?;
    assert_eq!(world.server.connections().len(), 1);
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_address_that_is_unusable_or_dead_is_replaced_by_the_first_one() -> anyhow::Result<()> {
    let mut world = World::stopped_with("").await?;
    // Nobody listens there; the others are not taken.
    world.server.set_resume_url(Some("ws://127.0.0.1:9"));
    world.start().await?;
    help(&world).await?;
    world.server.break_gateway();
    help(&world).await?;
    let resumed = connection(&world, 1).await?;
    assert!(resumed.resume.is_some() && !resumed.host.ends_with(":9"), "{resumed:?}");
    for (number, url) in [
        (2, Some("wss://gateway.evil.example")),
        (4, Some("ws://10.0.0.1:5")),
        (6, Some("no address")),
        (8, None),
    ] {
        world.server.set_resume_url(url);
        world.server.invalidate_sessions(false);
        assert!(connection(&world, number).await?.identify.is_some());
        world.server.break_gateway();
        assert!(connection(&world, number + 1).await?.resume.is_some(), "{url:?}");
    }
    help(&world).await?;
    world.end(3)
}

/// It takes connections, and breaks them before the session goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_address_where_no_session_goes_on_is_replaced_by_the_first_one() -> anyhow::Result<()> {
    let mut world = World::stopped_with("").await?;
    let broken = DiscordServer::start().await?;
    broken.withhold_hello(true);
    world.server.set_resume_url(Some(&broken.gateway_url()));
    world.start().await?;
    help(&world).await?;
    world.server.break_gateway();
    broken.wait_for_connection(PATIENCE, |one| one.number == 0).await?;
    broken.break_gateway();
    help(&world).await?;
    assert!(connection(&world, 1).await?.resume.is_some());
    assert_eq!(broken.connections().len(), 1);
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn no_session_is_begun_before_it_may_be() -> anyhow::Result<()> {
    let mut world = World::stopped_with("").await?;
    world.server.set_start_limit(0, Duration::from_secs(2));
    world.launch(&[])?;
    world.server.wait_for_request(PATIENCE, "get_gateway_bot").await?;
    world.logs("no session can be begun").await?;
    assert!(world.server.connections().is_empty());
    world.server.set_start_limit(5, Duration::from_secs(60));
    world.server.wait_until_connected(PATIENCE).await?;
    assert!(world.server.requests("get_gateway_bot").len() >= 2, "it asked again");
    help(&world).await?;
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_server_that_fails_is_waited_for_also_at_the_start() -> anyhow::Result<()> {
    let mut world = World::stopped_with("").await?;
    world.server.fault("get_current_user", 2, Fault::server_error(502));
    world.server.fault("get_gateway_bot", 2, Fault::server_error(503));
    world.launch(&[])?;
    world.server.wait_until_connected(PATIENCE).await?;
    help(&world).await?;
    world.end(1)
}

/// As long as none is begun, its silence counts.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_gateway_that_says_hello_and_begins_no_session_is_not_heard() -> anyhow::Result<()> {
    let mut world = World::stopped_in(watched, "").await?;
    const UNKNOWN_ERROR: u16 = 4000;
    (0..3).for_each(|_| world.server.refuse_identify(UNKNOWN_ERROR));
    world.launch(&[])?;
    let refused = |one: &GatewayConnection| one.number == 1 && one.closed.is_some();
    world.server.wait_for_connection(PATIENCE, refused).await?;
    world.server.fault("gateway", usize::MAX, Fault::server_error(503));
    world.logs("/metrics and /healthz answer").await?;
    let address = told_in(&world.log())?;
    let is_heard = || anyhow::Ok(get(address, "/metrics")?.1.contains("last_poll_age_seconds"));
    assert!(!is_heard()?);
    world.server.clear_faults();
    world.server.wait_until_connected(PATIENCE).await?;
    help(&world).await?;
    assert!(is_heard()?);
    world.end(1)
}

/// The token goes to no other server: what `GET /gateway/bot` names is held against where Discord
/// is.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_gateway_of_somebody_else_is_not_connected_to() -> anyhow::Result<()> {
    let mut world = World::stopped_with("").await?;
    let own = world.server.api_url().replace("http://", "ws://").replace("/api/v10", "");
    for (n, url) in
        ["ws://10.0.0.1:5", "wss://gateway.evil.example", "wss://discord.gg.evil.example", "x", ""]
            .iter()
            .enumerate()
    {
        world.server.set_gateway_url(url);
        if n == 0 {
            world.launch(&[])?;
        }
        world.server.wait_for_requests(PATIENCE, "get_gateway_bot", n + 1).await?;
    }
    world.logs("GET /gateway/bot tells no address of Discord's").await?;
    assert!(world.server.connections().is_empty());
    world.server.set_gateway_url(&own);
    world.server.wait_until_connected(PATIENCE).await?;
    help(&world).await?;
    world.end(1)
}
