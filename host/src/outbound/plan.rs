//! The messages that an answer becomes, in the order of sending: text, then voice, then attachments.
//!
//! Files that are there before anything is visible go with the text, as its message, where the channel can do that.
//! Otherwise the text comes first and they follow. A text that takes the place of a message that stands already
//! never carries files: that message may have to be deleted.

use super::bundle::{Shown, bundles};
use super::{Bundle, Manners, split};
use crate::store::{NewPart, PartKind};
use cofferdam_core::message::{OutgoingAttachment, OutgoingResponse};
use cofferdam_core::text::about;

/// Text messages of one answer; what is beyond them is counted in the last one, not sent.
pub const MESSAGES_MAX: usize = 20;

/// Said in place of an answer without any content: silence looks like a crash.
const EMPTY: &str = "The answer is empty.";

/// What the first message of a reply is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// A message of its own.
    Fresh,
    /// The new text of one that stands already.
    Standing,
}

/// The parts of a response for a channel of these manners.
///
/// Pieces of blanks alone are left out: platforms refuse them. A file that the channel never takes is told of in the
/// text, and its part says why it is refused.
pub fn plan(response: OutgoingResponse, manners: &Manners, opening: Opening) -> Vec<NewPart> {
    let (fits, too_large): (Vec<_>, Vec<_>) =
        response.attachments.into_iter().partition(|file| file.bytes <= manners.file_bytes_max);
    let mut lines: Vec<String> = response.text.filter(|text| !text.is_empty()).into_iter().collect();
    lines.extend(too_large.iter().map(|file| told(file, manners)));
    let text = lines.join("\n");
    let mut files = bundles(fits.into_iter().map(|file| shown(file, manners)).collect(), manners);

    let mut parts = Vec::new();
    match files.first_mut() {
        Some(first)
            if opening == Opening::Fresh && response.voice.is_none() && is_caption(&text, manners) =>
        {
            first.caption = Some(text);
        }
        _ => parts = text_parts(&text, manners.text_units_max),
    }
    parts.extend(response.voice.map(|body| NewPart { kind: PartKind::Voice, body }));
    parts.extend(files.iter().map(Bundle::part));
    parts.extend(too_large.into_iter().map(|file| refused(file, manners).part()));
    if parts.is_empty() {
        parts.push(text_part(EMPTY));
    }
    parts
}

fn is_caption(text: &str, manners: &Manners) -> bool {
    !text.trim().is_empty() && text.encode_utf16().count() <= manners.caption_units_max
}

fn shown(file: OutgoingAttachment, manners: &Manners) -> Shown {
    Shown { media: manners.media(&file.mime_type, file.bytes), file }
}

fn told(file: &OutgoingAttachment, manners: &Manners) -> String {
    let (size, limit) = (about(file.bytes), about(manners.file_bytes_max));
    format!("{} ({size}) is too large to be sent here; files may have {limit}.", file.name)
}

fn refused(file: OutgoingAttachment, manners: &Manners) -> Bundle {
    let reason = format!("{} bytes, and the channel takes {}", file.bytes, manners.file_bytes_max);
    Bundle { refused: Some(reason), ..Bundle::of(vec![shown(file, manners)]) }
}

fn text_parts(text: &str, limit: usize) -> Vec<NewPart> {
    let pieces = split(text, limit);
    let mut said: Vec<&str> = pieces.into_iter().filter(|piece| !piece.trim().is_empty()).collect();
    if said.len() <= MESSAGES_MAX {
        return said.into_iter().map(text_part).collect();
    }
    let unsaid: usize = said.drain(MESSAGES_MAX - 1..).map(|piece| piece.chars().count()).sum();
    let mut parts: Vec<NewPart> = said.into_iter().map(text_part).collect();
    parts.push(text_part(&format!("… The answer is too long: {unsaid} more characters are not shown.")));
    parts
}

fn text_part(text: &str) -> NewPart {
    NewPart { kind: PartKind::Text, body: text.to_owned() }
}

#[cfg(test)]
mod tests;
