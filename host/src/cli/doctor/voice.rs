//! Who hears voice messages and who speaks answers, and whether their keys are there. Neither is
//! asked: each request costs.

use super::finding::DoctorFinding;
use crate::config::Config;
use cofferdam_agent::server::UnusableKey;
use cofferdam_core::secret::Secret;
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct VoiceReport {
    /// None where it is off.
    transcription: Option<TranscriptionReport>,
    /// None where it is off.
    speech: Option<SpeechReport>,
}

#[derive(Serialize)]
struct TranscriptionReport {
    server: String,
    model: Option<String>,
    /// Whether it is sent a key.
    has_key: bool,
}

#[derive(Serialize)]
struct SpeechReport {
    #[serde(flatten)]
    by: TranscriptionReport,
    voice: Option<String>,
}

/// What is configured, with what is missing.
pub(super) fn look(config: &Config, findings: &mut Vec<DoctorFinding>) -> VoiceReport {
    let mut key = |read: Result<Option<Secret>, UnusableKey>, env: &Option<String>| match read {
        Ok(key) => key.is_some(),
        Err(error) => {
            let name = env.as_deref().unwrap_or("OPENAI_API_KEY");
            let mend = format!("export {name}=…, where serve is started");
            findings.push(DoctorFinding::problem("voice", error.to_string(), mend));
            false
        }
    };
    let (transcription, speech) = (&config.transcription, &config.speech);
    let heard = transcription.is_on().then(|| TranscriptionReport {
        server: transcription.table().base_url.to_owned(),
        model: transcription.model.clone(),
        has_key: key(transcription.table().key(), &transcription.api_key_env),
    });
    let spoken = speech.is_on().then(|| SpeechReport {
        by: TranscriptionReport {
            server: speech.table().base_url.to_owned(),
            model: speech.model.clone(),
            has_key: key(speech.table().key(), &speech.api_key_env),
        },
        voice: speech.voice.clone(),
    });
    VoiceReport { transcription: heard, speech: spoken }
}

impl VoiceReport {
    pub(super) fn tell(&self, line: &mut impl FnMut(String)) {
        let told = |what: &str, by: &TranscriptionReport, more: &str| {
            let key = if by.has_key { "with a key" } else { "without a key" };
            let model = by.model.as_deref().unwrap_or_default();
            format!("{what}: by {} {key}, {model}{more} (not tried: it would cost)", by.server)
        };
        line(match &self.transcription {
            None => "transcription: off; voice messages come as files".to_owned(),
            Some(by) => told("transcription", by, ""),
        });
        line(match &self.speech {
            None => "speech: off; answers are written".to_owned(),
            Some(SpeechReport { by, voice }) => {
                told("speech", by, &voice.as_deref().map(|voice| format!(", {voice}")).unwrap_or_default())
            }
        });
    }
}
