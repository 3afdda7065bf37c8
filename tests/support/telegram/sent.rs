//! What the bot has sent, as a test looks at it.

use bytes::Bytes;
use serde_json::Value;

/// One message of the bot, in its present state.
#[derive(Clone, Debug)]
pub struct SentMessage {
    /// The chat that it was sent to.
    pub chat_id: i64,
    /// Its id, which counts within the chat.
    pub message_id: i64,
    /// The text as the user sees it: after parsing, and after the last edit; of a file, its
    /// caption.
    pub text: String,
    /// The text as the bot sent it, with its markup.
    pub source: String,
    /// `parse_mode` as sent.
    pub parse_mode: Option<String>,
    /// The message that it answers.
    pub reply_to: Option<i64>,
    /// The topic that it belongs to.
    pub thread_id: Option<i64>,
    /// The visible texts before each edit, oldest first.
    pub earlier_texts: Vec<String>,
    /// Whether the bot has deleted it.
    pub deleted: bool,
    /// The file that it is.
    pub file: Option<SentFile>,
    /// The complete Message object as the API returned it last.
    pub message: Value,
}

/// A file that the bot has sent.
#[derive(Clone, Debug)]
pub struct SentFile {
    /// `photo`, `document`, `video`, `animation`, `audio` or `voice`.
    pub kind: &'static str,
    /// The name that came with it.
    pub name: String,
    /// The Content-Type that came with it.
    pub mime: Option<String>,
    /// What it holds.
    pub bytes: Bytes,
    /// The album that it is part of.
    pub group: Option<String>,
}
