//! Paths of local files on paper: below the folder of the file that declares them, or in the run's
//! workspace.

use super::pattern::{Pattern, PatternError};
use crate::problem::quote;
use cofferdam_core::path::{BadPath, GuestPath};
use cofferdam_core::text::is_deceptive;
use std::fmt;

/// A local file as it is declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocalPath {
    /// One file below the declaring file's folder.
    File(FolderPath),
    /// Those that a pattern matches, below the same folder.
    Pattern(Pattern),
    /// A file of the run's workspace.
    Workspace(GuestPath),
}

/// A path below a folder, with `.` and `..` resolved on paper; empty for the folder itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FolderPath(Vec<String>);

/// Why a path is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// It names nothing.
    #[error("the path is empty; write e.g. ./photo.png")]
    Empty,
    /// `..` leads out.
    #[error("{0} leads above the folder of the file that declares it; put the file below that folder")]
    Above(String),
    /// An absolute path that no workspace has.
    #[error(
        "{0} is an absolute path; write one below the folder of the file that declares it, or below /shared or /tmp"
    )]
    Absolute(String),
    /// Of the workspace, and no path of it.
    #[error(transparent)]
    Workspace(#[from] BadPath),
    /// Of the workspace, with wildcards.
    #[error(
        "{0} is a pattern; name one file of the workspace, or use patterns below the folder of the workflow's file"
    )]
    WorkspacePattern(String),
    /// It ends where a name must follow.
    #[error("{0} names a folder; name a file in it")]
    Folder(String),
    /// A character that moves or hides others, or ends a path.
    #[error("the path has a control or invisible character (U+{0:04X}); use a plain name")]
    Deceptive(u32),
    /// Longer than the kernel takes.
    #[error("the path is longer than {max} bytes", max = GuestPath::BYTES_MAX)]
    TooLong,
    /// The pattern does not parse.
    #[error(transparent)]
    Pattern(#[from] PatternError),
}

impl LocalPath {
    /// The one file that `path` names.
    ///
    /// # Errors
    /// [`PathError`].
    pub fn single(text: &str) -> Result<Self, PathError> {
        match workspace(text)? {
            Some(path) => Ok(Self::Workspace(path)),
            None => file(text).map(Self::File),
        }
    }

    /// What one of `paths` names.
    ///
    /// # Errors
    /// [`PathError`].
    pub fn parse_many(text: &str) -> Result<Self, PathError> {
        if !Pattern::is_pattern(text) {
            return Self::single(text);
        }
        if text.starts_with('/') {
            let error = match is_of_workspace(text) {
                true => PathError::WorkspacePattern,
                false => PathError::Absolute,
            };
            return Err(error(quote(text)));
        }
        check_text(text)?;
        Ok(Self::Pattern(Pattern::parse(text)?))
    }
}

/// Whether an absolute path begins with a mount of a run's workspace that attachments may name.
fn is_of_workspace(text: &str) -> bool {
    matches!(text.split('/').nth(1), Some("shared" | "tmp"))
}

fn workspace(text: &str) -> Result<Option<GuestPath>, PathError> {
    check_text(text)?;
    if !text.starts_with('/') {
        return Ok(None);
    }
    if !is_of_workspace(text) {
        return Err(PathError::Absolute(quote(text)));
    }
    // The mount itself has one slash.
    if text.rfind('/') == Some(0) || text.ends_with('/') {
        return Err(PathError::Folder(quote(text)));
    }
    GuestPath::parse(text).map(Some).map_err(PathError::Workspace)
}

fn file(text: &str) -> Result<FolderPath, PathError> {
    let path = FolderPath::parse(text)?;
    let names_folder =
        text.ends_with('/') || text.ends_with("/.") || text.ends_with("/..") || path.0.is_empty();
    if names_folder { Err(PathError::Folder(quote(text))) } else { Ok(path) }
}

fn check_text(text: &str) -> Result<(), PathError> {
    if text.is_empty() {
        return Err(PathError::Empty);
    }
    if text.len() > GuestPath::BYTES_MAX {
        return Err(PathError::TooLong);
    }
    match text.chars().find(|c| is_deceptive(*c)) {
        Some(c) => Err(PathError::Deceptive(c.into())),
        None => Ok(()),
    }
}

impl FolderPath {
    /// The path that a relative text names; `..` is resolved on paper and never above.
    ///
    /// # Errors
    /// [`PathError`].
    pub fn parse(text: &str) -> Result<Self, PathError> {
        check_text(text)?;
        if text.starts_with('/') {
            return Err(PathError::Absolute(quote(text)));
        }
        let mut names = Vec::new();
        for name in text.split('/') {
            match name {
                "" | "." => {}
                ".." => {
                    names.pop().ok_or_else(|| PathError::Above(quote(text)))?;
                }
                name => names.push(name.to_owned()),
            }
        }
        Ok(Self(names))
    }

    /// Its names, outermost first.
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// The path of a name in it.
    #[must_use]
    pub fn join(&self, name: &str) -> Self {
        Self(self.0.iter().cloned().chain([name.to_owned()]).collect())
    }

    /// The folder that it is in; empty for what lies at the top.
    #[must_use]
    pub fn parent(&self) -> Self {
        Self(self.0[..self.0.len().saturating_sub(1)].to_vec())
    }
}

impl fmt::Display for FolderPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("/"))
    }
}
