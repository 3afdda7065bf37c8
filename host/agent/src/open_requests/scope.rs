//! Whose requests a call may add to: its own, unless the operator says otherwise.

use serde::Deserialize;
use std::fmt;

/// How far a call reaches beyond the request that it belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallScope {
    /// No further: its own request alone.
    #[default]
    Own,
    /// Every request that the same person has begun, in any conversation.
    Person,
    /// Every request.
    Everyone,
}

impl fmt::Display for CallScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Own => "own",
            Self::Person => "person",
            Self::Everyone => "everyone",
        })
    }
}
