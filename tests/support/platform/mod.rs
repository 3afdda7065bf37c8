//! What the platforms of bots have in common, for tests that hold every channel to the same: people
//! write, the bot answers, people press buttons. What is a platform's own is in its server
//! (`telegram`, `discord`).
//!
//! A third platform implements [`Platform`] over its own loopback server, and the demo's turn, the
//! conformance tests and the soak hold for it, too.

mod discord;
mod telegram;

pub use crate::exchange::{Gate, RequestRecord};
pub use discord::Discord;
pub use telegram::Telegram;

use bytes::Bytes;
use std::fmt::Debug;
use std::time::Duration;

/// Longer than anything takes that is not stuck, in a debug build on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(100);

/// A platform on loopback, on which people write to one bot.
#[allow(async_fn_in_trait, reason = "tests alone wait for these, and move none to another thread")]
pub trait Platform: Sized {
    /// As the configuration and the audit call the channel.
    const NAME: &'static str;
    /// What `serve` logs when the bot hears.
    const READY: &'static str;
    /// The variable that holds the bot's token.
    const TOKEN: &'static str;
    /// Characters of one message of the bot.
    const PART_MAX: usize;
    /// The requests by which a person first sees anything of an answer.
    const REACTIONS: &'static [&'static str];
    /// Whether a message that is sent again, because nobody knows whether it arrived, is there once
    /// all the same.
    const SENDS_ONCE: bool;

    /// A server of its own.
    async fn start() -> anyhow::Result<Self>;
    /// Its section of the configuration, in which these people are served.
    fn section(&self, people: &[i64]) -> String;
    /// The bot's token.
    fn token(&self) -> &str;
    /// The part of it that is a secret.
    fn secret(&self) -> &str;
    /// A person of the platform; each number is another one.
    fn person(number: usize) -> i64;

    /// People write, each alone with the bot; the events come in this order, and at once.
    fn write_all(&self, messages: Vec<Message>) -> Vec<Written>;
    /// The event of a message comes once more.
    ///
    /// # Errors
    /// When there was no such message.
    fn repeat(&self, written: &Written) -> anyhow::Result<()>;
    /// A person presses a button below a message.
    ///
    /// # Errors
    /// When there is no such button.
    fn press(&self, person: i64, below: &Sent, button: usize) -> anyhow::Result<()>;
    /// Holds the next request of this kind before it takes effect.
    fn hold(&self, step: Step) -> Gate;

    /// How many messages the bot has sent.
    fn sent_count(&self) -> usize;
    /// The bot's messages from the `from`th on as they are now, once these are accepted.
    ///
    /// # Errors
    /// After the time, with a list of what there was instead.
    async fn wait_for(
        &self,
        time: Duration,
        from: usize,
        accept: impl FnMut(&[Sent]) -> bool,
    ) -> anyhow::Result<Vec<Sent>>;
    /// Waits until the bot has sent so many messages more than `from`: cheaper than to look at each
    /// time after time.
    ///
    /// # Errors
    /// After the time.
    async fn wait_for_count(&self, time: Duration, from: usize, count: usize) -> anyhow::Result<()>;
    /// The number that the next request will have.
    fn next_request(&self) -> u64;
    /// The requests from this number on.
    fn requests_since(&self, number: u64) -> Vec<RequestRecord>;
    /// How often files were fetched.
    fn fetches(&self) -> usize;
    /// Whether every block of code in a message ends in it.
    fn is_code_closed(sent: &Sent) -> bool;
    /// What the bot has done that the platform's rules forbid.
    fn violations(&self) -> Vec<String>;

    /// One person writes one message.
    fn write(&self, message: Message) -> Written {
        self.write_all(vec![message]).remove(0)
    }

    /// The whole answer to a message.
    ///
    /// # Errors
    /// After the time, with a list of what there was instead.
    async fn answer(&self, to: &Written) -> anyhow::Result<Sent> {
        let newest = self.wait_for(PATIENCE, 0, |all| all.iter().any(|sent| sent.answers(to))).await?;
        Ok(newest.into_iter().find(|sent| sent.answers(to)).expect("it was accepted"))
    }
}

/// What the bot asks of the platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A file of a message.
    Fetch,
    /// That a message is sent.
    Send,
}

/// A message that a person writes in private.
#[derive(Clone, Debug)]
pub struct Message {
    /// Who writes.
    pub person: i64,
    /// The words.
    pub text: String,
    /// A file: its name, and what it holds.
    pub file: Option<(String, Bytes)>,
}

impl Message {
    /// Words alone.
    pub fn text(person: i64, text: &str) -> Self {
        Self { person, text: text.to_owned(), file: None }
    }

    /// The same with a file; one whose name ends in `.jpg` is a picture.
    #[must_use]
    pub fn file(mut self, name: &str, bytes: impl Into<Bytes>) -> Self {
        self.file = Some((name.to_owned(), bytes.into()));
        self
    }
}

/// A message that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Where: the conversation of the person with the bot.
    pub place: i64,
    /// The message's id there.
    pub id: i64,
    /// What the event that tells of it is known by.
    pub event: i64,
}

/// A message of the bot, in its present state.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Where.
    pub place: i64,
    /// Its id there.
    pub id: i64,
    /// The message that it answers.
    pub reply_to: Option<i64>,
    /// The words as people read them.
    pub text: String,
    /// The words with their marks.
    pub source: String,
    /// What its files hold, by their names.
    pub files: Vec<(String, Bytes)>,
    /// What its buttons tell when they are pressed.
    pub buttons: Vec<String>,
    /// Whether it was taken away.
    pub deleted: bool,
}

impl Sent {
    /// Whether it is all of a text: no sign of life, and no text that is still being written.
    pub fn is_whole(&self) -> bool {
        !self.deleted && !self.text.starts_with('⏳') && !self.text.ends_with(" …")
    }

    /// Whether it is the answer to a message, or the first part of that.
    pub fn answers(&self, to: &Written) -> bool {
        let is_to_it = (self.place, self.reply_to) == (to.place, Some(to.id));
        is_to_it && self.is_whole() && self.buttons.is_empty()
    }
}
