//! The one parser of guest paths, used by the judge and by staging alike.
//!
//! It decides what a path may look like; whether its mount is granted is the judge's question, and
//! where it leads on disk is the publisher's and the sandbox's.

use crate::as_text::serialized_as_shown;
use crate::text::{is_deceptive, one_line};
use std::fmt;

/// An absolute path as a guest sees it, e.g. `/shared/a/b.jpg`, checked.
///
/// At least one component (the mount); no `.`, `..` or empty component; no control, bidirectional
/// or invisible formatting character; a component at most 255 bytes, the whole at most 4096; no
/// component that starts with [`GuestPath::RESERVED_PREFIX`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GuestPath {
    text: String,
    mount_len: usize,
}

/// Why a text is not a guest path. The message is for a model or a person, and names no host path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPath {
    /// Empty or not starting with `/`.
    #[error("{0:?} is not absolute; start with a mount, e.g. /shared/photo.jpg")]
    NotAbsolute(String),
    /// `//`, or a `/` at the end.
    #[error("{0:?} has an empty component; remove the doubled or trailing /")]
    EmptyComponent(String),
    /// `.` or `..`.
    #[error("{0:?} has a . or .. component; write the path without them")]
    DotComponent(String),
    /// Control, bidirectional or invisible character.
    #[error("the path has a control or invisible character (U+{0:04X}); use a plain name")]
    DeceptiveCharacter(u32),
    /// A component over 255 bytes.
    #[error("a name in the path is {0} bytes long; use at most 255")]
    ComponentTooLong(usize),
    /// A path over 4096 bytes.
    #[error("the path is {0} bytes long; use at most 4096")]
    TooLong(usize),
    /// A name that the gateway keeps for itself.
    #[error("names starting with {prefix} are the gateway's own; use another name", prefix = GuestPath::RESERVED_PREFIX)]
    Reserved,
}

impl GuestPath {
    /// Longest component, in bytes (NAME_MAX).
    pub const COMPONENT_BYTES_MAX: usize = 255;
    /// Longest path, in bytes (PATH_MAX).
    pub const BYTES_MAX: usize = 4096;
    /// The gateway's temporary names begin so; no guest may name or see them.
    pub const RESERVED_PREFIX: &'static str = ".cofferdam-";

    /// Whether a host's path lies at or below one of the gateway's own names in `root`; where it
    /// lies elsewhere, all of it is looked at, since something moved meanwhile.
    pub fn is_reserved_below(root: &std::path::Path, found: &std::path::Path) -> bool {
        let own =
            |name: &std::ffi::OsStr| name.as_encoded_bytes().starts_with(Self::RESERVED_PREFIX.as_bytes());
        found.strip_prefix(root).unwrap_or(found).components().any(|part| own(part.as_os_str()))
    }

    /// The checked path.
    ///
    /// # Errors
    /// [`BadPath`] for text that does not look like a plain absolute path.
    pub fn parse(text: &str) -> Result<Self, BadPath> {
        if text.len() > Self::BYTES_MAX {
            return Err(BadPath::TooLong(text.len()));
        }
        if let Some(c) = text.chars().find(|c| is_deceptive(*c)) {
            return Err(BadPath::DeceptiveCharacter(c.into()));
        }
        let shown = || one_line(text, 200);
        let Some(relative) = text.strip_prefix('/') else {
            return Err(BadPath::NotAbsolute(shown()));
        };
        for component in relative.split('/') {
            match component {
                "" => return Err(BadPath::EmptyComponent(shown())),
                "." | ".." => return Err(BadPath::DotComponent(shown())),
                name if name.len() > Self::COMPONENT_BYTES_MAX => {
                    return Err(BadPath::ComponentTooLong(name.len()));
                }
                name if name.starts_with(Self::RESERVED_PREFIX) => return Err(BadPath::Reserved),
                _ => {}
            }
        }
        let mount_len = 1 + relative.find('/').unwrap_or(relative.len());
        Ok(Self { text: text.to_owned(), mount_len })
    }

    /// The whole path.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The mount's guest name, e.g. `/shared`.
    pub fn mount(&self) -> &str {
        &self.text[..self.mount_len]
    }

    /// The path below the mount, without a leading `/`; empty for the mount itself.
    pub fn below_mount(&self) -> &str {
        self.text[self.mount_len..].trim_start_matches('/')
    }

    /// Whether this is a mount itself, which is never replaced or deleted.
    pub fn is_mount(&self) -> bool {
        self.mount_len == self.text.len()
    }

    /// Whether `self` lies below the directory `dir`.
    pub fn is_below(&self, dir: &GuestPath) -> bool {
        is_below(&self.text, &dir.text)
    }
}

/// Whether a path lies below the directory `dir`, both as guests write them.
pub fn is_below(path: &str, dir: &str) -> bool {
    path.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'))
}

impl fmt::Display for GuestPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

serialized_as_shown! { GuestPath }
