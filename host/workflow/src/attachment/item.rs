//! One attachment whose templates are rendered: checked on paper, not opened.

use super::{FolderPath, Kind, Origin, PathError, Pattern, Url, UrlError};
use cofferdam_core::path::GuestPath;
use cofferdam_core::tool::ErrorCode;
use serde_json::{Map, Value};

/// Which of the three declares an attachment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeclaringScope {
    /// The task.
    Task,
    /// Its agent.
    Agent,
    /// Its action.
    Action,
}

impl DeclaringScope {
    /// As `workflow check` has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Agent => "agent",
            Self::Action => "action",
        }
    }
}

/// One attachment; a pattern stands for several.
#[derive(Clone, Debug, PartialEq)]
pub struct AttachmentItem {
    /// Its type.
    pub kind: Kind,
    /// Where it comes from.
    pub source: AttachmentSource,
    /// What it is called.
    pub name: Option<String>,
    /// A hint that decides nothing.
    pub mime: Option<String>,
    /// What is said of it besides.
    pub meta: Option<Map<String, Value>>,
    /// Whether an image by URL is downloaded.
    pub fetch: bool,
}

/// Where an attachment comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum AttachmentSource {
    /// An address.
    Url(Url),
    /// One file below the declaring file's folder.
    File(FolderPath),
    /// Those that a pattern matches, below the same folder.
    Pattern(Pattern),
    /// A file of the run's workspace.
    Workspace(GuestPath),
}

impl AttachmentSource {
    /// What a text under this key names.
    ///
    /// # Errors
    /// What to write instead.
    pub(crate) fn parse(origin: Origin, text: &str) -> Result<Self, (ErrorCode, String)> {
        let path = |error: PathError| (ErrorCode::PathDenied, error.to_string());
        match origin {
            Origin::Url | Origin::Urls => Url::parse(text).map(Self::Url).map_err(|error| {
                let code = match error {
                    UrlError::Scheme(_) => ErrorCode::NetworkDenied,
                    _ => ErrorCode::AttachmentUnavailable,
                };
                (code, error.to_string())
            }),
            Origin::Path => Self::parse_path(text).map_err(path),
            Origin::Paths => Self::parse_paths(text).map_err(path),
        }
    }
}

impl AttachmentItem {
    /// Whether it is contacted: an image that is fetched, and what no model is shown by its
    /// address.
    pub fn is_downloaded(&self) -> bool {
        let AttachmentSource::Url(_) = self.source else { return false };
        match self.kind {
            Kind::Url | Kind::File => false,
            Kind::Image => self.fetch,
            Kind::Pdf | Kind::Audio | Kind::Video => true,
        }
    }
}
