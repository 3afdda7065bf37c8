//! Why something did not reach the people of a platform.

use std::time::Duration;

/// Why a part or a message was not sent or changed, or somebody cannot be written to. The texts
/// hold no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The platform will never accept this part.
    #[error("{0}")]
    Refused(String),
    /// The platform will never accept anything for this target.
    #[error("{0}")]
    Gone(String),
    /// The platform says when to try again.
    #[error("the platform asks to wait {} s", .0.as_secs())]
    Later(Duration),
    /// The platform is not reached, or fails.
    #[error("{0}")]
    Unreachable(String),
    /// It took longer than its length allows.
    #[error("{0}")]
    TooSlow(String),
}
