//! Standard base64 in an argument of a tool, decoded piece by piece: what it decodes to is never
//! held twice. It forgives nothing, because what a model got wrong once it had better send again
//! than have guessed at.

use base64::{DecodeError, DecodeSliceError, Engine, engine::general_purpose::STANDARD};
use cofferdam_sdk::{ErrorCode, ToolError};

/// Text decoded at once, in bytes: a multiple of four, and so of whole groups.
const PIECE: usize = 32 << 10;

/// Bytes that `text` stands for, told from its length alone; for what is no base64 about as many.
pub fn decoded_len(text: &str) -> usize {
    let padding = text.bytes().rev().take(2).filter(|&byte| byte == b'=').count();
    (text.len() / 4 * 3).saturating_sub(padding)
}

/// Hands the bytes that the text of `argument` stands for to `take`, in order, until it returns an
/// error.
///
/// # Errors
/// What `take` returned; `invalid_arguments` for a text that is no standard base64, with the
/// offset.
pub fn decode(
    argument: &str,
    text: &str,
    mut take: impl FnMut(&[u8]) -> Result<(), ToolError>,
) -> Result<(), ToolError> {
    let mut decoded = [0; PIECE / 4 * 3];
    let mut pieces = text.as_bytes().chunks(PIECE).enumerate().peekable();
    while let Some((at, piece)) = pieces.next() {
        // Padding ends the text; the decoder sees one piece and would take it for the end.
        if pieces.peek().is_some() && piece.ends_with(b"=") {
            return Err(unusable(argument, text, at * PIECE + piece.len() - 1));
        }
        let length = STANDARD
            .decode_slice(piece, &mut decoded)
            .map_err(|error| refusal(argument, text, at * PIECE, &error))?;
        take(&decoded[..length])?;
    }
    Ok(())
}

fn refusal(argument: &str, text: &str, start: usize, error: &DecodeSliceError) -> ToolError {
    match error {
        DecodeSliceError::DecodeError(
            DecodeError::InvalidByte(at, _) | DecodeError::InvalidLastSymbol(at, _),
        ) => unusable(argument, text, start + at),
        _ => ToolError::new(
            ErrorCode::InvalidArguments,
            format!(
                "{argument} is cut short: {} characters, but base64 comes in groups of four, the last \
                 one padded with \"=\". Send the whole content again.",
                text.len()
            ),
        ),
    }
}

fn unusable(argument: &str, text: &str, offset: usize) -> ToolError {
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
        format!("{argument} has {what}, at offset {offset}. Send standard base64 without line breaks."),
    )
}

#[cfg(test)]
mod tests;
