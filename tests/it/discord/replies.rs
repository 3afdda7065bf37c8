//! Replies as people read them: escapes, parts, typing, nonces, what is repeated and what is not.

use super::world::{ANN, PATIENCE, TOWN, World, read};
use std::time::Duration;
use support::discord::{Fault, Incoming, Refusal, Scope};

/// A file is read back: what it holds is what is said.
async fn said(world: &World, text: &str) -> anyhow::Result<String> {
    std::fs::create_dir_all(world.home.host("/shared"))?;
    std::fs::write(world.home.host("/shared/said"), text)?;
    world.ask(Incoming::private(ANN).text("/file_read path=/shared/said")).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_plain_text_is_read_character_for_character() -> anyhow::Result<()> {
    let world = World::running().await?;
    let odd =
        "*a* _b_ ~~c~~ `d` ||e|| # f\n> g\n- h\n<@5> <@!5> <@&5> <#5> @everyone @here [i](https://e.org) \\";
    let answer = said(&world, odd).await?;
    let shown: serde_json::Value = serde_json::from_str(&read(&answer))?;
    assert_eq!(shown["content"], odd);
    for mark in ["<@5>", "@everyone", "*a*", "||e||", "https://"] {
        let bare = answer.match_indices(mark).any(|(at, _)| !answer[..at].ends_with('\\'));
        assert!(!bare, "{mark} in {answer}");
    }
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_long_text_comes_in_parts_that_fit_and_in_order() -> anyhow::Result<()> {
    let world = World::running().await?;
    let long: String = (0..700).map(|n| format!("line_{n:03}* é")).collect::<Vec<_>>().join(" ");
    std::fs::create_dir_all(world.home.host("/shared"))?;
    std::fs::write(world.home.host("/shared/said"), &long)?;
    world.server.push(Incoming::private(ANN).text("/file_read path=/shared/said"));
    let ends = |sent: &support::discord::SentMessage| sent.content.contains("line\\_699");
    world.server.wait_for_message(PATIENCE, ends).await?;
    let all = world.server.sent_messages();
    assert!(all.len() > 3 && all.iter().all(|sent| sent.content.chars().count() <= 2000));
    let whole: String = all.iter().map(|sent| read(&sent.content)).collect();
    // At the ends of messages Discord leaves blanks out.
    let bare = |text: &str| text.replace(' ', "");
    assert!(bare(&whole).contains(&bare(&long)), "nothing is lost: {whole}");
    assert_eq!(all.iter().filter(|sent| sent.reply_to.is_some()).count(), 1, "the first one alone points");
    let count = all.len();
    world.end(count)
}

/// The answer to a create is lost: it is sent again and is there once.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_create_is_repeated_under_its_nonce_and_there_once() -> anyhow::Result<()> {
    let world = World::running().await?;
    for fault in [
        Fault::server_error(502),
        Fault::bad_gateway().after_effect(),
        Fault::close().after_effect(),
        // Nobody knows what became of these.
        Fault::garbage().after_effect(),
        Fault::empty_body(),
        Fault::server_error(500),
    ] {
        world.server.fault("create_message", 1, fault);
        world.ask(Incoming::private(ANN).text("/help")).await?;
    }
    let nonces: Vec<_> = world.server.requests("create_message");
    assert!(nonces.len() >= 12, "each was sent again");
    // It was there, and somebody has deleted it.
    let unknown = Fault::discord_error(404, 10008, "Unknown Message");
    world.server.fault("create_message", 1, unknown);
    world.server.push(Incoming::private(ANN).text("/help"));
    world.server.wait_for_requests(PATIENCE, "create_message", nonces.len() + 1).await?;
    world.ask(Incoming::private(ANN).text("/help")).await?;
    world.end(7)
}

/// A portal or a proxy answers in Discord's place: that says nothing of the message, nor of the
/// token.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_somebody_else_answers_costs_no_reply_and_no_token() -> anyhow::Result<()> {
    let world = World::running().await?;
    for fault in [
        Fault::status(401, "text/html", "<html>log in</html>"),
        Fault::status(403, "text/plain", "error code: 1020"),
        Fault::redirect("http://127.0.0.1:9/"),
    ] {
        world.server.fault("create_message", 1, fault);
        world.ask(Incoming::private(ANN).text("/help")).await?;
    }
    assert_eq!(world.server.requests("create_message").len(), 6, "each was sent again");
    world.end(3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_channel_that_takes_nothing_holds_no_other_up() -> anyhow::Result<()> {
    let world = World::running().await?;
    world.server.open_channel(TOWN);
    world.server.refuse(TOWN, Some(Refusal::MissingAccess));
    world.server.push(Incoming::guild(TOWN, ANN).mention_bot().text("/help"));
    world.logs("ROUTING_ERROR").await?;
    world.ask(Incoming::private(ANN).text("/help")).await?;
    assert_eq!(world.server.requests("create_message").len(), 2, "not repeated");
    // A reply to what is gone arrives without a reference.
    let gone = world.server.push(Incoming::private(ANN).text("/help").untold());
    world.server.push_event("MESSAGE_CREATE", &gone.message);
    world.answer(&gone).await?;
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn limits_are_kept_bucket_by_bucket() -> anyhow::Result<()> {
    let world = World::running().await?;
    world.server.set_rate("create_message", (2, Duration::from_millis(700)));
    let pushed: Vec<_> = (0..6).map(|_| world.server.push(Incoming::private(ANN).text("/help"))).collect();
    for one in &pushed {
        world.answer(one).await?;
    }
    let refused = world.server.requests("create_message").iter().filter(|r| r.status == Some(429)).count();
    assert_eq!(refused, 0, "nothing is sent into a bucket that is known to be empty");
    world.server.set_rate("create_message", (1000, Duration::from_secs(1)));
    for scope in [Scope::User, Scope::Shared, Scope::Global] {
        world.server.fault("create_message", 1, Fault::rate_limited(Duration::from_millis(300), scope));
        world.ask(Incoming::private(ANN).text("/help")).await?;
    }
    world.server.fault("create_message", 1, Fault::banned_by_proxy(1));
    world.ask(Incoming::private(ANN).text("/help")).await?;
    world.end(10)
}
