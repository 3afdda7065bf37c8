//! The seam behind which a channel brings back the files of an earlier message. What it keeps for that, and
//! for how long, is its own affair; this room keeps nothing.

use super::Attachments;
use async_trait::async_trait;
use std::fmt;

/// Brings the files of the user's most recent message that has any.
#[async_trait]
pub trait RecentAttachments: Send + Sync {
    /// The attachments of the most recent message of the user in this conversation that has any; empty when
    /// there is none. One that cannot be had any more keeps its place and says why. Fetching may take long:
    /// dropping the future ends it.
    async fn recent(&self) -> Attachments;
}

impl fmt::Debug for dyn RecentAttachments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RecentAttachments")
    }
}
