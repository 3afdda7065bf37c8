//! The loopback Discord server against discord.py: a script is the bot, the test is everybody else,
//! and both compare what they saw.

use super::{PATIENCE, Script};
use anyhow::{Context, ensure};
use std::time::Duration;
use support::discord::{
    Closed, Command, DiscordServer, Fault, Hold, Incoming, Media, Press, Scope, SentMessage, Target,
};

const PERSON: u64 = 7;
const CHANNEL: u64 = 920_000_000_000_000_001;
const THREAD: u64 = 920_000_000_000_000_002;

/// What the script finds to be right and asks for, in order.
const RIGHT: [&str; 26] = [
    "commands",
    "ready",
    "?message",
    "download",
    "typing",
    "reply",
    "history",
    "delete",
    "refusals",
    "limits",
    "?edit",
    "changes",
    "?guild",
    "without the intent",
    "mention",
    "?thread",
    "thread",
    "?command",
    "command",
    "?press",
    "forged press",
    "press",
    "replayed",
    "resumed",
    "after",
    "unauthorized",
];

fn content() -> Vec<u8> {
    (0..=255).cycle().take(256 * 300).collect()
}

/// The message that asks for an approval.
fn question(server: &DiscordServer) -> anyhow::Result<SentMessage> {
    server
        .sent_messages()
        .into_iter()
        .find(|sent| sent.button("Approve").is_some())
        .context("there are buttons")
}

fn press(server: &DiscordServer, user: u64, button: &str) -> anyhow::Result<()> {
    let question = question(server)?;
    let custom_id = question.button(button).context("the button is there")?;
    server.press(Press::new(user, question.channel_id, question.message_id, &custom_id))?;
    Ok(())
}

/// Does what the script asks for with this line.
async fn act(server: &DiscordServer, line: &str) -> anyhow::Result<()> {
    let private = || Incoming::private(PERSON);
    match line {
        "?message" => drop(server.push(private().text("hello").attachment(Media::new("a.bin", content())))),
        "?edit" => {
            let hello =
                server.requests("typing")[0].params["channel_id"].as_str().context("an id")?.parse()?;
            let first = server.sent_messages()[0].reply_to.context("it was a reply")?;
            server.edit(hello, first, "other words")?;
            server.delete(hello, first)?;
        }
        "?guild" => {
            let words = || Incoming::guild(CHANNEL, PERSON).text("in words");
            server.push(words().attachment(Media::new("c.txt", "c")));
            server.push(words().mention_bot());
        }
        "?thread" => {
            server.open_thread(CHANNEL, THREAD);
            server.push(Incoming::guild(THREAD, PERSON).text("below"));
        }
        "?command" => {
            let file = Media::new("b.bin", content());
            server.invoke(
                Command::new("save").by(PERSON).channel(CHANNEL).option("index", 3).file("file", file),
            );
        }
        "?press" => press(server, PERSON + 1, "Deny")?,
        "forged press" => press(server, PERSON, "Approve")?,
        "press" => {
            let gate = server.gate("gateway", Hold::BeforeAnswer);
            server.request_reconnect();
            gate.reached().await?;
            server.push(private().text("missed"));
            gate.release();
        }
        "resumed" => drop(server.push(private().text("after"))),
        _ => {}
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn discord_py_understands_the_server_and_is_understood() -> anyhow::Result<()> {
    let Some(script) = Script::new("discordpy") else { return Ok(()) };
    let server = DiscordServer::start().await?;
    server.open_channel(CHANNEL);
    server.set_rate("create_message", (2, Duration::from_millis(300)));
    let third = Target::method("create_message").with("content", "3");
    server.fault(third, 1, Fault::rate_limited(Duration::from_millis(200), Scope::Shared));
    server.fault("typing", 1, Fault::server_error(502));
    let urls = [server.api_url(), server.gateway_url(), server.cdn_url()];
    let channel = CHANNEL.to_string();
    let arguments = [&urls[0], &urls[1], &urls[2], server.token(), &channel];
    let right = script.run(&arguments, async |line| act(&server, line).await).await?;
    ensure!(right == RIGHT, "{right:?}");
    ensure!(server.remaining_faults() == 0, "each fault was met");

    let sent = server.sent_messages();
    let names: Vec<_> = sent.iter().map(|sent| sent.content.as_str()).collect();
    let all = ["got it all", "0", "1", "2", "3", "4", "in the thread", "approved", "and more", "not you"];
    ensure!(names == all, "{names:?}");
    ensure!(sent[0].deleted && sent[0].earlier_contents == ["**got** it"] && sent[0].pings.is_empty());
    ensure!(sent.iter().all(|sent| sent.pings.is_empty()), "nobody is pinged");
    ensure!(sent[7].buttons().is_empty() && sent[9].is_ephemeral());
    let limited = server.requests("create_message").iter().filter(|one| one.status == Some(429)).count();
    ensure!(limited >= 1, "429 is answered with patience");
    let connections = server.connections();
    ensure!(connections.len() == 2, "{connections:?}");
    ensure!(
        format!("ws://{}", connections[1].host) == server.resume_url() && connections[1].identify.is_none()
    );
    ensure!(
        matches!(connections[1].closed, Some(Closed::ByClient(Some(4000)))),
        "{:?}",
        connections[1].closed
    );
    server.wait_until_idle(PATIENCE, "create_message").await
}
