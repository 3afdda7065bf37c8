//! What a tool is called, how it describes itself, and how a call fails.

use crate::as_text::{named_variants, shown_as_text};
use crate::limits::Limits;
use crate::message::{Delivery, OutgoingAttachment};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;

/// A tool's id, which is also its name on the wire: `^[a-z][a-z0-9_]{0,63}$`.
///
/// The alphabet is what every model provider accepts, so a name is never rewritten or cut.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct ToolName(String);

impl ToolName {
    /// The checked name.
    ///
    /// # Errors
    /// A sentence that says what to write instead, when the text is outside the alphabet or longer
    /// than 64 bytes.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut bytes = text.bytes();
        let starts = bytes.next().is_some_and(|b| b.is_ascii_lowercase());
        let goes_on = bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        if starts && goes_on && text.len() <= 64 {
            Ok(Self(text.to_owned()))
        } else {
            let shown = crate::text::one_line(text, 80);
            Err(format!(
                "{shown:?} is not a tool name; use lower-case letters, digits and _, starting with a letter, \
                 at most 64"
            ))
        }
    }
}

shown_as_text! { ToolName }

/// The wire name that a name stands for: `attachment.add` is another way to write `attachment_add`.
/// Anything else stands for itself.
pub fn wire_name(name: &str) -> Cow<'_, str> {
    match name.contains('.') {
        true => name.replace('.', "_").into(),
        false => name.into(),
    }
}

/// How a tool presents itself: the component's `describe`, checked.
#[derive(Clone, Debug, Serialize)]
pub struct Description {
    /// The tool's id.
    pub name: ToolName,
    /// One sentence.
    pub summary: String,
    /// JSON Schema of the arguments.
    pub arguments: Value,
    /// JSON Schema of a successful result.
    pub result: Value,
}

/// What a call that succeeded came to.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolAnswer {
    /// The tool's JSON object.
    pub result: Value,
    /// Files that go out with the turn's reply, in order.
    pub attachments: Vec<OutgoingAttachment>,
    /// Files that go out with the reply to another request.
    pub delivery: Option<Delivery>,
}

impl From<Value> for ToolAnswer {
    /// An answer without files.
    fn from(result: Value) -> Self {
        Self { result, attachments: Vec::new(), delivery: None }
    }
}

named_variants! {
    /// What went wrong, for programs. Stable: scripts and other people's tests rely on it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum ErrorCode {
        /// The arguments do not fit the tool's schema.
        InvalidArguments = "invalid_arguments",
        /// No tool has this name.
        UnknownTool = "unknown_tool",
        /// The tool is known, but did not load, or cannot run now.
        ToolUnavailable = "tool_unavailable",
        /// The turn has no attachments.
        NoAttachments = "no_attachments",
        /// The index is not below the number of attachments.
        IndexOutOfRange = "index_out_of_range",
        /// The attachment is listed, but its bytes are not there.
        AttachmentUnavailable = "attachment_unavailable",
        /// The path is outside what this call may touch.
        PathDenied = "path_denied",
        /// The destination exists and was not to be replaced.
        AlreadyExists = "already_exists",
        /// Nothing is there.
        NotFound = "not_found",
        /// A FIFO, device, socket or symbolic link is there where a file is needed.
        NotARegularFile = "not_a_regular_file",
        /// A directory is there where a file is needed.
        IsADirectory = "is_a_directory",
        /// More than a tool reads or writes at once.
        TooLarge = "too_large",
        /// More than the call or the workspace may write.
        QuotaExceeded = "quota_exceeded",
        /// The disk is full.
        NoSpace = "no_space",
        /// Writing failed for another reason; nothing was changed.
        WriteFailed = "write_failed",
        /// The disk failed while something was read.
        ReadFailed = "read_failed",
        /// The file was published, but the disk did not confirm that a power loss would keep it.
        DurabilityUnknown = "durability_unknown",
        /// The deadline passed.
        TimedOut = "timed_out",
        /// The tool wanted more memory than its limit.
        OutOfMemory = "out_of_memory",
        /// The tool crashed.
        Trapped = "trapped",
        /// The network is not granted.
        NetworkDenied = "network_denied",
        /// A person must approve first.
        ApprovalRequired = "approval_required",
        /// A person said no.
        ApprovalDenied = "approval_denied",
        /// The turn was cancelled.
        Cancelled = "cancelled",
        /// A template of a workflow names what is not there.
        TemplateFailed = "template_failed",
        /// An agent of a workflow did not answer as its action wants.
        InvalidOutput = "invalid_output",
        /// Nobody whom the gateway serves is meant.
        RecipientDenied = "recipient_denied",
        /// A message of a workflow cannot be sent.
        SendFailed = "send_failed",
        /// A command or a function of somebody else's says that it failed.
        Failed = "failed",
        /// A fault of the gateway itself.
        Internal = "internal",
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a call failed: a code for programs and a message that says what to do.
///
/// Messages name virtual paths only and are at most [`ToolError::MESSAGE_BYTES_MAX`] long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{code}: {message}")]
pub struct ToolError {
    /// For programs.
    pub code: ErrorCode,
    /// For people and models; one line.
    pub message: String,
}

impl ToolError {
    /// Longer messages are cut: a guest writes them.
    pub const MESSAGE_BYTES_MAX: usize = 2048;

    /// An error whose message is made one line and bounded.
    pub fn new(code: ErrorCode, message: impl AsRef<str>) -> Self {
        let message = crate::text::one_line(message.as_ref(), Self::MESSAGE_BYTES_MAX);
        Self { code, message }
    }

    /// That of a call whose time was over.
    pub fn timed_out(limits: &Limits) -> Self {
        let said = format!("the tool did not finish within {}; nothing was changed", limits.deadline);
        Self::new(ErrorCode::TimedOut, said)
    }

    /// That of a call that nobody waits for any more.
    pub fn cancelled() -> Self {
        Self::new(ErrorCode::Cancelled, "the turn was cancelled; nothing was changed")
    }

    /// Refuses a result that is longer than it may be.
    ///
    /// # Errors
    /// `too_large`.
    pub fn check_result(bytes: usize, limits: &Limits) -> Result<(), Self> {
        if bytes as u64 <= limits.result.0 {
            return Ok(());
        }
        let said =
            format!("the tool returned {bytes} bytes; at most {} are taken. Ask for less.", limits.result);
        Err(Self::new(ErrorCode::TooLarge, said))
    }

    /// `{"error":{"code":…,"message":…}}`, as the command line prints it.
    pub fn to_json(&self) -> Value {
        serde_json::json!({ "error": { "code": self.code, "message": self.message } })
    }
}
