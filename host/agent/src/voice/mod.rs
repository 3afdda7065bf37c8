//! Voice: what somebody has said becomes text (`[transcription]`), and an answer becomes speech
//! (`[speech]`), by servers that speak OpenAI's two endpoints. Either may be off; both are unless
//! they are configured.
//!
//! It follows no redirects and gives a key to nobody but the address that it was configured for.

mod config;
mod server;
mod speech;
#[cfg(test)]
mod tests;
mod transcription;

pub use config::{SpeechConfig, TranscriptionConfig, VoiceTable};
pub use server::{VOICE_ATTEMPTS_MAX, VoiceError, VoiceTimeouts};
pub use speech::{SPEECH_BYTES_MAX, SPOKEN_CHARS_MAX, Speech};
pub use transcription::{TRANSCRIBED_BYTES_MAX, TRANSCRIPT_BYTES_MAX, Transcription};

use crate::server::UnusableKey;

/// What is configured of both.
#[derive(Clone, Debug, Default)]
pub struct Voice {
    /// Makes text of voice messages.
    pub transcription: Option<Transcription>,
    /// Speaks answers.
    pub speech: Option<Speech>,
}

impl Voice {
    /// What these sections ask for. Reads the keys, and contacts nobody.
    ///
    /// # Errors
    /// [`UnusableKey`].
    pub fn open(transcription: &TranscriptionConfig, speech: &SpeechConfig) -> Result<Self, UnusableKey> {
        Ok(Self { transcription: Transcription::open(transcription)?, speech: Speech::open(speech)? })
    }
}
