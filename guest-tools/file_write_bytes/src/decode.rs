//! Standard base64 into a writer, piece by piece: the decoded bytes are never held whole. It forgives
//! nothing, because what a model got wrong once it had better send again than have guessed at.

use std::io::Write;

use base64::{DecodeError, DecodeSliceError, Engine, engine::general_purpose::STANDARD};
use cofferdam_sdk::{ErrorCode, ToolError};

/// Largest file in one call, in bytes. The text of it fits the memory of the call twice.
const DECODED_BYTES_MAX: usize = 8 << 20;

/// Text decoded at once, in bytes: a multiple of four, and so of whole groups.
const PIECE: usize = 32 << 10;

/// Refuses what decodes to more than a call may write, before anything is decoded.
pub(crate) fn check_length(text: &str) -> Result<(), ToolError> {
    let padding = text.bytes().rev().take(2).filter(|&byte| byte == b'=').count();
    let decoded = (text.len() / 4 * 3).saturating_sub(padding);
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

/// Writes the bytes that `text` stands for to `file`, which goes to `path`.
pub(crate) fn decode(text: &str, path: &str, file: &mut impl Write) -> Result<(), ToolError> {
    let mut decoded = [0; PIECE / 4 * 3];
    let mut pieces = text.as_bytes().chunks(PIECE).enumerate().peekable();
    while let Some((at, piece)) = pieces.next() {
        // Padding ends the text; the decoder sees one piece and would take it for the end.
        if pieces.peek().is_some() && piece.ends_with(b"=") {
            return Err(unusable(text, at * PIECE + piece.len() - 1));
        }
        let length =
            STANDARD.decode_slice(piece, &mut decoded).map_err(|error| refusal(text, at * PIECE, &error))?;
        file.write_all(&decoded[..length]).map_err(ToolError::on_path(path))?;
    }
    Ok(())
}

fn refusal(text: &str, start: usize, error: &DecodeSliceError) -> ToolError {
    match error {
        DecodeSliceError::DecodeError(
            DecodeError::InvalidByte(at, _) | DecodeError::InvalidLastSymbol(at, _),
        ) => unusable(text, start + at),
        _ => ToolError::new(
            ErrorCode::InvalidArguments,
            format!(
                "content_base64 is cut short: {} characters, but base64 comes in groups of four, the last \
                 one padded with \"=\". Send the whole content again.",
                text.len()
            ),
        ),
    }
}

fn unusable(text: &str, offset: usize) -> ToolError {
    // The offset is one of bytes; what lies before it is ASCII, so it is one of characters as well.
    let what = match text.get(offset..).and_then(|rest| rest.chars().next()) {
        Some('=') => "padding (\"=\") before the end".to_owned(),
        Some(' ' | '\n' | '\r' | '\t') => "white space, which is not allowed in it".to_owned(),
        Some('-' | '_') => "a character of the URL-safe alphabet; use \"+\" and \"/\"".to_owned(),
        Some(found) if STANDARD.decode(format!("{found}AAA")).is_ok() => {
            "a last character that leaves bits over, so something is missing or was changed".to_owned()
        }
        Some(found) => format!("{found:?}, which is no base64 character"),
        None => "nothing where a character is needed".to_owned(),
    };
    ToolError::new(
        ErrorCode::InvalidArguments,
        format!("content_base64 has {what}, at offset {offset}. Send standard base64 without line breaks."),
    )
}

#[cfg(test)]
mod tests;
