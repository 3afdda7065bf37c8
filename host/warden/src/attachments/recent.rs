//! The seam behind which a channel brings back the files of an earlier message. What it keeps for
//! that, and for how long, is its own affair; this room keeps nothing.

use super::Attachments;
use async_trait::async_trait;
use cofferdam_core::attachment::AttachmentInfo;

/// Brings the files of a user's earlier messages.
#[async_trait]
pub trait RecentAttachments: Send + Sync {
    /// The attachments of the most recent message of the user in this conversation that has any;
    /// empty when there is none. One that cannot be had any more keeps its place and says why.
    /// Fetching may take long: dropping the future ends it.
    async fn recent(&self) -> Attachments;

    /// Those of these attachments of earlier messages that can be had again, in any order; they are
    /// told by their source, so the caller compares the bytes. Dropping the future ends it.
    async fn refetch(&self, wanted: &[AttachmentInfo]) -> Attachments;
}
