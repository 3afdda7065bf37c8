//! The loopback Discord server against twilight, whose types are those of the documented API: a
//! payload that lacks a field ends the test.

use super::PATIENCE;
use anyhow::{Context, bail, ensure};
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use support::discord::{
    BOT_ID, Closed, Command, DiscordServer, Fault, Incoming, Media, Press, Scope, Target,
};
use twilight_gateway::{Config, ConfigBuilder, Event, EventTypeFlags, Intents, Shard, ShardId, StreamExt};
use twilight_http::Client;
use twilight_model::channel::Message;
use twilight_model::channel::message::{AllowedMentions, Component};
use twilight_model::http::attachment::Attachment;
use twilight_model::http::interaction::{
    InteractionResponse, InteractionResponseData, InteractionResponseType,
};
use twilight_model::id::Id;

const PERSON: u64 = 7;
const CHANNEL: u64 = 920_000_000_000_000_001;

fn http(server: &DiscordServer) -> anyhow::Result<Client> {
    let address = server.cdn_url();
    let address = address.strip_prefix("http://").context("it is plain")?.to_owned();
    Ok(Client::builder().token(format!("Bot {}", server.token())).proxy(address, true).build())
}

fn shard(server: &DiscordServer) -> Shard {
    let intents =
        Intents::GUILDS | Intents::GUILD_MESSAGES | Intents::DIRECT_MESSAGES | Intents::MESSAGE_CONTENT;
    let config: Config =
        ConfigBuilder::new(server.token().to_owned(), intents).proxy_url(server.gateway_url()).build();
    Shard::with_config(ShardId::ONE, config)
}

/// The next event that this makes something of; every one must be understood.
async fn next<T>(shard: &mut Shard, mut pick: impl FnMut(Event) -> Option<T>) -> anyhow::Result<T> {
    let looking = async {
        while let Some(event) = shard.next_event(EventTypeFlags::all()).await {
            if let Some(found) = pick(event?) {
                return Ok(found);
            }
        }
        bail!("the shard has ended")
    };
    tokio::time::timeout(PATIENCE, looking).await.context("the event comes in time")?
}

async fn message(shard: &mut Shard) -> anyhow::Result<Message> {
    let of_person = |event| match event {
        Event::MessageCreate(message) if message.author.id.get() == PERSON => Some(message.message),
        _ => None,
    };
    next(shard, of_person).await
}

