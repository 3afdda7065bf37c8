//! Who hears voice messages and who speaks answers, and whether their keys are there. Neither is
//! asked: each request costs.

use super::finding::DoctorFinding;
use crate::config::Config;
use cofferdam_agent::voice::VoiceTable;
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
    let mut report = |table: VoiceTable<'_>, model: &Option<String>, env: &Option<String>| {
        let has_key = table.key().map(|key| key.is_some()).unwrap_or_else(|error| {
            let name = env.as_deref().unwrap_or("OPENAI_API_KEY");
            let mend = format!("export {name}=…, where serve is started");
            findings.push(DoctorFinding::problem("voice", error.to_string(), mend));
            false
        });
        TranscriptionReport { server: table.base_url.to_owned(), model: model.clone(), has_key }
    };
    let (heard, spoken) = (&config.transcription, &config.speech);
    let transcription = heard.table().is_on.then(|| report(heard.table(), &heard.model, &heard.api_key_env));
    let speech = spoken.table().is_on.then(|| {
        let by = report(spoken.table(), &spoken.model, &spoken.api_key_env);
        SpeechReport { by, voice: spoken.voice.clone() }
    });
    VoiceReport { transcription, speech }
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
