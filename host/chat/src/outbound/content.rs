//! What one part of a reply says and carries, as a channel sends it.

use super::{FileBundle, SendError, StyledText};
use crate::download::{ATTEMPT_MIN, SLOWEST_BYTES_PER_S};
use cofferdam_core::text::with_causes;
use cofferdam_store::{PartKind, ReplyPart};
use cofferdam_warden::attachments::outgoing::Outgoing;
use std::time::Duration;

/// A bucket that fails is asked again after so long, as often as it takes.
const FETCH_AGAIN: Duration = Duration::from_secs(5);

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

    /// The same, with its files here to be read.
    ///
    /// # Errors
    /// [`SendError::Refused`]: no channel sends it; [`SendError::Later`]: another node took a file
    /// in, and where nodes hold them cannot be asked.
    pub async fn load(part: &ReplyPart, outgoing: &Outgoing) -> Result<Self, SendError> {
        let content = Self::from_part(part)?;
        for shown in content.files.iter().flat_map(|bundle| &bundle.files) {
            let (outgoing, file) = (outgoing.clone(), shown.file.clone());
            let fetched = tokio::task::spawn_blocking(move || outgoing.fetch(&file)).await;
            match fetched.unwrap_or_else(|panicked| Err(panicked.into())) {
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                    return Err(SendError::Refused(format!("the file is not held any more ({error})")));
                }
                Err(error) => {
                    let error = with_causes(&error);
                    tracing::warn!(error, "the bucket has a file of a reply, and cannot be read");
                    return Err(SendError::Later(FETCH_AGAIN));
                }
            }
        }
        Ok(content)
    }
}

impl FileBundle {
    /// How long an upload may take: what is slower will hardly be faster the next time.
    pub fn upload_timeout(&self) -> Duration {
        let bytes: u64 = self.files.iter().map(|shown| shown.file.bytes).sum();
        ATTEMPT_MIN + Duration::from_secs(bytes / SLOWEST_BYTES_PER_S)
    }
}
