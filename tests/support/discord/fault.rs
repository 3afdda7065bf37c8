//! The ways in which Discord itself refuses; those of any server are in `exchange`.

use std::time::Duration;

use super::error::RestError;
use super::limits::{Scope, too_many};
use crate::exchange::{Answer, Fault};

impl Fault {
    /// A refusal of Discord's API instead of the effect: the status, the code and the message of
    /// its JSON.
    pub fn discord_error(status: u16, code: u32, message: &str) -> Self {
        Self::instead(RestError::new(status, code, message).to_answer())
    }

    /// 429 of this scope, with `retry_after` in the body and `Retry-After` in whole seconds.
    pub fn rate_limited(wait: Duration, scope: Scope) -> Self {
        Self::instead(too_many(wait, scope))
    }

    /// 429 of the proxy in front of Discord: no JSON, no `Via`, whole seconds in `Retry-After`.
    pub fn banned_by_proxy(seconds: u32) -> Self {
        let answer = Answer::new(429, "text/html; charset=UTF-8", "error code: 1015");
        Self::instead(answer.with_header("Retry-After", seconds.to_string()))
    }

    /// 5xx as Discord sends it: JSON of 500, plain text of its proxy of everything else.
    pub fn server_error(status: u16) -> Self {
        match status {
            500 => Self::discord_error(500, 0, "500: Internal Server Error"),
            _ => Self::status(
                status,
                "text/plain",
                "upstream connect error or disconnect/reset before headers",
            ),
        }
    }
}
