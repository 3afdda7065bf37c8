//! Telegram as one of the platforms.

use super::{Message, Platform, Sent, Step, Written};
use crate::exchange::{Gate, Hold, Target};
use crate::guests::sha256;
use crate::telegram::{Incoming, Media, Pushed, RequestRecord, SentMessage, TelegramServer};
use anyhow::Context;
use std::time::Duration;

/// Ids of people are beyond 32 bits nowadays.
const FIRST: i64 = 5_000_000_001;

/// A Bot API server on loopback.
pub struct Telegram(pub TelegramServer);

impl Platform for Telegram {
    const NAME: &'static str = "telegram";
    const READY: &'static str = "polling as ";
    const TOKEN: &'static str = "TELEGRAM_BOT_TOKEN";
    const PART_MAX: usize = 4096;
    const REACTIONS: &'static [&'static str] =
        &["sendChatAction", "sendMessage", "sendMessageDraft", "editMessageText"];
    const SENDS_ONCE: bool = false;

    async fn start() -> anyhow::Result<Self> {
        Ok(Self(TelegramServer::start().await?))
    }

    fn section(&self, people: &[i64]) -> String {
        // Messages go out as fast as the server takes them.
        let more = "flood_limits = \"server\"";
        let url = self.0.api_url();
        format!("[channels.telegram]\napi_url = {url:?}\nallowed_users = {people:?}\n{more}\n")
    }

    fn token(&self) -> &str {
        self.0.token()
    }

    fn secret(&self) -> &str {
        self.token().split_once(':').expect("a token has two halves").1
    }

    fn person(number: usize) -> i64 {
        FIRST + number as i64
    }

    fn write_all(&self, messages: Vec<Message>) -> Vec<Written> {
        let pushed = self.0.push_all(messages.into_iter().map(Self::incoming));
        pushed.iter().map(Self::written).collect()
    }

    fn repeat(&self, written: &Written) -> anyhow::Result<()> {
        self.0.redeliver(written.event)
    }

    fn press(&self, person: i64, below: &Sent, button: usize) -> anyhow::Result<()> {
        let data = below.buttons.get(button).context("a button")?;
        let is_it = |sent: &&SentMessage| (sent.chat_id, sent.message_id) == (below.place, below.id);
        let message = self.0.sent_messages().iter().find(is_it).context("a message")?.message.clone();
        self.0.push(Incoming::callback(person, &message, data));
        Ok(())
    }

    fn hold(&self, step: Step) -> Gate {
        match step {
            Step::Fetch => self.0.gate(Target::download(), Hold::BeforeEffect),
            Step::Send => self.0.gate("sendMessage", Hold::BeforeEffect),
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
        self.0.requests(Target::download()).len() + self.0.requests("getFile").len()
    }

    fn is_code_closed(sent: &Sent) -> bool {
        sent.source.matches("<pre").count() == sent.source.matches("</pre>").count()
    }

    /// The token is in the path of each request, and nowhere else.
    fn violations(&self) -> Vec<String> {
        let says_it = |request: &RequestRecord| {
            let told = format!("{:?} {:?}", request.headers, request.params);
            request.header("referer").is_some() || told.contains(self.secret())
        };
        self.0.journal().iter().filter(|one| says_it(one)).map(|one| format!("{one:?}")).collect()
    }
}

impl Telegram {
    /// The update of a message.
    pub fn incoming(message: Message) -> Incoming {
        let incoming = Incoming::private(message.person);
        let Some((name, bytes)) = message.file else { return incoming.text(&message.text) };
        // Files are known by their ids, which are another for each content.
        let media = Media::with_content(&sha256(&bytes)[..16], bytes);
        match name.ends_with(".jpg") {
            true => incoming.photo(media).caption(&message.text),
            false => incoming.document(media.name(&name)).caption(&message.text),
        }
    }

    /// A message that was pushed.
    pub fn written(pushed: &Pushed) -> Written {
        Written { place: pushed.chat_id, id: pushed.message_id, event: pushed.update_id }
    }
}

fn sent(message: &SentMessage) -> Sent {
    let buttons = message.message["reply_markup"]["inline_keyboard"].as_array().into_iter().flatten();
    let buttons = buttons.flat_map(|row| row.as_array().into_iter().flatten());
    let data = buttons.map(|button| button["callback_data"].as_str().unwrap_or_default().to_owned());
    Sent {
        place: message.chat_id,
        id: message.message_id,
        reply_to: message.reply_to,
        text: message.text.clone(),
        source: message.source.clone(),
        files: message.file.iter().map(|file| (file.name.clone(), file.bytes.clone())).collect(),
        buttons: data.collect(),
        deleted: message.deleted,
    }
}
