//! Chat Completions: `POST {base_url}/chat/completions`, as OpenAI describes it and Ollama, vLLM,
//! llama.cpp, OpenRouter and others speak it.

mod events;
mod request;
#[cfg(test)]
mod tests;

use super::dialect::{Dialect, Listener, secret_header};
use super::messages::Prompt;
use crate::server::Address;
use cofferdam_core::secret::Secret;
use reqwest::header::{AUTHORIZATION, HeaderMap};

/// The dialect.
pub(super) struct Chat {
    limit: LimitField,
}

/// How the limit of output tokens is written: OpenAI's newer models refuse the old name, and many
/// other servers know no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LimitField {
    MaxTokens,
    MaxCompletionTokens,
}

impl Chat {
    /// The dialect as the server at this address speaks it.
    pub(super) fn at(address: &Address) -> Self {
        let openai = address.url.host_str() == Some("api.openai.com");
        Self { limit: if openai { LimitField::MaxCompletionTokens } else { LimitField::MaxTokens } }
    }
}

impl Dialect for Chat {
    fn path(&self) -> &'static str {
        "chat/completions"
    }

    fn headers(&self, key: Option<&Secret>) -> HeaderMap {
        let bearer = key.map(|key| (AUTHORIZATION, secret_header(&format!("Bearer {}", key.reveal()))));
        bearer.into_iter().collect()
    }

    fn body(&self, prompt: &Prompt<'_>) -> Vec<u8> {
        request::body(prompt, self.limit)
    }

    fn listener(&self) -> Box<dyn Listener> {
        Box::new(events::Chunks::default())
    }
}
