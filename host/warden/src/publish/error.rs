//! Why a change did not happen. Causes by name, with the virtual path; a host path never appears in
//! them.

use super::tree::LISTED_MAX;
use cofferdam_core::audit::Effect;
use cofferdam_core::limits::ByteSize;
use cofferdam_core::tool::{ErrorCode, ToolError};
use cofferdam_policy::GuestPath;
use rustix::io::Errno;
use std::io;

/// Why staging or publishing was refused or failed. Unless the variant says otherwise, nothing
/// changed.
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
    /// The name is a file's, and a directory was to have it.
    #[error(
        "{path} is a file, and a directory never takes the place of one; choose another name, or remove it first"
    )]
    FileInTheWay { path: GuestPath },
    /// The name is a directory's; a mount's own name is one.
    #[error("{path} is a directory; name a file inside it")]
    IsADirectory { path: GuestPath },
    /// The name is that of a symbolic link, FIFO, socket or device.
    #[error("{path} is {kind}, not a regular file; choose another name")]
    NotARegularFile { path: GuestPath, kind: &'static str },
    /// The call wrote its share.
    #[error("{path}: this call may write {limit} in all; write less, or raise written_bytes in the policy")]
    CallQuota { path: GuestPath, limit: ByteSize },
    /// The calls of a turn wrote its share.
    #[error(
        "{path}: one turn may write {limit} in all; go on in another message, or raise turns.written_bytes"
    )]
    TurnQuota { path: GuestPath, limit: ByteSize },
    /// The call planned its number of changes.
    #[error(
        "{path}: one call may make {limit} changes; make the rest in another call, or raise changes in the policy"
    )]
    ChangeCount { path: GuestPath, limit: u32 },
    /// The call has its number of files that are staged and not sealed.
    #[error("{path}: {limit} files are being written at once; finish or drop one of them first")]
    StagedCount { path: GuestPath, limit: usize },
    /// The call planned its number of renames and removals.
    #[error(
        "{path}: one call may rename or remove {limit} names; do the rest in another call, or name their directory"
    )]
    NameCount { path: GuestPath, limit: usize },
    /// The call has made its number of directories. The path comes last: what follows a very long
    /// one is cut.
    #[error(
        "one call may make {limit} directories; make the rest in another call, or raise changes in the policy \
         (for {path})"
    )]
    FolderCount { path: GuestPath, limit: u32 },
    /// The workspace is full.
    #[error("{path}: the workspace may hold {limit}; delete files, or raise workspace.max_bytes")]
    WorkspaceQuota { path: GuestPath, limit: ByteSize },
    /// The disk, or the user's share of it, is full.
    #[error("{path}: the disk is full; delete files and try again")]
    NoSpace { path: GuestPath },
    /// The system refused for another reason.
    #[error("{path}: {doing} failed ({source}); nothing was changed")]
    WriteFailed { path: GuestPath, doing: &'static str, source: io::Error },
    /// The disk does not give what is to be read.
    #[error("{path}: reading it failed ({source}); nothing was changed; check its permissions and the disk")]
    ReadFailed { path: GuestPath, source: io::Error },
    /// The disk does not give what the change needs: what is to be copied, what was copied by then,
    /// or what is to be replaced.
    #[error("{path}: reading what this change needs failed ({source}); nothing was changed; check the disk")]
    InputUnreadable { path: GuestPath, source: io::Error },
    /// Used again after a failure, which is what `code` repeats.
    #[error("{path}: an earlier write failed ({code}); stage the file again")]
    Abandoned { path: GuestPath, code: ErrorCode },
    /// Others changed the directory faster than it could be published into.
    #[error("{path}: its directory kept changing meanwhile, so nothing was changed; try again")]
    Unsettled { path: GuestPath },
    /// The change **is** made, but the disk did not confirm that a power loss would keep it.
    #[error("{path} is {done}, but the disk did not confirm it ({source}); check the file and the disk")]
    DurabilityUnknown { path: GuestPath, done: &'static str, source: io::Error },
    /// What lies there cannot be read. Only looking says so.
    #[error("{path} cannot be read ({source}); check its permissions")]
    Unreadable { path: GuestPath, source: io::Error },
    /// The call's deadline passed while the host wrote for it.
    #[error("{path}: the deadline passed; nothing was changed")]
    TimedOut { path: GuestPath },
    /// Nothing has the name.
    #[error("{path} does not exist; check the name, or list its directory")]
    NotFound { path: GuestPath },
    /// A symbolic link leads out of the mount, or in a circle.
    #[error("{path} leads out of its mount through a symbolic link; use the path of the file itself")]
    LeadsOutside { path: GuestPath },
    /// A mount's own name.
    #[error("{path} is a mount itself, which is never renamed or removed; name something inside it")]
    IsAMount { path: GuestPath },
    /// Source and target are one path.
    #[error("{path} has that name already; give another target")]
    SamePath { path: GuestPath },
    /// The target lies below the source.
    #[error("{path} lies inside {source_path}, which cannot be moved into itself; choose another target")]
    IntoItself { path: GuestPath, source_path: GuestPath },
    /// A directory would have to be copied.
    #[error("{path} is a directory, and the target lies on another filesystem; move its files one by one")]
    DirectoryAcross { path: GuestPath },
    /// The directory has entries, and they were to be kept.
    #[error("{path} is a directory that is not empty; ask for recursive=true to remove it with all in it")]
    NotEmpty { path: GuestPath },
    /// The directory holds more than one call removes.
    #[error("{path} holds more than {limit} entries; remove its subdirectories one by one")]
    TooManyEntries { path: GuestPath, limit: u64 },
    /// What was to be replaced is not what the call read.
    #[error("{path} changed since it was read; read it again and repeat the edit")]
    Changed { path: GuestPath },
    /// What a person approved is not what is there now.
    #[error("{path} is not as it was when this call was approved; nothing was changed there, ask again")]
    NotAsApproved { path: GuestPath },
    /// Another program holds the lock of what was to be replaced.
    #[error("{path} is locked by another program; try again when that is done")]
    Locked { path: GuestPath },
    /// What was to be renamed or removed is not what the call looked at.
    #[error("{path} changed since the call looked at it, so it was left as it is; look again and repeat")]
    Exchanged { path: GuestPath },
    /// Somebody exchanged one of the names in the very moment of the rename. What was found at the
    /// target then has the source's name.
    #[error(
        "{path} or {target} was exchanged in the moment of the rename, which was taken back; look at both"
    )]
    Crossed { path: GuestPath, target: GuestPath },
    /// As [`Self::Crossed`], but taking it back failed.
    #[error("{path} or {target} was exchanged in the moment of the rename; look at both")]
    Astray { path: GuestPath, target: GuestPath },
    /// What somebody put in the place of a directory at the last moment is kept under a hidden
    /// name.
    #[error(
        "{path} was exchanged meanwhile, twice; what had its name in between lies in its mount's root, hidden"
    )]
    Stranded { path: GuestPath },
    /// Something in the directory cannot be looked at, or lies too deep.
    #[error("{at} cannot be read ({source}), so {path} was not changed; remove what lies there by hand")]
    InsideUnreadable { path: GuestPath, at: String, source: io::Error },
    /// The filesystem cannot rename a directory without the risk of replacing another.
    #[error("{path}: this filesystem cannot rename a directory safely; copy its files and delete it")]
    NoSafeRename { path: GuestPath },
    /// Some of a directory could not be deleted. It has its name again, unless `stranded`.
    #[error("{path} was not removed: {} could not be deleted: {}; all that does not lie there is gone{}",
        entries(*.count), list_effects(.left, *.count),
        if *.stranded { ", and its name was taken meanwhile: the gateway's next start tries again" } else { "" })]
    Remains { path: GuestPath, left: Vec<String>, count: u64, stranded: bool },
    /// The turn was cancelled while the host wrote for it.
    #[error("{path}: the turn was cancelled; nothing was changed")]
    Cancelled { path: GuestPath },
}

