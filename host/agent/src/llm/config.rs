//! `[provider]`: who answers, what an operator may set about a model, and what is refused before
//! anything is contacted.

use super::timeouts::RequestTimeouts;
use crate::server::{
    Address, ServerScope, UnusableKey, check_key, is_one_word, is_variable_name, read_secret,
};
use cofferdam_core::secret::Secret;
use cofferdam_core::text::one_line;
use cofferdam_warden::files::open_regular;
use serde::{Deserialize, Serialize};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The section as written. Nothing in it is secret: a key is in a variable or a file.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Which provider answers.
    pub kind: ProviderKind,
    /// Address of the model's server; plain http only for loopback.
    pub base_url: Option<String>,
    /// The model, as its server calls it.
    pub model: Option<String>,
    /// Name of the environment variable that holds the key.
    pub api_key_env: Option<String>,
    /// File that holds the key, readable by its owner alone.
    pub api_key_file: Option<PathBuf>,
    /// Media types of attachments that the model is shown, such as `image/*`.
    pub accepts: Option<Vec<String>>,
    /// Tokens of one answer.
    pub max_output_tokens: Option<u32>,
    /// What the operator tells the model of its task.
    pub instructions_file: Option<PathBuf>,
    /// Characters of `/help` that somebody else adds. No file sets it.
    #[serde(skip)]
    pub spare_help_chars: usize,
    /// How long things take. No file sets it; tests shorten it.
    #[serde(skip)]
    pub patience: RequestTimeouts,
}

/// The providers there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProviderKind {
    /// `/tool key=value …` is one call; no model.
    #[default]
    Commands,
    /// Chat Completions: OpenAI's, and those of Ollama, vLLM, llama.cpp, OpenRouter and others.
    OpenaiChat,
    /// OpenAI's Responses, without anything stored there.
    OpenaiResponses,
    /// Anthropic's Messages.
    Anthropic,
}

/// Tokens of one answer when the configuration says nothing: every model can write so many.
const TOKENS_DEFAULT: u32 = 4096;
/// No answer is asked to be longer: a cost that nobody means.
pub(super) const OUTPUT_TOKENS_MAX: u32 = 1_000_000;
/// The operator's instructions are at most this long: they go with every request.
pub(super) const INSTRUCTIONS_BYTES_MAX: u64 = 64 << 10;
/// A longer name is no model's.
const MODEL_BYTES_MAX: usize = 200;

/// A key of the section that cannot be used.
pub(super) fn refuse(key: &str, said: impl Into<String>) -> UnusableKey {
    UnusableKey::new("provider", key, said)
}

/// What differs from kind to kind.
struct Defaults {
    base_url: &'static str,
    key_env: &'static str,
    model: &'static str,
    accepts: &'static [&'static str],
}

/// What every model of the two closed APIs takes; who knows what a server behind Chat Completions
/// takes?
const SHOWN: &[&str] = &["image/jpeg", "image/png", "image/gif", "image/webp", "application/pdf"];

impl ProviderKind {
    /// The variable that usually holds such a server's key.
    pub fn key_env(self) -> &'static str {
        self.defaults().key_env
    }

    /// A model that such a server may have.
    pub fn model_example(self) -> &'static str {
        self.defaults().model
    }

    fn defaults(self) -> Defaults {
        let openai = Defaults {
            base_url: "https://api.openai.com/v1",
            key_env: "OPENAI_API_KEY",
            model: "gpt-5-mini",
            accepts: SHOWN,
        };
        match self {
            Self::Commands | Self::OpenaiChat => Defaults { accepts: &[], ..openai },
            Self::OpenaiResponses => openai,
            Self::Anthropic => Defaults {
                base_url: "https://api.anthropic.com",
                key_env: "ANTHROPIC_API_KEY",
                model: "claude-sonnet-4-5",
                accepts: SHOWN,
            },
        }
    }
}

