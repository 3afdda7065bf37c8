//! What one harmless request to a platform tells of a bot's token.

use std::time::{Duration, SystemTime};

/// What a platform has answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeResponse {
    /// The bot as people call it: `@name`; or why that is not known.
    pub bot: Result<String, ProbeError>,
    /// The time by the server's clock; none if it told none.
    pub date: Option<SystemTime>,
}

/// Why it is not known who the bot is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// The platform does not know the token.
    #[error("{0} does not accept the token (HTTP status {1})")]
    Refused(&'static str, u16),
    /// The platform takes no request of this bot for so long.
    #[error("{} limits this bot for {} s; serve would wait", .0, .1.as_secs())]
    Limited(&'static str, Duration),
    /// Not reached, or no answer that says anything about the token.
    #[error("{0}")]
    Unreachable(String),
}
