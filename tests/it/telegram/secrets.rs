//! What must not lie about: the bytes of attachments, and the token, even where a server repeats it
//! or a proxy is configured. (That the token is nowhere else is held against every test here.)

use super::world::{ANN, World, save};
use std::path::PathBuf;
use support::containing;
use support::telegram::{Fault, Incoming, Media, RedirectSink, Target};

const MARKER: &str = "these-bytes-are-the-users-own";

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn no_byte_of_an_attachment_stays_in_the_state() -> anyhow::Result<()> {
    let mut world = World::running().await?;
    let file = |id: &str, size: usize| {
        let content = MARKER.repeat(size / MARKER.len() + 1);
        Incoming::private(ANN).document(Media::with_content(id, content).name("a.txt"))
    };
    world.ask(file("small", 1000).caption(&save(0, "/shared/small"))).await?;
    world.ask(file("large", 1 << 20).caption(&save(0, "/shared/large"))).await?;
    world.ask(file("listed", 1000)).await?;
    world.ask(file("refused", 1000).caption(&save(0, "/vault/refused"))).await?;
    world.server.fault(Target::download_of("cut"), 9, Fault::truncated(500));
    world.ask(file("cut", 1000).caption(&save(0, "/shared/cut"))).await?;
    // A turn that a crash cuts off in the middle of a large download.
    let gate = world.server.gate(Target::download(), support::telegram::Hold::InBody(600 << 10));
    world.server.push(file("crashed", 1 << 20).caption(&save(0, "/shared/crashed")));
    world.kill_at(gate).await?;
    assert_eq!(containing(&world.home.state(), MARKER.as_bytes()), Vec::<PathBuf>::new());
    world.start()?;
    world.texts(6).await?;
    world.stop()?;
    assert_eq!(containing(&world.home.state(), MARKER.as_bytes()), Vec::<PathBuf>::new());
    assert!(!world.log().contains(MARKER));
    let saved = containing(&world.home.workspace(), MARKER.as_bytes()).len();
    assert_eq!(saved, 3, "where it was asked for, it is");
    world.end(6)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_server_that_repeats_the_token_is_not_quoted() -> anyhow::Result<()> {
    let world = World::running().await?;
    let token = world.server.token().to_owned();
    let told = format!("Bad Request: no such method /bot{token}/x, /bot{}/x", token.replace(':', "%3A"));
    for method in ["getFile", "getUpdates", "sendMessage"] {
        world.server.fault(method, 1, Fault::api_error(400, &told));
    }
    let media = Media::with_content("d", "x").name(&format!("{MARKER}.txt"));
    world.server.push(Incoming::private(ANN).document(media).caption("/help"));
    let next = Incoming::private(ANN).document(Media::with_content("d", "x")).caption("/help");
    world.server.fault("getFile", 1, Fault::api_error(400, &told));
    let said = world.ask(next).await?;
    assert!(
        said.starts_with(
            "[0] document: Telegram does not hand it out: Bad Request: no such method /bot***/x"
        ),
        "{said}"
    );
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn no_proxy_hears_of_a_server_on_loopback() -> anyhow::Result<()> {
    let mut world = World::stopped(|home| home).await?;
    let sink = RedirectSink::start().await?;
    let url = sink.url();
    let names = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
    world.launch(&[], &names.map(|name| (name, url.as_str())))?;
    let message =
        Incoming::private(ANN).document(Media::with_content("d", "x")).caption(&save(0, "/shared/a"));
    assert!(world.ask(message).await?.contains(r#""saved":true"#));
    assert_eq!(sink.received(), Vec::<String>::new());
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_was_said_is_forgotten_when_it_is_done() -> anyhow::Result<()> {
    let mut world = World::running().await?;
    // Long texts have pages of their own in the database.
    for n in 0..20 {
        world.ask(Incoming::private(ANN).text(&format!("{} {MARKER}", "y".repeat(n * 200)))).await?;
    }
    std::fs::write(world.home.host("/shared/a"), MARKER.repeat(100))?;
    let read = world.ask(Incoming::private(ANN).text("/file_read path=/shared/a")).await?;
    assert!(read.contains(MARKER));
    world.stop()?;
    assert_eq!(containing(&world.home.state(), MARKER.as_bytes()), Vec::<PathBuf>::new());
    world.end(21)
}
