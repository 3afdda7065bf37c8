//! What has been said in a conversation. Its text can be stored and sent; attachment bytes never
//! enter it: they are reached through the entry that they came with, and only while their turn
//! runs.

use super::ToolCall;
use cofferdam_core::tool::ToolError;
use cofferdam_warden::attachments::Attachments;
use serde_json::Value;

/// One thing said or done. A conversation is a list of them.
#[derive(Clone, Debug)]
pub enum HistoryEntry {
    /// A message of the user.
    User {
        /// Text or caption, as typed.
        text: String,
        /// What came with it. In entries of earlier turns each is there without its bytes.
        attachments: Attachments,
        /// What the provider is told of the attachments; absent without any, never kept in history.
        addendum: Option<String>,
    },
    /// What a task of a workflow asks: the operator's words, and what the operator has shown with
    /// them.
    Task {
        /// What is asked.
        prompt: String,
        /// One line for each attachment; none without any.
        list: Option<String>,
        /// What is shown besides, in order. All of it is shown, or nothing is asked.
        shown: Vec<TaskAttachments>,
        /// For the tools.
        attachments: Attachments,
    },
    /// What the user added while the turn was at work.
    Steer {
        /// Text or caption, as typed.
        text: String,
        /// What came with it; the indices go on from those that the turn has.
        attachments: Attachments,
        /// What the provider is told of them.
        addendum: Option<String>,
    },
    /// What the provider said and which tools it asked for.
    Assistant {
        /// What it said; none when it only asked for tools.
        text: Option<String>,
        /// Each is answered by one [`HistoryEntry::ToolResult`] of the same id before the next
        /// `Assistant`.
        tool_calls: Vec<ToolCall>,
    },
    /// A tool's answer to a call.
    ToolResult {
        /// The call's id, as the provider gave it.
        call: String,
        /// The tool as it was asked for.
        tool: String,
        /// The JSON object, or why there is none.
        result: Result<Value, ToolError>,
        /// What a model is shown of it: bounded, and marked as data that nobody vouches for.
        shown: String,
    },
    /// What stands for older entries that were left out to keep the conversation short.
    Summary {
        /// Who was told what, in prose.
        text: String,
    },
}

impl HistoryEntry {
    /// The answer to a request, if it is one: what is said without asking for a tool.
    pub(super) fn answer(&self) -> Option<&str> {
        match self {
            Self::Assistant { text, tool_calls } if tool_calls.is_empty() => {
                Some(text.as_deref().unwrap_or_default())
            }
            _ => None,
        }
    }
}

/// What a task shows besides its texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskAttachments {
    /// The bytes of the attachment with this index: an image or a PDF.
    Attachment(u32),
    /// An image by its address, which is passed on as it is written.
    ImageAt(String),
    /// A text.
    Text(String),
}
