//! What leaves a turn: the one contract between what was decided and what is sent.

use crate::id::TurnId;
use serde::{Deserialize, Serialize};

/// Everything that answers a turn, and the only source of what is sent.
///
/// Routed in this order: text, then voice, then attachments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutgoingResponse {
    /// What is to be read; a channel splits it at its own limit.
    pub text: Option<String>,
    /// Where Markdown begins in the text, in bytes. What comes before, and all of it where this is
    /// absent, is plain.
    pub markdown_from: Option<usize>,
    /// Text to be spoken.
    pub voice: Option<String>,
    /// Files to be sent, by content.
    pub attachments: Vec<OutgoingAttachment>,
}

/// Which request is meant, as a call names it; nothing of it given means the call's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// The one that is active in this session.
    pub session: Option<String>,
    /// The one of this id.
    pub request: Option<String>,
}

/// Files that go out with the reply to another request than the call's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// The request.
    pub request: TurnId,
    /// The files, in order.
    pub attachments: Vec<OutgoingAttachment>,
}

/// A message that a call writes to somebody.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectMessage {
    /// `CHANNEL:USER`.
    pub to: String,
    /// What it says.
    pub text: String,
    /// Workspace files that go with it, by their virtual paths.
    #[serde(deserialize_with = "crate::host_call::read_files")]
    pub files: Vec<String>,
    /// The workflow that it belongs to, whose replies can be waited for.
    pub workflow: Option<String>,
}

/// A message that is out, in the platform's own ids.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SentMessage {
    /// The channel.
    pub channel: String,
    /// The chat.
    pub channel_id: String,
    /// The message, its first where it became several.
    pub message_id: String,
}

/// A file of a reply: a blob by its hash, never a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutgoingAttachment {
    /// SHA-256 of the blob, lower-case hex.
    pub sha256: String,
    /// The name to show, on one line, at most [`OutgoingAttachment::NAME_BYTES_MAX`].
    pub name: String,
    /// Detected media type.
    pub mime_type: String,
    /// Length in bytes.
    pub bytes: u64,
}

impl OutgoingAttachment {
    /// Longer names are cut.
    pub const NAME_BYTES_MAX: usize = 120;
}

impl OutgoingResponse {
    /// A response of plain text alone.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }
}
