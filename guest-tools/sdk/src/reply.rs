//! Files of the workspace that go out with the answer. Needs `interfaces = ["reply-attachments"]`, and a policy
//! that classifies the arguments which name the files as `{ path = "read" }`.

use crate::ToolError;
use crate::bindings::cofferdam::tool::reply_attachments;

pub use reply_attachments::{AddedFile, Address, ReplyFile};

/// Adds all of these files to the reply, in this order, or none; returns what each will be sent as. The bytes are
/// taken now, by the host; they do not pass through the tool.
///
/// # Errors
/// `invalid_arguments` for no file or an empty one; `path_denied` for a path that was not judged for reading in
/// this call; `too_large`, `quota_exceeded`; and those of reading a file.
pub fn add(files: &[ReplyFile]) -> Result<Vec<AddedFile>, ToolError> {
    reply_attachments::add(files)
}

/// The same for the reply to another request, as far as the operator lets calls reach.
///
/// # Errors
/// Those of [`add`]; `invalid_arguments` for a request out of reach; `not_found` where nothing is being answered.
pub fn add_to(files: &[ReplyFile], to: &Address) -> Result<Vec<AddedFile>, ToolError> {
    reply_attachments::add_to(files, to)
}
