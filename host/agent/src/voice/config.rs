//! `[transcription]` and `[speech]`: which servers listen and speak, and what is refused before
//! anything is contacted.

use super::server::VoiceTimeouts;
use crate::server::{Address, ServerScope, UnusableKey, check_key, is_one_word, is_variable_name};
use cofferdam_core::secret::Secret;
use cofferdam_core::text::one_line;
use serde::{Deserialize, Serialize};

/// `[transcription]` as written. It is off unless something of it is written.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct TranscriptionConfig {
    /// Address of the server; plain http only for loopback.
    pub base_url: Option<String>,
    /// The model, as its server calls it.
    pub model: Option<String>,
    /// Name of the environment variable that holds the key.
    pub api_key_env: Option<String>,
    /// How long things take. No file sets it; tests shorten it.
    #[serde(skip)]
    pub patience: VoiceTimeouts,
}

/// `[speech]` as written. It is off unless something of it is written.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct SpeechConfig {
    /// Address of the server; plain http only for loopback.
    pub base_url: Option<String>,
    /// The model, as its server calls it.
    pub model: Option<String>,
    /// The voice, as its server calls it.
    pub voice: Option<String>,
    /// Name of the environment variable that holds the key.
    pub api_key_env: Option<String>,
    /// How long things take. No file sets it; tests shorten it.
    #[serde(skip)]
    pub patience: VoiceTimeouts,
}

/// The server that is asked where none is written.
const BASE_URL: &str = "https://api.openai.com/v1";
/// A longer name is no model's and no voice's.
const NAME_BYTES_MAX: usize = 200;

impl TranscriptionConfig {
    /// What it has in common with the other section.
    pub fn table(&self) -> VoiceTable<'_> {
        let names = vec![("model", self.model.as_deref(), "whisper-1")];
        VoiceTable::new("transcription", (&self.base_url, &self.api_key_env), names)
    }
}

impl SpeechConfig {
    /// What it has in common with the other section.
    pub fn table(&self) -> VoiceTable<'_> {
        let model = ("model", self.model.as_deref(), "gpt-4o-mini-tts");
        let voice = ("voice", self.voice.as_deref(), "alloy");
        VoiceTable::new("speech", (&self.base_url, &self.api_key_env), vec![model, voice])
    }
}

/// What both sections have.
pub struct VoiceTable<'a> {
    pub(super) section: &'static str,
    /// Whether anything of it is written.
    pub is_on: bool,
    /// Where the server is asked.
    pub base_url: &'a str,
    api_key_env: Option<&'a str>,
    /// What the server has names for: the key, the name, and an example.
    names: Vec<(&'static str, Option<&'a str>, &'static str)>,
}

