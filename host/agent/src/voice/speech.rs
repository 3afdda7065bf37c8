//! Speech of a text: `/audio/speech`, as Opus in Ogg, which every channel plays.

use super::config::SpeechConfig;
use super::server::{VoiceEndpoint, VoiceError};
use crate::server::UnusableKey;
use serde_json::json;

/// Characters of a text that are spoken; the text itself is there in full.
pub const SPOKEN_CHARS_MAX: usize = 3000;
/// Bytes of speech: some four minutes of Opus.
pub const SPEECH_BYTES_MAX: usize = 1 << 20;

/// Speaks answers.
#[derive(Clone, Debug)]
pub struct Speech {
    server: VoiceEndpoint,
    model: String,
    voice: String,
}

impl Speech {
    /// What the section asks for; none where it is off.
    pub(super) fn open(config: &SpeechConfig) -> Result<Option<Self>, UnusableKey> {
        let table = config.table();
        table.check()?;
        let (Some(model), Some(voice)) = (config.model.clone(), config.voice.clone()) else {
            return Ok(None);
        };
        let server = VoiceEndpoint::open(&table, config.patience)?;
        Ok(Some(Self { server, model, voice }))
    }

    /// The beginning of a text, spoken.
    ///
    /// # Errors
    /// [`VoiceError`].
    pub async fn speak(&self, text: &str) -> Result<Vec<u8>, VoiceError> {
        let text = cut_speech(text);
        let body =
            json!({ "model": self.model, "voice": self.voice, "input": text, "response_format": "opus" });
        let bytes = self.server.ask("audio/speech", SPEECH_BYTES_MAX, |request| request.json(&body)).await?;
        // An error that came with 200, or a page of somebody in between.
        if bytes.starts_with(b"OggS") { Ok(bytes) } else { Err(VoiceError::BadAnswer) }
    }
}

/// What is spoken of a text: all of it, or up to the last sentence or word that fits.
fn cut_speech(text: &str) -> &str {
    let Some((end, _)) = text.char_indices().nth(SPOKEN_CHARS_MAX) else { return text };
    let fits = &text[..end];
    let sentence = fits.rfind(['.', '!', '?', '\n']).map(|at| at + 1);
    let cut = sentence.or_else(|| fits.rfind(char::is_whitespace)).filter(|at| *at > end / 2).unwrap_or(end);
    &text[..cut]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_spoken_up_to_a_sentence() {
        assert_eq!(cut_speech("short"), "short");
        let just = "ä".repeat(SPOKEN_CHARS_MAX);
        assert_eq!(cut_speech(&just), just);
        let sentences = "One two three. ".repeat(400);
        let spoken = cut_speech(&sentences);
        assert!(spoken.ends_with('.') && spoken.chars().count() <= SPOKEN_CHARS_MAX, "{}", spoken.len());
        let unbroken = "x".repeat(SPOKEN_CHARS_MAX + 1);
        assert_eq!(cut_speech(&unbroken).len(), SPOKEN_CHARS_MAX);
    }
}
