//! Every kind of file that Telegram knows: listed when it comes alone, saved by a command that
//! replies to it.

use super::world::{ANN, World, save};
use support::telegram::{Incoming, Media};

/// Sends a file without a command, then saves it by a reply.
async fn listed_then_saved(name: &str, send: impl FnOnce(Incoming, Media) -> Incoming) -> anyhow::Result<()> {
    let world = World::running().await?;
    let bytes = format!("the bytes of the one {name}").into_bytes();
    let sent = world.server.push(send(Incoming::private(ANN), Media::with_content("file", bytes.clone())));
    let listing = world.answer(&sent).await?.text;
    let expected = format!(
        "1 file came:\n[0] {name} text/plain (~{}B)\n\
         To save one, reply to the message with: /attachment_save index=0 path=/shared/NAME",
        bytes.len()
    );
    assert_eq!(listing, expected);
    assert_eq!(world.home.audit().len(), 0, "nothing is called and nothing is written unasked");
    let to = format!("/shared/{name}");
    let said = world.ask(Incoming::private(ANN).text(&save(0, &to)).reply_to(&sent.message)).await?;
    assert!(said.contains(r#""saved":true"#), "{said}");
    assert!(world.saved(&to) == bytes);
    assert_eq!(world.server.requests("getFile").len(), 2, "one file a turn");
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_photo() -> anyhow::Result<()> {
    listed_then_saved("photo.jpg", Incoming::photo).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_document() -> anyhow::Result<()> {
    listed_then_saved("notes.txt", |message, media| message.document(media.name("notes.txt"))).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_document_without_a_name() -> anyhow::Result<()> {
    listed_then_saved("document", Incoming::document).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_audio() -> anyhow::Result<()> {
    listed_then_saved("audio.mp3", Incoming::audio).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_voice_note() -> anyhow::Result<()> {
    listed_then_saved("voice.ogg", Incoming::voice).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_video() -> anyhow::Result<()> {
    listed_then_saved("video.mp4", Incoming::video).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_video_note() -> anyhow::Result<()> {
    listed_then_saved("video_note.mp4", Incoming::video_note).await
}

/// It appears as a document as well, and is one file.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_animation() -> anyhow::Result<()> {
    listed_then_saved("animation.mp4", Incoming::animation).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_sticker() -> anyhow::Result<()> {
    listed_then_saved("sticker.webp", Incoming::sticker).await
}