/// What a link of the CDN leads to on this server.
fn download(server: &DiscordServer, url: &str) -> anyhow::Result<Vec<u8>> {
    let path = url.strip_prefix("https://cdn.discordapp.com").context("it is the CDN's")?;
    let mut stream = TcpStream::connect(server.cdn_url().strip_prefix("http://").context("it is plain")?)?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: cdn.discordapp.com\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    ensure!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").context("the head ends")?;
    Ok(answer.split_off(end + 4))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn twilight_hears_messages_and_answers_with_files() -> anyhow::Result<()> {
    let server = DiscordServer::start().await?;
    server.set_message_content(true);
    server.open_channel(CHANNEL);
    let (http, mut shard) = (http(&server)?, shard(&server));
    let guild = |event| matches!(event, Event::GuildCreate(_)).then_some(());
    next(&mut shard, guild).await?;
    for (incoming, mentions) in [
        (Incoming::guild(CHANNEL, PERSON).text("in words").mention_bot(), 1),
        (Incoming::private(PERSON).text("alone"), 0),
        (Incoming::private(PERSON).forward("sent on", [Media::new("f.txt", "f")]), 0),
        (Incoming::private(PERSON).voice(Media::new("voice-message.ogg", "OggS")), 0),
    ] {
        let pushed = server.push(incoming.clone());
        let heard = message(&mut shard).await?;
        ensure!((heard.id.get(), heard.mentions.len()) == (pushed.message_id, mentions), "{heard:?}");
        let reply = server.push(Incoming::private(PERSON).text("re").reply_to(&pushed.message));
        let heard = message(&mut shard).await?;
        let referenced = heard.referenced_message.context("it is there")?;
        ensure!((heard.id.get(), referenced.id.get()) == (reply.message_id, pushed.message_id));
    }
    let file = Media::new("ä b.bin", vec![7; 300_000]).description("some bytes");
    let pushed = server.push(Incoming::private(PERSON).text("hello").attachment(file));
    let heard = message(&mut shard).await?;
    let attachment = &heard.attachments[0];
    ensure!((attachment.filename.as_str(), attachment.size) == ("_b.bin", 300_000), "{attachment:?}");
    ensure!(download(&server, &attachment.url)? == [7; 300_000]);

    server.set_rate("create_message", (3, Duration::from_millis(300)));
    let busy = Target::method("create_message").with("content", "second");
    server.fault(busy, 1, Fault::rate_limited(Duration::from_millis(100), Scope::User));
    let channel = Id::new(pushed.channel_id);
    let files = [Attachment::from_bytes("Mueller_1.bin".to_owned(), vec![8; 70_000], 0)];
    let nobody = AllowedMentions::default();
    let create = || http.create_message(channel).content("first").reply(heard.id).fail_if_not_exists(false);
    let sent = create().attachments(&files).allowed_mentions(Some(&nobody)).await?.model().await?;
    ensure!(sent.referenced_message.is_some_and(|message| message.id == heard.id));
    ensure!(download(&server, &sent.attachments[0].url)? == [8; 70_000]);
    let body = json!({ "content": "second", "nonce": "one", "enforce_nonce": true }).to_string();
    let mut ids = Vec::new();
    for _ in 0..6 {
        let create = http.create_message(channel).payload_json(body.as_bytes());
        ids.push(create.await?.model().await?.id.get());
    }
    ids.dedup();
    ensure!(ids.len() == 1, "a nonce makes one message: {ids:?}");
    http.update_message(channel, sent.id).content(Some("changed")).await?;
    let newest = http.channel_messages(channel).after(sent.id).await?.models().await?;
    ensure!(newest.iter().map(|message| message.id.get()).eq(ids), "{newest:?}");
    http.create_typing_trigger(channel).await?;
    http.delete_message(channel, sent.id).await?;
    let refused = http.delete_message(channel, sent.id).await.err().context("it is gone")?;
    ensure!(refused.to_string().contains("404"), "{refused}");

    let all = server.sent_messages();
    ensure!(all.len() == 2 && server.remaining_faults() == 0);
    ensure!(all[0].deleted && all[0].content == "changed" && all[0].reply_to == Some(pushed.message_id));
    ensure!(
        all[0].files[0].name == "Mueller_1.bin"
            && all[0].files[0].bytes == [8; 70_000][..]
            && all[0].pings.is_empty()
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn twilight_answers_commands_and_presses() -> anyhow::Result<()> {
    let server = DiscordServer::start().await?;
    server.set_message_content(true);
    server.open_channel(CHANNEL);
    let (http, mut shard) = (http(&server)?, shard(&server));
    let application = http.current_user_application().await?.model().await?;
    ensure!(application.id.get() == BOT_ID && http.current_user().await?.model().await?.bot);
    let interactions = http.interaction(application.id);
    let option =
        |kind: u8, name: &str| json!({ "type": kind, "name": name, "description": "x", "required": true });
    let commands = json!([{
        "type": 1, "name": "save", "description": "Saves a file", "version": "1",
        "options": [option(4, "index"), option(11, "file")],
    }]);
    let commands: Vec<twilight_model::application::command::Command> = serde_json::from_value(commands)?;
    interactions.set_global_commands(&commands).await?;
    let known = interactions.global_commands().await?.models().await?;
    ensure!(known[0].name == "save" && known[0].options == commands[0].options, "{known:?}");

    next(&mut shard, |event| matches!(event, Event::Ready(_)).then_some(())).await?;
    let pick = |event| match event {
        Event::InteractionCreate(interaction) => Some(interaction.0),
        _ => None,
    };
    let file = Media::new("a.bin", "bytes");
    let given =
        server.invoke(Command::new("save").by(PERSON).channel(CHANNEL).option("index", 3).file("file", file));
    let heard = next(&mut shard, pick).await?;
    ensure!(heard.id.get() == given.id && heard.author_id() == Some(Id::new(PERSON)), "{heard:?}");
    let data = serde_json::to_value(&heard.data)?;
    let attachments = data["resolved"]["attachments"].as_object().context("there are files")?;
    let url = attachments.values().next().and_then(|file| file["url"].as_str()).context("there is a link")?;
    ensure!(download(&server, url)? == b"bytes");
    let deferred =
        InteractionResponse { kind: InteractionResponseType::DeferredChannelMessageWithSource, data: None };
    interactions.create_response(heard.id, &heard.token, &deferred).await?;
    ensure!(interactions.create_response(heard.id, &heard.token, &deferred).await.is_err(), "40060");
    let button =
        |style: u8, label: &str| json!({ "type": 2, "style": style, "label": label, "custom_id": label });
    let row = json!([{ "type": 1, "components": [button(3, "Approve"), button(4, "Deny")] }]);
    let components: Vec<Component> = serde_json::from_value(row)?;
    let update =
        interactions.update_response(&heard.token).content(Some("sure?")).components(Some(&components));
    let question = update.await?.model().await?;
    ensure!(interactions.response(&heard.token).await?.model().await?.id == question.id);

    let pressed = server.press(Press::new(PERSON, CHANNEL, question.id.get(), "Approve"))?;
    let heard = next(&mut shard, pick).await?;
    ensure!(
        heard.id.get() == pressed.id
            && heard.message.as_ref().is_some_and(|message| message.id == question.id)
    );
    let data = InteractionResponseData {
        content: Some("approved".to_owned()),
        components: Some(Vec::new()),
        ..InteractionResponseData::default()
    };
    let changed = InteractionResponse { kind: InteractionResponseType::UpdateMessage, data: Some(data) };
    interactions.create_response(heard.id, &heard.token, &changed).await?;
    let sent = server.sent_messages();
    ensure!(sent.len() == 1 && sent[0].content == "approved" && sent[0].buttons().is_empty(), "{sent:?}");
    let given = server.interaction(given.id).context("it is known")?;
    ensure!(given.acknowledged == Some(5) && given.original == Some(question.id.get()));
    Ok(())
}

/// How a connection ends, and whether the next one resumes.
type Interruption = (&'static str, fn(&DiscordServer), bool);

const INTERRUPTIONS: [Interruption; 8] = [
    ("op 7", DiscordServer::request_reconnect, true),
    ("broken", DiscordServer::break_gateway, true),
    ("4000", |server| server.close_gateway(4000), true),
    ("4008", |server| server.close_gateway(4008), true),
    ("op 9 true", |server| server.invalidate_sessions(true), true),
    ("op 9 false", |server| server.invalidate_sessions(false), false),
    ("4009", |server| server.close_gateway(4009), false),
    ("zombie", |server| server.withhold_acks(true), true),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn twilight_comes_back_as_the_server_says() -> anyhow::Result<()> {
    for (name, interrupt, resumes) in INTERRUPTIONS {
        let server = DiscordServer::start().await?;
        server.set_message_content(true);
        server.set_heartbeat_interval(Duration::from_millis(500));
        let mut shard = shard(&server);
        next(&mut shard, |event| matches!(event, Event::Ready(_)).then_some(())).await?;
        server.push(Incoming::private(PERSON).text("one"));
        ensure!(message(&mut shard).await?.content == "one");
        interrupt(&server);
        let again = |event| matches!(event, Event::Resumed | Event::Ready(_)).then_some(());
        next(&mut shard, again).await.context(name)?;
        server.withhold_acks(false);
        server.push(Incoming::private(PERSON).text("two"));
        ensure!(message(&mut shard).await?.content == "two", "{name}");
        let last = server.wait_until_connected(PATIENCE).await?;
        ensure!(last.identify.is_none() == resumes, "{name}: {last:?}");
        if name == "zombie" {
            let first = &server.connections()[0];
            ensure!(!matches!(first.closed, Some(Closed::ByClient(Some(1000 | 1001)))), "{:?}", first.closed);
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn twilight_ends_when_it_is_told_to() -> anyhow::Result<()> {
    // The intent is off in the portal; the token is somebody else's.
    let server = DiscordServer::start().await?;
    let mut one = shard(&server);
    let code = |event| match event {
        Event::GatewayClose(frame) => Some(frame.map(|frame| frame.code)),
        _ => None,
    };
    ensure!(next(&mut one, code).await? == Some(4014));
    ensure!(one.next_event(EventTypeFlags::all()).await.is_none());
    let config = ConfigBuilder::new("x".to_owned(), Intents::GUILDS).proxy_url(server.gateway_url()).build();
    let mut two = Shard::with_config(ShardId::ONE, config);
    ensure!(next(&mut two, code).await? == Some(4004));
    ensure!(server.connections().len() == 2);
    Ok(())
}
