//! Approvals as people live through them: a message with two buttons, one decision by somebody who
//! may, and exactly what was shown is done, once, through restarts.

mod busy;
mod renewed;
mod shown;

use super::world::{ANN, BEN, EVE, GROUP, PATIENCE, World};
use serde_json::{Value, json};
use std::time::Duration;
use support::home::Home;
use support::telegram::{Fault, Hold, Incoming, RequestRecord, SentMessage, Target};

/// The default policies with these lines in `[approval]` of a tool.
pub(super) fn asking(home: Home, tool: &str, rules: &str) -> Home {
    let home = home.own_policies();
    let name = format!("tools/{tool}.toml");
    let text = std::fs::read_to_string(home.policies_dir().join(&name)).expect("there");
    home.policy(&name, &format!("{text}\n[approval]\n{rules}\n"))
}

/// `file_write` asks each time.
pub(super) fn always(home: Home) -> Home {
    asking(home, "file_write", "\"*\" = \"always\"")
}

pub(super) const WRITE: &str = "/file_write path=/shared/a content=hello";

/// The approval that waits, the `n`th from 0.
pub(super) async fn asked(world: &World, n: usize) -> anyhow::Result<SentMessage> {
    let mut waiting = Vec::new();
    world
        .server
        .wait_for_message(PATIENCE, |sent| {
            if sent.message["reply_markup"].is_object() && !waiting.contains(&(sent.chat_id, sent.message_id))
            {
                waiting.push((sent.chat_id, sent.message_id));
                return waiting.len() > n;
            }
            false
        })
        .await
}

/// A gateway that was asked for [`WRITE`], and the approval that waits.
async fn waiting() -> anyhow::Result<(World, SentMessage)> {
    let world = World::running_in(always).await?;
    world.server.push(Incoming::private(ANN).text(WRITE));
    let approval = asked(&world, 0).await?;
    Ok((world, approval))
}

/// What a button of an approval carries.
fn data(approval: &SentMessage, button: usize) -> String {
    let buttons = &approval.message["reply_markup"]["inline_keyboard"][0];
    buttons[button]["callback_data"].as_str().expect("a button").to_owned()
}

pub(super) const APPROVE: usize = 0;
pub(super) const DENY: usize = 1;

pub(super) fn press(user: i64, approval: &SentMessage, button: usize) -> Incoming {
    Incoming::callback(user, &approval.message, &data(approval, button))
}

/// The approval once it says how it ended; the buttons are gone then.
async fn ended(world: &World, approval: &SentMessage, words: &str) -> anyhow::Result<()> {
    let same =
        |sent: &SentMessage| (sent.chat_id, sent.message_id) == (approval.chat_id, approval.message_id);
    let ended =
        world.server.wait_for_message(PATIENCE, |sent| same(sent) && sent.text.ends_with(words)).await?;
    assert!(ended.message["reply_markup"].is_null(), "{ended:?}");
    assert!(ended.text.starts_with(&approval.text), "what was decided stays readable: {ended:?}");
    Ok(())
}

/// The answer of a turn that begins so.
pub(super) async fn answered(world: &World, words: &str) -> anyhow::Result<SentMessage> {
    world.server.wait_for_message(PATIENCE, |sent| sent.text.starts_with(words)).await
}

/// What the presses were told so far, once there are so many: text and whether in a window.
async fn told(world: &World, count: usize) -> anyhow::Result<Vec<(String, bool)>> {
    let answers = world.server.wait_for_requests(PATIENCE, "answerCallbackQuery", count).await?;
    let told = |request: &RequestRecord| {
        let text = request.params["text"].as_str().unwrap_or_default().to_owned();
        (text, request.params["show_alert"] == true)
    };
    Ok(answers.iter().map(told).collect())
}

/// The approvals in the audit: state, by whom, and which call.
fn audited(world: &World) -> Vec<(String, Option<String>, String)> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let all = world.home.audit().into_iter().filter(|record| record["event"] == "approval");
    all.map(|record| {
        let sha256 = text(&record["call_sha256"]).expect("named");
        assert_eq!(sha256.len(), 64);
        (text(&record["approval"]).expect("a state"), text(&record["by"]), sha256)
    })
    .collect()
}

