//! How long a model is waited for, and how often it is asked again.

use std::time::Duration;

/// Connecting takes at most so long.
pub(super) const CONNECT_MAX: Duration = Duration::from_secs(10);
/// So long may pass until an answer's first byte: a local server loads its model first.
pub(super) const FIRST_BYTE_MAX: Duration = Duration::from_secs(120);
/// So long may an answer be silent after that: some models think without a sign.
pub(super) const SILENCE_MAX: Duration = Duration::from_secs(120);
/// A pause that a server asks for is kept up to this; for a longer one the user is told.
pub(super) const RETRY_AFTER_MAX: Duration = Duration::from_secs(30);
/// No attempt begins later than this after the first one.
pub(super) const RETRYING_MAX: Duration = Duration::from_secs(300);
/// Attempts at one request.
pub(super) const REQUEST_ATTEMPTS_MAX: u32 = 5;

/// The waits of one request. No file sets them; tests shorten them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestTimeouts {
    /// For a connection.
    pub connect: Duration,
    /// For an answer's first byte.
    pub first_byte: Duration,
    /// For each further piece of an answer.
    pub silence: Duration,
    /// About the first pause between two attempts; each further one is twice as long.
    pub pause: Duration,
    /// The longest pause, unless the server asks for a longer one.
    pub pause_longest: Duration,
    /// No attempt begins later than this.
    pub retrying: Duration,
}

impl Default for RequestTimeouts {
    fn default() -> Self {
        Self {
            connect: CONNECT_MAX,
            first_byte: FIRST_BYTE_MAX,
            silence: SILENCE_MAX,
            pause: Duration::from_millis(500),
            pause_longest: Duration::from_secs(8),
            retrying: RETRYING_MAX,
        }
    }
}
