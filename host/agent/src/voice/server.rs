//! A server that listens or speaks: one request, asked again once where time may heal a failure,
//! its answer bounded in time and bytes.

use super::config::VoiceTable;
use crate::server::{Address, Backoff, UnusableKey, client, read_beginning, read_whole};
use cofferdam_core::secret::{Secret, redact};
use cofferdam_core::text::one_line;
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use std::time::Duration;

/// Requests for one voice message, or one answer.
pub const VOICE_ATTEMPTS_MAX: u32 = 2;
/// So much of an answer that is an error is read for the log.
const ERROR_BYTES_MAX: usize = 4 << 10;
/// A server's words are cut here.
const SAID_BYTES_MAX: usize = 300;

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub struct VoiceTimeouts {
    /// One request, from its first byte to the last of its answer.
    pub request: Duration,
    /// Before a request is made again.
    pub pause: Duration,
}

/// A minute's voice takes a small machine about as long; nobody waits longer than two.
impl Default for VoiceTimeouts {
    fn default() -> Self {
        Self { request: Duration::from_secs(120), pause: Duration::from_secs(1) }
    }
}

/// Why there is no text, or no speech; in words for the person, without any of the server's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VoiceError {
    /// It has more bytes than are sent.
    #[error("it is too large")]
    TooLarge,
    /// It cannot be read any more.
    #[error("its bytes cannot be read")]
    Unreadable,
    /// The server is not reached, or fails.
    #[error("the server does not answer")]
    Unreachable,
    /// The server takes too long.
    #[error("the server takes too long")]
    TimedOut,
    /// The server refuses the key.
    #[error("the server refuses the gateway's key")]
    Unauthorized,
    /// The server refuses it.
    #[error("the server refuses it ({0})")]
    Refused(u16),
    /// The answer is none, or too long.
    #[error("the server's answer cannot be used")]
    BadAnswer,
}

/// One of the two.
#[derive(Clone, Debug)]
pub(super) struct VoiceEndpoint {
    client: Client,
    address: Address,
    key: Option<Secret>,
    patience: VoiceTimeouts,
    /// What it is called in the log.
    name: &'static str,
}

impl VoiceEndpoint {
    /// A client for the server. Contacts nobody.
    pub(super) fn open(written: &VoiceTable<'_>, patience: VoiceTimeouts) -> Result<Self, UnusableKey> {
        let (key, name) = (written.key()?, written.section);
        let address = written.address()?;
        let built = client(address.reach, concat!("cofferdam/", env!("CARGO_PKG_VERSION"))).build();
        let no_client = |error: reqwest::Error| {
            written.refuse("base_url", format!("the HTTP client does not start: {}", error.without_url()))
        };
        Ok(Self { client: built.map_err(no_client)?, address, key, patience, name })
    }

    /// The body of a whole answer of at most so many bytes. `form` makes the request's body, each
    /// time.
    pub(super) async fn ask(
        &self,
        path: &str,
        bytes_max: usize,
        form: impl Fn(RequestBuilder) -> RequestBuilder,
    ) -> Result<Vec<u8>, VoiceError> {
        let mut backoff = Backoff::new(self.patience.pause, self.patience.pause);
        let mut attempt = 1;
        loop {
            let asked = self.attempt(path, bytes_max, &form);
            let answered = tokio::time::timeout(self.patience.request, asked).await;
            let error = match answered.unwrap_or(Err(VoiceError::TimedOut)) {
                Ok(body) => return Ok(body),
                Err(error) => error,
            };
            // Time may heal nothing else.
            if error != VoiceError::Unreachable || attempt == VOICE_ATTEMPTS_MAX {
                tracing::warn!(attempt, "{}: {error}", self.name);
                return Err(error);
            }
            attempt += 1;
            tokio::time::sleep(backoff.pause()).await;
        }
    }

    /// The body, asked for once.
    async fn attempt(
        &self,
        path: &str,
        bytes_max: usize,
        form: &impl Fn(RequestBuilder) -> RequestBuilder,
    ) -> Result<Vec<u8>, VoiceError> {
        let mut request = form(self.client.post(self.address.join(path)));
        if let Some(key) = &self.key {
            request = request.bearer_auth(key.reveal());
        }
        let network = |error: reqwest::Error| {
            tracing::debug!("{}: {}", self.name, error.without_url());
            VoiceError::Unreachable
        };
        let response = request.send().await.map_err(network)?;
        let status = response.status();
        if status != StatusCode::OK {
            return Err(self.refusal(status, response).await);
        }
        match read_whole(response, bytes_max).await.map_err(network)? {
            Some(body) if !body.is_empty() => Ok(body),
            _ => Err(VoiceError::BadAnswer),
        }
    }

    /// What an answer that is an error means; the log has the server's words, without secrets.
    async fn refusal(&self, status: StatusCode, mut response: Response) -> VoiceError {
        let mut said = Vec::new();
        read_beginning(&mut response, ERROR_BYTES_MAX, &mut said).await;
        let said = words(&said);
        tracing::info!(status = status.as_u16(), "{} answers: {said}", self.name);
        match status.as_u16() {
            401 | 403 => VoiceError::Unauthorized,
            408 | 429 | 500.. => VoiceError::Unreachable,
            other => VoiceError::Refused(other),
        }
    }
}

/// A body on one line. Secrets are taken out first: a cut could leave a part of one, which nothing
/// finds any more.
fn words(body: &[u8]) -> String {
    one_line(&redact(&String::from_utf8_lossy(body)), SAID_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_across_the_cut_is_taken_out_as_a_whole() {
        let key = Secret::new("sk-of-a-server-that-listens-0123456789");
        let before = "x".repeat(SAID_BYTES_MAX - 20);
        assert_eq!(words(format!("{before}{}", key.reveal()).as_bytes()), format!("{before}***"));
    }
}
