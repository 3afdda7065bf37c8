//! Why a file did not land. Causes by name, with the virtual path; a host path never appears in them.

use cofferdam_core::audit::FileFacts;
use cofferdam_core::limits::ByteSize;
use cofferdam_core::policy::GuestPath;
use cofferdam_core::tool::{ErrorCode, ToolError};
use rustix::io::Errno;
use std::io;

/// Why staging or publishing was refused or failed. Unless the variant says otherwise, nothing changed.
///
/// `path` is the file's path, `at` the part of it that is at fault, `source` the system's answer.
#[allow(missing_docs, reason = "the fields mean the same in every variant")]
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// No mount has this name.
    #[error("{path} lies in no directory of the workspace; write under /shared or /tmp")]
    NoSuchMount { path: GuestPath },
    /// A parent is a symbolic link. What it points to was not judged, so it is not followed.
    #[error("{at} is a symbolic link, and writing never follows one; use the path of the directory itself")]
    SymlinkInPath { path: GuestPath, at: String },
    /// A component lies on another mount, or outside.
    #[error("{at} belongs to another filesystem; choose a path outside it")]
    OtherMount { path: GuestPath, at: String },
    /// A parent is a file.
    #[error("{at} is not a directory, so nothing can lie below it; choose another path")]
    ParentNotADirectory { path: GuestPath, at: String },
    /// The name is taken and was not to be replaced.
    #[error("{path} exists; choose another name, or ask for it to be overwritten")]
    AlreadyExists { path: GuestPath },
    /// The name is a directory's; a mount's own name is one.
    #[error("{path} is a directory; name a file inside it")]
    IsADirectory { path: GuestPath },
    /// The name is that of a symbolic link, FIFO, socket or device.
    #[error("{path} is {kind}, not a regular file; choose another name")]
    NotARegularFile { path: GuestPath, kind: &'static str },
    /// The call wrote its share.
    #[error("{path}: this call may write {limit} in all; write less, or raise written_bytes in the policy")]
    CallQuota { path: GuestPath, limit: ByteSize },
    /// The call staged its number of files.
    #[error("{path}: one call may stage {limit} files; write the rest in another call")]
    FileCount { path: GuestPath, limit: u32 },
    /// The workspace is full.
    #[error("{path}: the workspace may hold {limit}; delete files, or raise workspace.max_bytes")]
    WorkspaceQuota { path: GuestPath, limit: ByteSize },
    /// The disk, or the user's share of it, is full.
    #[error("{path}: the disk is full; delete files and try again")]
    NoSpace { path: GuestPath },
    /// The system refused for another reason.
    #[error("{path} was not saved: {doing} failed ({source}); nothing was changed")]
    WriteFailed { path: GuestPath, doing: &'static str, source: io::Error },
    /// Used again after a failure, which is what `code` repeats.
    #[error("{path}: an earlier write failed ({code}); stage the file again")]
    Abandoned { path: GuestPath, code: ErrorCode },
    /// Others changed the directory faster than it could be published into.
    #[error("{path} was not saved: the directory kept changing meanwhile; try again")]
    Unsettled { path: GuestPath },
    /// The file **is** published, but the disk did not confirm that a power loss would keep it.
    #[error("{path} is saved, but the disk did not confirm it ({source}); check the file and the disk")]
    DurabilityUnknown { path: GuestPath, source: io::Error },
    /// What lies there cannot be read. Only looking says so.
    #[error("{path} cannot be read ({source}); check its permissions")]
    Unreadable { path: GuestPath, source: io::Error },
    /// The call's deadline passed while the host wrote for it.
    #[error("{path} was not saved: the deadline passed; nothing was changed")]
    TimedOut { path: GuestPath },
    /// The turn was cancelled while the host wrote for it.
    #[error("{path} was not saved: the turn was cancelled; nothing was changed")]
    Cancelled { path: GuestPath },
}

impl PublishError {
    /// The code of the contract.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NoSuchMount { .. }
            | Self::SymlinkInPath { .. }
            | Self::OtherMount { .. }
            | Self::ParentNotADirectory { .. } => ErrorCode::PathDenied,
            Self::AlreadyExists { .. } => ErrorCode::AlreadyExists,
            Self::IsADirectory { .. } => ErrorCode::IsADirectory,
            Self::NotARegularFile { .. } => ErrorCode::NotARegularFile,
            Self::CallQuota { .. } | Self::FileCount { .. } | Self::WorkspaceQuota { .. } => {
                ErrorCode::QuotaExceeded
            }
            Self::NoSpace { .. } => ErrorCode::NoSpace,
            Self::WriteFailed { .. } | Self::Unsettled { .. } => ErrorCode::WriteFailed,
            Self::Abandoned { code, .. } => *code,
            Self::DurabilityUnknown { .. } => ErrorCode::DurabilityUnknown,
            Self::Unreadable { .. } => ErrorCode::Internal,
            Self::TimedOut { .. } => ErrorCode::TimedOut,
            Self::Cancelled { .. } => ErrorCode::Cancelled,
        }
    }

    /// The variant for what the system answered while `doing` something.
    pub(super) fn from_io(path: &GuestPath, doing: &'static str, source: impl Into<io::Error>) -> Self {
        let (path, source) = (path.clone(), source.into());
        match Errno::from_io_error(&source) {
            Some(Errno::NOSPC | Errno::DQUOT) => Self::NoSpace { path },
            _ => Self::WriteFailed { path, doing, source },
        }
    }
}

impl From<PublishError> for ToolError {
    fn from(error: PublishError) -> Self {
        ToolError::new(error.code(), error.to_string())
    }
}

/// Publishing stopped. What landed before stays; what follows was not touched.
#[derive(Debug, thiserror::Error)]
#[error("{error}{}", also(.landed, .error))]
pub struct PublishFailure {
    /// What is on disk, in order; with [`PublishError::DurabilityUnknown`] its last is that very file.
    pub landed: Vec<FileFacts>,
    /// Why it stopped.
    pub error: PublishError,
}

impl PublishFailure {
    /// The code of the contract.
    pub fn code(&self) -> ErrorCode {
        self.error.code()
    }
}

impl From<PublishFailure> for ToolError {
    fn from(failure: PublishFailure) -> Self {
        ToolError::new(failure.code(), failure.to_string())
    }
}

/// Names the files that landed before the one that the error is about.
fn also(landed: &[FileFacts], error: &PublishError) -> String {
    let before = match error {
        PublishError::DurabilityUnknown { .. } => landed.len().saturating_sub(1),
        _ => landed.len(),
    };
    match landed.get(..before) {
        None | Some([]) => String::new(),
        Some(files) => {
            let names: Vec<&str> = files.iter().map(|f| f.path.as_str()).collect();
            format!(" (saved before that: {})", names.join(", "))
        }
    }
}
