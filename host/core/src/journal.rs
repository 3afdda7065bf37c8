//! The seam through which a durable turn remembers what its calls did.

use crate::limits::ByteSize;
use crate::message::Delivery;
use crate::tool::ToolAnswer;

/// What a durable turn did before a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JournalState {
    /// The answer recorded for this very call.
    pub answer: Option<ToolAnswer>,
    /// Bytes that the other calls of its turn have published.
    pub written_bytes: u64,
}

/// Why the journal does not do what it is asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// There is no room for it.
    #[error("the disk is full")]
    NoSpace,
    /// The person of the turn would have written more today than so much.
    #[error("today's budget of {0} written bytes has no room for this call; it starts anew at 00:00 UTC")]
    OverDayBudget(ByteSize),
    /// Whether it was done is not known, and why, as a sentence.
    #[error("{0}")]
    Unknown(String),
    /// Another reason, as a sentence.
    #[error("{0}")]
    Failed(String),
}

/// Remembers answers of side-effecting calls, so that a replayed turn answers what already
/// happened.
///
/// [`Journal::record`] is durable when it returns; it is called before anything is published.
pub trait Journal: Send + Sync {
    /// What the turn of a call did before; an answer is that of a call with these very arguments
    /// (by their SHA-256).
    ///
    /// # Errors
    /// [`JournalError`]; the call is then refused before it changes anything.
    fn load_earlier(&self, call: &str, arguments_sha256: &str) -> Result<JournalState, JournalError>;

    /// Records an answer, and the bytes that the call publishes with it. The blobs of its files are
    /// in use from here on.
    ///
    /// # Errors
    /// [`JournalError`]; the call is then refused before it changes anything.
    fn record(
        &self,
        call: &str,
        arguments_sha256: &str,
        answer: &ToolAnswer,
        written_bytes: u64,
    ) -> Result<(), JournalError>;

    /// Returns while no other process can have taken over the turns of this one: asked where an
    /// earlier run has recorded the answer, before its plan is gone on with.
    ///
    /// # Errors
    /// [`JournalError`]; then nothing more is changed.
    fn ensure_own(&self) -> Result<(), JournalError>;

    /// Hands files to another request, once: that request sends them in every case.
    ///
    /// # Errors
    /// [`JournalError`]; then nothing is handed over, unless it is [`JournalError::Unknown`].
    fn deliver(&self, call: &str, delivery: &Delivery) -> Result<(), JournalError>;

    /// Whether the call has handed its files over.
    ///
    /// # Errors
    /// [`JournalError`].
    fn is_delivered(&self, call: &str) -> Result<bool, JournalError>;
}
