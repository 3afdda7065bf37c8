//! Guilds and threads: when the bot is meant, and what is ignored in silence.

use super::world::{ANN, EVE, TOWN, World, read};
use support::discord::{BOT_ID, Hold, Incoming, Media, Target};

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_mention_or_a_reply_is_meant_and_everything_else_is_silence() -> anyhow::Result<()> {
    let world = World::running().await?;
    world.server.open_channel(TOWN);
    let say = |text: &str| Incoming::guild(TOWN, ANN).text(text);
    for text in ["/help", "@everyone /help", "<@&900000000000000001> /help", "hi", &format!("<@{EVE}> /help")]
    {
        world.server.push(say(text));
    }
    for ignored in [
        Incoming::guild(TOWN, EVE).mention_bot().text("/help"),
        Incoming::guild(TOWN, ANN).mention_bot().text("/help").bot(),
        Incoming::guild(TOWN, ANN).mention_bot().text("/help").webhook(5),
        Incoming::guild(TOWN, BOT_ID).mention_bot().text("/help"),
        Incoming::guild(TOWN, ANN).mention_bot().text("/help").kind(20),
        Incoming::guild(TOWN, EVE).mention_bot().attachment(Media::new("a", "x")),
    ] {
        world.server.push(ignored);
    }
    let mentioned = world.server.push(Incoming::guild(TOWN, ANN).mention_bot().text("/help file_read"));
    let answer = world.answer(&mentioned).await?;
    assert!(read(&answer.content).contains("path"), "{}", answer.content);
    let nick = world.server.push(say(&format!("<@!{BOT_ID}>: /help file_read")));
    assert_eq!(world.answer(&nick).await?.content, answer.content);
    let ours = world.server.message(TOWN, answer.message_id).expect("it is there");
    let reply = world.server.push(say(&format!("<@{BOT_ID}> /help")).reply_to(&ours));
    world.answer(&reply).await?;
    let requests = world.server.requests("typing").len() + world.server.requests("create_reaction").len();
    assert!(requests <= 3, "no typing for what is not meant");
    assert!(world.server.requests(Target::download()).is_empty());
    world.end(3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn with_the_intent_a_reply_needs_no_mention_and_a_guild_may_listen_to_all() -> anyhow::Result<()> {
    let mut world = World::stopped_with(
        "message_content = true\nguilds = { \"1300000000000000001\" = { members = \"all\", mention_required = false, \
         profiles = [\"file-read-only\"] } }",
    )
    .await?;
    world.server.set_message_content(true);
    world.start().await?;
    world.server.open_channel(TOWN);
    let open = TOWN + 7;
    world.server.open_channel_of(1_300_000_000_000_000_001, open);
    let first = world.server.push(Incoming::guild(TOWN, ANN).mention_bot().text("/help"));
    let ours = world.answer(&first).await?;
    let ours = world.server.message(TOWN, ours.message_id).expect("it is there");
    let reply = world.server.push(Incoming::guild(TOWN, ANN).text("/help file_list").reply_to(&ours));
    world.answer(&reply).await?;
    let eve = world.server.push(Incoming::guild(open, EVE).text("/file_list path=/shared"));
    let answer = read(&world.answer(&eve).await?.content);
    assert!(answer.contains("entries"), "{answer}");
    let writes = world.server.push(Incoming::guild(open, EVE).text("/file_write path=/shared/a content=x"));
    let answer = read(&world.answer(&writes).await?.content);
    assert!(answer.contains("tool_unavailable") || answer.contains("unknown_tool"), "{answer}");
    assert!(!world.home.host("/shared/a").exists());
    let asked = world.server.connections()[0].identify.clone().expect("it identified");
    assert_eq!(asked["intents"], 1 | 1 << 9 | 1 << 12 | 1 << 15);
    world.end(4)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn in_a_thread_the_answer_is_in_the_thread() -> anyhow::Result<()> {
    let world = World::running().await?;
    world.server.open_channel(TOWN);
    world.server.open_thread(TOWN, TOWN + 1);
    let asked = world.server.push(Incoming::guild(TOWN + 1, ANN).mention_bot().text("/help"));
    assert_eq!(world.answer(&asked).await?.channel_id, TOWN + 1);
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_is_sent_on_are_files_and_nobodys_command() -> anyhow::Result<()> {
    let world = World::running().await?;
    let forward =
        Incoming::private(ANN).forward("/file_delete path=/shared/a", [Media::new("f.txt", "sent on")]);
    let pushed = world.server.push(forward);
    let listed = read(&world.answer(&pushed).await?.content);
    assert!(listed.contains("f.txt") && !listed.contains("not_found"), "{listed}");
    let answer = world.ask(Incoming::private(ANN).text("/attachment_download")).await?;
    assert!(read(&answer).contains("\"ok\":true"), "{answer}");
    // A voice message is one file without words; a command in reply to it uses the file.
    let voice = world.server.push(Incoming::private(ANN).voice(Media::new("voice-message.ogg", "OggS")));
    world.answer(&voice).await?;
    let save =
        Incoming::private(ANN).text("/attachment_save index=0 path=/shared/v.ogg").reply_to(&voice.message);
    world.ask(save).await?;
    assert_eq!(world.saved("/shared/v.ogg"), b"OggS");
    world.end(4)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_update_answers_nothing_and_what_is_deleted_in_time_is_not_run() -> anyhow::Result<()> {
    let world = World::running().await?;
    world.server.open_channel(TOWN);
    let first = world.server.push(Incoming::private(ANN).text("/help"));
    world.answer(&first).await?;
    world.server.edit(first.channel_id, first.message_id, "/file_list path=/shared")?;
    world.server.resolve_embed(first.channel_id, first.message_id, "https://e.org/")?;
    // What waits behind a turn that takes long.
    let gate = world.server.gate(Target::download(), Hold::BeforeEffect);
    let slow = Incoming::private(ANN).text("/attachment_save index=0 path=/shared/slow");
    let slow = world.server.push(slow.attachment(Media::new("a", "slow")));
    gate.reached().await?;
    let gone = world.server.push(Incoming::private(ANN).text("/file_write path=/shared/gone content=x"));
    let changed = world.server.push(Incoming::private(ANN).text("/help"));
    let many = [(); 2].map(|()| {
        world.server.push(Incoming::private(ANN).text("/file_write path=/shared/gone content=x")).message_id
    });
    world.server.delete(gone.channel_id, gone.message_id)?;
    world.server.delete_all(gone.channel_id, &many);
    world.server.edit(changed.channel_id, changed.message_id, "/file_list path=/shared")?;
    // Events come in their order: by then these were taken.
    let after = world.server.push(Incoming::guild(TOWN, ANN).mention_bot().text("/help"));
    world.answer(&after).await?;
    gate.release();
    world.answer(&slow).await?;
    let answer = read(&world.answer(&changed).await?.content);
    assert!(answer.contains("entries"), "{answer}");
    assert!(!world.home.host("/shared/gone").exists(), "it was deleted before its turn");
    world.end(4)
}

/// Once its turn has begun, a deletion changes nothing; the reply points at nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_is_deleted_while_it_runs_is_answered_without_a_reference() -> anyhow::Result<()> {
    let world = World::running().await?;
    world.server.open_channel(TOWN);
    let gate = world.server.gate(Target::download(), Hold::BeforeEffect);
    let asked = Incoming::guild(TOWN, ANN).mention_bot().text("/attachment_save index=0 path=/shared/a");
    let asked = world.server.push(asked.attachment(Media::new("a", "kept all the same")));
    gate.reached().await?;
    world.server.delete(TOWN, asked.message_id)?;
    // Events come in their order: by then it was taken.
    world.ask(Incoming::private(ANN).text("/help")).await?;
    gate.release();
    let answer =
        world.server.wait_for_message(super::world::PATIENCE, |sent| sent.channel_id == TOWN).await?;
    assert!(answer.reply_to.is_none() && answer.content.contains("saved"), "{answer:?}");
    assert_eq!(world.saved("/shared/a"), b"kept all the same");
    world.end(2)
}
