//! How a request to the Bot API fails, sorted by what helps. Every text in it is bounded and
//! without secrets.

use cofferdam_chat::ASKED_WAIT_MAX;
use cofferdam_core::secret::redact;
use cofferdam_core::text::{one_line, with_causes};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::time::Duration;
use teloxide_core::ApiError;

/// Why a request did not bring a result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ApiFailure {
    /// Telegram does not know the token.
    #[error("Telegram does not accept the bot's token ({0})")]
    Unauthorized(u16),
    /// Another poller, or a webhook.
    #[error("{0}")]
    Conflict(String),
    /// Too many requests; try again after this.
    #[error("Telegram asks to wait {} s", .0.as_secs())]
    TooMany(Duration),
    /// The group lives on under this id.
    #[error("the group became a supergroup")]
    Migrated(i64),
    /// The request as it stands will never be accepted.
    #[error("Telegram refuses: {description} ({code})")]
    Refused {
        /// HTTP status of the refusal.
        code: u16,
        /// Telegram's words.
        description: String,
    },
    /// It took longer than its length allows.
    #[error("sending it took over {} s", .0.as_secs())]
    TooSlow(Duration),
    /// Not reached, no answer, or one that says nothing about the request.
    #[error("{0}")]
    Unreachable(String),
    /// An answer of HTTP 200 that is not what the Bot API sends; this is how it begins.
    #[error("Telegram's answer cannot be read")]
    Unreadable(String),
}

/// Said where a 429 names no time.
const RETRY_AFTER_DEFAULT: Duration = Duration::from_secs(5);
/// Telegram's words are cut here.
const DESCRIPTION_BYTES_MAX: usize = 300;
/// So much of an unreadable answer is kept, to find the update's id in it.
const BEGINNING_BYTES_MAX: usize = 4096;

/// The frame around every answer. Fields of a wrong type count as missing.
#[derive(Deserialize)]
struct ApiResponse {
    #[serde(default)]
    ok: Value,
    result: Option<Box<RawValue>>,
    #[serde(default)]
    error_code: Value,
    #[serde(default)]
    description: Value,
    #[serde(default)]
    parameters: Value,
}

/// The result in an answer of this HTTP status.
pub(super) fn result_of(status: u16, body: &str) -> Result<Box<RawValue>, ApiFailure> {
    if (500..=599).contains(&status) {
        return Err(ApiFailure::Unreachable(format!("Telegram fails with HTTP status {status}")));
    }
    let Ok(envelope) = serde_json::from_str::<ApiResponse>(body) else {
        return Err(match status {
            // The proxy in front of the Bot API says so, and will say so again.
            413 => ApiFailure::Refused { code: 413, description: "Request Entity Too Large".to_owned() },
            200 => ApiFailure::Unreadable(body[..body.floor_char_boundary(BEGINNING_BYTES_MAX)].to_owned()),
            _ => ApiFailure::Unreachable(format!(
                "something else than the Bot API answers: HTTP status {status}"
            )),
        });
    };
    match (envelope.ok.as_bool(), envelope.result) {
        (Some(true), Some(result)) => Ok(result),
        (Some(false), _) => {
            let code = envelope.error_code.as_u64().and_then(|code| u16::try_from(code).ok());
            let description = envelope.description.as_str().unwrap_or_default();
            let description = one_line(&redact(description), DESCRIPTION_BYTES_MAX);
            Err(refusal(code.unwrap_or(status), description, &envelope.parameters))
        }
        _ => Err(ApiFailure::Unreachable(format!("an answer without a result: HTTP status {status}"))),
    }
}