impl PublishError {
    /// The code of the contract.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NoSuchMount { .. }
            | Self::SymlinkInPath { .. }
            | Self::OtherMount { .. }
            | Self::IsAMount { .. }
            | Self::LeadsOutside { .. }
            | Self::ParentNotADirectory { .. } => ErrorCode::PathDenied,
            Self::AlreadyExists { .. } | Self::FileInTheWay { .. } => ErrorCode::AlreadyExists,
            Self::IsADirectory { .. } | Self::DirectoryAcross { .. } | Self::NotEmpty { .. } => {
                ErrorCode::IsADirectory
            }
            Self::NotAsApproved { .. } => ErrorCode::ApprovalDenied,
            Self::NotFound { .. } => ErrorCode::NotFound,
            Self::SamePath { .. } | Self::IntoItself { .. } => ErrorCode::InvalidArguments,
            Self::TooManyEntries { .. } => ErrorCode::TooLarge,
            Self::NotARegularFile { .. } => ErrorCode::NotARegularFile,
            Self::CallQuota { .. }
            | Self::TurnQuota { .. }
            | Self::ChangeCount { .. }
            | Self::StagedCount { .. }
            | Self::NameCount { .. }
            | Self::FolderCount { .. }
            | Self::WorkspaceQuota { .. } => ErrorCode::QuotaExceeded,
            Self::NoSpace { .. } => ErrorCode::NoSpace,
            Self::WriteFailed { .. }
            | Self::Unsettled { .. }
            | Self::Changed { .. }
            | Self::Locked { .. }
            | Self::Exchanged { .. }
            | Self::Crossed { .. }
            | Self::Astray { .. }
            | Self::Stranded { .. }
            | Self::InsideUnreadable { .. }
            | Self::NoSafeRename { .. }
            | Self::Remains { .. } => ErrorCode::WriteFailed,
            Self::ReadFailed { .. } | Self::InputUnreadable { .. } => ErrorCode::ReadFailed,
            Self::Abandoned { code, .. } => *code,
            Self::DurabilityUnknown { .. } => ErrorCode::DurabilityUnknown,
            Self::Unreadable { .. } => ErrorCode::Internal,
            Self::TimedOut { .. } => ErrorCode::TimedOut,
            Self::Cancelled { .. } => ErrorCode::Cancelled,
        }
    }

    /// The path itself belongs to another filesystem.
    pub(super) fn other_mount(path: &GuestPath) -> Self {
        Self::OtherMount { path: path.clone(), at: path.to_string() }
    }

    /// The change is `done`, and this is what the disk answered to the last sync.
    pub(super) fn unconfirmed(path: &GuestPath, done: &'static str, errno: Errno) -> Self {
        Self::DurabilityUnknown { path: path.clone(), done, source: errno.into() }
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

fn entries(count: u64) -> String {
    if count == 1 { "1 entry".to_owned() } else { format!("{count} entries") }
}

fn list_effects(left: &[String], count: u64) -> String {
    let more = if count > LISTED_MAX as u64 { ", …" } else { "" };
    format!("{}{more}", left.join(", "))
}

/// Publishing stopped. What happened before stays; what follows was not tried.
#[derive(Debug, thiserror::Error)]
#[error("{error}{}", add_landed(.landed, .error))]
pub struct PublishFailure {
    /// What happened, in order; with [`PublishError::DurabilityUnknown`] its last is that very
    /// change.
    pub landed: Vec<Effect>,
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

/// Names the changes that happened before the one that the error is about.
fn add_landed(landed: &[Effect], error: &PublishError) -> String {
    let before = match error {
        PublishError::DurabilityUnknown { .. } => landed.len().saturating_sub(1),
        _ => landed.len(),
    };
    match landed.get(..before) {
        None | Some([]) => String::new(),
        Some(effects) => format!(" (done before that: {})", describe_effects(effects)),
    }
}

/// What happened, in words: `saved /shared/a, removed /tmp/b`. Of many, the first and how many
/// more.
pub(crate) fn describe_effects(effects: &[Effect]) -> String {
    first_of(effects, describe_effect)
}

/// The words for the first of many, and how many more there are.
pub(crate) fn first_of<T>(all: &[T], word: impl Fn(&T) -> String) -> String {
    let first: Vec<_> = all.iter().take(LISTED_MAX).map(word).collect();
    match all.len() - first.len() {
        0 => first.join(", "),
        more => format!("{}, and {more} more", first.join(", ")),
    }
}

fn describe_effect(effect: &Effect) -> String {
    match effect {
        Effect::Written(file) => format!("saved {}", file.path),
        Effect::Moved { path, moved_from, .. } => format!("moved {moved_from} to {path}"),
        Effect::Removed { path, .. } => format!("removed {path}"),
        Effect::Attached { path, attached, .. } => {
            format!("attached {}", path.as_deref().unwrap_or(attached))
        }
    }
}
