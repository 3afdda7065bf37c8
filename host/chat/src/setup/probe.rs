//! What harmless requests to a platform tell of a bot's token.

use std::time::{Duration, SystemTime};

/// What to do about a bot that its platform limits.
pub const LIMITED: &str = "wait; each request meanwhile may make it longer";

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BotFacts {
    /// The bot as people call it: `@name`; or why that is not known.
    pub bot: Result<String, ProbeError>,
    /// The time by the server's clock; none if it told none.
    pub date: Option<SystemTime>,
    /// What is in its way though its token is accepted.
    pub obstacles: Vec<Obstacle>,
    /// The link by which it is invited, on a platform where that is needed.
    pub invite: Option<String>,
}

/// Something that is in a bot's way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// What it is.
    pub what: String,
    /// What the operator does about it.
    pub mend: String,
    /// Whether it serves all the same.
    pub is_minor: bool,
}

impl BotFacts {
    /// Of a bot of which nothing is known, for this reason.
    pub fn unknown(why: ProbeError, date: Option<SystemTime>) -> Self {
        Self { bot: Err(why), date, obstacles: Vec::new(), invite: None }
    }
}

impl Obstacle {
    /// One that keeps it from serving.
    pub fn new(what: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { what: what.into(), mend: mend.into(), is_minor: false }
    }
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
