//! Who is served: people whom the configuration names by number, in private and in groups, and
//! nobody else.

use super::world::{ANN, EVE, GROUP, PATIENCE, World, save};
use serde_json::json;
use support::containing;
use support::home::Home;
use support::telegram::{Incoming, Media};

const SECRET: &str = "what-strangers-write-is-not-kept";

fn photo(message: Incoming) -> Incoming {
    message.photo(Media::with_content("evil", "a photo")).caption(&save(0, &format!("/shared/{SECRET}")))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_stranger_is_told_the_own_number_once_and_in_private_only() -> anyhow::Result<()> {
    let mut world = World::running().await?;
    world.server.push(photo(Incoming::group(GROUP, EVE)));
    let said = world.ask(photo(Incoming::private(EVE))).await?;
    assert!(said.contains("6660000000") && said.ends_with("\nallowed_users = [6660000000]"), "{said}");
    for again in [photo(Incoming::private(EVE)), Incoming::private(EVE).text(&format!("/help {SECRET}"))] {
        world.server.push(again);
    }
    world.server.push(Incoming::group(GROUP, EVE).text("/help@cofferdam_test_bot"));
    // A name is not a number, whatever it spells.
    world.server.push(Incoming::private(EVE).username("user_5000000001").text("/help"));
    world.server.push(Incoming::private(EVE).username("5000000001").text("/help"));
    world.ask(Incoming::private(ANN).text("hello")).await?;
    world.stop()?;
    world.start()?;
    let last = world.server.push(Incoming::private(EVE).text("/help"));
    world.ask(Incoming::private(ANN).text("hello")).await?;
    world.server.wait_until_confirmed(PATIENCE, last.update_id).await?;
    for nothing in ["getFile", "sendChatAction"] {
        let of_eve = |request: &support::telegram::RequestRecord| request.params["chat_id"] == EVE;
        let requests = world.server.requests(nothing);
        assert!(!requests.iter().any(|r| nothing == "getFile" || of_eve(r)), "{requests:?}");
    }
    assert_eq!(containing(world.home.dir(), SECRET.as_bytes()), Vec::<std::path::PathBuf>::new());
    assert!(world.home.audit().is_empty());
    world.end(3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn in_a_group_named_people_are_served_and_strangers_meet_silence() -> anyhow::Result<()> {
    let world = World::running().await?;
    let before = world.server.push(photo(Incoming::group(GROUP, EVE)));
    let file = world.server.push(Incoming::group(GROUP, ANN).document(Media::with_content("d", "Ann's")));
    world.server.push(Incoming::group(GROUP, EVE).text(&save(0, "/shared/eve")).reply_to(&file.message));
    let said =
        world.ask(Incoming::group(GROUP, ANN).text(&save(0, "/shared/ann")).reply_to(&file.message)).await?;
    assert!(said.contains(r#""saved":true"#), "{said}");
    // What a stranger sent may be saved by somebody who may.
    let said =
        world.ask(Incoming::group(GROUP, ANN).text(&save(0, "/shared/b")).reply_to(&before.message)).await?;
    assert!(said.contains(r#""saved":true"#), "{said}");
    assert!(world.server.sent_messages().iter().all(|sent| sent.chat_id == GROUP));
    assert!(world.home.audit().iter().all(|record| record["sender"] == "5000000001"));
    assert!(!world.home.host("/shared/eve").exists());
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn bots_channels_and_those_who_speak_for_a_chat_are_ignored() -> anyhow::Result<()> {
    let world = World::running().await?;
    let private = || Incoming::private(ANN).text("/help");
    let group = || Incoming::group(GROUP, ANN).text("/help");
    world.server.push_all([
        private().from_bot(),
        private().without("from"),
        private().without("chat"),
        private().field("from", json!({ "id": "5000000001", "is_bot": false })),
        private().field("chat", json!({ "id": ANN, "type": "sender" })),
        group().from_bot(),
        group().without("from"),
        group().field("sender_chat", json!({ "id": GROUP, "type": "supergroup" })),
        Incoming::callback(
            ANN,
            &json!({ "message_id": 1, "chat": { "id": ANN, "type": "private" } }),
            "/help",
        ),
    ]);
    let post =
        json!({ "message_id": 1, "chat": { "id": -9, "type": "channel" }, "text": "/help", "date": 1 });
    let member = json!({ "chat": { "id": ANN, "type": "private" }, "from": { "id": ANN, "is_bot": false } });
    let business = json!({ "message_id": 2, "chat": { "id": ANN, "type": "private" }, "text": "/help",
        "from": { "id": ANN, "is_bot": false } });
    world.server.push_raw(json!({ "channel_post": post }));
    world.server.push_raw(json!({ "my_chat_member": member }));
    world.server.push_raw(json!({ "business_message": business }));
    world.server.push_raw(json!({ "never_heard_of": { "x": [] } }));
    world.server.push_raw(json!({ "message": "text" }));
    world.server.push_raw(json!({}));
    world.ask(Incoming::private(ANN).text("hello")).await?;
    world.ask(Incoming::group(GROUP, ANN).text("/nope")).await?;
    assert!(world.server.unconfirmed_updates().len() <= 1, "all are confirmed");
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_crowd_of_strangers_is_not_answered_one_by_one() -> anyhow::Result<()> {
    const TOLD_PER_HOUR_MAX: usize = 20;
    let world = World::running().await?;
    world.server.push_all((0..30).map(|n| Incoming::private(EVE + n).text("/start")));
    let told = world.server.wait_for_messages(PATIENCE, TOLD_PER_HOUR_MAX).await?;
    world.ask(Incoming::private(ANN).text("hello")).await?;
    let mut chats: Vec<_> = told.iter().map(|sent| sent.chat_id).collect();
    chats.sort_unstable();
    assert_eq!(chats, (EVE..EVE + 20).collect::<Vec<_>>());
    world.end(TOLD_PER_HOUR_MAX + 1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn who_is_no_longer_named_is_not_answered() -> anyhow::Result<()> {
    let mut world = World::running().await?;
    let gate = world.server.gate("getFile", support::telegram::Hold::BeforeEffect);
    world.server.push(photo(Incoming::private(ANN)));
    world.server.push(Incoming::private(ANN).text("/help"));
    world.kill_at(gate).await?;
    let api_url = world.server.api_url();
    world.refit(|home: Home| home.telegram(&api_url, &[EVE]));
    world.start()?;
    // It is served now, and nobody is told again what was told before.
    world.ask(Incoming::private(EVE).text("hello")).await?;
    let told = world.ask(Incoming::private(ANN).text("hello")).await?;
    assert!(told.contains("Your Telegram user id is 5000000001"), "{told}");
    assert!(world.home.audit().is_empty());
    world.end(2)
}
