//! The log of a running bot: whole lines of JSON whatever people and servers send, the token in
//! none of them, and at the usual level nothing of what people say or keep.

use super::world::{ANN, EVE, PATIENCE, World, save};
use serde_json::Value;
use support::telegram::{Fault, Incoming, Media};

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn every_line_is_an_object_and_none_has_the_token() -> anyhow::Result<()> {
    let mut world = World::running_in(|home| home.config("[log]\nformat = \"json\"\n")).await?;
    let token = world.server.token().to_owned();
    let told = format!("no method\n/bot{token}/x, /bot{}/x\r\u{1b}[31m", token.replace(':', "%3a"));
    for method in ["getUpdates", "sendMessage"] {
        world.server.fault(method, 1, Fault::api_error(404, &told));
    }
    let media = Media::with_content("d", "x").name("a\n{\"level\":\"ERROR\"}.txt");
    world.server.fault("getFile", 1, Fault::api_error(400, &told));
    world.server.push(Incoming::private(ANN).document(media).caption("/help\nERROR forged"));
    world.logs("a part of a reply was not sent").await?;
    let saved = Incoming::private(ANN).document(Media::with_content("e", "x")).caption(&save(0, "/shared/a"));
    world.ask(saved).await?;
    world.server.push(Incoming::private(EVE).text("\nERROR forged"));
    world.server.wait_for_messages(PATIENCE, 2).await?;
    world.stop()?;
    let mut levels = std::collections::BTreeSet::new();
    for line in world.log().lines() {
        let read: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        levels.insert(read["level"].as_str().expect("text").to_owned());
        assert!(read["timestamp"].as_str().is_some_and(|time| time.ends_with('Z')), "{line}");
    }
    assert!(levels.contains("INFO") && levels.contains("WARN") && levels.contains("DEBUG"), "{levels:?}");
    // The token is looked for in every line there.
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn at_the_usual_level_nothing_is_logged_of_what_people_say_and_keep() -> anyhow::Result<()> {
    const SAID: &str = "what-ann-says-is-her-own";
    let mut world = World::stopped(|home| home).await?;
    world.launch(&[], &[("COFFERDAM_LOG", "info")])?;
    world.logs("polling as ").await?;
    let file = Media::with_content("d", SAID).name(&format!("{SAID}.txt"));
    world.ask(Incoming::private(ANN).document(file).caption(&save(0, &format!("/shared/{SAID}")))).await?;
    let read = world.ask(Incoming::private(ANN).text(&format!("/file_read path=/shared/{SAID}"))).await?;
    assert!(read.contains(SAID));
    world.server.fault("sendMessage", 1, Fault::api_error(400, "Bad Request: no"));
    world.server.push(Incoming::private(ANN).text(&format!("/file_read path=/shared/missing-{SAID}")));
    world.logs("a part of a reply was not sent").await?;
    world.ask(Incoming::private(ANN).text(SAID)).await?;
    world.stop()?;
    assert!(!world.log().contains(SAID), "{}", world.log());
    world.end(3)
}
