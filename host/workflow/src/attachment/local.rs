//! Paths of local files on paper: below the folder of the file that declares them, or in the run's
//! workspace.

use super::item::AttachmentSource;
use super::pattern::Pattern;
use crate::problem::quote;
use cofferdam_core::path::GuestPath;
use cofferdam_core::text::is_deceptive;
use std::fmt;

/// A path below a folder, with `.` and `..` resolved on paper; empty for the folder itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FolderPath(Vec<String>);

/// Why a path is refused, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PathError(pub(super) String);

impl PathError {
    /// `..` leads out.
    pub(super) fn above(text: &str) -> Self {
        let text = quote(text);
        Self(format!(
            "{text} leads above the folder of the file that declares it; put the file below that folder"
        ))
    }

    /// No workspace has this absolute path.
    fn absolute(text: &str) -> Self {
        Self(format!(
            "{} is an absolute path; write one below the folder of the file that declares it, or below /shared or /tmp",
            quote(text)
        ))
    }

    /// It ends where a name must follow.
    fn folder(text: &str) -> Self {
        Self(format!("{} names a folder; name a file in it", quote(text)))
    }
}

impl AttachmentSource {
    /// The one file that `path` names.
    ///
    /// # Errors
    /// [`PathError`].
    pub fn parse_path(text: &str) -> Result<Self, PathError> {
        match workspace(text)? {
            Some(path) => Ok(Self::Workspace(path)),
            None => file(text).map(Self::File),
        }
    }

    /// What one of `paths` names.
    ///
    /// # Errors
    /// [`PathError`].
    pub fn parse_paths(text: &str) -> Result<Self, PathError> {
        if !Pattern::is_pattern(text) {
            return Self::parse_path(text);
        }
        if text.starts_with('/') {
            if !is_of_workspace(text) {
                return Err(PathError::absolute(text));
            }
            return Err(PathError(format!(
                "{} is a pattern; name one file of the workspace, or use patterns below the folder of the workflow's file",
                quote(text)
            )));
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
        return Err(PathError::absolute(text));
    }
    // The mount itself has one slash.
    if text.rfind('/') == Some(0) || text.ends_with('/') {
        return Err(PathError::folder(text));
    }
    GuestPath::parse(text).map(Some).map_err(|error| PathError(error.to_string()))
}

fn file(text: &str) -> Result<FolderPath, PathError> {
    let path = FolderPath::parse(text)?;
    let names_folder =
        text.ends_with('/') || text.ends_with("/.") || text.ends_with("/..") || path.0.is_empty();
    if names_folder { Err(PathError::folder(text)) } else { Ok(path) }
}

fn check_text(text: &str) -> Result<(), PathError> {
    if text.is_empty() {
        return Err(PathError("the path is empty; write e.g. ./photo.png".to_owned()));
    }
    if text.len() > GuestPath::BYTES_MAX {
        return Err(PathError(format!("the path is longer than {} bytes", GuestPath::BYTES_MAX)));
    }
    // It moves or hides others, or ends a path.
    text.chars().find(|c| is_deceptive(*c)).map_or(Ok(()), |c| {
        let code = u32::from(c);
        Err(PathError(format!(
            "the path has a control or invisible character (U+{code:04X}); use a plain name"
        )))
    })
}

impl FolderPath {
    /// The path that a relative text names; `..` is resolved on paper and never above.
    ///
    /// # Errors
    /// [`PathError`].
    pub fn parse(text: &str) -> Result<Self, PathError> {
        check_text(text)?;
        if text.starts_with('/') {
            return Err(PathError::absolute(text));
        }
        let mut names = Vec::new();
        for name in text.split('/') {
            match name {
                "" | "." => {}
                ".." => {
                    names.pop().ok_or_else(|| PathError::above(text))?;
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
        let mut path = self.clone();
        path.push(name);
        path
    }

    /// Goes on to a name in it.
    pub fn push(&mut self, name: &str) {
        self.0.push(name.to_owned());
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
