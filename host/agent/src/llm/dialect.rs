//! What differs from one model API to another: where requests go, what is in them, and what their
//! answers' events mean. Pure: a dialect contacts nobody.

use super::answer::ModelAnswer;
use super::failure::AttemptFailure;
use super::messages::Prompt;
use cofferdam_core::secret::Secret;
use reqwest::header::HeaderMap;
use serde_json::Value;

/// A model API.
pub(super) trait Dialect: Send + Sync {
    /// Where requests go, below the base address.
    fn path(&self) -> &'static str;

    /// Headers that say who asks, and in which version.
    fn headers(&self, key: Option<&Secret>) -> HeaderMap;

    /// The body of a request.
    fn body(&self, prompt: &Prompt<'_>) -> Vec<u8>;

    /// Takes the events of one answer.
    fn listener(&self) -> Box<dyn Listener>;
}

/// Puts an answer together from the events of its stream.
pub(super) trait Listener: Send {
    /// Takes the data of one event.
    ///
    /// # Errors
    /// [`AttemptFailure`] when the event tells of an error, or the answer grows too large.
    fn hear(&mut self, data: &str, answer: &mut ModelAnswer) -> Result<StreamState, AttemptFailure>;

    /// Whether the answer is whole if the stream ends now.
    fn is_whole(&self) -> bool;
}

/// Whether more is to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamState {
    /// It may.
    More,
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
