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
    /// `quota_exceeded`.
    pub fn admit(&self, count: usize) -> Result<(), ToolError> {
        self.check_limits(&self.outgoing.turns(), count, 0)
    }

    /// Whether a turn may have so many files more than it holds.
    fn check_limits(&self, turns: &Turns, count: usize, bytes: u64) -> Result<(), ToolError> {
        let limits = &self.outgoing.limits;
        let held = turns.files.get(&self.turn).map_or(&[][..], Vec::as_slice);
        if held.len() + count > usize::try_from(limits.max_count).unwrap_or(usize::MAX) {
            let said = format!(
                "one reply takes {} files (replies.max_count); send the rest in answer to another message",
                limits.max_count
            );
            return Err(ToolError::new(ErrorCode::QuotaExceeded, said));
        }
        let before: u64 = held.iter().map(|(_, held)| held.bytes).sum();
        if before.saturating_add(bytes) > limits.max_turn_bytes.0 {
            let said = format!(
                "all files of one reply may have {} together (replies.max_turn_bytes); send the rest in answer to \
                 another message",
                limits.max_turn_bytes
            );
            return Err(ToolError::new(ErrorCode::QuotaExceeded, said));
        }
        Ok(())
    }

    /// Takes all of these files, in this order, or none; returns them as they will be sent. `check`
    /// is asked between pieces of work and ends it with its error.
    ///
    /// # Errors
    /// `invalid_arguments`, `too_large`, `quota_exceeded`, `no_space`, `read_failed`,
    /// `write_failed`, and what `check` says.
    pub fn take(
        &mut self,
        sources: Vec<OutgoingFile>,
        check: &dyn Fn() -> Result<(), ToolError>,
    ) -> Result<Vec<OutgoingAttachment>, ToolError> {
        let limits = self.outgoing.limits;
        let composed = |source: &OutgoingFile| matches!(source.body, OutgoingBytes::Contents(_));
        let contents: u64 = sources.iter().filter(|source| composed(source)).map(OutgoingFile::len).sum();
        if contents > CONTENTS_BYTES_MAX {
            let limit = ByteSize(CONTENTS_BYTES_MAX);
            let said = format!(
                "the contents given have {contents} bytes; a call brings at most {limit} that are no file of the \
                 workspace; write them to a file and add that by its path"
            );
            return Err(ToolError::new(ErrorCode::TooLarge, said));
        }
        sources.iter().try_for_each(|source| source.check(&limits))?;
        let bytes = sources.iter().fold(0, |sum: u64, source| sum.saturating_add(source.len()));
        // What it has added before counts as well.
        let added = self.files.iter().fold(bytes, |sum, (_, file)| sum.saturating_add(file.bytes));
        if added > limits.max_call_bytes.0 {
            let said = format!(
                "all files that one call adds to a reply may have {} together (replies.max_call_bytes); add the \
                 rest with another call",
                limits.max_call_bytes
            );
            return Err(ToolError::new(ErrorCode::QuotaExceeded, said));
        }
        // Before anything is copied for nothing; what holds is the second look, in `hold`.
        self.check_limits(&self.outgoing.turns(), sources.len(), bytes)?;
        let copied =
            sources.into_iter().map(|source| self.copy(source, check)).collect::<Result<Vec<_>, _>>()?;
        self.put(&copied, bytes)?;
        self.hold(copied, bytes)
    }

    /// Puts copies where all nodes find them; what no turn comes to hold goes with a sweep.
    fn put(&self, copied: &[CopiedBytes], bytes: u64) -> Result<(), ToolError> {
        let Some(bucket) = self.outgoing.own_bucket() else { return Ok(()) };
        let failed = |what: &str, error: io::Error| {
            // People are told no more than that it failed.
            tracing::warn!(error = with_causes(&error), "a file of a reply cannot be put into the bucket");
            taking_error(what, &error)
        };
        let limit = self.outgoing.limits.max_held_bytes;
        let first = copied.first().map_or("a file", CopiedBytes::what);
        let held = bucket.list(BLOBS_LISTED_MAX + 1).map_err(|error| failed(first, error))?;
        let turns = self.outgoing.turns();
        let waits = |blob: &&StoredBlob| turns.left.get(&blob.sha256) != Some(&blob.written);
        let all = held.iter().filter(waits).fold(bytes, |sum, blob| sum.saturating_add(blob.bytes));
        drop(turns);
        if held.len() > BLOBS_LISTED_MAX || all > limit.0 {
            return Err(full_error(limit));
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
    ) -> Result<CopiedBytes, ToolError> {
        let (what, bytes) = (source.what(), source.len());
        let failed = |error: io::Error| taking_error(&what, &error);
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
    fn hold(&mut self, copied: Vec<CopiedBytes>, bytes: u64) -> Result<Vec<OutgoingAttachment>, ToolError> {
        let (inner, before) = (&self.outgoing.shared, self.files.len());
        let mut turns = self.outgoing.turns();
        self.check_limits(&turns, copied.len(), bytes)?;
        let first = copied.first().map(|copied| copied.what().to_owned()).unwrap_or_default();
        let failed = |error: io::Error| taking_error(&first, &error);
        let limit = self.outgoing.limits.max_held_bytes;
        // Also where there is no room: another node may have left what takes it.
        turns.swept = false;
        if inner.place.bytes(&turns.left).map_err(failed)?.saturating_add(bytes) > limit.0 {
            return Err(full_error(limit));
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
) -> Result<String, ToolError> {
    let failed = |error: io::Error| taking_error(what, &error);
    let unreadable = |error: io::Error| {
        ToolError::new(ErrorCode::ReadFailed, format!("{what} cannot be read ({error}); check the disk"))
    };
    let (mut hasher, mut buffer) = (Sha256::new(), vec![0; BUFFER_BYTES]);
    while left > 0 {
        check()?;
        let want = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let read = from.read(&mut buffer[..want]).map_err(unreadable)?;
        if read == 0 {
            let said = format!("{what} changed while it was read; try again");
            return Err(ToolError::new(ErrorCode::WriteFailed, said));
        }
        hasher.update(&buffer[..read]);
        to.write_all(&buffer[..read]).map_err(failed)?;
        left -= read as u64;
    }
    Ok(hex::encode(hasher.finalize()))
}

/// Too much waits to be sent.
fn full_error(limit: ByteSize) -> ToolError {
    let said = format!(
        "files that wait to be sent may take {limit} (replies.max_held_bytes); try again when they are out"
    );
    ToolError::new(ErrorCode::NoSpace, said)
}

/// The system refused.
fn taking_error(what: &str, error: &io::Error) -> ToolError {
    let is = |errno: &Errno| error.raw_os_error() == Some(errno.raw_os_error());
    let is_full = [Errno::NOSPC, Errno::DQUOT].iter().any(is);
    let code = if is_full { ErrorCode::NoSpace } else { ErrorCode::WriteFailed };
    ToolError::new(code, format!("{what} cannot be taken into the reply ({error})"))
}
