//! What is to be heard of an answer, as the store keeps it.

use cofferdam_store::{NewPart, PartKind};
use serde::{Deserialize, Serialize};

/// A text that is to be spoken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpeakableText {
    /// What is said.
    pub text: String,
    /// Whether the reply has a text to be read as well: then nothing is lost with the voice.
    pub is_shown: bool,
}

impl SpeakableText {
    /// From the store; what is in no other form is the text.
    pub fn read(body: &str) -> Self {
        serde_json::from_str(body).unwrap_or_else(|_| Self { text: body.to_owned(), is_shown: false })
    }

    /// For the store.
    pub(super) fn part(&self) -> NewPart {
        let body = serde_json::to_string(self).expect("plain data");
        NewPart { kind: PartKind::Voice, body }
    }
}
