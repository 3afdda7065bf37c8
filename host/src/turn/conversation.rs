//! What has been said in a turn. Text only: attachment bytes never enter it.

use cofferdam_core::attachment::AttachmentInfo;
use cofferdam_core::tool::ToolError;
use serde_json::Value;

/// The entries of a turn, oldest first.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    /// What was said and done.
    pub entries: Vec<Entry>,
}

/// One thing said or done.
#[derive(Clone, Debug)]
pub enum Entry {
    /// The user's message.
    User {
        /// Text or caption, as typed.
        text: String,
        /// What came with it.
        attachments: Vec<AttachmentInfo>,
        /// What the provider is told of the attachments; absent without any, never kept in history.
        addendum: Option<String>,
    },
    /// A tool's answer to a call of this turn.
    ToolResult {
        /// The tool as it was asked for.
        tool: String,
        /// The JSON object, or why there is none.
        result: Result<Value, ToolError>,
    },
}
