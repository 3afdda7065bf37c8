//! What one part of a reply says and carries, as a channel sends it.

use super::{FileBundle, SendError, StyledText};
use crate::download::{ATTEMPT_MIN, SLOWEST_BYTES_PER_S};
use cofferdam_store::{PartKind, ReplyPart};
use std::time::Duration;

/// Words, files, or files with words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartContent {
    /// What it says; perhaps nothing.
    pub words: StyledText,
    /// What it carries.
    pub files: Option<FileBundle>,
}

impl PartContent {
    /// Of a part that was stored.
    ///
    /// # Errors
    /// [`SendError::Refused`]: no channel sends it.
    pub fn from_part(part: &ReplyPart) -> Result<Self, SendError> {
        let refused = |why: &str| Err(SendError::Refused(why.into()));
        match part.kind {
            PartKind::Text | PartKind::Rich => match StyledText::read(part.kind, &part.body) {
                Some(words) => Ok(Self { words, files: None }),
                None => refused("the stored text is unreadable"),
            },
            // It comes as a file, once it is spoken.
            PartKind::Voice => refused("it was not spoken"),
            PartKind::Attachment => match FileBundle::read(&part.body) {
                Some(files) => Ok(Self { words: files.words().unwrap_or_default(), files: Some(files) }),
                None => refused("the stored files are unreadable"),
            },
        }
    }
}

impl FileBundle {
    /// How long an upload may take: what is slower will hardly be faster the next time.
    pub fn upload_timeout(&self) -> Duration {
        let bytes: u64 = self.files.iter().map(|shown| shown.file.bytes).sum();
        ATTEMPT_MIN + Duration::from_secs(bytes / SLOWEST_BYTES_PER_S)
    }
}
