//! `file_read`: reads a window of a file, as text where it is text and as base64 where not. It holds the
//! window only, so the size of the file does not matter.

mod window;

use cofferdam_sdk::schemars::JsonSchema;
use cofferdam_sdk::serde::{Deserialize, Serialize};
use cofferdam_sdk::{Tool, ToolError, export_tool};

use window::{Content, Window};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "cofferdam_sdk::serde", deny_unknown_fields)]
#[schemars(crate = "cofferdam_sdk::schemars")]
struct Arguments {
    /// The full path of the file, for example "/shared/notes/today.txt".
    path: String,
    /// Where to start, in bytes from the beginning. To read on, add the "bytes" of the last answer to
    /// the "offset" of the last answer.
    #[serde(default)]
    offset: u64,
    /// How many bytes to read at most. If there is more, "truncated" is true in the answer.
    #[serde(default = "length_default")]
    #[schemars(range(min = 1, max = 1_048_576))]
    length: u32,
}

const fn length_default() -> u32 {
    256 << 10
}

#[derive(Serialize, JsonSchema)]
#[serde(crate = "cofferdam_sdk::serde")]
#[schemars(crate = "cofferdam_sdk::schemars")]
struct Read {
    /// The file that was read.
    path: String,
    /// "utf-8": the bytes are in "content"; "base64": they are not text, and in "content_base64".
    encoding: &'static str,
    /// The text.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    /// The bytes in standard base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    content_base64: Option<String>,
    /// Where the content starts in the file, in bytes.
    offset: u64,
    /// How many bytes of the file the content stands for.
    bytes: usize,
    /// Length of the file in bytes.
    total_bytes: u64,
    /// Whether the file goes on after the content.
    truncated: bool,
}

enum FileRead {}

impl Tool for FileRead {
    const NAME: &str = "file_read";
    const SUMMARY: &str = "Reads a file, or a part of it: text as it is, anything else as base64.";
    type Arguments = Arguments;
    type Output = Read;

    fn call(Arguments { path, offset, length }: Arguments) -> Result<Read, ToolError> {
        let Window { bytes, total_bytes } = window::read(&path, offset, length)?;
        let end = offset.saturating_add(bytes.len() as u64);
        let (bytes, content) = window::content(bytes, end < total_bytes);
        let (encoding, content, content_base64) = match content {
            Content::Text(text) => ("utf-8", Some(text), None),
            Content::Base64(text) => ("base64", None, Some(text)),
        };
        let truncated = offset.saturating_add(bytes as u64) < total_bytes;
        Ok(Read { path, encoding, content, content_base64, offset, bytes, total_bytes, truncated })
    }
}

export_tool!(FileRead);
