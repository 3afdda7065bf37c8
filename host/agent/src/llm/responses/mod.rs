//! OpenAI's Responses: `POST {base_url}/responses`. Nothing is stored there: each request holds the
//! whole conversation as items.

mod events;
mod request;
#[cfg(test)]
mod tests;

use super::dialect::{Dialect, Listener, secret_header};
use super::messages::Prompt;
use cofferdam_core::secret::Secret;
use reqwest::header::{AUTHORIZATION, HeaderMap};

/// The dialect.
pub(super) struct Responses {
    max_output_tokens: u32,
}

impl Responses {
    /// The dialect for answers of at most so many tokens.
    pub(super) fn up_to(max_output_tokens: u32) -> Self {
        Self { max_output_tokens }
    }
}

impl Dialect for Responses {
    fn path(&self) -> &'static str {
        "responses"
    }

    fn headers(&self, key: Option<&Secret>) -> HeaderMap {
        let bearer = key.map(|key| (AUTHORIZATION, secret_header(&format!("Bearer {}", key.reveal()))));
        bearer.into_iter().collect()
    }

    fn body(&self, prompt: &Prompt<'_>) -> Vec<u8> {
        request::body(prompt)
    }

    fn listener(&self) -> Box<dyn Listener> {
        Box::new(events::Items::new(self.max_output_tokens))
    }
}
