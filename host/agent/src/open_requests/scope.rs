//! Whose requests a call may add to: its own, unless the operator says otherwise.

use serde::{Deserialize, Serialize};

/// How far a call reaches beyond the request that it belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
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
