//! Anthropic's Messages: `POST {base_url}/v1/messages`.

mod events;
mod request;
#[cfg(test)]
mod tests;

use super::dialect::{Dialect, Listener, secret_header};
use super::messages::Prompt;
use cofferdam_core::secret::Secret;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

/// The version of the API that requests and events are of.
const VERSION: &str = "2023-06-01";

/// The dialect.
pub(super) struct Anthropic;

impl Dialect for Anthropic {
    fn path(&self) -> &'static str {
        "v1/messages"
    }

    fn headers(&self, key: Option<&Secret>) -> HeaderMap {
        let version = (HeaderName::from_static("anthropic-version"), HeaderValue::from_static(VERSION));
        let key = key.map(|key| (HeaderName::from_static("x-api-key"), secret_header(key.reveal())));
        [version].into_iter().chain(key).collect()
    }

    fn body(&self, prompt: &Prompt<'_>) -> Vec<u8> {
        request::body(prompt)
    }

    fn listener(&self) -> Box<dyn Listener> {
        Box::new(events::Blocks::default())
    }
}
