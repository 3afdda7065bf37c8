//! Flood limits: messages go out no faster than Telegram takes them, and what it holds back all the
//! same is sent later, once and in order.

use super::world::{ANN, GROUP, PATIENCE, World};
use std::time::Duration;
use support::home::Home;
use support::telegram::{Fault, FloodLimits, Incoming, Target};

/// Requests that Telegram has refused as too many.
fn refused(world: &World) -> usize {
    world.server.journal().iter().filter(|request| request.status == Some(429)).count()
}

/// A file whose reading makes so many messages.
fn long(world: &World, messages: usize) -> anyhow::Result<()> {
    std::fs::create_dir_all(world.home.host("/shared"))?;
    let lines = (0..messages * 40).map(|n| format!("line {n:05} {}", "x".repeat(86)));
    Ok(std::fs::write(world.home.host("/shared/a"), lines.collect::<Vec<_>>().join("\n"))?)
}

/// The whole answer, put together in the order of its messages.
async fn whole(world: &World) -> anyhow::Result<(String, usize)> {
    world.server.wait_for_message(PATIENCE, |sent| sent.text.ends_with('}')).await?;
    let sent = world.server.sent_messages();
    Ok((sent.iter().map(|part| part.text.as_str()).collect(), sent.len()))
}

fn is_complete(whole: &str, messages: usize) {
    let value: serde_json::Value = serde_json::from_str(whole).expect("nothing is lost or doubled");
    assert_eq!(value["content"].as_str().expect("text").lines().count(), messages * 40);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_long_answer_is_paced_so_that_telegram_has_nothing_to_say() -> anyhow::Result<()> {
    let world = World::running_in(Home::paced).await?;
    world.server.limit_floods(FloodLimits::telegram());
    long(&world, 8)?;
    world.server.push(Incoming::private(ANN).text("/file_read path=/shared/a"));
    let (said, count) = whole(&world).await?;
    is_complete(&said, 8);
    assert!(count >= 8, "{count} messages are more than a burst");
    assert_eq!(refused(&world), 0);
    world.end(count)
}

/// Each begins with a sign of life, which is no message and makes none forgotten.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn many_answers_in_one_chat_are_paced_like_the_parts_of_one() -> anyhow::Result<()> {
    const MANY: usize = 9;
    let world = World::running_in(Home::paced).await?;
    world.server.limit_floods(FloodLimits::telegram());
    for _ in 0..MANY {
        world.server.push(Incoming::private(ANN).text("/help"));
    }
    world.server.wait_for_messages(PATIENCE, MANY).await?;
    assert_eq!(refused(&world), 0);
    assert!(world.server.journal().iter().any(|request| request.method == "sendChatAction"));
    world.end(MANY)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_telegram_holds_back_comes_later_once_and_in_order() -> anyhow::Result<()> {
    let world = World::running().await?;
    let one = (2, Duration::from_secs(1));
    world.server.limit_floods(FloodLimits { chat: one, group: one, all: (30, Duration::from_secs(1)) });
    long(&world, 6)?;
    world.server.push(Incoming::group(GROUP, ANN).text("/file_read path=/shared/a"));
    let (said, count) = whole(&world).await?;
    is_complete(&said, 6);
    assert!(refused(&world) > 0, "nothing was too fast");
    assert!(!world.log().contains("ROUTING_ERROR"));
    world.end(count)
}

/// A pause that one chat's flood costs is a pause of everything in that chat, and of nothing
/// elsewhere.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_pause_holds_whatever_goes_to_that_chat() -> anyhow::Result<()> {
    let world = World::running_in(Home::paced).await?;
    let to = |topic: i64| Target::method("sendMessage").with("message_thread_id", topic);
    world.server.fault(to(1), 1, Fault::too_many_requests(2));
    let topic = |topic: i64| Incoming::group(GROUP, ANN).thread(topic).text("/help");
    let held = world.server.push(topic(1));
    world.server.wait_for_request(PATIENCE, to(1)).await?;
    world.server.wait_until_idle(PATIENCE, "sendMessage").await?;
    let behind = world.server.push(topic(2));
    world.ask(Incoming::private(ANN).text("/help")).await?;
    world.answer(&behind).await?;
    world.answer(&held).await?;
    let first = world.server.requests(to(1)).remove(0);
    for later in [world.server.requests(to(1)).remove(1), world.server.requests(to(2)).remove(0)] {
        assert!(later.at - first.at >= Duration::from_secs(2), "{later:?}");
    }
    world.end(3)
}
