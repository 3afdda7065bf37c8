//! Anthropic's Messages: `POST {base_url}/v1/messages`.

mod events;
mod request;
#[cfg(test)]
mod tests;

pub(super) use events::hear;
pub(super) use request::body;

use super::dialect::secret_header;
use cofferdam_core::secret::Secret;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

/// The version of the API that requests and events are of.
const VERSION: &str = "2023-06-01";

/// The version, and the key in a header of its own.
pub(super) fn headers(key: Option<&Secret>) -> HeaderMap {
    let version = (HeaderName::from_static("anthropic-version"), HeaderValue::from_static(VERSION));
    let key = key.map(|key| (HeaderName::from_static("x-api-key"), secret_header(key.reveal())));
    [version].into_iter().chain(key).collect()
}
