//! What a person is told in place of a part that cannot be sent, where they would miss something.

use super::{Bundle, Rich};
use crate::store::{NewPart, Part, PartKind};
use cofferdam_core::text::one_line;

/// Longest reason in such a text.
const REASON_BYTES_MAX: usize = 300;

/// The texts to send instead; none for a text, which would be refused again, and for what was told before.
pub(super) fn instead(part: &Part, reason: &str) -> Vec<NewPart> {
    let text = |body: String| NewPart { kind: PartKind::Text, body };
    match part.kind {
        PartKind::Text | PartKind::Rich => Vec::new(),
        // What cannot be spoken can be read.
        PartKind::Voice => vec![text(part.body.clone())],
        PartKind::Attachment => match Bundle::read(&part.body) {
            Some(Bundle { refused: Some(_), .. }) | None => Vec::new(),
            Some(bundle) => {
                // The answer itself may have been the caption.
                let said = missing(&bundle, reason);
                bundle.words().map(Rich::part).into_iter().chain([text(said)]).collect()
            }
        },
    }
}

fn missing(bundle: &Bundle, reason: &str) -> String {
    let count = match bundle.files.len() {
        1 => "1 file".to_owned(),
        n => format!("{n} files"),
    };
    let names: Vec<_> = bundle.files.iter().map(|shown| shown.file.name.as_str()).collect();
    format!("{count} could not be sent: {}: {}", names.join(", "), one_line(reason, REASON_BYTES_MAX))
}
