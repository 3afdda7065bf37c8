//! Takes files in for a reply: all of them or none, under every limit, their bytes on disk before anybody is told.

use super::name::shown;
use super::{Addition, Config, Held};
use crate::attachments::sniff;
use cofferdam_core::limits::ByteSize;
use cofferdam_core::message::OutgoingAttachment;
use cofferdam_core::text::one_line;
use cofferdam_core::tool::{ErrorCode, ToolError};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::atomic::Ordering;
use tempfile::NamedTempFile;

/// Between two looks at the stop lies at most this much work.
const BUFFER_BYTES: usize = 256 << 10;

/// An open file that is to go out, and what was said of it.
#[derive(Debug)]
pub struct Source {
    /// The virtual path that it was opened by, for words and for the audit.
    pub path: String,
    /// Read from its beginning.
    pub file: File,
    /// Its length when it was opened; no more is taken.
    pub len: u64,
    /// What the caller would call it.
    pub name: Option<String>,
    /// What the caller believes it is.
    pub mime_type: Option<String>,
}

/// Why files are not taken; none of them is then.
#[allow(missing_docs, reason = "the fields mean the same in every variant")]
#[derive(Debug, thiserror::Error)]
pub enum OutgoingError {
    /// Platforms refuse it.
    #[error("{path} is empty; there is nothing to send")]
    Empty { path: String },
    /// Over the limit of a file.
    #[error("{path} has {bytes} bytes; a reply takes files of at most {limit} (replies.max_bytes)")]
    TooLarge { path: String, bytes: u64, limit: ByteSize },
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
    #[error("{path} changed while it was read; try again")]
    Changed { path: String },
    /// The call should end.
    #[error(transparent)]
    Stopped(ToolError),
    /// The system refused.
    #[error("{path} cannot be taken into the reply ({source})")]
    Failed { path: String, source: io::Error },
}

impl From<OutgoingError> for ToolError {
    fn from(error: OutgoingError) -> Self {
        let code = match &error {
            OutgoingError::Stopped(stopped) => return stopped.clone(),
            OutgoingError::Empty { .. } => ErrorCode::InvalidArguments,
            OutgoingError::TooLarge { .. } => ErrorCode::TooLarge,
            OutgoingError::TurnBytes { .. } | OutgoingError::TurnCount { .. } => ErrorCode::QuotaExceeded,
            OutgoingError::Full { .. } => ErrorCode::NoSpace,
            OutgoingError::Failed { source, .. } if is_full(source) => ErrorCode::NoSpace,
            OutgoingError::Changed { .. } | OutgoingError::Failed { .. } => ErrorCode::WriteFailed,
        };
        Self::new(code, error.to_string())
    }
}

fn is_full(error: &io::Error) -> bool {
    [Errno::NOSPC, Errno::DQUOT].iter().any(|full| error.raw_os_error() == Some(full.raw_os_error()))
}

/// Bytes that were copied and are not a blob yet.
struct Copied {
    temp: NamedTempFile,
    path: String,
    attachment: OutgoingAttachment,
}

impl Addition {
    /// Whether the turn may have so many files more.
    ///
    /// # Errors
    /// [`OutgoingError::TurnCount`].
    pub fn admit(&self, count: usize) -> Result<(), OutgoingError> {
        fits(&self.outgoing.limits, self.outgoing.turns().get(&self.turn), count, 0)
    }

    /// Takes all of these files, in this order, or none; returns them as they will be sent. `check` is asked
    /// between pieces of work and ends it with its error.
    ///
    /// # Errors
    /// [`OutgoingError`].
    pub fn take(
        &mut self,
        sources: Vec<Source>,
        check: &dyn Fn() -> Result<(), ToolError>,
    ) -> Result<Vec<OutgoingAttachment>, OutgoingError> {
        let limits = self.outgoing.limits;
        for source in &sources {
            if source.len == 0 {
                return Err(OutgoingError::Empty { path: source.path.clone() });
            }
            if source.len > limits.max_bytes.0 {
                let (path, bytes) = (source.path.clone(), source.len);
                return Err(OutgoingError::TooLarge { path, bytes, limit: limits.max_bytes });
            }
        }
        let bytes = sources.iter().fold(0, |sum: u64, source| sum.saturating_add(source.len));
        // Before anything is copied for nothing; what holds is the second look, in `hold`.
        fits(&limits, self.outgoing.turns().get(&self.turn), sources.len(), bytes)?;
        let copied =
            sources.into_iter().map(|source| self.copy(source, check)).collect::<Result<Vec<_>, _>>()?;
        self.hold(copied, bytes)
    }

