//! Text of what somebody has said: `/audio/transcriptions`.

use super::config::TranscriptionConfig;
use super::server::{VoiceEndpoint, VoiceError};
use crate::server::UnusableKey;
use bytes::Bytes;
use reqwest::multipart::{Form, Part};
use serde_json::Value;

/// Bytes of a voice message that are sent.
pub const TRANSCRIBED_BYTES_MAX: u64 = 25 << 20;
/// Bytes of an answer, and of the text in it.
pub const TRANSCRIPT_BYTES_MAX: usize = 64 << 10;

/// Makes text of voice messages.
#[derive(Clone, Debug)]
pub struct Transcription {
    server: VoiceEndpoint,
    model: String,
}

impl Transcription {
    /// What the section asks for; none where it is off.
    pub(super) fn open(config: &TranscriptionConfig) -> Result<Option<Self>, UnusableKey> {
        let table = config.table();
        table.check()?;
        let Some(model) = config.model.clone() else { return Ok(None) };
        let server = VoiceEndpoint::open(&table, config.patience)?;
        Ok(Some(Self { server, model }))
    }

    /// What is said in these bytes; perhaps nothing. `name` and `mime_type` tell the server what
    /// they are.
    ///
    /// # Errors
    /// [`VoiceError`].
    pub async fn transcribe(
        &self,
        bytes: Vec<u8>,
        (name, mime_type): (&str, &str),
    ) -> Result<String, VoiceError> {
        if bytes.len() as u64 > TRANSCRIBED_BYTES_MAX {
            return Err(VoiceError::TooLarge);
        }
        let bytes = Bytes::from(bytes);
        let plain = || Part::stream_with_length(bytes.clone(), bytes.len() as u64).file_name(name.to_owned());
        // A type that does not parse is left out.
        let file = || plain().mime_str(mime_type).unwrap_or_else(|_| plain());
        let form = |request: reqwest::RequestBuilder| {
            let form = Form::new().text("model", self.model.clone()).text("response_format", "json");
            request.multipart(form.part("file", file()))
        };
        let body = self.server.ask("audio/transcriptions", TRANSCRIPT_BYTES_MAX, form).await?;
        let answer: Value = serde_json::from_slice(&body).map_err(|_| VoiceError::BadAnswer)?;
        let text = answer["text"].as_str().ok_or(VoiceError::BadAnswer)?;
        Ok(text.trim().to_owned())
    }
}
