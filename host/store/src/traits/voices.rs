//! What is heard and spoken.

use crate::StoreError;
use async_trait::async_trait;
use cofferdam_core::id::{SessionId, TurnId};

/// Voice messages, and answers by voice.
#[async_trait]
pub trait VoiceStore: Send + Sync {
    /// What was heard in the message of a turn that has not ended, if that is noted.
    async fn transcript(&self, turn: &TurnId) -> Result<Option<String>, StoreError>;

    /// Notes what was heard, once, of a turn of which an attempt is counted. Its end forgets it.
    async fn keep_transcript(&self, turn: &TurnId, text: &str) -> Result<(), StoreError>;

    /// Whether somebody's voice messages in a session are answered by voice, too.
    async fn is_spoken_to(&self, session: &SessionId, sender: &str) -> Result<bool, StoreError>;

    /// Has them answered so, or not.
    async fn set_spoken_to(&self, session: &SessionId, sender: &str, is_on: bool) -> Result<(), StoreError>;
}
