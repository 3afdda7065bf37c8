//! The files of the most recent message of the user that has any: this one's, or an earlier one's.
//! Needs `interfaces = ["recent-attachments"]`; [`attachments`](crate::attachments) then shows the
//! same files.

pub use crate::bindings::cofferdam::tool::recent_attachments::{RecentAttachment, list};
