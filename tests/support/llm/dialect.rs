//! The three APIs: where they are, how they are asked for a key, and how they refuse.

use serde_json::{Value, json};

/// A model API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Chat Completions.
    Chat,
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Responses.
    Responses,
}

impl Dialect {
    /// All of them, for tests that hold for each.
    pub const ALL: [Self; 3] = [Self::Chat, Self::Anthropic, Self::Responses];

    /// As `[provider] kind` names it.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Chat => "openai-chat",
            Self::Anthropic => "anthropic",
            Self::Responses => "openai-responses",
        }
    }

    /// What the base address ends with.
    pub(super) fn base_path(self) -> &'static str {
        match self {
            Self::Chat | Self::Responses => "/v1",
            Self::Anthropic => "",
        }
    }

    /// The API behind a request target.
    pub(super) fn at(target: &str) -> Option<Self> {
        match target {
            "/v1/chat/completions" => Some(Self::Chat),
            "/v1/messages" => Some(Self::Anthropic),
            "/v1/responses" => Some(Self::Responses),
            _ => None,
        }
    }

    /// The body of a refusal.
    pub(super) fn error(self, status: u16, message: &str) -> Value {
        let kind = match status {
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            429 => "rate_limit_error",
            529 => "overloaded_error",
            500..=599 => "api_error",
            _ => "invalid_request_error",
        };
        self.error_of(kind, message)
    }

    /// The body of an error of this type.
    pub(super) fn error_of(self, kind: &str, message: &str) -> Value {
        match self {
            Self::Anthropic => json!({ "type": "error", "error": { "type": kind, "message": message } }),
            Self::Chat | Self::Responses => {
                json!({ "error": { "message": message, "type": kind, "param": null, "code": null } })
            }
        }
    }
}
