//! The log of a running bot: at the usual level nothing of what people say or keep.

use super::world::{ANN, PATIENCE, World, read, save};
use support::discord::{Fault, Incoming, Media};

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn at_the_usual_level_nothing_is_logged_of_what_people_say_and_keep() -> anyhow::Result<()> {
    const SAID: &str = "what-ann-says-is-her-own";
    let mut world = World::stopped_with("").await?;
    world.launch(&[("COFFERDAM_LOG", "info")])?;
    world.says("listening on Discord as")?;
    world.server.wait_until_connected(PATIENCE).await?;
    let kept = Incoming::private(ANN).text(&save(0, &format!("/shared/{SAID}")));
    world.ask(kept.attachment(Media::new(&format!("{SAID}.txt"), SAID))).await?;
    let answer = world.ask(Incoming::private(ANN).text(&format!("/file_read path=/shared/{SAID}"))).await?;
    assert!(read(&answer).contains(SAID), "{answer}");
    world.server.fault("create_message", 1, Fault::discord_error(400, 50006, "Cannot send an empty message"));
    world.server.push(Incoming::private(ANN).text(&format!("/file_read path=/shared/missing-{SAID}")));
    world.logs("a part of a reply was not sent").await?;
    world.ask(Incoming::private(ANN).text(SAID)).await?;
    world.stop()?;
    assert!(!world.log().contains(SAID), "{}", world.log());
    world.end(3)
}
