//! What is to go out: an open file of the workspace, or bytes that a call composed. It refuses, one
//! by one, what no platform takes and what is over the operator's limit.

use super::Config;
use cofferdam_core::message::OutgoingAttachment;
use cofferdam_core::text::one_line;
use cofferdam_core::tool::{ErrorCode, ToolError};
use std::fmt;
use std::fs::File;

/// All contents that one call of `add` composes, together, in bytes.
pub const CONTENTS_BYTES_MAX: u64 = 1 << 20;

/// A file that is to go out, and what was said of it.
#[derive(Debug)]
pub struct OutgoingFile {
    /// Its bytes.
    pub body: OutgoingBytes,
    /// What the caller would call it.
    pub name: Option<String>,
    /// What the caller believes it is.
    pub mime_type: Option<String>,
}

/// The bytes of a file that is to go out.
pub enum OutgoingBytes {
    /// An open file of the workspace.
    File {
        /// The virtual path that it was opened by, for words and for the audit.
        path: String,
        /// Read from its beginning.
        file: File,
        /// Its length when it was opened; no more is taken.
        len: u64,
    },
    /// What the call composed.
    Contents(Vec<u8>),
}

/// Tells lengths, never bytes.
impl fmt::Debug for OutgoingBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, len, .. } => write!(f, "File({path}, {len} bytes)"),
            Self::Contents(bytes) => write!(f, "Contents({} bytes)", bytes.len()),
        }
    }
}

impl OutgoingFile {
    /// Its bytes, counted.
    pub(super) fn len(&self) -> u64 {
        match &self.body {
            OutgoingBytes::File { len, .. } => *len,
            OutgoingBytes::Contents(bytes) => bytes.len() as u64,
        }
    }

    /// What it is called in words: its path, or the name that was given.
    pub(super) fn what(&self) -> String {
        match &self.body {
            OutgoingBytes::File { path, .. } => path.clone(),
            OutgoingBytes::Contents(_) => {
                let name = self.name.as_deref().unwrap_or_default();
                format!("{:?}", one_line(name, OutgoingAttachment::NAME_BYTES_MAX))
            }
        }
    }

    /// Refuses what no platform takes, or the operator does not.
    pub(super) fn check(&self, limits: &Config) -> Result<(), ToolError> {
        let nameless = self.name.as_deref().is_none_or(|name| name.trim().is_empty());
        if nameless && matches!(self.body, OutgoingBytes::Contents(_)) {
            let said = "a file whose content is given needs a name that the user sees, e.g. table.csv";
            return Err(ToolError::new(ErrorCode::InvalidArguments, said));
        }
        let (what, bytes, limit) = (self.what(), self.len(), limits.max_bytes);
        match bytes {
            0 => {
                let said = format!("{what} is empty; there is nothing to send");
                Err(ToolError::new(ErrorCode::InvalidArguments, said))
            }
            _ if bytes > limit.0 => {
                let said = format!(
                    "{what} has {bytes} bytes; a reply takes files of at most {limit} (replies.max_bytes)"
                );
                Err(ToolError::new(ErrorCode::TooLarge, said))
            }
            _ => Ok(()),
        }
    }
}
