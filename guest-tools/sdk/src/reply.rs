//! Files that go out with the answer: files of the workspace, and small ones that the call itself
//! has made. Needs `interfaces = ["reply-attachments"]`, and for files of the workspace a policy
//! that classifies the arguments which name them as `{ path = "read" }`.
//!
//! ```no_run
//! use cofferdam_sdk::reply::{self, ReplyFile};
//!
//! # fn call(path: &str, table: String) -> Result<(), cofferdam_sdk::ToolError> {
//! reply::add(&[
//!     ReplyFile::of_path(path),                            // as it lies in the workspace
//!     ReplyFile::of_contents("table.csv", table),          // made here, kept nowhere
//!     ReplyFile::of_path(path).named("The same again.txt"),
//! ])?;
//! # Ok(())
//! # }
//! ```

use crate::bindings::cofferdam::tool::reply_attachments;
use crate::{ErrorCode, ToolError};

pub use reply_attachments::{AddedFile, Address, ReplyFile, Source};

/// All contents of one [`add`] together, in bytes. What is larger goes out as a file of the
/// workspace.
pub const CONTENTS_BYTES_MAX: usize = 1 << 20;

impl ReplyFile {
    /// The workspace file at `path`, which the policy judged for reading in this call. It is shown
    /// under the name that it has.
    pub fn of_path(path: impl Into<String>) -> Self {
        Self { source: Source::Path(path.into()), name: None, mime_type: None }
    }

    /// A file of these bytes, shown as `name`. Nothing of it is left in the workspace.
    pub fn of_contents(name: impl Into<String>, contents: impl Into<Vec<u8>>) -> Self {
        Self { source: Source::Contents(contents.into()), name: Some(name.into()), mime_type: None }
    }

    /// The same, shown under this name: one line, at most 120 bytes; what precedes its last slash
    /// goes.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// The same, believed to be of this media type. The content decides; this gives a name its
    /// extension where it has none and the content says nothing.
    #[must_use]
    pub fn believed(self, mime_type: impl Into<String>) -> Self {
        Self { mime_type: Some(mime_type.into()), ..self }
    }
}

/// Adds all of these files to the reply, in this order, or none; returns what each will be sent as.
/// The bytes of workspace files are taken now, by the host; they do not pass through the tool. The
/// files are sent if the call succeeds.
///
/// # Errors
/// `invalid_arguments` for no file, an empty one, or contents without a name; `path_denied` for a
/// path that was not judged for reading in this call; `too_large` for a file over the operator's
/// limit and for contents over [`CONTENTS_BYTES_MAX`]; `quota_exceeded`; and those of reading a
/// file.
pub fn add(files: &[ReplyFile]) -> Result<Vec<AddedFile>, ToolError> {
    add_to(files, &Address { session: None, request: None })
}

/// The same for the reply to another request, as far as the operator lets calls reach.
///
/// # Errors
/// Those of [`add`]; `invalid_arguments` for a request out of reach; `not_found` where nothing is
/// being answered.
pub fn add_to(files: &[ReplyFile], to: &Address) -> Result<Vec<AddedFile>, ToolError> {
    // Here too: what is far too much ends the call as a trap before the host has seen it.
    within_bounds(files)?;
    reply_attachments::add_to(files, to)
}

fn within_bounds(files: &[ReplyFile]) -> Result<(), ToolError> {
    let contents = files.iter().map(|file| match &file.source {
        Source::Contents(contents) => contents.len(),
        Source::Path(_) => 0,
    });
    let bytes: usize = contents.sum();
    if bytes <= CONTENTS_BYTES_MAX {
        return Ok(());
    }
    let said = format!(
        "What was made to be sent has {bytes} bytes; one call sends at most {CONTENTS_BYTES_MAX} (1 MiB) that are \
         no file of the workspace. Ask for less, or have it written to a file and send that."
    );
    Err(ToolError::new(ErrorCode::TooLarge, said))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_counted_together_and_files_are_not() {
        let half = || ReplyFile::of_contents("a", vec![0; CONTENTS_BYTES_MAX / 2]);
        assert!(within_bounds(&[half(), ReplyFile::of_path("/shared/a"), half()]).is_ok());
        let more = within_bounds(&[half(), half(), ReplyFile::of_contents("b", "x")]).unwrap_err();
        assert_eq!(more.code, ErrorCode::TooLarge);
        assert!(more.message.contains("1048577 bytes"), "{}", more.message);
    }
}
