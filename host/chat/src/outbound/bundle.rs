//! Files that go out in one message, as the store keeps them; and which files go together.

use super::{ChannelLimits, MediaKind, StyledSpan, StyledText};
use cofferdam_core::message::OutgoingAttachment;
use cofferdam_store::{NewPart, PartKind};
use serde::{Deserialize, Serialize};

/// The files of one message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileBundle {
    /// The text that goes with them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caption: Option<String>,
    /// How it is shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caption_spans: Vec<StyledSpan>,
    /// In order; all of them may stand in one message.
    pub files: Vec<BundledFile>,
    /// Why it is not even tried, where that is known; the text of the reply says so already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// A file, and how it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BundledFile {
    /// How it is shown.
    pub media: MediaKind,
    /// The file.
    #[serde(flatten)]
    pub file: OutgoingAttachment,
}

impl FileBundle {
    /// From the store.
    pub fn read(body: &str) -> Option<Self> {
        serde_json::from_str(body).ok()
    }

    /// For the store.
    pub fn part(&self) -> NewPart {
        let body = serde_json::to_string(self).expect("plain data");
        NewPart { kind: PartKind::Attachment, body }
    }

    /// Files without a text.
    pub(crate) fn from_files(files: Vec<BundledFile>) -> Self {
        Self { caption: None, caption_spans: Vec::new(), files, refused: None }
    }

    /// The text that goes with the files, as it is shown.
    pub fn words(&self) -> Option<StyledText> {
        let text = self.caption.clone()?;
        Some(StyledText { text, spans: self.caption_spans.clone() })
    }
}

/// The files in as few messages as their order and the channel allow.
pub(super) fn bundles(files: Vec<BundledFile>, channel_limits: &ChannelLimits) -> Vec<FileBundle> {
    let mut bundles: Vec<FileBundle> = Vec::new();
    for shown in files {
        let room = |bundle: &&mut FileBundle| {
            let bytes: u64 = bundle.files.iter().map(|shown| shown.file.bytes).sum();
            bundle.files.len() < channel_limits.group_max
                && bytes.saturating_add(shown.file.bytes) <= channel_limits.message_bytes_max
                && bundle.files.iter().all(|other| other.media.can_join(shown.media))
        };
        match bundles.last_mut().filter(room) {
            Some(bundle) => bundle.files.push(shown),
            None => bundles.push(FileBundle::from_files(vec![shown])),
        }
    }
    bundles
}