fn refusal(code: u16, description: String, parameters: &Value) -> ApiFailure {
    if let Some(id) = parameters["migrate_to_chat_id"].as_i64() {
        return ApiFailure::Migrated(id);
    }
    match code {
        401 => ApiFailure::Unauthorized(code),
        // A token of the wrong form gets this instead of 401.
        404 if description == "Not Found" => ApiFailure::Unauthorized(code),
        409 => ApiFailure::Conflict(description),
        429 => {
            let pause = parameters["retry_after"].as_u64().map(cut_pause);
            ApiFailure::TooMany(pause.unwrap_or(RETRY_AFTER_DEFAULT))
        }
        500..=599 => ApiFailure::Unreachable(format!("Telegram fails: {description} ({code})")),
        _ => match pause_in(&description) {
            Some(pause) => ApiFailure::TooMany(pause),
            None => ApiFailure::Refused { code, description },
        },
    }
}

/// The pause that a message of an album has to make, which Telegram says in the words of a 400
/// alone.
fn pause_in(description: &str) -> Option<Duration> {
    let said = description.to_ascii_lowercase();
    let (_, rest) = said.split_once("too many requests: retry after ")?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok().map(cut_pause)
}

/// A pause of so many seconds; at most [`ASKED_WAIT_MAX`].
fn cut_pause(seconds: u64) -> Duration {
    Duration::from_secs(seconds).min(ASKED_WAIT_MAX)
}

/// Of the HTTP client. Its own text would hold the URL, and the URL the token.
impl From<reqwest::Error> for ApiFailure {
    fn from(error: reqwest::Error) -> Self {
        let said = with_causes(&error.without_url());
        Self::Unreachable(one_line(&redact(&said), DESCRIPTION_BYTES_MAX))
    }
}

impl ApiFailure {
    /// Whether the chat as a whole cannot be written to, now and later.
    pub(super) fn chat_is_gone(&self) -> bool {
        let Self::Refused { code, description } = self else { return false };
        let known = serde_json::from_value::<ApiError>(Value::String(description.clone()));
        *code == 403
            || matches!(
                known,
                Ok(ApiError::ChatNotFound
                    | ApiError::UserNotFound
                    | ApiError::UserDeactivated
                    | ApiError::GroupDeactivated
                    | ApiError::BotKicked
                    | ApiError::BotKickedFromSupergroup
                    | ApiError::CantInitiateConversation)
            )
    }

    /// Whether a topic cannot be written to, though its chat may be: it was deleted or closed.
    pub(super) fn topic_is_gone(&self) -> bool {
        ["message thread not found", "topic_closed", "topic_deleted"]
            .iter()
            .any(|words| self.has_words(words))
    }

    /// Whether Telegram's words contain these; for refusals that have no other mark.
    pub(super) fn has_words(&self, words: &str) -> bool {
        matches!(self, Self::Refused { description, .. } if description.to_ascii_lowercase().contains(words))
    }
}

#[cfg(test)]
mod tests {
    use super::super::token::BotToken;
    use super::*;

    fn failure(status: u16, body: &str) -> ApiFailure {
        result_of(status, body).map(|_| ()).expect_err("a failure")
    }

