//! How a request to Discord fails, sorted by what helps. Every text in it is bounded and without
//! secrets.

use super::route::Route;
use cofferdam_core::secret::redact;
use cofferdam_core::text::{one_line, with_causes};
use serde_json::Value;
use std::time::Duration;

/// Discord's codes that say more than their status.
pub(super) mod codes {
    pub(crate) const UNKNOWN_CHANNEL: u64 = 10003;
    pub(crate) const UNKNOWN_MESSAGE: u64 = 10008;
    pub(crate) const UNKNOWN_WEBHOOK: u64 = 10015;
    pub(crate) const ACKNOWLEDGED: u64 = 40060;
    pub(crate) const MISSING_ACCESS: u64 = 50001;
    pub(crate) const NO_PRIVATE_MESSAGES: u64 = 50007;
    pub(crate) const INVALID_WEBHOOK_TOKEN: u64 = 50027;
    pub(crate) const THREAD_LOCKED: u64 = 160005;
}

/// Why a request did not bring a result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ApiFailure {
    /// Discord does not know the token.
    #[error("Discord does not accept the bot's token (401)")]
    Unauthorized,
    /// Too many requests, where nobody waits: not sent, or not taken, for so long.
    #[error("Discord asks to wait {} s", .0.as_secs())]
    TooMany(Duration),
    /// The request as it stands will never be accepted.
    #[error("Discord refuses: {said} (HTTP status {status}, code {code})")]
    Refused {
        /// HTTP status.
        status: u16,
        /// Discord's code; 0 where it tells none.
        code: u64,
        /// Discord's words.
        said: String,
    },
    /// It took longer than its length allows.
    #[error("sending it took over {} s", .0.as_secs())]
    TooSlow(Duration),
    /// Not reached, no answer, or one that says nothing about the request.
    #[error("{0}")]
    Unreachable(String),
}

/// Discord's words are cut here.
const SAID_BYTES_MAX: usize = 300;

/// Of the HTTP client. Its own text would hold the address, and that may hold an interaction's
/// token.
impl From<reqwest::Error> for ApiFailure {
    fn from(error: reqwest::Error) -> Self {
        let said = with_causes(&error.without_url());
        Self::Unreachable(one_line(&redact(&said), SAID_BYTES_MAX))
    }
}

impl ApiFailure {
    /// What the answer to a route says that has this status, which is no success and no 429.
    pub(super) fn from_response(status: u16, body: &[u8], route: &Route) -> Self {
        if status == 408 || (500..=599).contains(&status) {
            return Self::Unreachable(format!("Discord fails with HTTP status {status}"));
        }
        // Of somebody on the way; but a request that is too large is so for the proxy next time too.
        if (300..=399).contains(&status) || (status != 413 && is_page(body)) {
            let said = format!("something else than Discord's API answers: HTTP status {status}");
            return Self::Unreachable(said);
        }
        let read: Value = serde_json::from_slice(body).unwrap_or_default();
        let said = route.scrub(read["message"].as_str().unwrap_or("no reason is given"));
        let code = read["code"].as_u64().unwrap_or_default();
        Self::Refused { status, code, said: one_line(&redact(&said), SAID_BYTES_MAX) }
    }

    /// Whether Discord has given this code.
    pub(super) fn is_code(&self, wanted: u64) -> bool {
        matches!(self, Self::Refused { code, .. } if *code == wanted)
    }

    /// Whether the channel as a whole cannot be written to, now and later.
    pub(super) fn channel_is_gone(&self) -> bool {
        use codes::{MISSING_ACCESS, NO_PRIVATE_MESSAGES, THREAD_LOCKED, UNKNOWN_CHANNEL};
        [UNKNOWN_CHANNEL, MISSING_ACCESS, NO_PRIVATE_MESSAGES, THREAD_LOCKED]
            .iter()
            .any(|code| self.is_code(*code))
    }

    /// Whether the token of an interaction is over: what it named can only be reached as a message
    /// of its channel.
    pub(super) fn interaction_is_over(&self) -> bool {
        match self {
            Self::Refused { status, code, .. } => {
                use codes::{INVALID_WEBHOOK_TOKEN, UNKNOWN_MESSAGE, UNKNOWN_WEBHOOK};
                *status == 401 || [UNKNOWN_WEBHOOK, INVALID_WEBHOOK_TOKEN, UNKNOWN_MESSAGE].contains(code)
            }
            _ => false,
        }
    }
}

/// Whether this is for people: markup, or how the proxy in front of Discord writes its refusals.
fn is_page(body: &[u8]) -> bool {
    let body = body.trim_ascii_start();
    body.starts_with(b"<") || body.starts_with(b"error code:")
}

#[cfg(test)]
mod tests {
    use super::super::route::ME;
    use super::super::token::BotToken;
    use super::*;

    #[test]
    fn answers_are_sorted_by_what_helps_and_repeat_no_secret() {
        let _token = BotToken::parse("aaaaaaaa.bbbbbbbb.cccccccc").expect("a token");
        let route = Route::bot(ME, &[]);
        let of = |status, body: &str| ApiFailure::from_response(status, body.as_bytes(), &route);
        assert!(matches!(of(502, "<html>"), ApiFailure::Unreachable(_)));
        let refused = of(404, r#"{"code":10008,"message":"no aaaaaaaa.bbbbbbbb.cccccccc\nhere"}"#);
        assert!(refused.is_code(codes::UNKNOWN_MESSAGE) && !refused.channel_is_gone());
        assert_eq!(refused.to_string(), "Discord refuses: no *** here (HTTP status 404, code 10008)");
        assert!(of(403, r#"{"code":50001}"#).channel_is_gone());
        assert!(!of(403, r#"{"code":50013}"#).channel_is_gone(), "perhaps files alone may not be sent");
        assert!(of(401, r#"{"code":50027}"#).interaction_is_over());
        assert!(of(413, "<html>").to_string().contains("413"));
        assert!(matches!(of(413, "<html>"), ApiFailure::Refused { .. }));
        // A portal's page, the proxy's words, a redirect.
        for (status, body) in [(401, "<html>"), (403, "error code: 1010"), (404, "\n<p>"), (302, "")] {
            assert!(matches!(of(status, body), ApiFailure::Unreachable(_)), "{status}");
        }
        for (status, body) in [(401, ""), (403, "no"), (404, "[]")] {
            assert!(matches!(of(status, body), ApiFailure::Refused { .. }), "{status}");
        }
    }
}
