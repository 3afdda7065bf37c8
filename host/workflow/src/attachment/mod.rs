//! Attachments as a file declares them: their types, what each takes, and what of it can be said
//! without opening anything.

mod item;
mod local;
mod pattern;
#[cfg(test)]
mod tests;
mod web;

pub use item::{AttachmentItem, AttachmentSource, DeclaringScope};
pub use local::{FolderPath, PathError};
pub use pattern::{ALTERNATIVES_MAX, Pattern, PatternSegment};
pub use web::{Url, UrlError};

/// The types there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Looked at.
    Image,
    /// Told of.
    Video,
    /// Told of.
    Audio,
    /// Read; `document` is another name.
    Pdf,
    /// A local file of any type.
    File,
    /// An address that the model is told and nobody contacts.
    Url,
}

impl Kind {
    /// Each with its name; pdf has another one.
    pub const ALL: [(&'static str, Self); 7] = [
        ("image", Self::Image),
        ("video", Self::Video),
        ("audio", Self::Audio),
        ("pdf", Self::Pdf),
        ("document", Self::Pdf),
        ("file", Self::File),
        ("url", Self::Url),
    ];

    /// The type of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
    }

    /// The name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }

    /// Whether this type may come from there.
    ///
    /// # Errors
    /// What to write instead.
    pub fn check(self, origin: Origin, fetch: bool) -> Result<(), String> {
        let takes = match self {
            Self::Image | Self::Video | Self::Audio | Self::Pdf => origin,
            Self::File => Origin::Path,
            Self::Url => Origin::Url,
        };
        if origin != takes {
            let (name, takes, origin) = (self.name(), takes.key(), origin.key());
            return Err(format!("an attachment of type {name} takes `{takes}` and not `{origin}`"));
        }
        let fits = self == Self::Image && matches!(origin, Origin::Url | Origin::Urls);
        if fetch && !fits {
            return Err("`fetch: true` is for images by `url` or `urls`; take it out".to_owned());
        }
        Ok(())
    }
}

/// Where an attachment comes from, by its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// One address.
    Url,
    /// One file.
    Path,
    /// Several addresses.
    Urls,
    /// Patterns of files.
    Paths,
}

impl Origin {
    /// Each with its key.
    pub const ALL: [(&'static str, Self); 4] =
        [("url", Self::Url), ("path", Self::Path), ("urls", Self::Urls), ("paths", Self::Paths)];

    /// The key.
    pub fn key(self) -> &'static str {
        Self::ALL.iter().find(|(_, origin)| *origin == self).map_or("", |(key, _)| key)
    }
}