    #[test]
    fn answers_are_sorted_by_what_helps() {
        let refused = |code: u16, rest: &str| {
            failure(code, &format!(r#"{{"ok":false,"error_code":{code},"description":"D"{rest}}}"#))
        };
        assert_eq!(refused(401, ""), ApiFailure::Unauthorized(401));
        assert_eq!(refused(409, ""), ApiFailure::Conflict("D".into()));
        assert_eq!(
            refused(429, r#","parameters":{"retry_after":7}"#),
            ApiFailure::TooMany(Duration::from_secs(7))
        );
        assert_eq!(refused(429, ""), ApiFailure::TooMany(RETRY_AFTER_DEFAULT));
        let album = r#"{"ok":false,"error_code":400,"description":"Bad Request: failed to send message #1 with the error message \"Too Many Requests: retry after 8\""}"#;
        assert_eq!(failure(400, album), ApiFailure::TooMany(Duration::from_secs(8)));
        assert_eq!(refused(400, r#","parameters":{"migrate_to_chat_id":-5}"#), ApiFailure::Migrated(-5));
        assert_eq!(refused(400, ""), ApiFailure::Refused { code: 400, description: "D".into() });
        assert!(matches!(refused(502, ""), ApiFailure::Unreachable(_)));
        assert!(matches!(failure(502, "<html>"), ApiFailure::Unreachable(_)));
        assert!(matches!(failure(404, "<html>"), ApiFailure::Unreachable(_)));
        assert!(matches!(failure(413, "<html>"), ApiFailure::Refused { code: 413, .. }));
        assert!(matches!(failure(200, "<html>"), ApiFailure::Unreadable(_)));
        assert!(matches!(failure(200, r#"{"ok":true}"#), ApiFailure::Unreachable(_)));
        assert!(matches!(failure(200, r#"{"ok":"yes","result":1}"#), ApiFailure::Unreachable(_)));
        let with_200 = r#"{"ok":false,"error_code":403,"description":"Forbidden: x"}"#;
        assert!(failure(200, with_200).chat_is_gone(), "the body's code counts");
    }

    #[test]
    fn a_pause_that_no_clock_can_add_up_is_cut() {
        let body = |code: u16, rest: &str| format!(r#"{{"ok":false,"error_code":{code},{rest}}}"#);
        let asked = |seconds: u64| body(429, &format!(r#""parameters":{{"retry_after":{seconds}}}"#));
        let in_words =
            |seconds: u64| body(400, &format!(r#""description":"Too Many Requests: retry after {seconds}""#));
        for seconds in [86_401, 10_000_000_000_000_000_000, u64::MAX] {
            assert_eq!(failure(429, &asked(seconds)), ApiFailure::TooMany(ASKED_WAIT_MAX), "{seconds}");
            assert_eq!(failure(400, &in_words(seconds)), ApiFailure::TooMany(ASKED_WAIT_MAX), "{seconds}");
        }
        assert_eq!(failure(429, &asked(86_399)), ApiFailure::TooMany(Duration::from_secs(86_399)));
    }

    #[test]
    fn a_chat_is_gone_or_not() {
        let refused = |code, description: &str| ApiFailure::Refused { code, description: description.into() };
        assert!(refused(403, "Forbidden: bot was blocked by the user").chat_is_gone());
        assert!(refused(400, "Bad Request: chat not found").chat_is_gone());
        assert!(!refused(400, "Bad Request: message is too long").chat_is_gone());
        assert!(!ApiFailure::Unauthorized(401).chat_is_gone());
        for words in ["message thread not found", "TOPIC_CLOSED", "TOPIC_DELETED"] {
            let closed = refused(400, &format!("Bad Request: {words}"));
            assert!(closed.topic_is_gone() && !closed.chat_is_gone(), "{words}");
        }
        assert!(!refused(400, "Bad Request: chat not found").topic_is_gone());
    }

    #[test]
    fn a_token_that_the_server_repeats_is_not_told() {
        let _token = BotToken::parse("123:abcdefgh").expect("a token");
        let said =
            failure(400, r#"{"ok":false,"error_code":400,"description":"no 123:abcdefgh, x%3Aabcdefgh"}"#);
        assert!(!format!("{said} {said:?}").contains("abcdefgh"));
    }

    #[tokio::test]
    async fn an_error_of_the_http_client_names_no_address_that_holds_the_token() {
        let _token = BotToken::parse("123:abcdefgh").expect("a token");
        let client = reqwest::Client::new();
        // Nobody listens; no address at all; a redirect would be the same.
        for url in
            ["http://127.0.0.1:9/bot123:abcdefgh/getMe", "http://[::1]:0/bot123:abcdefgh/getMe", "x:abcdefgh"]
        {
            let error = client.get(url).send().await.expect_err("nobody answers");
            let failure = ApiFailure::from(error);
            assert!(!format!("{failure} {failure:?}").contains("abcdefgh"), "{url}: {failure:?}");
        }
    }

    #[test]
    fn results_may_hold_what_a_parser_refuses() {
        let deep = format!(r#"{{"ok":true,"result":{}1{}}}"#, "[".repeat(5000), "]".repeat(5000));
        assert!(result_of(200, &deep).is_ok());
        assert!(result_of(200, r#"{"ok":true,"result":[1e999,"\ud83d"]}"#).is_ok());
    }
}
