//! `file_read`: reads a window of a file or some of its lines, as text where it is text and as
//! base64 where not. It holds what it answers and one piece of the file, so the size of the file
//! does not matter.

mod lines;
mod window;

use cofferdam_sdk::files::{self, Opened};
use cofferdam_sdk::{ErrorCode, Tool, ToolError, export_tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use window::{Content, Window};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The full path of the file, for example "/shared/notes/today.txt".
    path: String,
    /// Where to start, in bytes from the beginning, if not there. To read on, add the "bytes" of
    /// the last answer to the "offset" of the last answer.
    offset: Option<u64>,
    /// How many bytes to read at most, 262144 if not given. If there is more, "truncated" is true
    /// in the answer.
    #[schemars(range(min = 1, max = 1_048_576))]
    length: Option<u32>,
    /// Which lines to read, instead of "offset" and "length".
    lines: Option<Lines>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Lines {
    /// The first line; lines count from 1.
    #[schemars(range(min = 1))]
    from: u64,
    /// The last line, this one included. Not given: as many as fit into 262144 bytes.
    #[schemars(range(min = 1))]
    to: Option<u64>,
}

/// What is read at once, if not told otherwise, and of lines at most.
const LENGTH_DEFAULT: u32 = 256 << 10;

#[derive(Serialize, JsonSchema)]
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
    /// Which lines the content is, if lines were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<LinesRead>,
}

#[derive(Serialize, JsonSchema)]
struct LinesRead {
    /// The first line of the content.
    from: u64,
    /// The last line of it; less than "from" if the file has no such lines.
    to: u64,
    /// Whether there are lines after it.
    more: bool,
    /// Whether the last line is too long and only its beginning is here: read on from "offset" +
    /// "bytes".
    cut: bool,
    /// How many lines the file has, if its end was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
}

impl Tool for Arguments {
    const NAME: &str = "file_read";
    const SUMMARY: &str = "Reads a file, or a part of it: text as it is, anything else as base64.";
    type Arguments = Self;
    type Output = Read;

    fn call(Arguments { path, offset, length, lines }: Arguments) -> Result<Read, ToolError> {
        let range = lines.map(|lines| range(lines, offset.is_some() || length.is_some())).transpose()?;
        let (file, size) = match files::open(&path).map_err(ToolError::on_path(&path))? {
            (Opened::File(file), stat) => (file, stat.size),
            (Opened::Directory(_), _) => {
                return Err(ToolError::on_path(&path)(std::io::ErrorKind::IsADirectory.into()));
            }
        };
        let read_at = |offset, length| file.read_at(offset, length);
        let Some((from, to)) = range else {
            let length = length.unwrap_or(LENGTH_DEFAULT);
            let window = window::read(read_at, offset.unwrap_or(0), length, size);
            return Ok(answer(path.clone(), window.map_err(ToolError::on_path(&path))?));
        };
        let found = lines::read(read_at, from, to, LENGTH_DEFAULT as usize, size);
        let (window, lines) = found.map_err(ToolError::on_path(&path))?;
        let mut read = answer(path, window);
        let more = lines.cut || read.truncated;
        read.lines = Some(LinesRead { from, to: lines.to, more, cut: lines.cut, total: lines.total });
        Ok(read)
    }
}

/// The first and the last line of a range that means something.
fn range(Lines { from, to }: Lines, has_window: bool) -> Result<(u64, u64), ToolError> {
    let refused = |said: &str| Err(ToolError::new(ErrorCode::InvalidArguments, said));
    match to.unwrap_or(u64::MAX) {
        _ if has_window => {
            refused("\"lines\" stands instead of \"offset\" and \"length\"; give one or the other")
        }
        to if to < from => refused("\"lines\" ends before it begins; \"to\" must be at least \"from\""),
        to => Ok((from, to)),
    }
}

fn answer(path: String, Window { offset, bytes, total_bytes }: Window) -> Read {
    let end = offset.saturating_add(bytes.len() as u64);
    let (bytes, content) = window::content(bytes, end < total_bytes);
    let (encoding, content, content_base64) = match content {
        Content::Text(text) => ("utf-8", Some(text), None),
        Content::Base64(text) => ("base64", None, Some(text)),
    };
    let truncated = offset.saturating_add(bytes as u64) < total_bytes;
    Read { path, encoding, content, content_base64, offset, bytes, total_bytes, truncated, lines: None }
}

export_tool!(Arguments);
