//! What a person is told in place of a part that cannot be sent, where they would miss something.

use super::{FileBundle, SpeakableText, StyledText};
use cofferdam_core::text::one_line;
use cofferdam_store::{NewPart, PartKind, ReplyPart};

/// Longest reason in such a text.
const REASON_BYTES_MAX: usize = 300;

/// The texts to send instead; none for a text, which would be refused again, and for what was told
/// before: in the message `told`.
pub(super) fn replacement_parts(part: &ReplyPart, (reason, told): (&str, Option<&str>)) -> Vec<NewPart> {
    let text = |body: String| NewPart { kind: PartKind::Text, body };
    match part.kind {
        PartKind::Text | PartKind::Rich => Vec::new(),
        PartKind::Voice => match SpeakableText::read(&part.body) {
            SpeakableText { is_shown: true, .. } if told.is_some() => Vec::new(),
            SpeakableText { is_shown: true, .. } => vec![text(not_spoken(reason))],
            // What cannot be spoken can be read.
            SpeakableText { text: words, .. } => vec![text(words)],
        },
        PartKind::Attachment => match FileBundle::read(&part.body) {
            Some(FileBundle { refused: Some(_), .. }) | None => Vec::new(),
            Some(bundle) => {
                // The answer itself may have been the caption.
                let said = told.is_none().then(|| text(missing_files(&bundle, reason)));
                bundle.words().map(StyledText::part).into_iter().chain(said).collect()
            }
        },
    }
}

/// What is told of a part that is given up, in its place.
pub(super) fn notice(part: &ReplyPart, reason: &str) -> ReplyPart {
    let body = match FileBundle::read(&part.body).filter(|_| part.kind == PartKind::Attachment) {
        Some(bundle) => missing_files(&bundle, reason),
        None => format!("A message could not be sent: {}", one_line(reason, REASON_BYTES_MAX)),
    };
    ReplyPart { n: part.n, kind: PartKind::Text, body }
}

fn not_spoken(reason: &str) -> String {
    format!("The answer could not be spoken: {}", one_line(reason, REASON_BYTES_MAX))
}

fn missing_files(bundle: &FileBundle, reason: &str) -> String {
    let count = match bundle.files.len() {
        1 => "1 file".to_owned(),
        n => format!("{n} files"),
    };
    let names: Vec<_> = bundle.files.iter().map(|shown| shown.file.name.as_str()).collect();
    format!("{count} could not be sent: {}: {}", names.join(", "), one_line(reason, REASON_BYTES_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_told_on_one_line_up_to_a_length() {
        let part = ReplyPart { n: 3, kind: PartKind::Text, body: "the answer".into() };
        let told = |reason: &str| notice(&part, reason).body;
        assert_eq!(told("status 502\n<html>"), "A message could not be sent: status 502 <html>");
        let long = told(&"x".repeat(5000));
        let reason = long.strip_prefix("A message could not be sent: ").expect("it says what happened");
        assert!((REASON_BYTES_MAX - 10..=REASON_BYTES_MAX).contains(&reason.len()), "{} bytes", reason.len());
    }
}
