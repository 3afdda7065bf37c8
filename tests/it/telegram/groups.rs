//! Groups: who is answered there, to what, and with which tools, as the operator's rules say for
//! each.

use super::world::{ANN, EVE, GROUP, PATIENCE, World, save};
use serde_json::{Value, json};
use support::containing;
use support::home::{Home, Ran};
use support::llm::{Call, Dialect, LlmServer, Turn};
use support::telegram::{Fault, Incoming, Media, TelegramServer};

/// Another group.
const OTHER: i64 = -1_009_999_999_999;

fn ann(text: &str) -> Incoming {
    Incoming::group(GROUP, ANN).text(text)
}

fn eve(text: &str) -> Incoming {
    Incoming::group(GROUP, EVE).text(text)
}

/// These lines for [`GROUP`].
fn ruled(home: Home, lines: &str) -> Home {
    home.telegram_more(&format!("[channels.telegram.groups.\"{GROUP}\"]\n{lines}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_mention_is_answered_and_other_talk_is_not_kept() -> anyhow::Result<()> {
    const TALK: &str = "what-people-say-among-themselves";
    let mut world = World::running().await?;
    for talk in [TALK, "@somebody_else hi", "mail me@cofferdam_test_bot.example", "@cofferdam_test_bot_2 hi"]
    {
        world.server.push(ann(&format!("{talk} {TALK}")));
    }
    let photo = |id: &str| Incoming::group(GROUP, ANN).photo(Media::with_content(id, "a photo"));
    let before = world.server.push(photo("p").caption(TALK));
    let said = world.ask(ann("@Cofferdam_Test_Bot, are you there?")).await?;
    assert!(said.starts_with("I run commands"), "{said}");
    let said = world
        .ask(ann(&format!("@cofferdam_test_bot {}", save(0, "/shared/a"))).reply_to(&before.message))
        .await?;
    assert!(said.contains(r#""saved":true"#), "{said}");
    // Words that mention the bot, with a file or about one.
    let said = world.ask(photo("q").caption("look @cofferdam_test_bot")).await?;
    assert!(said.starts_with("1 file came:"), "{said}");
    let said = world.ask(ann("@cofferdam_test_bot what is it?").reply_to(&before.message)).await?;
    assert!(said.starts_with("1 file came:"), "{said}");
    world.server.push(eve("@cofferdam_test_bot hi"));
    world.ask(ann("/nope")).await?;
    world.stop()?;
    assert_eq!(containing(&world.home.state(), TALK.as_bytes()), Vec::<std::path::PathBuf>::new());
    world.end(5)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_group_has_the_tools_of_its_profiles_and_no_others() -> anyhow::Result<()> {
    let world = World::running_in(|home| ruled(home, "profiles = [\"file-read-only\"]\n")).await?;
    std::fs::write(world.home.host("/shared/a"), "hello")?;
    let help = world.ask(ann("/help")).await?;
    assert!(
        help.contains("/file_read ") && !help.contains("/file_write") && !help.contains("_save"),
        "{help}"
    );
    let read = world.ask(ann("/file_read path=/shared/a")).await?;
    assert!(read.contains("hello"), "{read}");
    for refused in ["/file_write path=/shared/b content=x", "/file_delete path=/shared/a"] {
        let said = world.ask(ann(refused)).await?;
        assert!(said.starts_with("tool_unavailable: file_"), "{said}");
        assert!(said.contains("these profiles here: file-read-only; /help"), "{said}");
    }
    assert!(world.home.host("/shared/a").exists() && !world.home.host("/shared/b").exists());
    let denied = world.home.audit().pop().expect("recorded");
    assert_eq!((&denied["tool"], &denied["code"]), (&json!("file_delete"), &json!("tool_unavailable")));
    // Elsewhere the same person has all of them.
    let said = world.ask(Incoming::private(ANN).text("/file_write path=/shared/b content=x")).await?;
    assert!(said.starts_with('{'), "{said}");
    world.end(5)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_open_group_serves_its_members_there_alone() -> anyhow::Result<()> {
    let rules =
        "members = \"all\"\nmention_required = false\nprofiles = [\"file-read-only\", \"attachment-add\"]\n";
    let world = World::running_in(|home| ruled(home, rules)).await?;
    std::fs::write(world.home.host("/shared/a"), "hello")?;
    let read = world.ask(eve("/file_read path=/shared/a")).await?;
    assert!(read.contains("hello"), "{read}");
    assert_eq!(world.home.audit().pop().expect("recorded")["sender"], EVE.to_string());
    // Nobody need mention the bot.
    let said = world.ask(eve("hello")).await?;
    assert!(said.starts_with("I run commands"), "{said}");
    let said = world.ask(eve("/file_write path=/shared/b content=x")).await?;
    assert!(said.starts_with("tool_unavailable: "), "{said}");
    // Bots, those who speak for the group, and what is for another bot stay unanswered.
    world.server.push(eve("hello").from_bot());
    world.server.push(eve("hello").field("sender_chat", json!({ "id": GROUP, "type": "supergroup" })));
    world.server.push(eve("/help@other_bot"));
    world.server.push(Incoming::group(OTHER, EVE).text("/help"));
    world.logs("turn the mode off with @BotFather's /setprivacy").await?;
    let told = world.ask(Incoming::private(EVE).text("/file_read path=/shared/a")).await?;
    assert!(told.contains("does not know you"), "{told}");
    world.ask(ann("hello")).await?;
    world.end(5)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn doctor_notices_that_privacy_mode_keeps_a_group_from_the_bot() -> anyhow::Result<()> {
    let server = TelegramServer::start().await?;
    let noticed = |rules: &str| -> anyhow::Result<Value> {
        let home = ruled(Home::new().telegram(&server.api_url(), &[ANN]), rules);
        let mut command = home.command(&["doctor", "--json"]);
        let ran = Ran::from(command.env("TELEGRAM_BOT_TOKEN", server.token()).output()?);
        anyhow::ensure!(ran.code == Some(0), "{ran:?}");
        Ok(ran.json()["findings"].clone())
    };
    let found = noticed("mention_required = false\n")?;
    assert_eq!(found.as_array().map(Vec::len), Some(1), "{found}");
    assert_eq!((&found[0]["section"], &found[0]["weight"]), (&json!("network"), &json!("notice")));
    let mend = found[0]["mend"].as_str().unwrap_or_default();
    assert!(mend.starts_with("turn the mode off with @BotFather's /setprivacy"), "{mend}");
    for rules in ["", "mention_required = false\nmembers = \"none\"\n"] {
        assert_eq!(noticed(rules)?, json!([]), "{rules}");
    }
    let mut me = json!({ "id": 123_456, "is_bot": true, "first_name": "B", "username": "b_bot" });
    me["can_read_all_group_messages"] = true.into();
    let answer = json!({ "ok": true, "result": me }).to_string();
    server.fault("getMe", 1, Fault::status(200, "application/json", answer));
    assert_eq!(noticed("mention_required = false\n")?, json!([]));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn only_named_groups_are_served_where_the_operator_wants_that() -> anyhow::Result<()> {
    let world = World::running_in(|home| ruled(home.telegram_more("other_groups = \"none\"\n"), "")).await?;
    assert!(
        world.log().contains("1 group with rules of its own, no other group is served)"),
        "{}",
        world.tail()
    );
    world.server.push(Incoming::group(OTHER, ANN).text("/help"));
    world.ask(ann("/help")).await?;
    world.ask(Incoming::private(ANN).text("/help")).await?;
    let doctor = world.home.run(&["doctor"]).stdout;
    assert!(doctor.contains("channels.telegram.other_groups = \"none\"  (file)"), "{doctor}");
    assert!(
        doctor.contains(&format!("channels.telegram.groups = {{ {GROUP} = {{}} }}"))
            || doctor.contains(&GROUP.to_string()),
        "{doctor}"
    );
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_profile_that_no_tool_has_is_refused_at_the_start() -> anyhow::Result<()> {
    let mut world = World::stopped(|home| ruled(home, "profiles = [\"file-read\"]\n")).await?;
    world.launch(&[], &[])?;
    assert_eq!(world.ended()?, Some(2));
    let said =
        format!("groups.\"{GROUP}\": no tool has the profile \"file-read\"; there is attachment-add, ");
    assert!(world.log().contains(&said), "{}", world.log());
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn menus_show_what_can_be_called_and_are_set_when_they_change() -> anyhow::Result<()> {
    let mut world = World::stopped(|home| ruled(home, "profiles = [\"file-read-only\"]\n")).await?;
    world.start()?;
    world.server.wait_for_requests(PATIENCE, "setMyCommands", 2).await?;
    world.server.wait_until_idle(PATIENCE, "setMyCommands").await?;
    let names = |menu: serde_json::Value| {
        let entries = menu.as_array().cloned().unwrap_or_default();
        entries.iter().filter_map(|entry| Some(entry["command"].as_str()?.to_owned())).collect::<Vec<_>>()
    };
    let (all, group) = (names(world.server.commands()), names(world.server.commands_of(GROUP)));
    assert!(
        all.contains(&"file_write".to_owned()) && group.contains(&"file_read".to_owned()),
        "{all:?} {group:?}"
    );
    assert_eq!(group.first().map(String::as_str), Some("help"));
    assert!(!group.contains(&"file_write".to_owned()), "{group:?}");
    world.stop()?;
    world.start()?;
    world.server.wait_for_requests(PATIENCE, "getMyCommands", 4).await?;
    world.ask(ann("/nope")).await?;
    world.stop()?;
    assert_eq!(world.server.requests("setMyCommands").len(), 2, "nothing has changed");
    // Without rules of its own the group is shown the menu for all again.
    world.server.fault("setMyCommands", usize::MAX, support::telegram::Fault::internal_error());
    let api_url = world.server.api_url();
    world.refit(|home| ruled(home.telegram(&api_url, &[ANN]), ""));
    world.start()?;
    world.server.wait_for_request(PATIENCE, "deleteMyCommands").await?;
    world.ask(ann("/nope")).await?;
    assert_eq!(world.server.commands_of(GROUP), json!([]));
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_topic_general_is_answered_without_a_topic() -> anyhow::Result<()> {
    let world = World::running().await?;
    let forum = json!({ "id": GROUP, "type": "supergroup", "title": "Forum", "is_forum": true });
    let said = world.ask(ann("/file_write path=/tmp/a content=general").field("chat", forum)).await?;
    assert!(said.starts_with('{'), "{said}");
    let topic = world.ask(ann("/file_read path=/tmp/a").thread(7)).await?;
    assert!(topic.starts_with("not_found: "), "another topic is another session: {topic}");
    // The id that clients give it can be read and not be sent to.
    let numbered = world.server.push(ann("/help").thread(1));
    assert_eq!(world.answer(&numbered).await?.thread_id, None);
    let topics: Vec<_> = world.server.sent_messages().iter().map(|sent| sent.thread_id).collect();
    assert_eq!(topics, [None, Some(7), None]);
    world.end(3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_model_is_shown_the_tools_of_the_group_and_gets_no_others() -> anyhow::Result<()> {
    let llm = LlmServer::start().await?;
    let write = Call::new("file_write", json!({ "path": "/shared/a", "content": "x" }));
    llm.script([
        Turn::calls([write.clone()]),
        Turn::say("I cannot."),
        Turn::calls([write]),
        Turn::say("Done."),
    ]);
    let fit = |home: Home| ruled(home, "profiles = [\"file-read-only\"]\n").model(&llm, Dialect::Chat, "");
    let world = World::running_in(fit).await?;
    assert_eq!(world.ask(ann("@cofferdam_test_bot write it down")).await?, "I cannot.");
    let shown = llm.requests()[0].body["tools"].to_string();
    assert!(shown.contains("file_read") && !shown.contains("file_write"), "{shown}");
    let refused = llm.requests()[1].results().pop().expect("a result");
    assert!(refused.contains("tool_unavailable"), "{refused}");
    assert!(!world.home.host("/shared/a").exists());
    assert_eq!(world.ask(Incoming::private(ANN).text("write it down")).await?, "Done.");
    assert!(world.home.host("/shared/a").exists());
    world.end(2)
}
