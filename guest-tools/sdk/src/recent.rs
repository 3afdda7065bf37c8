//! The files of the most recent message of the user that has any: this one's, or an earlier one's.
//! Needs `interfaces = ["recent-attachments"]`; [`attachments`](crate::attachments) then shows the
//! same files.

use crate::bindings::cofferdam::tool::recent_attachments;

pub use recent_attachments::RecentAttachment;

/// All of them, the unavailable ones too; empty when no message of the user had any.
pub fn list() -> Vec<RecentAttachment> {
    recent_attachments::list()
}