impl Config {
    /// Checks everything but what the key and the instructions hold.
    ///
    /// # Errors
    /// [`UnusableKey`], which says what to write instead.
    pub fn check(&self) -> Result<(), UnusableKey> {
        if self.kind == ProviderKind::Commands {
            let useless = |key| {
                let said = format!(
                    "{key} has no effect with kind = \"commands\"; take it out, or write kind = \"openai-chat\", \"openai-responses\" or \"anthropic\""
                );
                Err(refuse(key, said))
            };
            return self.first_key().map_or(Ok(()), useless);
        }
        let address = self.address()?;
        self.model()?;
        self.check_key(&address)?;
        if let Some(other) = self.accepted_types().into_iter().find(|pattern| !is_shown(pattern)) {
            let said = format!(
                "accepts: {:?} cannot be shown to a model; write \"image/*\", one type of image, or \"application/pdf\"",
                one_line(&other, 80)
            );
            return Err(refuse("accepts", said));
        }
        match self.max_output_tokens() {
            1..=OUTPUT_TOKENS_MAX => Ok(()),
            other => {
                let said =
                    format!("max_output_tokens is {other}; write a number from 1 to {OUTPUT_TOKENS_MAX}");
                Err(refuse("max_output_tokens", said))
            }
        }
    }

