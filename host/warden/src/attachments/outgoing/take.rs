//! Takes files in for a reply: all of them or none, under every limit, their bytes on disk before
//! anybody is told.

use super::bucket::{BLOBS_LISTED_MAX, StoredBlob};
use super::name::choose_name;
use super::source::{CONTENTS_BYTES_MAX, OutgoingBytes, OutgoingFile};
use super::{Addition, Turns};
use crate::attachments::sniff;
use cofferdam_core::limits::ByteSize;
use cofferdam_core::message::OutgoingAttachment;
use cofferdam_core::text::{one_line, with_causes};
use cofferdam_core::tool::{ErrorCode, ToolError};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use tempfile::NamedTempFile;

/// Between two looks at the stop lies at most this much work.
const BUFFER_BYTES: usize = 256 << 10;

/// Why files are not taken; none of them is then.
#[allow(missing_docs, reason = "the fields mean the same in every variant")]
#[derive(Debug, thiserror::Error)]
pub enum OutgoingError {
    /// Platforms refuse it.
    #[error("{what} is empty; there is nothing to send")]
    Empty { what: String },
    /// Nobody could tell what it is.
    #[error("a file whose content is given needs a name that the user sees, e.g. table.csv")]
    Nameless,
    /// Over [`CONTENTS_BYTES_MAX`].
    #[error(
        "the contents given have {bytes} bytes; a call brings at most {limit} that are no file of the workspace; write \
         them to a file and add that by its path"
    )]
    Contents { bytes: u64, limit: ByteSize },
    /// Over the limit of a file.
    #[error("{what} has {bytes} bytes; a reply takes files of at most {limit} (replies.max_bytes)")]
    TooLarge { what: String, bytes: u64, limit: ByteSize },
    /// Over the limit of a call.
    #[error(
        "all files that one call adds to a reply may have {limit} together (replies.max_call_bytes); add the rest with \
         another call"
    )]
    CallBytes { limit: ByteSize },
    /// Over the limit of a turn, in bytes.
    #[error(
        "all files of one reply may have {limit} together (replies.max_turn_bytes); send the rest in answer to \
         another message"
    )]
    TurnBytes { limit: ByteSize },
    /// Over the limit of a turn, in files.
    #[error("one reply takes {limit} files (replies.max_count); send the rest in answer to another message")]
    TurnCount { limit: u32 },
    /// Too much waits to be sent.
    #[error(
        "files that wait to be sent may take {limit} (replies.max_held_bytes); try again when they are out"
    )]
    Full { limit: ByteSize },
    /// It shrank while it was read.
    #[error("{what} changed while it was read; try again")]
    Changed { what: String },
    /// The call should end.
    #[error(transparent)]
    Stopped(ToolError),
    /// The disk does not give it.
    #[error("{what} cannot be read ({source}); check the disk")]
    Unreadable { what: String, source: io::Error },
    /// The system refused.
    #[error("{what} cannot be taken into the reply ({source})")]
    Failed { what: String, source: io::Error },
}

impl From<OutgoingError> for ToolError {
    fn from(error: OutgoingError) -> Self {
        let code = match &error {
            OutgoingError::Stopped(stopped) => return stopped.clone(),
            OutgoingError::Empty { .. } | OutgoingError::Nameless => ErrorCode::InvalidArguments,
            OutgoingError::TooLarge { .. } | OutgoingError::Contents { .. } => ErrorCode::TooLarge,
            OutgoingError::CallBytes { .. }
            | OutgoingError::TurnBytes { .. }
            | OutgoingError::TurnCount { .. } => ErrorCode::QuotaExceeded,
            OutgoingError::Full { .. } => ErrorCode::NoSpace,
            OutgoingError::Failed { source, .. } if is_full(source) => ErrorCode::NoSpace,
            OutgoingError::Unreadable { .. } => ErrorCode::ReadFailed,
            OutgoingError::Changed { .. } | OutgoingError::Failed { .. } => ErrorCode::WriteFailed,
        };
        Self::new(code, error.to_string())
    }
}

fn is_full(error: &io::Error) -> bool {
    [Errno::NOSPC, Errno::DQUOT].iter().any(|full| error.raw_os_error() == Some(full.raw_os_error()))
}

