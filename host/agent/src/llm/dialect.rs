//! What differs from one model API to another: where requests go, what is in them, and what their
//! answers' events mean. Pure: a dialect contacts nobody.

use super::answer::{COUNTED_TOKENS_MAX, ModelAnswer};
use super::chat::LimitField;
use super::config::{Config, ProviderKind};
use super::failure::AttemptFailure;
use super::messages::Prompt;
use super::{anthropic, chat, responses};
use crate::server::Address;
use cofferdam_core::secret::Secret;
use reqwest::header::{AUTHORIZATION, HeaderMap};
use serde_json::Value;

/// A model API.
#[derive(Clone, Copy, Debug)]
pub(super) enum Dialect {
    /// Chat Completions: `POST {base_url}/chat/completions`.
    Chat(LimitField),
    /// Anthropic's Messages: `POST {base_url}/v1/messages`.
    Anthropic,
    /// OpenAI's Responses: `POST {base_url}/responses`.
    Responses { max_output_tokens: u32 },
}

impl Dialect {
    /// The one that is configured, as the server at this address speaks it.
    pub(super) fn new(config: &Config, address: &Address) -> Self {
        match config.kind {
            ProviderKind::Commands | ProviderKind::OpenaiChat => Self::Chat(LimitField::at(address)),
            ProviderKind::OpenaiResponses => {
                Self::Responses { max_output_tokens: config.max_output_tokens() }
            }
            ProviderKind::Anthropic => Self::Anthropic,
        }
    }

    /// Where requests go, below the base address.
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Chat(_) => "chat/completions",
            Self::Anthropic => "v1/messages",
            Self::Responses { .. } => "responses",
        }
    }

    /// Headers that say who asks, and in which version.
    pub(super) fn headers(self, key: Option<&Secret>) -> HeaderMap {
        match self {
            Self::Chat(_) | Self::Responses { .. } => {
                let bearer = |key: &Secret| secret_header(&format!("Bearer {}", key.reveal()));
                key.map(|key| (AUTHORIZATION, bearer(key))).into_iter().collect()
            }
            Self::Anthropic => anthropic::headers(key),
        }
    }

    /// The body of a request.
    pub(super) fn body(self, prompt: &Prompt<'_>) -> Vec<u8> {
        match self {
            Self::Chat(limit) => chat::body(prompt, limit),
            Self::Anthropic => anthropic::body(prompt),
            Self::Responses { .. } => responses::body(prompt),
        }
    }

    /// Takes the data of one event of an answer.
    ///
    /// # Errors
    /// [`AttemptFailure`] when the event tells of an error, or the answer grows too large.
    pub(super) fn hear(self, data: &str, answer: &mut ModelAnswer) -> Result<StreamState, AttemptFailure> {
        // An empty one keeps the connection open, and says nothing of the answer.
        if data.trim().is_empty() {
            return Ok(StreamState::More);
        }
        let heard = match self {
            Self::Chat(_) => chat::hear(data, answer),
            Self::Anthropic => anthropic::hear(data, answer),
            Self::Responses { max_output_tokens } => responses::hear(data, max_output_tokens, answer),
        };
        // An error alone is no sign that a model has read anything.
        answer.heard |= heard.is_ok();
        answer.usage.input_tokens = answer.usage.input_tokens.min(COUNTED_TOKENS_MAX);
        answer.usage.output_tokens = answer.usage.output_tokens.min(COUNTED_TOKENS_MAX);
        heard
    }
}

/// Whether more is to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamState {
    /// It may.
    More,
    /// It may, but the answer is whole without it.
    Whole,
    /// The stream has said that it is over.
    End,
}

/// An event's data as JSON.
pub(super) fn json(data: &str) -> Result<Value, AttemptFailure> {
    serde_json::from_str(data)
        .map_err(|error| AttemptFailure::Unreadable(format!("an event is not JSON: {error}")))
}

/// A header's value that no log shows. A key is checked to be fit for one when it is read.
pub(super) fn secret_header(text: &str) -> reqwest::header::HeaderValue {
    let mut value = reqwest::header::HeaderValue::from_str(text).expect("a key is visible ASCII");
    value.set_sensitive(true);
    value
}
