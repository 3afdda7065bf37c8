//! The ways on which a file does not come: redirects, links that are over, and those that are slow
//! beside others.

use super::world::{ANN, PATIENCE, World, read, result, save};
use serde_json::json;
use support::discord::{Command, Fault, Hold, Incoming, Media, RedirectSink, SentMessage, Target};
use support::llm::{Call, Dialect, LlmServer, Turn};

fn one(n: usize) -> Incoming {
    let media = Media::new("a.txt", format!("file {n}"));
    Incoming::private(ANN).text(&save(0, &format!("/shared/{n}"))).attachment(media)
}

/// Not to another server, not to Discord's other host, not within a host, by whichever status.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn no_redirect_is_followed_wherever_it_leads() -> anyhow::Result<()> {
    let world = World::running().await?;
    let sink = RedirectSink::start().await?;
    let sound = world.server.push(Incoming::private(ANN).attachment(Media::new("b.txt", "elsewhere")));
    world.answer(&sound).await?;
    let url = sound.message["attachments"][0]["url"].as_str().expect("a link");
    let path = url.strip_prefix("https://cdn.discordapp.com").expect("of this host");
    let own = format!("{}{path}", world.server.cdn_url());
    let media = format!("https://media.discordapp.net{path}");
    let before = world.server.requests(Target::download()).len();
    let hops = [
        (301, sink.url()),
        (302, sink.url()),
        (303, own.clone()),
        (307, path.to_owned()),
        (308, media),
        (302, url.to_owned()),
        (302, String::new()),
    ];
    for (n, (status, to)) in hops.iter().enumerate() {
        world.server.fault(Target::download(), 1, Fault::redirect_by(*status, to));
        let answer = read(&world.ask(one(n)).await?);
        assert!(
            answer.contains("attachment_unavailable: ") && answer.contains("redirected"),
            "{status} {to}: {answer}"
        );
        assert!(!world.home.host(&format!("/shared/{n}")).exists());
    }
    assert_eq!(sink.received(), Vec::<String>::new());
    let requests = world.server.requests(Target::download()).len() - before;
    assert_eq!(requests, hops.len(), "each is asked for once, and nothing behind it");
    world.end(hops.len() + 1)
}

/// No message holds the file of a command, so nobody can be asked for a fresh link.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_file_of_a_command_is_gone_with_its_link() -> anyhow::Result<()> {
    for status in [403, 404, 410] {
        let world = World::running().await?;
        world.server.set_expired_status(status);
        let acknowledging = world.server.gate("create_response", Hold::BeforeEffect);
        let command = Command::new("attachment_save").by(ANN).option("index", 0);
        let command = command.option("path", "/shared/c").file("file", Media::new("c.txt", "by command"));
        let made = world.server.invoke(command);
        acknowledging.reached().await?;
        world.server.expire_links();
        acknowledging.release();
        let answers = |sent: &SentMessage| {
            sent.interaction == Some(made.id) && sent.content.contains("attachment\\_unavailable")
        };
        world.server.wait_for_message(PATIENCE, answers).await?;
        assert!(!world.home.host("/shared/c").exists());
        assert!(world.server.requests("get_message").is_empty(), "there is no message to ask for");
        assert_eq!(world.server.requests(Target::download()).len(), 1, "it is not tried again");
        world.end(1)?;
    }
    Ok(())
}

/// What came by a command is noted without its signature, and cannot be had later.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_file_of_an_earlier_command_is_unavailable_later() -> anyhow::Result<()> {
    let world = World::running().await?;
    let command = Command::new("attachment_save").by(ANN).option("index", 0);
    let command = command.option("path", "/shared/c").file("file", Media::new("c.txt", "by command"));
    let made = world.server.invoke(command);
    let answers = |sent: &SentMessage| sent.interaction == Some(made.id) && sent.content.contains("saved");
    world.server.wait_for_message(PATIENCE, answers).await?;
    let answer = read(&world.ask(Incoming::private(ANN).text("/attachment_download")).await?);
    assert!(answer.starts_with("attachment_unavailable: ") && answer.contains("send it again"), "{answer}");
    assert_eq!(world.server.requests(Target::download()).len(), 1);
    world.end(2)
}

/// Their order is that of the message, not that in which they come.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_slow_file_keeps_its_place() -> anyhow::Result<()> {
    let world = World::running().await?;
    let first = world.server.gate(Target::download_of("77001"), Hold::BeforeEffect);
    let second = world.server.gate(Target::download_of("77002"), Hold::BeforeAnswer);
    let message = Incoming::private(ANN).text(&save(0, "/shared/first"));
    let message = message.attachment(Media::new("slow.txt", "slow").id(77_001));
    let pushed = world.server.push(message.attachment(Media::new("quick.txt", "quick").id(77_002)));
    first.reached().await?;
    second.reached().await?;
    second.release();
    first.release();
    assert_eq!(result(&world.answer(&pushed).await?.content)["source_index"], 0);
    assert_eq!(world.saved("/shared/first"), b"slow");
    world.end(1)
}

/// What failed for another reason is retried with its files, however old their links are.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_retry_has_the_files_of_its_message_after_their_links_are_over() -> anyhow::Result<()> {
    let llm = LlmServer::start().await?;
    llm.script([Turn::status(401)]);
    let world = World::running_in(|home| home.model(&llm, Dialect::Chat, ""), "").await?;
    let message = Incoming::private(ANN).text("keep it").attachment(Media::new("a.txt", "kept"));
    world.ask(message).await?;
    world.server.expire_links();
    let save = Call::new("attachment_save", json!({ "index": 0, "path": "/shared/kept" }));
    llm.script([Turn::calls([save]), Turn::say("Done.")]);
    assert_eq!(world.ask(Incoming::private(ANN).text("/retry")).await?, "Done.");
    assert_eq!(world.saved("/shared/kept"), b"kept");
    assert_eq!(world.server.requests("get_message").len(), 1, "for a fresh link");
    world.end(2)
}
