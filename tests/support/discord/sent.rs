//! What the bot has sent, as a test looks at it.

use bytes::Bytes;
use serde_json::Value;

/// One message of the bot, in its present state.
#[derive(Clone, Debug)]
pub struct SentMessage {
    /// The channel that it was sent to.
    pub channel_id: u64,
    /// Its id.
    pub message_id: u64,
    /// The text after the last edit, as people see it: Discord takes the blanks around it away.
    pub content: String,
    /// The texts before each edit, oldest first.
    pub earlier_contents: Vec<String>,
    /// The message that it replies to; `None` also where that one was gone and `fail_if_not_exists`
    /// was false.
    pub reply_to: Option<u64>,
    /// `nonce` as sent, numbers as their digits.
    pub nonce: Option<String>,
    /// `enforce_nonce` as sent.
    pub enforce_nonce: bool,
    /// `allowed_mentions` as sent; of edits see `requests`.
    pub allowed_mentions: Option<Value>,
    /// Whom the message pings: `<@id>`, `<@&id>`, `@everyone`, `@here`, and `reply` for the author
    /// of what it replies to.
    pub pings: Vec<String>,
    /// Its files as they are now.
    pub files: Vec<SentFile>,
    /// The interaction that it answers.
    pub interaction: Option<u64>,
    /// Whether somebody has deleted it.
    pub deleted: bool,
    /// The body of its creation and of each edit.
    pub requests: Vec<Value>,
    /// The complete Message object, with links that are not signed.
    pub message: Value,
}

impl SentMessage {
    /// `flags`.
    pub fn flags(&self) -> u64 {
        self.message["flags"].as_u64().unwrap_or_default()
    }

    /// Whether only one person sees it.
    pub fn is_ephemeral(&self) -> bool {
        self.flags() & (1 << 6) != 0
    }

    /// Whether it only says that an answer is to come.
    pub fn is_loading(&self) -> bool {
        self.flags() & (1 << 7) != 0
    }

    /// The buttons of all rows.
    pub fn buttons(&self) -> Vec<SentButton> {
        let rows = self.message["components"].as_array().into_iter().flatten();
        let buttons = rows.flat_map(|row| row["components"].as_array().into_iter().flatten());
        let text = |button: &Value, name: &str| button[name].as_str().unwrap_or_default().to_owned();
        let button = |button: &Value| SentButton {
            label: text(button, "label"),
            custom_id: text(button, "custom_id"),
            style: button["style"].as_u64().unwrap_or_default(),
            disabled: button["disabled"].as_bool().unwrap_or_default(),
        };
        buttons.map(button).collect()
    }

    /// The `custom_id` of the button with this label.
    pub fn button(&self, label: &str) -> Option<String> {
        self.buttons().into_iter().find(|button| button.label == label).map(|button| button.custom_id)
    }
}

/// A button below a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentButton {
    /// What it says.
    pub label: String,
    /// What a press tells.
    pub custom_id: String,
    /// 3 is green, 4 is red.
    pub style: u64,
    /// Whether it cannot be pressed.
    pub disabled: bool,
}

/// A file that the bot has sent.
#[derive(Clone, Debug)]
pub struct SentFile {
    /// The id of the attachment.
    pub id: u64,
    /// The name that came with it.
    pub name: String,
    /// The Content-Type that came with it.
    pub mime: Option<String>,
    /// The description that came with it.
    pub description: Option<String>,
    /// What it holds.
    pub bytes: Bytes,
}
