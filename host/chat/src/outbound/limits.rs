//! What a channel's messages can carry, as data: the rules of replies know no channel.

use super::StyledText;
use serde::{Deserialize, Serialize};

/// The limits and habits of a channel.
#[derive(Clone, Copy, Debug)]
pub struct ChannelLimits {
    /// UTF-16 units of a text message.
    pub text_units_max: usize,
    /// UTF-16 units of the text that a message with files carries.
    pub caption_units_max: usize,
    /// Whether the first piece of a longer text carries files as well, and the other pieces follow
    /// it.
    pub first_text_carries_files: bool,
    /// Files of one message.
    pub group_max: usize,
    /// Bytes of one file.
    pub file_bytes_max: u64,
    /// Bytes of one file that is shown as a picture; a larger one goes as a document.
    pub photo_bytes_max: u64,
    /// Bytes of all files of one message.
    pub message_bytes_max: u64,
    /// How files are shown, by detected media type; everything else is a document, and so is text
    /// that a browser would run.
    pub shown: &'static [(&'static str, MediaKind)],
    /// How long a text is as the channel writes it, against the limits on text: markup and escapes
    /// may count.
    pub length: fn(&StyledText) -> usize,
}

/// The length of what people read, in UTF-16 units: for platforms that count neither markup nor
/// escapes.
pub fn units(rich: &StyledText) -> usize {
    rich.text.encode_utf16().count()
}

/// How a file is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MediaKind {
    /// A picture.
    Photo,
    /// A film.
    Video,
    /// A film without sound that runs by itself.
    Animation,
    /// Music.
    Audio,
    /// Something said.
    Voice,
    /// A file to be opened elsewhere.
    Document,
}

impl ChannelLimits {
    /// How a file of this detected type and length is shown.
    pub fn media(&self, mime_type: &str, bytes: u64) -> MediaKind {
        let media = self.shown.iter().find(|(mime, _)| *mime == mime_type).map(|(_, media)| *media);
        match media {
            Some(MediaKind::Photo) if bytes > self.photo_bytes_max => MediaKind::Document,
            Some(media) => media,
            None => MediaKind::Document,
        }
    }
}

impl MediaKind {
    /// Whether both may stand in one message.
    pub fn can_join(self, other: Self) -> bool {
        match self {
            Self::Photo | Self::Video => matches!(other, Self::Photo | Self::Video),
            Self::Audio | Self::Document => self == other,
            Self::Animation | Self::Voice => false,
        }
    }
}
