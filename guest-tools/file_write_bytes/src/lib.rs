//! `file_write_bytes`: writes bytes given as base64 to a file, all or nothing. Text is no special
//! case here, and large files are better sent as attachments.

use std::io::Write;

use cofferdam_sdk::{ErrorCode, StagedFile, Tool, ToolError, export_tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Largest file in one call, in bytes. The text of it fits the memory of the call twice.
const DECODED_BYTES_MAX: usize = 8 << 20;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Where to write: the full path of a file under /shared or /tmp, for example
    /// "/shared/notes/today.txt". It is used exactly as given. Missing directories are created.
    path: String,
    /// The whole content of the file in standard base64 (A-Z a-z 0-9 + /) with "=" padding and
    /// without spaces or line breaks. At most 8 MiB once decoded; empty for an empty file.
    content_base64: String,
    /// Whether a file already at this path is replaced. If false, the call fails with
    /// "already_exists" and the file there stays as it is.
    #[serde(default)]
    overwrite: bool,
}

#[derive(Serialize, JsonSchema)]
struct Written {
    /// Always true: a failure is an error.
    written: bool,
    /// Where the file is.
    path: String,
    /// Length of the file in bytes.
    bytes_written: u64,
    /// SHA-256 of the file, in lower-case hex.
    sha256: String,
}

impl Tool for Arguments {
    const NAME: &str = "file_write_bytes";
    const SUMMARY: &str = "Writes bytes given as base64 to a file under /shared or /tmp.";
    type Arguments = Self;
    type Output = Written;

    fn call(Arguments { path, content_base64, overwrite }: Arguments) -> Result<Written, ToolError> {
        check_length(&content_base64)?;
        let mut file = if overwrite { StagedFile::replace(&path)? } else { StagedFile::create_new(&path)? };
        let take = |piece: &[u8]| file.write_all(piece).map_err(ToolError::on_path(&path));
        base64_text::decode("content_base64", &content_base64, take)?;
        let sealed = file.finish()?;
        Ok(Written { written: true, path, bytes_written: sealed.bytes, sha256: sealed.sha256 })
    }
}

export_tool!(Arguments);

/// Refuses what decodes to more than a call may write, before anything is decoded.
fn check_length(text: &str) -> Result<(), ToolError> {
    let decoded = base64_text::decoded_len(text);
    if decoded <= DECODED_BYTES_MAX {
        return Ok(());
    }
    Err(ToolError::new(
        ErrorCode::TooLarge,
        format!(
            "content_base64 is {decoded} bytes decoded; one call writes at most {DECODED_BYTES_MAX} (8 MiB). \
             Ask the user to send the file as an attachment and save that."
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_one_of_decoded_bytes() {
        // Two bytes over whole groups of three.
        let fits = format!("{}AAA=", "AAAA".repeat(DECODED_BYTES_MAX / 3));
        assert!(check_length(&fits).is_ok());
        let over = "AAAA".repeat(DECODED_BYTES_MAX / 3 + 1);
        assert_eq!(check_length(&over).unwrap_err().code, ErrorCode::TooLarge);
    }
}
