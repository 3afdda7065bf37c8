//! Entries as lines of JSON. It has no field that could hold an attachment's bytes or an addendum.

use super::{EntryExtras, HistoryError, KeptHistory};
use crate::turn::{HistoryEntry, ToolCall};
use cofferdam_core::arguments::BadArguments;
use cofferdam_core::attachment::AttachmentInfo;
use cofferdam_core::id::{Caller, TurnId};
use cofferdam_core::message::OutgoingAttachment;
use cofferdam_core::tool::ToolError;
use cofferdam_warden::attachments::{Attachment, Attachments};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;

#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum HistoryRow<'a> {
    User {
        text: Cow<'a, str>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<AttachmentInfo>,
        /// Absent in lines of releases that did not keep it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asker: Option<Caller>,
    },
    Steer {
        text: Cow<'a, str>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<AttachmentInfo>,
    },
    Assistant {
        text: Option<Cow<'a, str>>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<HistoryCall<'a>>,
        tokens: u64,
        #[serde(default, skip_serializing_if = "is_none")]
        left_out: usize,
    },
    Result {
        call: Cow<'a, str>,
        tool: Cow<'a, str>,
        shown: Cow<'a, str>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ToolError>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<OutgoingAttachment>,
    },
    Summary {
        text: Cow<'a, str>,
    },
}

#[derive(Serialize, Deserialize)]
struct HistoryCall<'a> {
    id: Cow<'a, str>,
    tool: Cow<'a, str>,
    /// Absent when they were cut off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    arguments: Option<Cow<'a, str>>,
}

fn is_none(count: &usize) -> bool {
    *count == 0
}

/// Why the bytes of earlier attachments are not there.
const EARLIER: &str = "it came with an earlier message";

/// The line of an entry, which `asker` said if somebody did.
pub(super) fn to_row(entry: &HistoryEntry, besides: &EntryExtras, asker: &Caller) -> String {
    let line = match entry {
        HistoryEntry::User { text, attachments, .. }
        | HistoryEntry::Task { prompt: text, attachments, .. } => HistoryRow::User {
            text: text.into(),
            attachments: attachments.infos(),
            asker: Some(asker.clone()),
        },
        HistoryEntry::Steer { text, attachments, .. } => {
            HistoryRow::Steer { text: text.into(), attachments: attachments.infos() }
        }
        HistoryEntry::Assistant { text, tool_calls } => {
            let calls = tool_calls.iter().map(to_call).collect();
            let EntryExtras { tokens, left_out, .. } = *besides;
            HistoryRow::Assistant { text: text.as_deref().map(Cow::from), calls, tokens, left_out }
        }
        HistoryEntry::ToolResult { call, tool, result, shown } => HistoryRow::Result {
            call: call.into(),
            tool: tool.into(),
            shown: shown.into(),
            error: result.as_ref().err().cloned(),
            files: besides.files.clone(),
        },
        HistoryEntry::Summary { text } => HistoryRow::Summary { text: text.into() },
    };
    serde_json::to_string(&line).expect("plain data")
}

fn to_call(call: &ToolCall) -> HistoryCall<'_> {
    HistoryCall {
        id: (&call.id).into(),
        tool: (&call.tool).into(),
        arguments: call.arguments.as_ref().ok().map(Cow::from),
    }
}

/// The entry of a line.
///
/// # Errors
/// [`HistoryError`] for a line that no release writes.
pub(super) fn read(turn: TurnId, line: &str) -> Result<KeptHistory, HistoryError> {
    let unreadable = |e| HistoryError::Unreadable(format!("a line of turn {turn} is unreadable: {e}"));
    let (mut besides, mut asked_by) = (EntryExtras::default(), None);
    let entry = match serde_json::from_str(line).map_err(unreadable)? {
        HistoryRow::User { text, attachments, asker } => {
            asked_by = asker;
            HistoryEntry::User { text: text.into(), attachments: mark_all_gone(attachments), addendum: None }
        }
        HistoryRow::Steer { text, attachments } => {
            HistoryEntry::Steer { text: text.into(), attachments: mark_all_gone(attachments), addendum: None }
        }
        HistoryRow::Assistant { text, calls, tokens, left_out } => {
            let call = |call: HistoryCall<'_>| ToolCall {
                id: call.id.into(),
                tool: call.tool.into(),
                arguments: call.arguments.map(String::from).ok_or(BadArguments::CutOff),
            };
            let tool_calls = calls.into_iter().map(call).collect();
            (besides.tokens, besides.left_out) = (tokens, left_out);
            HistoryEntry::Assistant { text: text.map(Into::into), tool_calls }
        }
        HistoryRow::Result { call, tool, shown, error, files } => {
            besides.files = files;
            let result = error.map_or(Ok(Value::Null), Err);
            HistoryEntry::ToolResult { call: call.into(), tool: tool.into(), result, shown: shown.into() }
        }
        HistoryRow::Summary { text } => HistoryEntry::Summary { text: text.into() },
    };
    Ok(KeptHistory { turn, entry, besides, asker: asked_by })
}

fn mark_all_gone(infos: Vec<AttachmentInfo>) -> Attachments {
    let mark_gone = |mut info: AttachmentInfo| {
        info.unavailable.get_or_insert_with(|| EARLIER.to_owned());
        Attachment { info, blob: None }
    };
    infos.into_iter().map(mark_gone).collect::<Vec<_>>().into()
}
