//! Files that came: from where they are fetched, how often, and why one is unavailable; and files
//! that go out.

use super::world::{ANN, BEN, PATIENCE, TOWN, World, read, result, save};
use serde_json::json;
use support::discord::{Command, Fault, Incoming, Media, Target};
use support::guests::sha256;

fn one(media: Media) -> Incoming {
    Incoming::private(ANN).text(&save(0, "/shared/one")).attachment(media)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn files_of_other_addresses_are_not_asked_for_and_keep_their_index() -> anyhow::Result<()> {
    let world = World::running_with("[attachments]\nmax_bytes = \"1 MiB\"").await?;
    for url in [
        "http://cdn.discordapp.com/attachments/1/2/a",
        "https://cdn.discordapp.com:444/attachments/1/2/a",
        "https://u@cdn.discordapp.com/attachments/1/2/a",
        "https://cdn.discordapp.com.evil.example/a",
        "https://evil.example/attachments/1/2/a",
        "",
    ] {
        let answer = read(&world.ask(one(Media::new("a", "x").url(url))).await?);
        assert!(answer.contains("attachment_unavailable: "), "{url}: {answer}");
    }
    assert!(world.server.requests(Target::download()).is_empty());
    let message = Incoming::private(ANN).text(&save(2, "/shared/third"));
    let message = message.attachment(Media::new("a", "x").url("https://evil.example/"));
    let message = message.attachment(Media::announced("b", 2 << 20)).attachment(Media::new("c", "third"));
    world.ask(message).await?;
    assert_eq!(world.saved("/shared/third"), b"third");
    assert_eq!(world.server.requests(Target::download()).len(), 1, "what is too large is not fetched");
    // What is declared is not believed.
    let lies = Media::repeated("l", b'x', (1 << 20) + 1).size(5);
    let answer = read(&world.ask(one(lies)).await?);
    assert!(answer.contains("attachment_unavailable: ") && answer.contains("too large"), "{answer}");
    let short = Media::new("s", "short").size(500);
    let answer = read(&world.ask(one(short)).await?);
    assert!(answer.contains("attachment_unavailable: "), "{answer}");
    world.end(9)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_fails_is_tried_again_and_a_redirect_is_not_followed() -> anyhow::Result<()> {
    let world = World::running().await?;
    world.server.fault(Target::download(), 2, Fault::server_error(503));
    let answer = world.ask(one(Media::new("a", "hello"))).await?;
    assert_eq!(result(&answer)["saved"], true);
    assert_eq!(world.server.requests(Target::download()).len(), 3);
    world.server.fault(Target::download(), 9, Fault::server_error(502));
    let answer = read(&world.ask(one(Media::new("b", "x"))).await?);
    assert!(answer.contains("attachment_unavailable: "), "{answer}");
    world.server.clear_faults();
    assert_eq!(world.server.requests(Target::download()).len(), 6, "a few times");
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_link_that_is_over_is_renewed_once_by_its_message() -> anyhow::Result<()> {
    for status in [403, 404, 410] {
        let world = World::running().await?;
        world.server.set_expired_status(status);
        let pushed = world.server.push(Incoming::private(ANN).attachment(Media::new("a.txt", "kept")));
        world.answer(&pushed).await?;
        world.server.expire_links();
        world.server.advance(std::time::Duration::from_secs(2));
        let answer = result(&world.ask(Incoming::private(ANN).text("/attachment_download")).await?);
        let name = format!("{}.txt", &sha256(b"kept")[..10]);
        assert_eq!(answer["ok"], true, "{answer}");
        assert!(answer["files"][0]["path"].as_str().expect("a path").ends_with(&name), "{answer}");
        let source = answer["files"][0]["sourceUrl"].as_str().expect("a source");
        assert!(source.starts_with("https://cdn.discordapp.com/") && !source.contains('?'), "{source}");
        // A reply to the old message, as it was told then.
        world.server.expire_links();
        world.server.advance(std::time::Duration::from_secs(2));
        let command = Incoming::private(ANN).text(&save(0, "/shared/again")).reply_to(&pushed.message);
        world.ask(command).await?;
        assert_eq!(world.saved("/shared/again"), b"kept");
        // Gone for good.
        assert!(world.server.remove_file(pushed.attachments[0]));
        let command = Incoming::private(ANN).text(&save(0, "/shared/gone")).reply_to(&pushed.message);
        let answer = read(&world.ask(command).await?);
        assert!(answer.contains("attachment_unavailable: "), "{status}: {answer}");
        world.end(4)?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_last_files_are_known_after_a_restart() -> anyhow::Result<()> {
    let mut world = World::running().await?;
    let message =
        Incoming::private(ANN).attachment(Media::new("a.txt", "one")).attachment(Media::new("b", "two"));
    let pushed = world.server.push(message);
    world.answer(&pushed).await?;
    world.kill();
    world.start().await?;
    let answer = result(&world.ask(Incoming::private(ANN).text("/attachment_download")).await?);
    assert_eq!(answer["files"].as_array().map(Vec::len), Some(2), "{answer}");
    let again = result(&world.ask(Incoming::private(ANN).text("/attachment_download")).await?);
    assert_eq!(answer["files"], again["files"], "what is there is not written again");
    world.end(3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn files_go_with_the_first_message_and_a_crowd_in_tens() -> anyhow::Result<()> {
    let world = World::running_with("[replies]\nmax_count = 25").await?;
    for n in 0..12 {
        let path = world.home.host(&format!("/shared/{n:02}.txt"));
        std::fs::create_dir_all(path.parent().expect("a folder"))?;
        std::fs::write(path, format!("file {n}"))?;
    }
    let two = r#"/attachment_add {"paths":["/shared/00.txt","/shared/01.txt"]}"#;
    let pushed = world.server.push(Incoming::private(ANN).text(two));
    let answer = world.answer(&pushed).await?;
    let names: Vec<_> = answer.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!((names, result(&answer.content)["ok"].clone()), (vec!["00.txt", "01.txt"], json!(true)));
    let all: Vec<_> = (0..12).map(|n| format!("/shared/{n:02}.txt")).collect();
    let many = format!("/attachment_add {}", json!({ "paths": all }));
    let pushed = world.server.push(Incoming::private(ANN).text(&many));
    let answer = world.answer(&pushed).await?;
    assert_eq!(answer.files.len(), 10);
    let rest = |sent: &support::discord::SentMessage| sent.reply_to == Some(answer.message_id);
    let rest = world.server.wait_for_message(PATIENCE, rest).await?;
    let names: Vec<_> = rest.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!((names, rest.content.as_str()), (vec!["10.txt", "11.txt"], ""));
    world.end(3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_discord_does_not_take_is_told_and_the_text_goes_out() -> anyhow::Result<()> {
    let world = World::running().await?;
    std::fs::create_dir_all(world.home.host("/shared"))?;
    std::fs::write(world.home.host("/shared/large.bin"), vec![7; (10 << 20) + 1])?;
    std::fs::write(world.home.host("/shared/small.txt"), "small")?;
    let both = r#"/attachment_add {"paths":["/shared/large.bin","/shared/small.txt"]}"#;
    let pushed = world.server.push(Incoming::private(ANN).text(both));
    let answer = world.answer(&pushed).await?;
    assert_eq!(answer.files.len(), 1, "the rest goes out");
    assert!(
        read(&answer.content).contains("large.bin") && answer.content.contains("too large"),
        "{answer:?}"
    );
    world.server.open_channel(TOWN);
    let too_large = Fault::discord_error(413, 40005, "Request entity too large");
    world.server.fault("create_message", 1, too_large);
    let one = r#"/attachment_add {"path":"/shared/small.txt"}"#;
    world.server.push(Incoming::private(ANN).text(one));
    let said = |sent: &support::discord::SentMessage| {
        sent.content.contains("small.txt") && sent.content.contains("could not be sent")
    };
    world.server.wait_for_message(PATIENCE, said).await?;
    world.logs("ROUTING_ERROR").await?;
    let count = world.server.sent_messages().len();
    world.end(count)
}

/// Refused as it stands, below a message and below a command: not repeated, and the words go out
/// with the names.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn files_that_are_refused_with_their_message_are_named_below_its_words() -> anyhow::Result<()> {
    for (status, code) in [(400, 50035), (403, 50013), (413, 40005)] {
        let world = World::running().await?;
        std::fs::create_dir_all(world.home.host("/shared"))?;
        std::fs::write(world.home.host("/shared/small.txt"), "small")?;
        let refuse = || Fault::discord_error(status, code, "Invalid Form Body");
        world.server.fault("create_message", 1, refuse());
        let add = Incoming::private(ANN).text("/attachment_add path=/shared/small.txt");
        world.server.push(add);
        let texts = world.server.wait_for_messages(PATIENCE, 2).await?;
        assert_eq!(result(&texts[0].content)["ok"], true, "the words: {texts:?}");
        let named = read(&texts[1].content);
        assert!(named.contains("1 file could not be sent: small.txt: "), "{named}");
        world.logs("ROUTING_ERROR").await?;
        assert_eq!(world.server.requests("create_message").len(), 3, "not repeated");
        world.server.fault("edit_response", 1, refuse());
        world.server.invoke(Command::new("attachment_add").by(ANN).option("path", "/shared/small.txt"));
        let all = world.server.wait_for_messages(PATIENCE, 5).await?;
        assert!(all[2].deleted, "nobody waits below the command: {all:#?}");
        assert_eq!(result(&all[3].content)["ok"], true);
        assert!(read(&all[4].content).contains("1 file could not be sent: small.txt: "));
        assert!(all.iter().all(|sent| sent.files.is_empty()));
        world.end(4)?;
    }
    Ok(())
}

/// The most recent message of that person in that channel counts, and nobody else's.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_is_downloaded_later_is_ones_own_and_of_this_channel() -> anyhow::Result<()> {
    let world = World::running().await?;
    world.server.open_channel(TOWN);
    let say = |user: u64| Incoming::guild(TOWN, user).mention_bot();
    let of = |text: &str| Media::new("a.txt", text.to_owned());
    world.ask(Incoming::private(ANN).attachment(of("in private"))).await?;
    world.ask(say(ANN).attachment(of("anns first"))).await?;
    world.ask(say(ANN).attachment(of("anns"))).await?;
    world.ask(say(BEN).attachment(of("bens"))).await?;
    let answer = result(&world.ask(say(ANN).text("/attachment_download")).await?);
    let files = answer["files"].as_array().expect("files");
    let path = files[0]["path"].as_str().expect("a path");
    assert!(files.len() == 1 && path.contains(&sha256(b"anns")[..10]), "{answer}");
    world.end(5)
}

/// Ten files may be too much for one request.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_one_request_does_not_hold_goes_in_several() -> anyhow::Result<()> {
    let world = World::running().await?;
    std::fs::create_dir_all(world.home.host("/shared"))?;
    let paths: Vec<_> = (0..3).map(|n| format!("/shared/{n}.bin")).collect();
    for (n, path) in paths.iter().enumerate() {
        std::fs::write(world.home.host(path), vec![b'0' + u8::try_from(n)?; 9 << 20])?;
    }
    let add = format!("/attachment_add {}", json!({ "paths": paths }));
    let asked = world.server.push(Incoming::private(ANN).text(&add));
    let first = world.answer(&asked).await?;
    let rest = |sent: &support::discord::SentMessage| sent.reply_to == Some(first.message_id);
    let rest = world.server.wait_for_message(PATIENCE, rest).await?;
    let names =
        |sent: &support::discord::SentMessage| sent.files.iter().map(|f| f.name.clone()).collect::<Vec<_>>();
    assert_eq!((names(&first), names(&rest)), (vec!["0.bin".into(), "1.bin".into()], vec!["2.bin".into()]));
    world.server.wait_until_idle(PATIENCE, "create_message").await?;
    let refused =
        world.server.requests("create_message").iter().filter(|one| one.status != Some(200)).count();
    assert_eq!((refused, rest.content.as_str()), (0, ""));
    world.end(2)
}
