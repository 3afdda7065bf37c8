//! Chat Completions: `POST {base_url}/chat/completions`, as OpenAI describes it and Ollama, vLLM,
//! llama.cpp, OpenRouter and others speak it.

mod events;
mod request;
#[cfg(test)]
mod tests;

pub(super) use events::hear;
pub(super) use request::body;

use crate::server::Address;

/// How the limit of output tokens is written: OpenAI's newer models refuse the old name, and many
/// other servers know no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LimitField {
    MaxTokens,
    MaxCompletionTokens,
}

impl LimitField {
    /// As the server at this address reads it.
    pub(super) fn at(address: &Address) -> Self {
        let openai = address.url.host_str() == Some("api.openai.com");
        if openai { Self::MaxCompletionTokens } else { Self::MaxTokens }
    }
}
