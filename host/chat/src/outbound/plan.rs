//! The messages that an answer becomes, in the order of sending: text, then voice, then
//! attachments.
//!
//! Files that are there before anything is visible go with the text, as its message, where the
//! channel can do that. Otherwise the text comes first and they follow. A text that takes the place
//! of a message that stands already never carries files: that message may have to be deleted.

use super::bundle::{BundledFile, bundles};
use super::split::first_piece;
use super::{ChannelLimits, FileBundle, SpeakableText, StyledText, markdown};
use cofferdam_core::message::{OutgoingAttachment, OutgoingResponse};
use cofferdam_core::text::{about, is_blank};
use cofferdam_store::NewPart;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Text messages of one answer; what is beyond them is counted in the last one, not sent.
pub const MESSAGES_MAX: usize = 20;

/// Said in place of an answer without any content: silence looks like a crash.
const EMPTY: &str = "The answer is empty.";

/// What is to become of the message that stood for an answer, by the platform's number of it, as a
/// target keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlaceholderRef {
    /// The first text takes its place.
    Edit(i64),
    /// It goes: an edit of it may still be on its way, and would overtake the answer.
    Delete(i64),
}

/// The parts of a response for a channel of these channel_limits. `stand_in` is what stands there
/// for it already.
///
/// Pieces of which nothing is seen are left out: platforms refuse them. A file that the channel
/// never takes is told of in the text, and its part says why it is refused.
pub fn plan(
    response: OutgoingResponse,
    channel_limits: &ChannelLimits,
    stand_in: Option<PlaceholderRef>,
) -> Vec<NewPart> {
    let mut said = to_rich(response.text.unwrap_or_default(), response.markdown_from);
    let (fits, too_large): (Vec<_>, Vec<_>) =
        response.attachments.into_iter().partition(|file| file.bytes <= channel_limits.file_bytes_max);
    for file in &too_large {
        said.push_line(&describe_file(file, channel_limits));
    }
    let mut files =
        bundles(fits.into_iter().map(|file| choose_form(file, channel_limits)).collect(), channel_limits);

    let mut parts = Vec::new();
    let is_edited = matches!(stand_in, Some(PlaceholderRef::Edit(_)));
    let carries_files = !is_edited && response.voice.is_none() && !is_blank(&said.text);
    match files.first_mut().filter(|_| carries_files) {
        Some(first) if (channel_limits.length)(&said) <= channel_limits.caption_units_max => {
            let said = said.truncate_spans();
            (first.caption, first.caption_spans) = (Some(said.text), said.spans);
        }
        Some(first) if channel_limits.first_text_carries_files => {
            parts = text_parts(&said, channel_limits);
            let words = StyledText::read(parts[0].kind, &parts[0].body).unwrap_or_default();
            (first.caption, first.caption_spans) = (Some(words.text), words.spans);
            parts[0] = first.part();
            files.remove(0);
        }
        _ => parts = text_parts(&said, channel_limits),
    }
    let is_shown = !parts.is_empty();
    parts.extend(response.voice.map(|text| SpeakableText { text, is_shown }.part()));
    parts.extend(files.iter().map(FileBundle::part));
    parts.extend(too_large.into_iter().map(|file| refused_bundle(file, channel_limits).part()));
    if parts.is_empty() {
        parts.push(StyledText::plain(EMPTY).part());
    }
    parts
}

/// The text as it is shown. Markdown that shows nothing is shown as it was written.
fn to_rich(text: String, markdown_from: Option<usize>) -> StyledText {
    let Some((plain, source)) = markdown_from.and_then(|from| text.split_at_checked(from)) else {
        return StyledText::plain(text);
    };
    let mut said = StyledText::plain(plain);
    match markdown(source) {
        shown if is_blank(&shown.text) => said.push(StyledText::plain(source)),
        shown => said.push(shown),
    }
    said
}

fn choose_form(file: OutgoingAttachment, channel_limits: &ChannelLimits) -> BundledFile {
    BundledFile { media: channel_limits.media(&file.mime_type, file.bytes), file }
}

fn describe_file(file: &OutgoingAttachment, channel_limits: &ChannelLimits) -> String {
    let (size, limit) = (about(file.bytes), about(channel_limits.file_bytes_max));
    format!("{} ({size}) is too large to be sent here; files may have {limit}.", file.name)
}

fn refused_bundle(file: OutgoingAttachment, channel_limits: &ChannelLimits) -> FileBundle {
    let reason = format!("{} bytes, and the channel takes {}", file.bytes, channel_limits.file_bytes_max);
    FileBundle { refused: Some(reason), ..FileBundle::from_files(vec![choose_form(file, channel_limits)]) }
}

/// A text in messages that the channel can write.
pub fn split_text(said: &StyledText, channel_limits: &ChannelLimits) -> Vec<StyledText> {
    pieces(said, channel_limits).into_iter().map(|piece| said.slice(piece).truncate_spans()).collect()
}

/// The pieces of a text, each of which the channel can write within its limit.
fn pieces(said: &StyledText, channel_limits: &ChannelLimits) -> Vec<Range<usize>> {
    let (mut pieces, mut at) = (Vec::new(), 0);
    while at < said.text.len() {
        let mut room = channel_limits.text_units_max;
        let end = loop {
            let first = first_piece(&said.text[at..], room);
            let length = (channel_limits.length)(&said.slice(at..at + first).truncate_spans());
            if length <= channel_limits.text_units_max || room <= 1 {
                break at + first;
            }
            // As much less as it is too long by, and something in any case.
            room = (room * channel_limits.text_units_max / length).min(room - 1).max(1);
        };
        pieces.push(at..end);
        at = end;
    }
    pieces
}

fn text_parts(said: &StyledText, channel_limits: &ChannelLimits) -> Vec<NewPart> {
    let pieces = pieces(said, channel_limits).into_iter();
    let mut shown: Vec<_> = pieces.filter(|piece| !is_blank(&said.text[piece.clone()])).collect();
    let unshown = match shown.len() > MESSAGES_MAX {
        true => shown.split_off(MESSAGES_MAX - 1),
        false => Vec::new(),
    };
    let mut parts: Vec<NewPart> =
        shown.into_iter().map(|piece| said.slice(piece).truncate_spans().part()).collect();
    let unsaid: usize = unshown.into_iter().map(|piece| said.text[piece].chars().count()).sum();
    if unsaid > 0 {
        let said = format!("… The answer is too long: {unsaid} more characters are not shown.");
        parts.push(StyledText::plain(said).part());
    }
    parts
}

#[cfg(test)]
mod tests;