impl<'a> VoiceTable<'a> {
    fn new(
        section: &'static str,
        (base_url, api_key_env): (&'a Option<String>, &'a Option<String>),
        names: Vec<(&'static str, Option<&'a str>, &'static str)>,
    ) -> Self {
        let is_named = names.iter().any(|(_, name, _)| name.is_some());
        let is_on = base_url.is_some() || api_key_env.is_some() || is_named;
        let base_url = base_url.as_deref().unwrap_or(BASE_URL);
        Self { section, is_on, base_url, api_key_env: api_key_env.as_deref(), names }
    }

    /// The server's TCP port; none where it is off.
    pub fn port(&self) -> Option<u16> {
        self.address().ok().filter(|_| self.is_on)?.port()
    }

    pub(super) fn refuse(&self, key: &str, said: String) -> UnusableKey {
        UnusableKey::new(self.section, key, said)
    }

    /// A name that the server knows.
    fn check_name(&self, key: &str, name: Option<&str>, example: &str) -> Result<(), UnusableKey> {
        let said = match name {
            Some(name) if is_one_word(name, NAME_BYTES_MAX) => return Ok(()),
            Some(name) => {
                format!("{key}: {:?} is not a name; write e.g. {key} = \"{example}\"", one_line(name, 80))
            }
            None => format!("{key} is missing; write it as the server calls it, e.g. {key} = \"{example}\""),
        };
        Err(self.refuse(key, said))
    }

    pub(super) fn address(&self) -> Result<Address, UnusableKey> {
        let wrong = |bad| self.refuse("base_url", format!("base_url: {bad}; write e.g. \"{BASE_URL}\""));
        Address::parse(self.base_url).map_err(wrong)
    }

    /// Checks everything but what the key holds, where it is on.
    ///
    /// # Errors
    /// [`UnusableKey`], which says what to write instead.
    pub fn check(&self) -> Result<(), UnusableKey> {
        if !self.is_on {
            return Ok(());
        }
        for (key, name, example) in &self.names {
            self.check_name(key, *name, example)?;
        }
        let address = self.address()?;
        let said = match self.api_key_env {
            // Perhaps the key itself, so it is not repeated.
            Some(name) if !is_variable_name(name) => {
                "api_key_env is not the name of an environment variable in capital letters; write a name there, such as \
                 OPENAI_API_KEY, and put the key into that variable"
                    .to_owned()
            }
            None if address.reach == ServerScope::Remote => format!(
                "there is no key for {}; put it into an environment variable and write that variable's name: \
                 api_key_env = \"OPENAI_API_KEY\"",
                one_line(address.url.host_str().unwrap_or_default(), 200)
            ),
            _ => return Ok(()),
        };
        Err(self.refuse("api_key_env", said))
    }

    /// The key, from this process's environment; none where none is needed.
    ///
    /// # Errors
    /// [`UnusableKey`], which names the variable.
    pub fn key(&self) -> Result<Option<Secret>, UnusableKey> {
        let Some(name) = self.api_key_env else { return Ok(None) };
        let value = std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let Some(value) = value else {
            let said = format!("the environment variable {name} is not set; put the key into it");
            return Err(self.refuse("api_key_env", said));
        };
        let said = || format!("the environment variable {name} does not hold a key; copy it again");
        check_key(&value).map(Some).ok_or_else(|| self.refuse("api_key_env", said()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_needs_is_asked_for() {
        for (text, said) in [
            ("", "accepted"),
            ("base_url = \"http://127.0.0.1:8080/v1\"\nmodel = \"base.en\"", "accepted"),
            ("model = \"whisper-1\"\napi_key_env = \"OPENAI_API_KEY\"", "accepted"),
            ("base_url = \"http://127.0.0.1:8080/v1\"", "model is missing"),
            ("model = \"whisper-1\"", "there is no key for api.openai.com"),
            ("model = \"a b\"\napi_key_env = \"K\"", "is not a name"),
            ("model = \"m\"\napi_key_env = \"sk-live\"", "not the name of an environment variable"),
            ("model = \"m\"\napi_key_env = \"K\"\nbase_url = \"http://10.0.0.1\"", "plain http"),
        ] {
            let config: TranscriptionConfig = toml::from_str(text).expect("understood");
            let told =
                config.table().check().map_or_else(|error| error.to_string(), |()| "accepted".to_owned());
            assert!(told.contains(said), "{text}: {told}");
            assert!(!told.contains("sk-live"), "{told}");
        }
        for (text, said) in [
            ("", "accepted"),
            ("base_url = \"http://[::1]:1\"\nmodel = \"tts\"\nvoice = \"en_US-amy\"", "accepted"),
            ("model = \"tts-1\"\napi_key_env = \"K\"", "voice is missing"),
            ("voice = \"alloy\"\napi_key_env = \"K\"", "model is missing"),
        ] {
            let config: SpeechConfig = toml::from_str(text).expect("understood");
            let told =
                config.table().check().map_or_else(|error| error.to_string(), |()| "accepted".to_owned());
            assert!(told.contains(said), "{text}: {told}");
        }
        assert!(toml::from_str::<SpeechConfig>("speed = 2").is_err(), "unknown keys are refused");
    }
}
