//! The messages that an answer becomes, in the order of sending: text, then voice, then attachments.

use super::split;
use crate::store::{NewPart, PartKind};
use cofferdam_core::message::OutgoingResponse;

/// Text messages of one answer; what is beyond them is counted in the last one, not sent.
pub const MESSAGES_MAX: usize = 20;

/// Said in place of an answer without any content: silence looks like a crash.
const EMPTY: &str = "The answer is empty.";

/// The parts of a response for a channel whose messages hold `text_limit` UTF-16 units.
///
/// Pieces of blanks alone are left out: platforms refuse them.
pub fn plan(response: OutgoingResponse, text_limit: usize) -> Vec<NewPart> {
    let text = response.text.unwrap_or_default();
    let mut parts = text_parts(&text, text_limit);
    parts.extend(response.voice.map(|body| NewPart { kind: PartKind::Voice, body }));
    parts.extend(response.attachments.iter().map(|attachment| NewPart {
        kind: PartKind::Attachment,
        body: serde_json::json!(attachment).to_string(),
    }));
    if parts.is_empty() {
        parts.push(text_part(EMPTY));
    }
    parts
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
mod tests {
    use super::*;
    use cofferdam_core::message::OutgoingAttachment;

    fn check(response: OutgoingResponse, limit: usize, expected: &[(PartKind, &str)]) {
        let parts = plan(response, limit);
        let shown: Vec<_> = parts.iter().map(|part| (part.kind, part.body.as_str())).collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn text_comes_before_voice_before_attachments() {
        let attachment =
            OutgoingAttachment { sha256: "ab".into(), name: "a.txt".into(), mime_type: "text/plain".into() };
        let response = OutgoingResponse {
            text: Some("one two".into()),
            voice: Some("spoken".into()),
            attachments: vec![attachment],
        };
        let described = r#"{"sha256":"ab","name":"a.txt","mime_type":"text/plain"}"#;
        check(
            response,
            4,
            &[
                (PartKind::Text, "one "),
                (PartKind::Text, "two"),
                (PartKind::Voice, "spoken"),
                (PartKind::Attachment, described),
            ],
        );
    }

    #[test]
    fn an_answer_is_never_silence() {
        check(OutgoingResponse::default(), 9, &[(PartKind::Text, EMPTY)]);
        check(OutgoingResponse::text(" \n "), 9, &[(PartKind::Text, EMPTY)]);
        check(
            OutgoingResponse::text("a\n\n\n\n\n\nb"),
            2,
            &[(PartKind::Text, "a\n"), (PartKind::Text, "\nb")],
        );
    }

    #[test]
    fn a_very_long_answer_says_how_much_is_missing() {
        let parts = plan(OutgoingResponse::text("x".repeat(100)), 4);
        assert_eq!(parts.len(), MESSAGES_MAX);
        assert_eq!(parts[19].body, "… The answer is too long: 24 more characters are not shown.");
        assert_eq!(plan(OutgoingResponse::text("x".repeat(80)), 4).len(), MESSAGES_MAX);
    }
}
