//! Sending that fails: what can heal is tried until it is sent, in order; what cannot is recorded,
//! and the next turn goes on.

use super::world::{ANN, BEN, GROUP, PATIENCE, World};
use std::time::Duration;
use support::telegram::{Fault, Incoming, Target};

fn to(chat: i64) -> Target {
    Target::method("sendMessage").with("chat_id", chat)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_heals_is_sent_once_and_in_order() -> anyhow::Result<()> {
    let world = World::running().await?;
    // With each, how often the message arrives: one that went out and was not acknowledged is sent
    // again.
    let faults = [
        (Fault::internal_error(), 1),
        (Fault::bad_gateway(), 1),
        (Fault::close(), 1),
        (Fault::close().after_effect(), 2),
        (Fault::close_in_head(), 2),
        (Fault::truncated(20), 2),
        (Fault::garbage(), 1),
        (Fault::empty_body(), 1),
        (Fault::conflict(), 1),
        (Fault::status(404, "text/html", "<html>"), 1),
        (Fault::refused_with_200(500, "Internal Server Error"), 1),
        (Fault::too_many_requests(1), 1),
    ];
    // All at once, in topics of their own.
    let mut asked = Vec::new();
    for (topic, (fault, arrives)) in (1..).zip(faults) {
        world.server.fault(to(ANN).with("message_thread_id", topic), 1, fault);
        let message = |text: &str| Incoming::private(ANN).thread(topic).text(text);
        let pushed = ["one", "two"].map(|text| world.server.push(message(text)));
        asked.push((topic, arrives, pushed));
    }
    for (topic, arrives, [first, second]) in &asked {
        world.answer(second).await?;
        let sent = world.server.sent_messages().into_iter().filter(|sent| sent.thread_id == Some(*topic));
        let order: Vec<_> = sent.filter_map(|sent| sent.reply_to).collect();
        let expected = [vec![first.message_id; *arrives], vec![second.message_id]].concat();
        assert_eq!(order, expected, "in topic {topic}");
    }
    let count = asked.iter().map(|(_, arrives, _)| arrives + 1).sum();
    world.end(count)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_pause_that_telegram_asks_for_is_kept_and_holds_no_other_chat() -> anyhow::Result<()> {
    let world = World::running().await?;
    world.server.fault(to(ANN), 1, Fault::too_many_requests(2));
    let question = world.server.push(Incoming::private(ANN).text("hello"));
    world.server.wait_for_request(PATIENCE, to(ANN)).await?;
    world.ask(Incoming::private(BEN).text("hello")).await?;
    assert_eq!(world.server.sent_messages()[0].chat_id, BEN);
    world.answer(&question).await?;
    let asked = world.server.requests(to(ANN));
    assert_eq!(asked.len(), 2);
    assert!(asked[1].at - asked[0].at >= Duration::from_secs(2));
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn who_blocked_the_bot_is_not_asked_again_and_the_next_turn_goes_on() -> anyhow::Result<()> {
    let world = World::running().await?;
    for fault in [
        Fault::blocked_by_user(),
        Fault::api_error(400, "Bad Request: chat not found"),
        Fault::api_error(403, "Forbidden: user is deactivated"),
        Fault::api_error(400, "Bad Request: have no rights to send a message"),
    ] {
        let before = world.server.requests(to(ANN)).len();
        world.server.fault(to(ANN), 1, fault);
        let unheard = world.server.push(Incoming::private(ANN).text("one"));
        let next = world.server.push(Incoming::private(ANN).text("two"));
        world.answer(&next).await?;
        assert_eq!(world.server.requests(to(ANN)).len(), before + 2, "one attempt each");
        assert!(world.server.sent_messages().iter().all(|sent| sent.reply_to != Some(unheard.message_id)));
    }
    world.logs_times("ROUTING_ERROR", 4).await?;
    assert_eq!(world.log().matches("ROUTING_ERROR").count(), 4);
    world.end(4)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_group_that_moved_and_a_topic_that_is_gone_are_answered_all_the_same() -> anyhow::Result<()> {
    const MOVED: i64 = GROUP - 1;
    let world = World::running().await?;
    world.server.open_chat(MOVED);
    world.server.fault(to(GROUP), 1, Fault::migrated_to(MOVED));
    world.server.push(Incoming::group(GROUP, ANN).thread(3).text("/help"));
    let sent = world.server.wait_for_messages(PATIENCE, 1).await?.remove(0);
    assert_eq!((sent.chat_id, sent.thread_id, sent.reply_to), (MOVED, None, None));
    let refusals = ["message thread not found", "TOPIC_CLOSED", "TOPIC_DELETED"];
    for words in refusals {
        let gone = to(GROUP).with("message_thread_id", 44);
        world.server.fault(gone, 1, Fault::api_error(400, &format!("Bad Request: {words}")));
        let question = world.server.push(Incoming::group(GROUP, ANN).thread(44).text("/help"));
        assert_eq!(world.answer(&question).await?.thread_id, None, "{words}");
    }
    world.end(1 + refusals.len())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn neither_the_menu_nor_the_sign_of_life_matters() -> anyhow::Result<()> {
    let mut world = World::stopped(|home| home).await?;
    world.server.fault("setMyCommands", 1, Fault::internal_error());
    for fault in [Fault::too_many_requests(60), Fault::close(), Fault::blocked_by_user(), Fault::garbage()] {
        world.server.fault("sendChatAction", 1, fault);
    }
    world.start()?;
    for n in 0..4 {
        world.ask(Incoming::private(ANN).text(&format!("hello {n}"))).await?;
    }
    world.server.wait_for_request(PATIENCE, "setMyCommands").await?;
    world.stop()?;
    world.start()?;
    world.server.wait_for_requests(PATIENCE, "setMyCommands", 2).await?;
    world.ask(Incoming::private(ANN).text("hello")).await?;
    let menu = world.server.commands().to_string();
    assert!(["help", "attachment_save", "file_read"].iter().all(|name| menu.contains(name)), "{menu}");
    world.end(5)
}
