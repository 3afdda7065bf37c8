//! A private message with a picture and a command: the picture is saved byte by byte, one reply
//! says where.

use super::world::{ANN, EVE, World, result, save};
use serde_json::json;
use support::discord::{Incoming, Media};
use support::samples;

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_picture_is_saved_and_one_reply_says_where() -> anyhow::Result<()> {
    let world = World::running().await?;
    let photo = samples::jpeg(300_000);
    let message = Incoming::private(ANN).text(&save(0, "/shared/a.jpg"));
    let answer = world.ask(message.attachment(Media::new("cat.png", photo.clone()))).await?;
    let expected = json!({ "saved": true, "path": "/shared/a.jpg", "mime_type": "image/jpeg",
        "bytes_written": photo.len(), "source_index": 0 });
    assert_eq!(result(&answer), expected, "the type is told from the content");
    assert!(world.saved("/shared/a.jpg") == photo);
    let asked = world.server.connections()[0].identify.clone().expect("it identified");
    assert_eq!(asked["intents"], 1 | 1 << 9 | 1 << 12, "no privileged intent");
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn without_a_command_the_files_are_listed_in_their_order() -> anyhow::Result<()> {
    let world = World::running().await?;
    let message = Incoming::private(ANN).text("look");
    let message = message.attachment(Media::new("a.txt", "one")).attachment(Media::new("b.txt", "two"));
    let answer = super::world::read(&world.ask(message).await?);
    let (first, second) = (answer.find("a.txt").expect("listed"), answer.find("b.txt").expect("listed"));
    assert!(first < second, "{answer}");
    world.end(1)
}

/// Nothing of it is fetched, whatever it says.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_stranger_brings_nothing_in() -> anyhow::Result<()> {
    let world = World::running_with("pairing = false").await?;
    let message = Incoming::private(EVE).text(&save(0, "/shared/a.jpg"));
    let pushed = world.server.push(message.attachment(Media::new("a.jpg", "x")));
    let told = world.answer(&pushed).await?.content;
    assert!(told.contains(&EVE.to_string()) && told.contains("allowed\\_users"), "{told}");
    world.ask(Incoming::private(ANN).text("/help")).await?;
    assert_eq!(world.server.requests(support::discord::Target::download()).len(), 0);
    assert!(!world.home.host("/shared/a.jpg").exists());
    world.end(2)
}