    /// The first key that is written and only concerns models.
    fn first_key(&self) -> Option<&'static str> {
        let keys = [
            ("base_url", self.base_url.is_some()),
            ("model", self.model.is_some()),
            ("api_key_env", self.api_key_env.is_some()),
            ("api_key_file", self.api_key_file.is_some()),
            ("accepts", self.accepts.is_some()),
            ("max_output_tokens", self.max_output_tokens.is_some()),
            ("instructions_file", self.instructions_file.is_some()),
        ];
        keys.into_iter().find(|(_, written)| *written).map(|(key, _)| key)
    }

    fn check_key(&self, address: &Address) -> Result<(), UnusableKey> {
        let example = self.kind.defaults().key_env;
        let said = match (&self.api_key_env, &self.api_key_file) {
            (Some(_), Some(_)) => {
                "api_key_env and api_key_file are both written; take one of them out".to_owned()
            }
            // Perhaps the key itself, so it is not repeated.
            (Some(name), None) if !is_variable_name(name) => format!(
                "api_key_env is not the name of an environment variable in capital letters; write a name there, such as {example}, and put the key into that variable"
            ),
            (None, None) if address.reach == ServerScope::Remote => format!(
                "there is no key for {}; put it into an environment variable and write that variable's name: api_key_env = \"{example}\"; or write api_key_file = \"…\"",
                one_line(address.url.host_str().unwrap_or_default(), 200)
            ),
            _ => return Ok(()),
        };
        Err(refuse("api_key_env", said))
    }

    pub(super) fn address(&self) -> Result<Address, UnusableKey> {
        let example = self.kind.defaults().base_url;
        Address::parse(self.base_url())
            .map_err(|bad| refuse("base_url", format!("base_url: {bad}; write e.g. \"{example}\"")))
    }

    /// The server's TCP port; none where there is no server.
    pub fn port(&self) -> Option<u16> {
        self.address().ok().filter(|_| self.kind != ProviderKind::Commands)?.port()
    }

    /// The server's address as it is written, or that of the kind.
    pub fn base_url(&self) -> &str {
        self.base_url.as_deref().unwrap_or(self.kind.defaults().base_url)
    }

    /// Patterns of media types that the model is shown.
    pub fn accepted_types(&self) -> Vec<String> {
        let default = || self.kind.defaults().accepts.iter().map(|&shown| shown.to_owned()).collect();
        self.accepts.clone().unwrap_or_else(default)
    }

    /// Tokens of one answer.
    pub fn max_output_tokens(&self) -> u32 {
        self.max_output_tokens.unwrap_or(TOKENS_DEFAULT)
    }

    pub(super) fn model(&self) -> Result<&str, UnusableKey> {
        let example = self.kind.defaults().model;
        let said = match self.model.as_deref() {
            Some(name) if is_one_word(name, MODEL_BYTES_MAX) => return Ok(name),
            Some(name) => {
                format!(
                    "model: {:?} is not a model's name; write e.g. model = \"{example}\"",
                    one_line(name, 80)
                )
            }
            None => format!(
                "model is missing; write the model's name as its server calls it, e.g. model = \"{example}\""
            ),
        };
        Err(refuse("model", said))
    }

    /// The key, from this process's environment or the file; none where none is needed.
    ///
    /// # Errors
    /// [`UnusableKey`], which names the variable or file.
    pub fn key(&self) -> Result<Option<Secret>, UnusableKey> {
        match (&self.api_key_env, &self.api_key_file) {
            (Some(name), _) => key_of_variable(name, std::env::var(name).ok()).map(Some),
            (None, Some(file)) => key_of_file(file).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// What the operator's file tells the model; empty without one.
    pub(super) fn instructions(&self) -> Result<String, UnusableKey> {
        let Some(file) = &self.instructions_file else { return Ok(String::new()) };
        read_instructions(file).map_err(|cause| {
            let said = format!("instructions_file: cannot read {}: {cause}", file.display());
            refuse("instructions_file", said)
        })
    }
}

/// The key in an environment variable. No message repeats any of it.
fn key_of_variable(name: &str, value: Option<String>) -> Result<Secret, UnusableKey> {
    let Some(value) = value.filter(|value| !value.trim().is_empty()) else {
        let said = format!(
            "the environment variable {name} is not set; put the key into it, or name another variable in api_key_env"
        );
        return Err(UnusableKey::of_variable("provider", "api_key_env", name, said));
    };
    check_key(&value).ok_or_else(|| malformed_key(format!("the environment variable {name}")))
}

/// The key in a file that its owner alone can read. No message repeats any of it.
fn key_of_file(path: &Path) -> Result<Secret, UnusableKey> {
    let text = read_secret(path).map_err(|error| UnusableKey::of_file("provider", "api_key_file", error))?;
    check_key(&text).ok_or_else(|| malformed_key(path.display().to_string()))
}

fn malformed_key(place: String) -> UnusableKey {
    let said = format!("{place} does not hold a key; a key is one word without blanks, so copy it again");
    refuse("api_key_file", said)
}

fn read_instructions(file: &Path) -> io::Result<String> {
    // As bytes: the cut may be within a character.
    let mut bytes = Vec::new();
    open_regular(file)?.take(INSTRUCTIONS_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > INSTRUCTIONS_BYTES_MAX {
        return Err(io::Error::other("it is longer than 64 KiB, which would go with every request"));
    }
    let text = std::str::from_utf8(&bytes).map_err(|_| io::Error::other("it is not valid UTF-8"))?;
    Ok(text.trim().to_owned())
}

/// Whether some dialect has a part for this: images and PDF.
fn is_shown(pattern: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.');
    match pattern.strip_prefix("image/") {
        Some("*") => true,
        Some(kind) => !kind.is_empty() && kind.bytes().all(plain),
        None => pattern == "application/pdf",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::SECRET_BYTES_MAX;
    use std::os::unix::fs::PermissionsExt;

    fn refused(text: &str) -> String {
        let config: Config = toml::from_str(text).expect("understood");
        config.check().map_or_else(|error| error.to_string(), |()| "accepted".to_owned())
    }

    #[test]
    fn what_a_model_needs_is_asked_for() {
        for (text, said) in [
            ("", "accepted"),
            (
                "kind = \"openai-chat\"\nbase_url = \"http://localhost:1/v1\"\nmodel = \"llama3.2:3b\"",
                "accepted",
            ),
            ("kind = \"anthropic\"\nmodel = \"m\"\napi_key_env = \"K\"", "accepted"),
            ("kind = \"openai-responses\"\nmodel = \"m\"\napi_key_file = \"k\"", "accepted"),
            ("model = \"m\"", "model has no effect with kind = \"commands\""),
            ("max_output_tokens = 1", "max_output_tokens has no effect"),
            ("kind = \"openai-chat\"\napi_key_env = \"K\"", "model is missing"),
            ("kind = \"openai-chat\"\nmodel = \"a b\"", "is not a model's name"),
            ("kind = \"openai-chat\"\nmodel = \"m\"", "no key for api.openai.com; "),
            ("kind = \"anthropic\"\nmodel = \"m\"", "api_key_env = \"ANTHROPIC_API_KEY\""),
            (
                "kind = \"anthropic\"\nmodel = \"m\"\napi_key_env = \"A\"\napi_key_file = \"b\"",
                "take one of them",
            ),
            ("kind = \"openai-chat\"\nmodel = \"m\"\nbase_url = \"http://10.0.0.1\"", "plain http"),
            ("kind = \"openai-chat\"\nmodel = \"m\"\nbase_url = \"https://u:p@a\"", "user name or password"),
            (
                "kind = \"anthropic\"\nmodel = \"m\"\napi_key_env = \"K\"\naccepts = [\"text/*\"]",
                "\"text/*\" cannot be shown",
            ),
            ("kind = \"anthropic\"\nmodel = \"m\"\napi_key_env = \"K\"\nmax_output_tokens = 0", "from 1 to"),
            (
                "kind = \"anthropic\"\nmodel = \"m\"\napi_key_env = \"K\"\nmax_output_tokens = 1000000",
                "accepted",
            ),
            (
                "kind = \"anthropic\"\nmodel = \"m\"\napi_key_env = \"K\"\nmax_output_tokens = 1000001",
                "max_output_tokens is 1000001; write a number from 1 to 1000000",
            ),
        ] {
            assert!(refused(text).contains(said), "{text}: {}", refused(text));
        }
    }

    #[test]
    fn a_key_in_the_place_of_its_name_is_not_repeated() {
        for key in ["sk-ant-abcdef", "gsk_abcDEF123", "1KEY", "A B", ""] {
            let text = format!("kind = \"anthropic\"\nmodel = \"m\"\napi_key_env = {key:?}");
            let said = refused(&text);
            assert!(said.starts_with("api_key_env is not the name"), "{said}");
            assert!(key.is_empty() || !said.contains(key), "{said}");
        }
    }

    #[test]
    fn instructions_are_bounded_text() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("instructions.md");
        let config = Config { instructions_file: Some(file.clone()), ..Config::default() };
        assert!(config.instructions().is_err(), "missing");
        std::fs::write(&file, "  Be kind.\n").expect("writable");
        assert_eq!(config.instructions().expect("read"), "Be kind.");
        std::fs::write(&file, vec![b'x'; 64 << 10]).expect("writable");
        assert_eq!(config.instructions().expect("just fits").len(), 64 << 10);
        let refused = || config.instructions().expect_err("refused").to_string();
        // What is read of the second ends within a character.
        for long in ["x".repeat((64 << 10) + 1), "é".repeat((32 << 10) + 1)] {
            std::fs::write(&file, long).expect("writable");
            assert!(refused().contains("longer than 64 KiB"), "{}", refused());
        }
        std::fs::write(&file, b"\xff").expect("writable");
        assert!(refused().contains("not valid UTF-8"), "{}", refused());
    }

    #[test]
    fn what_is_wrong_with_a_variable_is_told_without_what_it_holds() {
        let said = key_of_variable("MY_KEY", Some("sk 1234".into())).expect_err("refused").to_string();
        assert!(said.contains("MY_KEY") && !said.contains("1234"), "{said}");
        let said = key_of_variable("MY_KEY", None).expect_err("refused").to_string();
        assert!(said.contains("the environment variable MY_KEY is not set"), "{said}");
    }

    #[test]
    fn a_file_is_its_owners_alone() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("key");
        std::fs::write(&path, "sk-1\n").expect("writable");
        let mode = |mode| std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("ours");
        mode(0o640);
        let said = key_of_file(&path).expect_err("refused").to_string();
        assert!(said.starts_with("api_key_file: ") && said.contains("chmod 600"), "{said}");
        mode(0o600);
        assert_eq!(key_of_file(&path).expect("a key").reveal(), "sk-1");
        assert!(key_of_file(dir.path()).is_err() && key_of_file(&dir.path().join("missing")).is_err());
        std::fs::write(&path, "k".repeat(SECRET_BYTES_MAX + 1)).expect("writable");
        assert!(key_of_file(&path).is_err(), "too long");
    }
}
