//! What the bot has sent, as a test looks at it.

use serde_json::Value;

/// One message of the bot, in its present state.
#[derive(Clone, Debug)]
pub struct SentMessage {
    /// The chat that it was sent to.
    pub chat_id: i64,
    /// Its id, which counts within the chat.
    pub message_id: i64,
    /// The text as the user sees it: after parsing, and after the last edit.
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
    /// The complete Message object as the API returned it last.
    pub message: Value,
}
