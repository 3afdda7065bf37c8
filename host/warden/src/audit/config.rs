//! What an operator can set about the audit. It refuses sizes that would make a file of every
//! record.

use cofferdam_core::limits::ByteSize;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The smallest size to rotate at: the longest line.
pub const ROTATE_BYTES_MIN: ByteSize = ByteSize::kib(64);

/// How the audit is kept.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The active file is rotated away before the first append that finds it this long, or longer.
    pub rotate_bytes: ByteSize,
    /// The ed25519 key (PKCS#8 PEM, readable by its owner alone) that heads are signed with.
    pub sign_key_file: Option<PathBuf>,
}

impl Default for Config {
    fn default() -> Self {
        Self { rotate_bytes: ByteSize::mib(64), sign_key_file: None }
    }
}

impl Config {
    /// Whether the values make sense.
    ///
    /// # Errors
    /// A sentence that says what to write instead.
    pub fn check(&self) -> Result<(), String> {
        if self.rotate_bytes < ROTATE_BYTES_MIN {
            let given = self.rotate_bytes;
            return Err(format!("rotate_bytes is {given}; it must be at least {ROTATE_BYTES_MIN}"));
        }
        Ok(())
    }
}
