//! Changes to names: renaming and removing, planned here and carried out by the host, in order with
//! the files that were sealed, after the call succeeded. Nothing is touched while the call runs.

use crate::ToolError;
use crate::bindings::cofferdam::tool::workspace_write;

pub use workspace_write::{Disposition, EntryKind, Planned, rename};

impl EntryKind {
    /// The kind as results and the audit have it, e.g. `file`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Directory => "directory",
            Self::Other => "other",
        }
    }
}

/// What becomes of a directory that is not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// It is refused.
    Keep,
    /// They are removed with it.
    Remove,
}

/// Plans to remove the name `path`, which the policy judged for writing; a symbolic link is never
/// followed.
///
/// # Errors
/// `not_found`, `path_denied`, `is_a_directory` (not empty), `too_large` (too many entries for one
/// call).
pub fn remove(path: &str, contents: Contents) -> Result<Planned, ToolError> {
    workspace_write::remove(path, contents == Contents::Remove)
}
