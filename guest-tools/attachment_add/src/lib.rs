//! `attachment_add`: adds files of the workspace to the reply, all of them or none, or one file
//! that the call itself brings. Of files of the workspace this component sees names, types and
//! lengths only.

mod composed;
mod wanted;

use cofferdam_sdk::reply::Address;
use cofferdam_sdk::{Tool, ToolError, export_tool, progress, reply};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wanted::wanted;

#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct Arguments {
    /// The file to send: a full path under /shared or /tmp, for example "/shared/report.pdf".
    /// Ignored where "paths" is given. A file that does not exist yet need not be written first:
    /// see "content".
    path: Option<String>,
    /// The files to send, in this order, each a full path under /shared or /tmp.
    paths: Option<Paths>,
    /// Instead of a path, the whole text of a file to send, for example a table as CSV, Markdown,
    /// JSON or SVG. Needs "filename". At most 1 MiB; nothing is left in the workspace.
    content: Option<String>,
    /// The same for a file that is no text: its bytes in standard base64 (A-Z a-z 0-9 + /) with "="
    /// padding and without spaces or line breaks. At most 1 MiB once decoded.
    content_base64: Option<String>,
    /// The name that the user sees for the one file, for example "Report May.pdf". For a path it is
    /// otherwise the name that the file has; for "content" it is needed, without folders, for
    /// example "table.csv".
    filename: Option<String>,
    /// The names for "paths", by position; null keeps the name that the file has.
    filenames: Option<Overrides>,
    /// What the one file is believed to be, for example "text/csv". The content decides; this is
    /// asked only where the content says nothing and the name has no extension.
    mime_type: Option<String>,
    /// The same for "paths", by position; null for none.
    mime_types: Option<Overrides>,
    /// Leave this out: the files go with the reply to the current message. Otherwise the
    /// conversation whose message is being answered now, where the operator lets calls reach it.
    session: Option<String>,
    /// Leave this out, too. Otherwise the id of the message that is being answered now.
    request: Option<String>,
}

/// A list, or the one thing in it.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum Paths {
    One(String),
    Many(Vec<String>),
}

/// A list with gaps, or the one thing in it.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum Overrides {
    One(String),
    Many(Vec<Option<String>>),
}

#[derive(Serialize, JsonSchema)]
struct Output {
    /// Always true: a failure is an error.
    ok: bool,
    /// The files that go out with the reply, in order.
    attachments: Vec<Added>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Added {
    /// The name that the user sees.
    filename: String,
    /// Media type detected from the content.
    mime_type: String,
    /// Length of the file in bytes.
    bytes: u64,
}

impl Tool for Arguments {
    const NAME: &str = "attachment_add";
    const SUMMARY: &str = "Sends files to the user, together with the reply to the current message: files from \
        /shared or /tmp, or one whose content is given here.";
    type Arguments = Self;
    type Output = Output;

    fn call(mut arguments: Arguments) -> Result<Output, ToolError> {
        let to = Address { session: arguments.session.take(), request: arguments.request.take() };
        let files = wanted(arguments)?;
        progress::report("taking the files to send");
        let added = reply::add_to(&files, &to)?.into_iter().map(|file| Added {
            filename: file.name,
            mime_type: file.mime_type,
            bytes: file.bytes,
        });
        Ok(Output { ok: true, attachments: added.collect() })
    }
}

export_tool!(Arguments);