fn published(world: &World) -> usize {
    let audit = world.home.audit();
    let is = |record: &Value, event: &str| record["event"] == event;
    // A kill between an intent and its change leaves one that came to nothing.
    let came_to_nothing = |intent: &Value| {
        let settles = |record: &Value| is(record, "outcome") && record["intent"] == intent["seq"];
        audit
            .iter()
            .any(|record| settles(record) && record["reconciled"] == true && record["files"].is_null())
    };
    audit.iter().filter(|record| is(record, "intent") && !came_to_nothing(record)).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_call_is_shown_approved_and_done() -> anyhow::Result<()> {
    let world = World::running_in(always).await?;
    let question = world.server.push(Incoming::private(ANN).text(WRITE));
    let approval = asked(&world, 0).await?;
    assert_eq!((approval.chat_id, approval.reply_to), (ANN, Some(question.message_id)));
    assert_eq!(
        approval.text,
        "file_write needs approval: writes text that a model or a person composed, or adds it to a file\n\
         Asked for by telegram 5000000001 (\"Ann\").\n\
         creates /shared/a: nothing is there now\n\
         Rule: * = \"always\" (tools/file_write.toml:22)\n\
         content: 5 bytes, sha256 2cf24dba5fb0: \"hello\""
    );
    let buttons = &approval.message["reply_markup"]["inline_keyboard"];
    assert_eq!((&buttons[0][0]["text"], &buttons[0][1]["text"]), (&json!("✅ Approve"), &json!("❌ Deny")));
    assert_eq!(world.server.allowed_updates(), Some(json!(["message", "edited_message", "callback_query"])));
    assert!(!world.home.host("/shared/a").exists(), "nobody has agreed yet");
    world.server.push(press(ANN, &approval, APPROVE));
    let answer = answered(&world, "{").await?;
    assert_eq!(answer.reply_to, Some(question.message_id));
    assert_eq!(world.saved("/shared/a"), b"hello");
    ended(&world, &approval, "\n\n✅ Approved by 5000000001 (\"Ann\").").await?;
    assert_eq!(told(&world, 1).await?, [("✅ Approved by 5000000001 (\"Ann\").".to_owned(), false)]);
    let [(asked, none, first), (approved, by, second)] = &audited(&world)[..] else {
        panic!("{:?}", audited(&world))
    };
    assert_eq!((asked.as_str(), none, approved.as_str()), ("asked", &None, "approved"));
    assert_eq!((by.as_deref(), first), (Some("telegram:5000000001"), second));
    let shown = world.home.run(&["audit", "show", "--all"]).stdout;
    assert!(
        shown.contains("approval telegram:5000000001 file_write approved by telegram:5000000001"),
        "{shown}"
    );
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_no_is_a_no_and_a_later_yes_changes_nothing() -> anyhow::Result<()> {
    let (world, approval) = waiting().await?;
    world.server.push(press(ANN, &approval, DENY));
    answered(&world, "approval_denied: telegram:5000000001 did not approve this call").await?;
    ended(&world, &approval, "❌ Denied by 5000000001 (\"Ann\").").await?;
    told(&world, 1).await?;
    world.server.push(press(ANN, &approval, APPROVE));
    assert_eq!(told(&world, 2).await?[1], ("❌ Denied by 5000000001 (\"Ann\").".to_owned(), true));
    assert!(!world.home.host("/shared/a").exists());
    let outcome = world.home.audit().pop().expect("recorded");
    assert_eq!((&outcome["verdict"], &outcome["code"]), (&json!("deny"), &json!("approval_denied")));
    assert_eq!(outcome["arguments"]["path"], "/shared/a", "{outcome}");
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn nobody_in_time_is_a_no() -> anyhow::Result<()> {
    let world = World::running_in(|home| always(home).config("[approvals]\nexpires = \"1s\"\n")).await?;
    world.server.push(Incoming::private(ANN).text(WRITE));
    let approval =
        world.server.wait_for_message(PATIENCE, |sent| sent.text.contains("needs approval")).await?;
    let (chat, message) = (approval.chat_id, approval.message_id);
    let sent = world.server.wait_for_request(PATIENCE, "sendMessage").await?;
    let data = sent.params["reply_markup"]["inline_keyboard"][0][0]["callback_data"].clone();
    answered(&world, "approval_denied: nobody approved this call in time").await?;
    let expired = "⌛ Expired: nobody decided in time. Nothing was changed.";
    let over = |sent: &SentMessage| {
        (sent.chat_id, sent.message_id) == (chat, message) && sent.text.ends_with(expired)
    };
    world.server.wait_for_message(PATIENCE, over).await?;
    let late = Incoming::callback(ANN, &approval.message, data.as_str().expect("text"));
    world.server.push(late);
    assert_eq!(told(&world, 1).await?, [(expired.to_owned(), true)]);
    assert!(!world.home.host("/shared/a").exists());
    assert_eq!(audited(&world).last().map(|(state, ..)| state.as_str()), Some("expired"));
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn others_can_press_what_they_want() -> anyhow::Result<()> {
    let world = World::running_in(always).await?;
    world.server.push(Incoming::group(GROUP, ANN).text(WRITE));
    let approval = asked(&world, 0).await?;
    world.server.push(press(EVE, &approval, APPROVE));
    world.server.push(press(BEN, &approval, APPROVE));
    world.server.push(press(ANN, &approval, APPROVE).from_bot());
    let mut said = told(&world, 3).await?;
    said.sort();
    let not_served = ("Only people whom the operator has named can decide this.".to_owned(), true);
    assert_eq!(said, [("Only 5000000001 may decide this.".to_owned(), true), not_served.clone(), not_served]);
    assert!(!world.home.host("/shared/a").exists());
    world.server.push(press(ANN, &approval, APPROVE));
    answered(&world, "{").await?;
    assert_eq!(published(&world), 1);
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_nobody_handed_out_decides_nothing() -> anyhow::Result<()> {
    let (world, approval) = waiting().await?;
    world.server.push(Incoming::private(BEN).text("/file_write path=/shared/b content=x"));
    let bens = asked(&world, 1).await?;
    let forged = [
        (ANN, &approval, format!("approve:{}", "0".repeat(32))),
        (ANN, &approval, "approve:".to_owned()),
        (ANN, &approval, "approve:' OR state = 'asked".to_owned()),
        (ANN, &approval, data(&approval, APPROVE).to_uppercase()),
        // The right button in another chat.
        (ANN, &bens, data(&approval, APPROVE)),
    ];
    for (user, below, data) in &forged {
        world.server.push(Incoming::callback(*user, &below.message, data));
    }
    // Somebody else's.
    world.server.push(Incoming::callback(BEN, &approval.message, &data(&approval, APPROVE)));
    let mut said = told(&world, 6).await?;
    said.sort();
    assert_eq!(said.remove(0), ("Only 5000000001 may decide this.".to_owned(), true));
    assert!(
        said.iter().all(|said| *said == ("There is nothing to decide here any more.".to_owned(), true)),
        "{said:?}"
    );
    assert_eq!(published(&world), 0);
    world.server.push(press(BEN, &bens, DENY));
    world.server.push(press(ANN, &approval, DENY));
    let denied = |user: i64| {
        move |sent: &SentMessage| sent.chat_id == user && sent.text.starts_with("approval_denied")
    };
    world.server.wait_for_message(PATIENCE, denied(ANN)).await?;
    world.server.wait_for_message(PATIENCE, denied(BEN)).await?;
    world.end(4)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn of_two_presses_at_once_one_decides() -> anyhow::Result<()> {
    let named = format!("approvers = [{ANN}, {BEN}]\n");
    let world = World::running_in(|home| always(home).telegram_more(&named)).await?;
    world.server.push(Incoming::group(GROUP, ANN).text(WRITE));
    let approval = asked(&world, 0).await?;
    let presses =
        [press(BEN, &approval, APPROVE), press(ANN, &approval, DENY), press(ANN, &approval, APPROVE)];
    world.server.push_all(presses);
    answered(&world, "{").await?;
    let mut said = told(&world, 3).await?;
    said.sort();
    let by_ben = "✅ Approved by 5000000002 (\"Ann\").".to_owned();
    assert_eq!(said, [(by_ben.clone(), false), (by_ben.clone(), true), (by_ben.clone(), true)]);
    ended(&world, &approval, &by_ben).await?;
    assert_eq!((world.saved("/shared/a"), published(&world)), (b"hello".to_vec(), 1));
    // Named people may decide for others in a group alone: in a private chat none of them is.
    world.server.push(Incoming::private(super::world::CAT).text(WRITE));
    answered(&world, "approval_required: ").await?;
    world.end(3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_kill_while_it_waits_loses_and_doubles_nothing() -> anyhow::Result<()> {
    let (mut world, approval) = waiting().await?;
    // The one window in which it would be shown again lies before this.
    world.logs("an approval is shown").await?;
    world.kill();
    world.start()?;
    world.server.push(press(ANN, &approval, APPROVE));
    answered(&world, "{").await?;
    ended(&world, &approval, "✅ Approved by 5000000001 (\"Ann\").").await?;
    assert_eq!((world.saved("/shared/a"), published(&world)), (b"hello".to_vec(), 1));
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_kill_after_the_press_still_does_it_once() -> anyhow::Result<()> {
    for hold in [Hold::BeforeEffect, Hold::BeforeAnswer] {
        let (mut world, approval) = waiting().await?;
        world.logs("an approval is shown").await?;
        let gate = world.server.gate("answerCallbackQuery", hold);
        let pressed = world.server.push(press(ANN, &approval, APPROVE));
        world.kill_at(gate).await?;
        world.start()?;
        answered(&world, "{").await?;
        world.server.redeliver(pressed.update_id)?;
        world.ask(Incoming::private(ANN).text("hello")).await?;
        assert_eq!((world.saved("/shared/a"), published(&world)), (b"hello".to_vec(), 1));
        world.end(3)?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_press_that_was_not_confirmed_comes_again() -> anyhow::Result<()> {
    let (mut world, approval) = waiting().await?;
    world.logs("an approval is shown").await?;
    // The poll that brings the press never gets its answer through.
    let gate = world.server.gate(Target::method("getUpdates"), Hold::BeforeAnswer);
    world.server.push(press(ANN, &approval, APPROVE));
    world.kill_at(gate).await?;
    world.start()?;
    answered(&world, "{").await?;
    assert_eq!(published(&world), 1);
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_stop_leaves_it_waiting_for_the_next_start() -> anyhow::Result<()> {
    let (mut world, approval) = waiting().await?;
    assert!(world.stop()? < Duration::from_secs(10));
    assert_eq!(world.server.sent_messages().len(), 1, "nothing is said of it");
    world.start()?;
    world.server.push(press(ANN, &approval, APPROVE));
    answered(&world, "{").await?;
    ended(&world, &approval, "✅ Approved by 5000000001 (\"Ann\").").await?;
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_changed_while_the_gateway_was_away_is_asked_anew() -> anyhow::Result<()> {
    let mut world = World::running_in(|home| asking(home, "file_write", "path = \"on-overwrite\"")).await?;
    std::fs::write(world.home.host("/shared/a"), "old")?;
    world.server.push(Incoming::private(ANN).text("/file_write path=/shared/a content=new overwrite=true"));
    let first = asked(&world, 0).await?;
    world.logs("an approval is shown").await?;
    world.kill();
    std::fs::write(world.home.host("/shared/a"), "another")?;
    world.start()?;
    let withdrawn = "file_write\n\n🚫 Withdrawn: this is not asked any more.";
    let over = |sent: &SentMessage| sent.message_id == first.message_id && sent.text == withdrawn;
    world.server.wait_for_message(PATIENCE, over).await?;
    let second = asked(&world, 0).await?;
    assert!(second.text.contains("there is a file of 7 bytes"), "{}", second.text);
    world.server.push(press(ANN, &first, APPROVE));
    assert_eq!(told(&world, 1).await?, [("🚫 Withdrawn: this is not asked any more.".to_owned(), true)]);
    assert_eq!(world.saved("/shared/a"), b"another");
    world.server.push(press(ANN, &second, APPROVE));
    answered(&world, "{").await?;
    assert_eq!((world.saved("/shared/a"), published(&world)), (b"new".to_vec(), 1));
    world.end(3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn only_what_replaces_is_asked_about() -> anyhow::Result<()> {
    let world = World::running_in(|home| asking(home, "file_write", "path = \"on-overwrite\"")).await?;
    world.ask(Incoming::private(ANN).text(WRITE)).await?;
    assert_eq!(world.saved("/shared/a"), b"hello");
    world
        .server
        .push(Incoming::private(ANN).text("/file_write path=/shared/a content=second overwrite=true"));
    let approval = asked(&world, 0).await?;
    assert!(
        approval
            .text
            .contains("\nchanges or replaces /shared/a: there is a file of 5 bytes, last changed 20")
    );
    assert!(approval.text.contains("\noverwrite: true\n"), "{}", approval.text);
    world.server.push(press(ANN, &approval, APPROVE));
    world.server.wait_for_messages(PATIENCE, 3).await?;
    ended(&world, &approval, "✅ Approved by 5000000001 (\"Ann\").").await?;
    assert_eq!(world.saved("/shared/a"), b"second");

    // What somebody else puts there meanwhile is not what was approved.
    world.server.push(Incoming::private(ANN).text("/file_write path=/shared/a content=third overwrite=true"));
    let approval = asked(&world, 0).await?;
    std::fs::write(world.home.host("/shared/a"), "others")?;
    world.server.push(press(ANN, &approval, APPROVE));
    answered(&world, "approval_denied: what this call would do has changed since it was approved").await?;
    assert_eq!(world.saved("/shared/a"), b"others");
    world.end(5)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_path_is_asked_about_once_for_each_person() -> anyhow::Result<()> {
    let rule = "\"/shared/docs\" = \"first-time-per-path\"";
    let mut world = World::running_in(|home| asking(home, "file_write", rule)).await?;
    let write = |user: i64, path: &str, content: &str| {
        let command = format!("/file_write path={path} content={content} overwrite=true");
        Incoming::group(GROUP, user).text(&command)
    };
    world.ask(write(ANN, "/shared/free", "x")).await?;
    world.server.push(write(ANN, "/shared/docs/a", "1"));
    let approval = asked(&world, 0).await?;
    assert!(
        approval.text.contains("; once approved, this path is not asked about again\n"),
        "{}",
        approval.text
    );
    world.server.push(press(ANN, &approval, APPROVE));
    world.server.wait_for_messages(PATIENCE, 3).await?;
    ended(&world, &approval, "✅ Approved by 5000000001 (\"Ann\").").await?;
    world.ask(write(ANN, "/shared/docs/a", "2")).await?;
    world.stop()?;
    world.start()?;
    world.ask(write(ANN, "/shared/docs/a", "3")).await?;
    assert_eq!(world.saved("/shared/docs/a"), b"3");
    // Another path, and another person.
    for (n, message) in
        [write(ANN, "/shared/docs/b", "4"), write(BEN, "/shared/docs/a", "5")].into_iter().enumerate()
    {
        let user = [ANN, BEN][n];
        world.server.push(message);
        let approval = asked(&world, 0).await?;
        world.server.push(press(user, &approval, DENY));
        world.server.wait_for_messages(PATIENCE, 7 + 2 * n).await?;
        ended(&world, &approval, &format!("❌ Denied by {user} (\"Ann\").")).await?;
    }
    assert_eq!(world.saved("/shared/docs/a"), b"3");
    world.end(9)
}

/// More turns wait than are worked on at once, and everybody else is served.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn those_who_wait_hold_nobody_up() -> anyhow::Result<()> {
    let world = World::running_in(always).await?;
    let topics = 12;
    // Topic 1 is the general one, which is written to without its number.
    for topic in 2..=topics + 1 {
        let command = format!("/file_write path=/shared/{topic} content=x");
        world.server.push(Incoming::group(GROUP, ANN).thread(topic).text(&command));
    }
    let last = asked(&world, usize::try_from(topics)? - 1).await?;
    world.ask(Incoming::private(BEN).text("hello")).await?;
    world.server.push(press(ANN, &last, APPROVE));
    answered(&world, "{").await?;
    assert_eq!(published(&world), 1);
    world.end(usize::try_from(topics)? + 2)
}

/// What is left of a question whose decision was taken and whose message could not be changed any
/// more.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn buttons_that_a_kill_has_left_are_taken_away_at_the_start() -> anyhow::Result<()> {
    let (mut world, approval) = waiting().await?;
    world.server.fault("editMessageText", usize::MAX, Fault::internal_error());
    world.server.push(press(ANN, &approval, APPROVE));
    answered(&world, "{").await?;
    world.server.wait_for_request(PATIENCE, "editMessageText").await?;
    // A kill before the answer is noted as sent would have it sent again.
    let started = std::time::Instant::now();
    let left = || world.home.run(&["status", "--json"]).json()["queue"]["replies"].clone();
    while left() != 0 {
        anyhow::ensure!(started.elapsed() < PATIENCE, "{} replies are left", left());
    }
    world.kill();
    world.server.clear_faults();
    world.start()?;
    let same =
        |sent: &SentMessage| (sent.chat_id, sent.message_id) == (approval.chat_id, approval.message_id);
    let is_bare = |sent: &SentMessage| same(sent) && sent.message["reply_markup"].is_null();
    world.server.wait_for_message(PATIENCE, is_bare).await?;
    // A stop before it is noted would have the next start do it again.
    let database = rusqlite::Connection::open(world.home.state().join("cofferdam.db"))?;
    let open = || {
        let query = "SELECT count(*) FROM approval WHERE has_choices = 1";
        database.query_row(query, [], |row| row.get::<_, i64>(0))
    };
    while open()? != 0 {
        anyhow::ensure!(started.elapsed() < 2 * PATIENCE, "{} questions still have buttons", open()?);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(database);
    // The next start has nothing to take away.
    world.stop()?;
    let before = world.server.requests("editMessageReplyMarkup").len();
    assert_eq!(before, 1);
    world.start()?;
    world.ask(Incoming::private(BEN).text("/help")).await?;
    assert_eq!(world.server.requests("editMessageReplyMarkup").len(), before);
    world.end(3)
}
