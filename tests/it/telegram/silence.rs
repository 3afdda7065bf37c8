//! Silence never lasts: a sign of life from the beginning, whatever a turn waits for, and where
//! several things are done, how far they are.

use super::world::{ANN, BEN, CAT, GROUP, PATIENCE, World};
use serde_json::json;
use std::time::Duration;
use support::home::Home;
use support::llm::{Call, Dialect, Gate, LlmServer, Turn};
use support::telegram::{Fault, Hold, Incoming, Media, SentMessage, Target};

/// Telegram shows an action for so long.
const SHOWN: Duration = Duration::from_secs(5);

fn typing(topic: i64) -> Target {
    Target::method("sendChatAction").with("message_thread_id", topic)
}

fn typing_to(chat: i64) -> Target {
    Target::method("sendChatAction").with("chat_id", chat)
}

/// Part `n` of an album.
fn part(message: Incoming, n: usize) -> Incoming {
    let file = Media::with_content(&format!("f{n}"), "x").name(&format!("{n}.txt"));
    message.document(file).media_group("g")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_request_that_is_not_answered_does_not_keep_the_next_from_coming() -> anyhow::Result<()> {
    let world = World::running().await?;
    let gate = world.server.gate("getFile", Hold::BeforeEffect);
    world.server.fault("sendChatAction", 2, Fault::stall());
    world.server.push(Incoming::private(ANN).document(Media::with_content("d", "x")).caption("/help"));
    gate.reached().await?;
    let shown = world.server.wait_for_requests(PATIENCE, "sendChatAction", 3).await?;
    for pair in shown.windows(2) {
        assert!(pair[1].at - pair[0].at < SHOWN, "{pair:?}");
    }
    gate.release();
    world.texts(1).await?;
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn who_waits_for_a_place_sees_a_sign_of_life() -> anyhow::Result<()> {
    const TURNS_AT_ONCE_MAX: i64 = 8;
    let world = World::running().await?;
    let mut gates = Vec::new();
    for topic in 1..=TURNS_AT_ONCE_MAX {
        let gate = world.server.gate("getFile", Hold::BeforeEffect);
        let file = Media::with_content(&format!("d{topic}"), "x");
        world.server.push(Incoming::private(ANN).thread(topic).document(file).caption("/help"));
        gate.reached().await?;
        gates.push(gate);
    }
    world.server.push(Incoming::private(BEN).thread(9).text("/help"));
    world.server.wait_for_request(PATIENCE, typing(9)).await?;
    assert!(world.server.sent_messages().is_empty(), "nothing else can run");
    drop(gates);
    world.texts(9).await?;
    world.end(9)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn several_calls_tell_how_far_they_are() -> anyhow::Result<()> {
    let llm = LlmServer::start().await?;
    let write = |path: &str| Call::new("file_write", json!({ "path": path, "content": "x" }));
    let wait = Call::new("hostile", json!({ "behaviour": "report_until:step", "path": "/shared/go" }));
    llm.script([Turn::calls([write("/shared/a"), wait, write("/shared/b")]), Turn::say("All three.")]);
    let world = World::running_in(|home| {
        home.model(&llm, Dialect::Chat, "").hostile("memory = \"16 MiB\"\ndeadline = \"120s\"")
    })
    .await?;
    world.server.push(Incoming::private(ANN).text("go on"));
    let told = world.server.wait_for_message(PATIENCE, |sent| sent.text.contains(" 2 of 3: step ")).await?;
    assert!(told.text.starts_with("⏳ hostile 2 of 3: step "), "{told:?}");
    std::fs::write(world.home.host("/shared/go"), "")?;
    world.server.wait_for_message(PATIENCE, |sent| sent.text == "All three.").await?;
    assert_eq!(llm.violations(), [""; 0]);
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn several_files_tell_how_many_are_there() -> anyhow::Result<()> {
    let world = World::running().await?;
    let gate = world.server.gate(Target::download_of("f1"), Hold::BeforeEffect);
    world.server.push_all((0..3).map(|n| part(Incoming::private(ANN), n)));
    gate.reached().await?;
    let told = world.server.wait_for_message(PATIENCE, |sent| sent.text.starts_with("⏳ ")).await?;
    assert_eq!(told.text, "⏳ fetching 3 of 3");
    gate.release();
    let answer = world.server.wait_for_message(PATIENCE, |sent| !sent.text.starts_with("⏳ ")).await?;
    assert_eq!(answer.message_id, told.message_id);
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_album_shows_a_sign_of_life_while_it_arrives() -> anyhow::Result<()> {
    // A machine that rests for longer than a part may take closes an album early, which shows
    // nothing.
    for _ in 0..5 {
        if album_shows_a_sign().await? {
            return Ok(());
        }
    }
    panic!("the turn had begun before the sign was renewed, each time")
}

/// Whether it did before its turn began.
async fn album_shows_a_sign() -> anyhow::Result<bool> {
    let world = World::running().await?;
    world.server.push(part(Incoming::private(ANN), 0));
    world.server.wait_for_request(PATIENCE, typing_to(ANN)).await?;
    // Parts come until the sign is renewed: all that time the album is still open.
    let mut parts = 1;
    while world.server.wait_for_requests(Duration::from_millis(500), typing_to(ANN), 2).await.is_err() {
        world.server.push(part(Incoming::private(ANN), parts));
        parts += 1;
    }
    if !world.server.requests("getFile").is_empty() {
        return Ok(false);
    }
    world.server.push(part(Incoming::private(ANN), parts));
    let listing = world.texts(1).await?.remove(0);
    assert!(listing.starts_with(&format!("{} files came:", parts + 1)), "{listing}");
    world.end(1)?;
    Ok(true)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_album_that_people_send_each_other_shows_none() -> anyhow::Result<()> {
    let world = World::running().await?;
    let of = |n| part(Incoming::group(GROUP, ANN), n).thread(3);
    world.server.push_all([of(0), of(1).caption("look at these")]);
    // One that is for the bot, as its second part says, shows one before its turn begins.
    let gate = world.server.gate("getFile", Hold::BeforeEffect);
    let of = |n| part(Incoming::group(GROUP, ANN), n).thread(4);
    world.server.push_all([of(2), of(3).caption("/help")]);
    gate.reached().await?;
    let shown = world.server.requests("sendChatAction");
    assert!(
        !shown.is_empty() && shown.iter().all(|shown| shown.params["message_thread_id"] == 4),
        "{shown:?}"
    );
    gate.release();
    world.texts(1).await?;
    assert!(world.server.requests(typing(3)).is_empty());
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn who_waits_behind_a_turn_sees_its_sign_of_life() -> anyhow::Result<()> {
    let world = World::running().await?;
    let gate = world.server.gate("getFile", Hold::BeforeEffect);
    world.server.push(Incoming::private(ANN).document(Media::with_content("d", "x")).caption("/help"));
    gate.reached().await?;
    let waiting = world.server.push_all([
        Incoming::private(ANN).text("/help"),
        part(Incoming::private(ANN), 0),
        part(Incoming::private(ANN), 1),
    ]);
    world.server.wait_until_confirmed(PATIENCE, waiting[2].update_id).await?;
    let shown = world.server.requests(typing_to(ANN)).len();
    let shown = world.server.wait_for_requests(PATIENCE, typing_to(ANN), shown + 2).await?;
    for pair in shown.windows(2) {
        // One sign, not one for each that waits.
        let pause = pair[1].at - pair[0].at;
        assert!(pause > Duration::from_secs(3) && pause < SHOWN, "{pair:?}");
    }
    assert!(world.server.sent_messages().is_empty());
    gate.release();
    world.texts(3).await?;
    world.end(3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn while_a_person_is_asked_the_question_is_the_sign() -> anyhow::Result<()> {
    let always = |home: Home| {
        let home = home.own_policies();
        let file = home.policies_dir().join("tools/file_write.toml");
        let text = std::fs::read_to_string(file).expect("there");
        home.policy("tools/file_write.toml", &format!("{text}\n[approval]\n\"*\" = \"always\"\n"))
    };
    let world = World::running_in(always).await?;
    world.server.push(Incoming::private(ANN).text("/file_write path=/shared/a content=x"));
    let asks = |sent: &SentMessage| sent.message["reply_markup"].is_object();
    let asked = world.server.wait_for_message(PATIENCE, asks).await?;
    // What waits behind it shows none either; another chat's sign tells that time goes on.
    world.server.push(Incoming::private(ANN).text("/help"));
    let gate = world.server.gate("getFile", Hold::BeforeEffect);
    world.server.push(Incoming::private(CAT).document(Media::with_content("d", "x")).caption("/help"));
    gate.reached().await?;
    world.server.wait_for_request(PATIENCE, typing_to(CAT)).await?;
    let before = world.server.requests(typing_to(ANN)).len();
    world.server.wait_for_requests(PATIENCE, typing_to(CAT), 3).await?;
    assert_eq!(world.server.requests(typing_to(ANN)).len(), before, "somebody else is waited for");
    gate.release();
    let data = asked.message["reply_markup"]["inline_keyboard"][0][1]["callback_data"].as_str();
    world.server.push(Incoming::callback(ANN, &asked.message, data.expect("a button")));
    world.server.wait_for_messages(PATIENCE, 4).await?;
    world.end(4)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn files_that_steer_a_turn_tell_how_many_are_there() -> anyhow::Result<()> {
    let (llm, step) = (LlmServer::start().await?, Gate::new());
    let write = Call::new("file_write", json!({ "path": "/shared/a", "content": "x" }));
    llm.script([Turn::calls([write]).held_by(&step)]);
    let world = World::running_in(|home| home.model(&llm, Dialect::Chat, "")).await?;
    world.server.push(Incoming::private(ANN).text("go"));
    llm.wait_for_requests(PATIENCE, 1).await?;
    let album = [part(Incoming::private(ANN), 0).caption("/steer these"), part(Incoming::private(ANN), 1)];
    world.server.push_all(album);
    // Another one that came later is whole by the time that it is answered, so this one is.
    world.server.push(part(Incoming::private(BEN), 2).caption("/help"));
    world.server.wait_for_message(PATIENCE, |sent| sent.chat_id == BEN).await?;
    let gate = world.server.gate(Target::download_of("f1"), Hold::BeforeEffect);
    llm.script([Turn::say("Done.")]);
    step.open();
    gate.reached().await?;
    let told = world.server.wait_for_message(PATIENCE, |sent| sent.text.starts_with("⏳ ")).await?;
    assert_eq!((told.text.as_str(), told.chat_id), ("⏳ fetching 2 of 2", ANN));
    gate.release();
    let answer = world.server.wait_for_message(PATIENCE, |sent| sent.text == "Done.").await?;
    assert_eq!(answer.message_id, told.message_id);
    world.end(2)
}
