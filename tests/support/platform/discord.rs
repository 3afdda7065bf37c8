//! Discord as one of the platforms.

use super::{Message, Platform, Sent, Step, Written};
use crate::discord::{DiscordServer, Incoming, Media, Press, Pushed, RequestRecord, SentMessage};
use crate::exchange::{Gate, Hold, Target};
use anyhow::Context;
use serde_json::{Value, json};
use std::time::Duration;

/// A snowflake as they are nowadays.
const FIRST: i64 = 1_100_000_000_000_000_001;

/// REST, gateway and CDN on loopback.
pub struct Discord(pub DiscordServer);

impl Platform for Discord {
    const NAME: &'static str = "discord";
    const READY: &'static str = "listening on Discord as ";
    const TOKEN: &'static str = "DISCORD_BOT_TOKEN";
    const PART_MAX: usize = 2000;
    const REACTIONS: &'static [&'static str] = &["typing", "create_message", "edit_message"];
    const SENDS_ONCE: bool = true;

    async fn start() -> anyhow::Result<Self> {
        Ok(Self(DiscordServer::start().await?))
    }

    fn section(&self, people: &[i64]) -> String {
        let (api, cdn) = (self.0.api_url(), self.0.cdn_url());
        format!("[channels.discord]\napi_url = {api:?}\ncdn_url = {cdn:?}\nallowed_users = {people:?}\n")
    }

    fn token(&self) -> &str {
        self.0.token()
    }

    fn secret(&self) -> &str {
        self.token()
    }

    fn person(number: usize) -> i64 {
        FIRST + number as i64
    }

    fn write_all(&self, messages: Vec<Message>) -> Vec<Written> {
        let pushed = self.0.push_all(messages.into_iter().map(Self::incoming));
        pushed.iter().map(Self::written).collect()
    }

    fn repeat(&self, written: &Written) -> anyhow::Result<()> {
        let (attachments, message) = (Vec::new(), Value::Null);
        let [channel_id, message_id] = [written.place, written.id].map(i64::unsigned_abs);
        self.0.redeliver(&Pushed { channel_id, message_id, attachments, message })
    }

    fn press(&self, person: i64, below: &Sent, button: usize) -> anyhow::Result<()> {
        let data = below.buttons.get(button).context("a button")?;
        let [person, channel, message] = [person, below.place, below.id].map(i64::unsigned_abs);
        self.0.press(Press::new(person, channel, message, data))?;
        Ok(())
    }

    fn hold(&self, step: Step) -> Gate {
        match step {
            Step::Fetch => self.0.gate(Target::download(), Hold::BeforeEffect),
            Step::Send => self.0.gate("create_message", Hold::BeforeEffect),
        }
    }

    fn sent_count(&self) -> usize {
        self.0.sent_count()
    }

    async fn wait_for(
        &self,
        time: Duration,
        from: usize,
        mut accept: impl FnMut(&[Sent]) -> bool,
    ) -> anyhow::Result<Vec<Sent>> {
        let all = |newest: &[SentMessage]| newest.iter().map(sent).collect::<Vec<_>>();
        Ok(all(&self.0.wait_for_newest(time, from, |newest| accept(&all(newest))).await?))
    }

    async fn wait_for_count(&self, time: Duration, from: usize, count: usize) -> anyhow::Result<()> {
        self.0.wait_for_newest(time, from, |newest| newest.len() >= count).await?;
        Ok(())
    }

    fn next_request(&self) -> u64 {
        self.0.next_request()
    }

    fn requests_since(&self, number: u64) -> Vec<RequestRecord> {
        self.0.requests_since(number)
    }

    fn fetches(&self) -> usize {
        self.0.requests(Target::download()).len()
    }

    fn is_code_closed(sent: &Sent) -> bool {
        sent.source.matches("```").count().is_multiple_of(2)
    }

    /// Nobody is mentioned, every message has its nonce, and what fetches a file says nothing of
    /// the bot.
    fn violations(&self) -> Vec<String> {
        let quiet = json!({ "parse": [], "replied_user": false });
        let mut found = Vec::new();
        for sent in self.0.sent_messages() {
            let nonce = sent.nonce.as_ref().is_some_and(|nonce| nonce.len() <= 25) && sent.enforce_nonce;
            let loud = |body: &&Value| body.get("content").is_some() && body["allowed_mentions"] != quiet;
            if !sent.pings.is_empty()
                || sent.requests.iter().any(|body| loud(&body))
                || sent.interaction.is_none() && !nonce
            {
                found.push(format!("{sent:?}"));
            }
        }
        let told = |one: &RequestRecord| {
            ["authorization", "cookie", "referer"].iter().any(|name| one.header(name).is_some())
        };
        let fetches = self.0.requests(Target::download());
        found.extend(fetches.iter().filter(|one| told(one)).map(|one| format!("{one:?}")));
        found
    }
}

/// Ids of Discord are below 2^63 for the next hundred years.
fn signed(id: u64) -> i64 {
    i64::try_from(id).expect("a snowflake")
}

impl Discord {
    /// The message, before it is pushed.
    pub fn incoming(message: Message) -> Incoming {
        let incoming = Incoming::private(message.person.unsigned_abs()).text(&message.text);
        match message.file {
            Some((name, bytes)) => incoming.attachment(Media::new(&name, bytes)),
            None => incoming,
        }
    }

    /// A message that was pushed.
    pub fn written(pushed: &Pushed) -> Written {
        let id = signed(pushed.message_id);
        Written { place: signed(pushed.channel_id), id, event: id }
    }
}

fn sent(message: &SentMessage) -> Sent {
    Sent {
        place: signed(message.channel_id),
        id: signed(message.message_id),
        reply_to: message.reply_to.map(signed),
        text: read(&message.content),
        source: message.content.clone(),
        files: message.files.iter().map(|file| (file.name.clone(), file.bytes.clone())).collect(),
        buttons: message.buttons().into_iter().map(|button| button.custom_id).collect(),
        deleted: message.deleted,
    }
}

/// What people read: outside of code a backslash before a mark says that the mark is a character.
fn read(content: &str) -> String {
    let mut text = String::new();
    for (number, piece) in content.split("```").enumerate() {
        let mut chars = piece.chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' if number % 2 == 0 => text.extend(chars.next()),
                c => text.push(c),
            }
        }
        if content.matches("```").count() > number {
            text.push_str("```");
        }
    }
    text
}