/// Bytes that were copied and are not a blob yet.
struct CopiedBytes {
    temp: NamedTempFile,
    path: Option<String>,
    attachment: OutgoingAttachment,
}

impl CopiedBytes {
    /// What people are told of it.
    fn what(&self) -> &str {
        self.path.as_deref().unwrap_or(&self.attachment.name)
    }
}

impl Addition {
    /// Whether the turn may have so many files more.
    ///
    /// # Errors
    /// [`OutgoingError::TurnCount`].
    pub fn admit(&self, count: usize) -> Result<(), OutgoingError> {
        self.check_limits(&self.outgoing.turns(), count, 0)
    }

    /// Whether a turn may have so many files more than it holds.
    fn check_limits(&self, turns: &Turns, count: usize, bytes: u64) -> Result<(), OutgoingError> {
        let limits = &self.outgoing.limits;
        let held = turns.files.get(&self.turn).map_or(&[][..], Vec::as_slice);
        if held.len() + count > usize::try_from(limits.max_count).unwrap_or(usize::MAX) {
            return Err(OutgoingError::TurnCount { limit: limits.max_count });
        }
        let before: u64 = held.iter().map(|(_, held)| held.bytes).sum();
        if before.saturating_add(bytes) > limits.max_turn_bytes.0 {
            return Err(OutgoingError::TurnBytes { limit: limits.max_turn_bytes });
        }
        Ok(())
    }

    /// Takes all of these files, in this order, or none; returns them as they will be sent. `check`
    /// is asked between pieces of work and ends it with its error.
    ///
    /// # Errors
    /// [`OutgoingError`].
    pub fn take(
        &mut self,
        sources: Vec<OutgoingFile>,
        check: &dyn Fn() -> Result<(), ToolError>,
    ) -> Result<Vec<OutgoingAttachment>, OutgoingError> {
        let limits = self.outgoing.limits;
        let composed = |source: &OutgoingFile| matches!(source.body, OutgoingBytes::Contents(_));
        let contents: u64 = sources.iter().filter(|source| composed(source)).map(OutgoingFile::len).sum();
        if contents > CONTENTS_BYTES_MAX {
            let limit = ByteSize(CONTENTS_BYTES_MAX);
            return Err(OutgoingError::Contents { bytes: contents, limit });
        }
        sources.iter().try_for_each(|source| source.check(&limits))?;
        let bytes = sources.iter().fold(0, |sum: u64, source| sum.saturating_add(source.len()));
        // What it has added before counts as well.
        let added = self.files.iter().fold(bytes, |sum, (_, file)| sum.saturating_add(file.bytes));
        if added > limits.max_call_bytes.0 {
            return Err(OutgoingError::CallBytes { limit: limits.max_call_bytes });
        }
        // Before anything is copied for nothing; what holds is the second look, in `hold`.
        self.check_limits(&self.outgoing.turns(), sources.len(), bytes)?;
        let copied =
            sources.into_iter().map(|source| self.copy(source, check)).collect::<Result<Vec<_>, _>>()?;
        self.put(&copied, bytes)?;
        self.hold(copied, bytes)
    }

    /// Puts copies where all nodes find them; what no turn comes to hold goes with a sweep.
    fn put(&self, copied: &[CopiedBytes], bytes: u64) -> Result<(), OutgoingError> {
        let Some(bucket) = self.outgoing.own_bucket() else { return Ok(()) };
        let failed = |what: &str, source| {
            // People are told no more than that it failed.
            tracing::warn!(error = with_causes(&source), "a file of a reply cannot be put into the bucket");
            OutgoingError::Failed { what: what.to_owned(), source }
        };
        let limit = self.outgoing.limits.max_held_bytes;
        let first = copied.first().map_or("a file", CopiedBytes::what);
        let held = bucket.list(BLOBS_LISTED_MAX + 1).map_err(|error| failed(first, error))?;
        let turns = self.outgoing.turns();
        let waits = |blob: &&StoredBlob| turns.left.get(&blob.sha256) != Some(&blob.written);
        let all = held.iter().filter(waits).fold(bytes, |sum, blob| sum.saturating_add(blob.bytes));
        drop(turns);
        if held.len() > BLOBS_LISTED_MAX || all > limit.0 {
            return Err(OutgoingError::Full { limit });
        }
        for copied in copied {
            let put = copied.temp.reopen().and_then(|file| bucket.put(&copied.attachment.sha256, file));
            put.map_err(|error| failed(copied.what(), error))?;
        }
        Ok(())
    }

