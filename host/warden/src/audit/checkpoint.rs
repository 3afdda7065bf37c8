//! A note of how far the log is settled, so that a start does not read all of it.
//!
//! Only an optimization: it is believed when the log holds the very line it names, and ignored in
//! every other case. It is no proof of anything; `audit verify` does not look at it.

use super::files::LogFiles;
use super::lines::LineEnd;
use super::reading::is_record;
use super::{AuditError, open};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::Read;
use std::path::Path;

/// Longer files are not ours.
const BYTES_MAX: u64 = 1024;

/// A record up to and including which every intent has an outcome somewhere in the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Checkpoint {
    /// Where the record's line starts in its file.
    pub(super) offset: u64,
    /// Its position.
    pub(super) seq: u64,
    /// SHA-256 of its line.
    pub(super) sha256: String,
}

impl Checkpoint {
    /// The checkpoint in the file at `path`, if there is one that can be read.
    pub(super) fn load(path: &Path) -> Option<Self> {
        let mut text = String::new();
        open::open_for_read(path).ok()?.take(BYTES_MAX).read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// The file and the place in it where the lines after it start, if the log holds the record it
    /// names.
    ///
    /// Its file is found by its position: it may have been rotated away since.
    pub(super) fn position_after(&self, files: &LogFiles) -> Result<Option<(usize, u64)>, AuditError> {
        for index in files.files_with(self.seq) {
            let part = files.open(index)?;
            let mut lines = part.lines(self.offset);
            if self.offset < part.end
                && let Some(line) = lines.next()?
                && line.end == LineEnd::Newline
                && is_record(line.bytes, self.seq, &self.sha256)
            {
                return Ok(Some((index, self.offset + line.len + 1)));
            }
        }
        Ok(None)
    }

    /// Replaces the file at `path` in one step; a reader finds the old one or this one.
    pub(super) fn store(&self, path: &Path) -> Result<(), AuditError> {
        let text = serde_json::to_vec(self).map_err(AuditError::Encode)?;
        let new = path.with_extension("checkpoint-new");
        // Not synchronized: after a power loss it is ignored unless it is whole and true.
        fs::write(&new, text).and_then(|()| fs::rename(&new, path)).map_err(AuditError::Checkpoint)
    }
}
