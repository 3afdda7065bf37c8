//! What a behaviour does with a channel, whichever it is: somebody writes, and reads what comes of
//! it.

use anyhow::{Context, Result};
use support::home::Home;
use support::platform::{Gate, Message, Step};

/// A gateway on one channel, and the person who is served there.
pub(super) trait Channel: Sized {
    /// As the audit calls it.
    const NAME: &'static str;
    /// A message that was written.
    type Asked: Copy;

    /// One that runs, in a folder that was made ready.
    async fn start(fit: impl FnOnce(Home) -> Home) -> Result<Self>;
    /// Its folder.
    fn home(&self) -> &Home;
    /// The person who writes, as the audit calls them.
    fn sender() -> String;
    /// The person writes messages, one directly after the other.
    fn write_all(&mut self, messages: Vec<Message>) -> Vec<Self::Asked>;
    /// The text of the answer to a message; where it is long, of its first part.
    async fn answer(&mut self, to: Self::Asked) -> Result<String>;
    /// The files of the last answer, once there are so many: names, and how the SHA-256 of each
    /// begins.
    async fn files(&mut self, count: usize) -> Result<Vec<(String, String)>>;
    /// The text of the question that waits for a person.
    async fn question(&mut self) -> Result<String>;
    /// The person decides it.
    async fn decide(&mut self, verdict: Verdict) -> Result<()>;
    /// Waits until it says that it is doing this.
    async fn is_doing(&mut self, words: &str) -> Result<()>;
    /// The person stops what runs, in the way of this channel.
    fn cancel(&mut self);
    /// Stops the program, and holds everything against what is true of every run: the bot has sent
    /// so many messages, the audit is sound, nothing is left, and no secret is anywhere.
    async fn end(self, messages: usize, secrets: &[&str]) -> Result<()>;

    /// One that runs with the default policies.
    async fn running() -> Result<Self> {
        Self::start(|home| home).await
    }

    /// The person writes one message.
    fn write(&mut self, message: Message) -> Self::Asked {
        self.write_all(vec![message]).remove(0)
    }

    /// The person writes a text; the answer.
    async fn ask(&mut self, text: &str) -> Result<String> {
        let asked = self.write(text_of(text));
        self.answer(asked).await
    }

    /// What a file of the workspace holds.
    fn saved(&self, guest: &str) -> Result<Vec<u8>> {
        std::fs::read(self.home().host(guest)).with_context(|| guest.to_owned())
    }
}

/// A channel whose messages are events of a platform: they are kept, come again, and are of many
/// people.
pub(super) trait Lasting: Channel {
    /// Characters of one part of an answer.
    const PART_MAX: usize;

    /// The event of a message comes once more.
    fn repeat(&self, asked: Self::Asked) -> Result<()>;
    /// A stranger, as the audit would call them.
    fn stranger() -> String;
    /// The stranger writes.
    fn write_as_stranger(&self, message: Message) -> Self::Asked;
    /// How often files were fetched.
    fn fetches(&self) -> usize;
    /// Waits for a message of the bot that has these words.
    async fn says(&self, words: &str) -> Result<()>;
    /// The parts of the answer to the last message, once one of them has this text: how each reads,
    /// and whether its code ends in it.
    async fn parts(&self, last: &str) -> Result<Vec<(String, bool)>>;
    /// Holds the next request of this kind.
    fn hold(&self, step: Step) -> Gate;
    /// How many messages the bot has sent.
    fn messages(&self) -> usize;
    /// `kill -9`.
    fn kill(&mut self);
    /// Stops it as the operator does.
    fn stop(&mut self) -> Result<()>;
    /// Starts it again.
    fn start_again(&mut self) -> Result<()>;
}

/// What a person says to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Approve,
    Deny,
}

/// A text; each channel knows who writes it.
pub(super) fn text_of(text: &str) -> Message {
    Message::text(0, text)
}
