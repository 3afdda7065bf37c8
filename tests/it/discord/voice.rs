//! Voice messages on Discord: heard, answered, and answered by voice, as on Telegram.

use super::world::{ANN, PATIENCE, World};
use support::discord::{Incoming, Media, SentMessage};
use support::voice::{VoiceAnswer, VoiceServer, ogg};

async fn hearing() -> anyhow::Result<(World, VoiceServer)> {
    let server = VoiceServer::start_keyless().await?;
    let url = server.base_url();
    let more = format!(
        "[transcription]\nbase_url = {url:?}\nmodel = \"base.en\"\n[speech]\nbase_url = {url:?}\nmodel = \"tts\"\nvoice = \"amy\"\n"
    );
    Ok((World::running_with(&more).await?, server))
}

fn voice() -> Incoming {
    Incoming::private(ANN).voice(Media::new("voice-message.ogg", ogg(5000)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_voice_is_heard_and_answered_by_voice() -> anyhow::Result<()> {
    let (world, server) = hearing().await?;
    server.plan([VoiceAnswer::Heard("/attachment_save index=0 path=/shared/said.ogg".into())]);
    world.ask(voice()).await?;
    assert_eq!(world.saved("/shared/said.ogg"), &ogg(5000)[..]);
    assert!(world.ask(Incoming::private(ANN).text("/voice on")).await?.contains("are spoken"));
    server.plan([VoiceAnswer::Heard("/file_list path=/shared".into())]);
    world.server.push(voice());
    let has_file = |sent: &SentMessage| !sent.files.is_empty();
    let spoken = world.server.wait_for_message(PATIENCE, has_file).await?;
    assert_eq!((&spoken.files[0].bytes, spoken.content.as_str()), (&ogg(1000), ""));
    let sent = world.server.sent_messages();
    let place = sent.iter().position(|one| one.message_id == spoken.message_id);
    assert_eq!((place, sent.len()), (Some(3), 4), "after the text");
    assert_eq!(spoken.reply_to, Some(sent[2].message_id), "below it");
    world.end(4)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_is_sent_on_is_nobodys_words() -> anyhow::Result<()> {
    let (world, server) = hearing().await?;
    let forwarded = Incoming::private(ANN)
        .forward("", [Media::new("voice-message.ogg", ogg(100))])
        .field("flags", 1 << 13);
    world.ask(forwarded).await?;
    assert_eq!(server.requests().len(), 0);
    world.end(1)
}
