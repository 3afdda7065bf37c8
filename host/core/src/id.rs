//! Identifiers as types, so that a turn is never passed where a call is meant.

use crate::as_text::shown_as_text;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A turn: one user message (or album) and everything done to answer it.
///
/// Stable across restarts, e.g. `telegram-829110`; it is what makes a replayed turn recognizable.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TurnId(String);

impl TurnId {
    /// A turn id from a channel's own stable naming of its messages.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The id of the turn's call number `n`, from 0: the same again when the turn is replayed.
    pub fn call(&self, n: usize) -> CallId {
        CallId(format!("{}/{n}", self.0))
    }
}

/// One tool call within a turn: `<turn>/<n>`. The key under which a call is idempotent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(String);

impl CallId {
    /// The id under which the gateway keeps the long output of this call as a file:
    /// `<call>/output`.
    pub fn output(&self) -> CallId {
        CallId(format!("{}/output", self.0))
    }
}

/// A session: one conversation in one place, such as a chat and its topic. Turns of one session
/// follow one another; what a session keeps (its history, its `/tmp`) no other session sees.
///
/// Stable across restarts, e.g. `telegram-99:7/0`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(String);

impl SessionId {
    /// A session id from a channel's own stable naming of its conversations.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

shown_as_text! { TurnId CallId SessionId }

/// Who asked: a channel's name and its own immutable id of the sender, never a user name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Caller {
    /// `telegram`, `terminal`, `cli`.
    pub channel: String,
    /// Telegram: the numeric user id. Terminal and command line: the numeric uid.
    pub sender: String,
}

impl Caller {
    /// The person that `CHANNEL:USER` names: what [`fmt::Display`] writes.
    pub fn parse(text: &str) -> Option<Self> {
        let (channel, user) = text.split_once(':')?;
        let is_channel = (1..=32).contains(&channel.len()) && channel.bytes().all(|b| b.is_ascii_lowercase());
        let is_user = (1..=64).contains(&user.len())
            && user.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
        (is_channel && is_user).then(|| Self { channel: channel.to_owned(), sender: user.to_owned() })
    }
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.channel, self.sender)
    }
}
