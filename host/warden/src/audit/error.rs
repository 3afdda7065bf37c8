//! Why the audit could not be read or written; each message says what to do next.

use super::sign::{KeyError, STATEMENTS_MAX};
use super::{NESTING_MAX, OPEN_CHANGES_MAX, OPEN_INTENTS_MAX, ROTATED_FILES_MAX};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why the audit could not be read or written. A log that was tampered with is not an error of
/// reading it: that is [`Verification::Bad`](super::Verification::Bad).
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The log, or a file beside it, did not open.
    #[error("cannot open {path}, which the audit needs; {}", advise_on_opening(.source))]
    Open {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The path leads to a directory, device or FIFO.
    #[error("{0} is not a regular file; the audit needs one")]
    NotAFile(PathBuf),
    /// Reading failed.
    #[error("cannot read the audit")]
    Read(#[source] io::Error),
    /// Writing failed; the record is not in the log, and the next append may succeed.
    #[error(
        "cannot write the audit; free space or repair the disk, nothing with side effects runs until then"
    )]
    Write(#[source] io::Error),
    /// The disk did not confirm a record.
    #[error("the disk did not confirm an audit record; repair the disk and restart")]
    Sync(#[source] io::Error),
    /// An earlier record was not confirmed by the disk, and a later confirmation would not cover
    /// it.
    #[error("the disk did not confirm an earlier audit record; repair the disk and restart")]
    Unconfirmed,
    /// The record does not fit on a line.
    #[error(
        "the audit record has {bytes} bytes, above the {bytes_max} of a line; use shorter arguments, or name fewer \
         files in a call"
    )]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The longest that is kept.
        bytes_max: usize,
    },
    /// The arguments nest too deeply for every reader of JSON.
    #[error("the arguments nest deeper than {NESTING_MAX}; use flatter ones")]
    TooDeep,
    /// A value that JSON cannot hold.
    #[error("cannot encode the record")]
    Encode(#[source] serde_json::Error),
    /// The note of how far the log is settled did not get written.
    #[error("cannot write the checkpoint beside the audit; the next start reads the whole log instead")]
    Checkpoint(#[source] io::Error),
    /// The file system does not lock.
    #[error("cannot lock a file of the audit; keep it on a local file system")]
    Lock(#[source] io::Error),
    /// Another process holds a lock.
    #[error("{what} is held by another cofferdam process for more than {waited:?}; wait for it or stop it")]
    Busy {
        /// The lock.
        what: &'static str,
        /// How long it was waited for.
        waited: Duration,
    },
    /// More rotated files than are listed.
    #[error("the log has more than {ROTATED_FILES_MAX} rotated files; archive the oldest elsewhere")]
    TooManyFiles,
    /// The newest rotated file does not end as it did when it was rotated away.
    #[error(
        "{0} does not end with a record, as every rotated file does; see `audit verify`, then move all files \
             of the log away to begin a new one"
    )]
    RotatedEnd(PathBuf),
    /// The log ends before a record that this process wrote or read.
    #[error(
        "the audit ended with record {known} and ends with record {found} now: it was cut or replaced while in \
             use; see `audit verify`, then restart"
    )]
    WentBack {
        /// The last record that is known.
        known: u64,
        /// The last record that is there.
        found: u64,
    },
    /// The key that heads are signed with is unusable.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The log is empty: a statement has nothing to be about.
    #[error("the log holds no record, so there is no head to sign")]
    NoHead,
    /// The file of statements did not open or take one.
    #[error("cannot write the statement to {path}: {cause}")]
    StatementNotWritten {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// More statements than are read.
    #[error("{0} holds more than {STATEMENTS_MAX} statements; give the newest ones alone")]
    TooManyStatements(PathBuf),
    /// The open log was deleted: what is written to it could not be found again.
    #[error("the audit file was deleted while in use; restart to begin a new one")]
    Deleted,
    /// The log ends in a complete line that is no record of this version, and why it is none.
    #[error(
        "the audit ends in a line that this version does not write ({0}); use the version that wrote it, \
             or move all files of the log away to begin a new one"
    )]
    Foreign(String),
    /// The end of the log holds no record, and no crash tears that much.
    #[error("the end of the audit holds no record; move all files of the log away to begin a new one")]
    Unrecognizable,
    /// So many intents lack an outcome that something else is wrong.
    #[error(
        "more than {OPEN_INTENTS_MAX} intents, or intents of more than {OPEN_CHANGES_MAX} changes, have no outcome; check \
         the log with `audit verify`"
    )]
    TooManyOpen,
}

impl AuditError {
    /// Whether the disk is full.
    pub fn is_no_space(&self) -> bool {
        let (Self::Open { source, .. } | Self::Write(source) | Self::Sync(source)) = self else {
            return false;
        };
        matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    }
}

/// What somebody can do about a file that does not open.
fn advise_on_opening(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::NotFound => {
            "nothing is there: no call was made yet, or it lies elsewhere, or somebody took it away"
        }
        _ => "check that its folder exists and that this account may use it",
    }
}
