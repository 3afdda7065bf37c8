//! A group that becomes a supergroup has another id: its conversation, its rules, its files, what
//! waits for an answer and what waits for an approval go on there.

use super::approvals::{APPROVE, WRITE, always, asked, press};
use super::world::{ANN, PATIENCE, World};
use serde_json::json;
use support::home::Home;
use support::llm::{Dialect, LlmServer, Turn};
use support::telegram::{Hold, Incoming, Media, SentMessage, Target};

/// A basic group, and the supergroup that it becomes.
pub(super) const OLD: i64 = -4_001;
pub(super) const NEW: i64 = -1_002_000_000_001;

pub(super) fn old(text: &str) -> Incoming {
    Incoming::basic_group(OLD, ANN).text(text)
}

pub(super) fn new(text: &str) -> Incoming {
    Incoming::group(NEW, ANN).text(text)
}

/// What both groups say of it, from whomever.
pub(super) fn service_messages() -> [Incoming; 2] {
    let anonymous = json!({ "id": 1_087_968_824, "is_bot": true, "first_name": "Group" });
    [
        Incoming::basic_group(OLD, ANN).field("migrate_to_chat_id", NEW),
        Incoming::group(NEW, ANN).field("from", anonymous).field("migrate_from_chat_id", OLD),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_answer_that_was_under_way_arrives_once_in_the_new_group() -> anyhow::Result<()> {
    let world = World::running().await?;
    let gate = world.server.gate(Target::download_of("slow"), Hold::BeforeEffect);
    let slow = Incoming::basic_group(OLD, ANN).document(Media::with_content("slow", "x"));
    world.server.push(slow.caption("/attachment_save index=0 path=/tmp/a"));
    gate.reached().await?;
    world.server.push(old("/file_read path=/tmp/a"));
    world.server.migrate(OLD, NEW);
    world.server.push_all(service_messages());
    let behind = world.server.push(new("/file_read path=/tmp/a"));
    gate.release();
    world.answer(&behind).await?;
    let sent = world.server.sent_messages();
    assert!(sent.iter().all(|sent| sent.chat_id == NEW), "{sent:?}");
    // One conversation, in order, with one `/tmp`.
    assert!(sent[0].text.contains(r#""saved":true"#), "{}", sent[0].text);
    assert!(sent[1..].iter().all(|sent| sent.text.contains(r#""content":"x""#)), "{sent:?}");
    assert_eq!(sent[0].reply_to, None, "the old message is not there");
    world.end(3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_conversation_goes_on_through_restarts() -> anyhow::Result<()> {
    let llm = LlmServer::start().await?;
    llm.script(["Noted.", "Tiger.", "Still Tiger."].map(Turn::say));
    let mut world = World::running_in(|home| home.model(&llm, Dialect::Chat, "")).await?;
    world.ask(old("@cofferdam_test_bot my cat is called Tiger")).await?;
    world.server.migrate(OLD, NEW);
    for message in service_messages() {
        let pushed = world.server.push(message);
        world.server.wait_until_confirmed(PATIENCE, pushed.update_id).await?;
    }
    world.ask(new("@cofferdam_test_bot what is it called?")).await?;
    assert!(llm.requests()[1].text().contains("my cat is called Tiger"));
    world.stop()?;
    world.start()?;
    world.ask(new("@cofferdam_test_bot really?")).await?;
    assert!(llm.requests()[2].text().contains("my cat is called Tiger"), "a restart forgets nothing");
    world.end(3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_rules_of_the_group_go_on_and_the_move_is_learned_from_a_refusal() -> anyhow::Result<()> {
    let rules = format!("[channels.telegram.groups.\"{OLD}\"]\nprofiles = [\"file-read-only\"]\n");
    let mut world = World::running_in(|home: Home| home.telegram_more(&rules)).await?;
    let gate = world.server.gate(Target::download_of("slow"), Hold::BeforeEffect);
    let slow = Incoming::basic_group(OLD, ANN).document(Media::with_content("slow", "x")).caption("/help");
    world.server.push(slow);
    gate.reached().await?;
    world.server.migrate(OLD, NEW);
    gate.release();
    let help = world.server.wait_for_messages(PATIENCE, 1).await?.remove(0);
    assert_eq!(help.chat_id, NEW);
    let denied = world.ask(new("/file_write path=/shared/a content=x")).await?;
    assert!(denied.starts_with("tool_unavailable: "), "{denied}");
    world.stop()?;
    world.start()?;
    let denied = world.ask(new("/file_write path=/shared/a content=x")).await?;
    assert!(denied.starts_with("tool_unavailable: "), "{denied}");
    assert!(!world.home.host("/shared/a").exists());
    world.end(3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_approval_is_shown_again_where_it_can_be_pressed() -> anyhow::Result<()> {
    let world = World::running_in(|home| {
        let home = home.own_policies();
        let file = home.policies_dir().join("tools/file_write.toml");
        let text = std::fs::read_to_string(file).expect("there");
        home.policy("tools/file_write.toml", &(text + "\n[approval]\n\"*\" = \"always\"\n"))
    })
    .await?;
    world.server.push(old("/file_write path=/shared/a content=x"));
    let asked = |chat: i64| {
        move |sent: &SentMessage| sent.chat_id == chat && sent.message["reply_markup"].is_object()
    };
    let before = world.server.wait_for_message(PATIENCE, asked(OLD)).await?;
    world.server.migrate(OLD, NEW);
    world.server.push_all(service_messages());
    let after = world.server.wait_for_message(PATIENCE, asked(NEW)).await?;
    assert_eq!(after.text, before.text);
    let button = |sent: &SentMessage| {
        let data = &sent.message["reply_markup"]["inline_keyboard"][0][0]["callback_data"];
        data.as_str().expect("a button").to_owned()
    };
    assert_eq!(button(&after), button(&before), "one approval, wherever it is shown");
    world.server.push(Incoming::callback(ANN, &after.message, &button(&after)));
    let done = world.server.wait_for_message(PATIENCE, |sent| sent.text.starts_with('{')).await?;
    assert_eq!(done.chat_id, NEW);
    assert_eq!(std::fs::read(world.home.host("/shared/a"))?, b"x");
    let intents = world.home.audit().iter().filter(|record| record["event"] == "intent").count();
    assert_eq!(intents, 1);
    world.end(3)
}

/// An update tells of the move before the refusal of the message does.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_approval_that_was_on_its_way_when_its_group_moved_is_shown_there() -> anyhow::Result<()> {
    let world = World::running_in(always).await?;
    let gate = world.server.gate("sendMessage", Hold::BeforeEffect);
    world.server.push(old(WRITE));
    gate.reached().await?;
    world.server.migrate(OLD, NEW);
    for message in service_messages() {
        let pushed = world.server.push(message);
        world.server.wait_until_confirmed(PATIENCE, pushed.update_id).await?;
    }
    gate.release();
    let approval = asked(&world, 0).await?;
    assert_eq!(approval.chat_id, NEW);
    world.server.push(press(ANN, &approval, APPROVE));
    let done = world.server.wait_for_message(PATIENCE, |sent| sent.text.starts_with('{')).await?;
    assert_eq!(done.chat_id, NEW);
    assert_eq!(std::fs::read(world.home.host("/shared/a"))?, b"hello");
    world.end(2)
}
