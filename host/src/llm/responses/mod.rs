//! OpenAI's Responses: `POST {base_url}/responses`. Nothing is stored there: each request holds the whole
//! conversation as items.

mod events;
mod request;
#[cfg(test)]
mod tests;

use super::dialect::{Dialect, Listener, secret_header};
use super::messages::Prompt;
use cofferdam_core::secret::Secret;
use reqwest::header::{AUTHORIZATION, HeaderMap};

/// The dialect.
pub(super) struct Responses;

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
        Box::new(events::Items::default())
    }
}