    fn copy(
        &self,
        source: OutgoingFile,
        check: &dyn Fn() -> Result<(), ToolError>,
    ) -> Result<CopiedBytes, OutgoingError> {
        let (what, bytes) = (source.what(), source.len());
        let failed = |source: io::Error| OutgoingError::Failed { what: what.clone(), source };
        let mut temp = self.outgoing.shared.place.temp().map_err(failed)?;
        let (path, mut from): (_, Box<dyn Read>) = match source.body {
            OutgoingBytes::File { path, file, .. } => (Some(path), Box::new(file)),
            OutgoingBytes::Contents(contents) => (None, Box::new(Cursor::new(contents))),
        };
        let sha256 = copy(&what, &mut *from, bytes, &mut temp, check)?;
        temp.as_file().sync_all().map_err(failed)?;
        temp.seek(SeekFrom::Start(0)).map_err(failed)?;
        let mime_type = sniff(temp.as_file_mut());
        let wanted = source.name.as_deref().or(path.as_deref()).unwrap_or_default();
        let attachment = OutgoingAttachment {
            sha256,
            name: choose_name(wanted, &mime_type, source.mime_type.as_deref()),
            mime_type: one_line(&mime_type, 80),
            bytes,
        };
        Ok(CopiedBytes { temp, path, attachment })
    }

    /// Makes copies blobs that the turn holds.
    fn hold(
        &mut self,
        copied: Vec<CopiedBytes>,
        bytes: u64,
    ) -> Result<Vec<OutgoingAttachment>, OutgoingError> {
        let (inner, before) = (&self.outgoing.shared, self.files.len());
        let mut turns = self.outgoing.turns();
        self.check_limits(&turns, copied.len(), bytes)?;
        let first = copied.first().map(|copied| copied.what().to_owned()).unwrap_or_default();
        let failed = |source| OutgoingError::Failed { what: first.clone(), source };
        let limit = self.outgoing.limits.max_held_bytes;
        // Also where there is no room: another node may have left what takes it.
        turns.swept = false;
        if inner.place.bytes(&turns.left).map_err(failed)?.saturating_add(bytes) > limit.0 {
            return Err(OutgoingError::Full { limit });
        }
        let mut added = Vec::new();
        for CopiedBytes { temp, path, attachment } in copied {
            inner.place.keep(temp, &attachment.sha256).map_err(failed)?;
            added.push((path, attachment));
        }
        inner.place.sync().map_err(failed)?;
        turns.hold(&self.turn, self.call, added.iter().map(|(_, file)| file));
        drop(turns);
        self.files.extend(added);
        Ok(self.files[before..].iter().map(|(_, file)| file.clone()).collect())
    }
}

/// Copies `left` bytes; returns their SHA-256.
fn copy(
    what: &str,
    from: &mut dyn Read,
    mut left: u64,
    to: &mut dyn Write,
    check: &dyn Fn() -> Result<(), ToolError>,
) -> Result<String, OutgoingError> {
    let failed = |source: io::Error| OutgoingError::Failed { what: what.to_owned(), source };
    let unreadable = |source: io::Error| OutgoingError::Unreadable { what: what.to_owned(), source };
    let (mut hasher, mut buffer) = (Sha256::new(), vec![0; BUFFER_BYTES]);
    while left > 0 {
        check().map_err(OutgoingError::Stopped)?;
        let want = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let read = from.read(&mut buffer[..want]).map_err(unreadable)?;
        if read == 0 {
            return Err(OutgoingError::Changed { what: what.to_owned() });
        }
        hasher.update(&buffer[..read]);
        to.write_all(&buffer[..read]).map_err(failed)?;
        left -= read as u64;
    }
    Ok(hex::encode(hasher.finalize()))
}