    fn copy(
        &self,
        mut source: Source,
        check: &dyn Fn() -> Result<(), ToolError>,
    ) -> Result<Copied, OutgoingError> {
        let path = source.path.clone();
        let failed = |source: io::Error| OutgoingError::Failed { path: path.clone(), source };
        let mut temp = self.outgoing.shared.place.temp().map_err(failed)?;
        let (mut hasher, mut buffer) = (Sha256::new(), vec![0; BUFFER_BYTES]);
        let mut left = source.len;
        while left > 0 {
            check().map_err(OutgoingError::Stopped)?;
            let want = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
            let read = source.file.read(&mut buffer[..want]).map_err(failed)?;
            if read == 0 {
                return Err(OutgoingError::Changed { path });
            }
            hasher.update(&buffer[..read]);
            temp.write_all(&buffer[..read]).map_err(failed)?;
            left -= read as u64;
        }
        temp.as_file().sync_all().map_err(failed)?;
        temp.seek(SeekFrom::Start(0)).map_err(failed)?;
        let mime_type = sniff(temp.as_file_mut());
        let attachment = OutgoingAttachment {
            sha256: hex::encode(hasher.finalize()),
            name: shown(source.name.as_deref().unwrap_or(&path), &mime_type, source.mime_type.as_deref()),
            mime_type: one_line(&mime_type, 80),
            bytes: source.len,
        };
        Ok(Copied { temp, path, attachment })
    }

    /// Makes copies blobs that the turn holds.
    fn hold(&mut self, copied: Vec<Copied>, bytes: u64) -> Result<Vec<OutgoingAttachment>, OutgoingError> {
        let (inner, before) = (&self.outgoing.shared, self.files.len());
        let mut turns = self.outgoing.turns();
        fits(&self.outgoing.limits, turns.get(&self.turn), copied.len(), bytes)?;
        let first = copied.first().map(|copied| copied.path.clone()).unwrap_or_default();
        let failed = |source| OutgoingError::Failed { path: first.clone(), source };
        let limit = self.outgoing.limits.max_held_bytes;
        if inner.place.bytes().map_err(failed)?.saturating_add(bytes) > limit.0 {
            return Err(OutgoingError::Full { limit });
        }
        inner.dirty.store(true, Ordering::Release);
        let mut added = Vec::new();
        for Copied { temp, path, attachment } in copied {
            inner.place.keep(temp, &attachment.sha256).map_err(failed)?;
            added.push((path, attachment));
        }
        inner.place.sync().map_err(failed)?;
        let held = |(_, file): &(String, OutgoingAttachment)| Held {
            call: self.call,
            sha256: file.sha256.clone(),
            bytes: file.bytes,
        };
        turns.entry(self.turn.clone()).or_default().extend(added.iter().map(held));
        drop(turns);
        self.files.extend(added);
        Ok(self.files[before..].iter().map(|(_, file)| file.clone()).collect())
    }
}

/// Whether a turn that holds these files may have so many more.
fn fits(limits: &Config, held: Option<&Vec<Held>>, count: usize, bytes: u64) -> Result<(), OutgoingError> {
    let held = held.map_or(&[][..], Vec::as_slice);
    let count_max = limits.max_count;
    if held.len() + count > usize::try_from(count_max).unwrap_or(usize::MAX) {
        return Err(OutgoingError::TurnCount { limit: count_max });
    }
    let before: u64 = held.iter().map(|held| held.bytes).sum();
    if before.saturating_add(bytes) > limits.max_turn_bytes.0 {
        return Err(OutgoingError::TurnBytes { limit: limits.max_turn_bytes });
    }
    Ok(())
}
