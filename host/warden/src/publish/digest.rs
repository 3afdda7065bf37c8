//! The SHA-256 of a staged file, computed as it grows; or taken over from an attachment that is all
//! of it. It never guesses: as soon as anything follows, what is there is read back and hashed.

use super::copy;
use super::error::PublishError;
use super::stage::StageTarget;
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::ops::Range;

/// The hash of all bytes so far.
#[derive(Clone)]
pub(super) enum RunningHash {
    /// Computed along the way.
    Streaming(Sha256),
    /// Of exactly the bytes that are there, told by who brought them.
    Known([u8; 32]),
}

impl RunningHash {
    /// The digest of nothing.
    pub(super) fn new() -> Self {
        Self::Streaming(Sha256::new())
    }

    /// Makes ready for more: a hash that was taken over is replaced by one that can go on.
    pub(super) fn resume(
        &mut self,
        place: &StageTarget,
        file: &File,
        bytes: u64,
    ) -> Result<(), PublishError> {
        if matches!(self, Self::Known(_)) {
            let mut fresh = Self::new();
            fresh.update_from(place, file, 0..bytes)?;
            *self = fresh;
        }
        Ok(())
    }

    /// Goes on with `bytes`, unless they are part of what is known.
    pub(super) fn update(&mut self, bytes: &[u8]) {
        if let Self::Streaming(hasher) = self {
            hasher.update(bytes);
        }
    }

    /// Goes on with a part of `file`, unless it is part of what is known.
    pub(super) fn update_from(
        &mut self,
        place: &StageTarget,
        file: &File,
        part: Range<u64>,
    ) -> Result<(), PublishError> {
        let Self::Streaming(hasher) = self else { return Ok(()) };
        copy::for_each_buffer(place, file, part, |_, bytes| {
            hasher.update(bytes);
            Ok(())
        })
    }

    /// Goes on with a part of `file`, and returns the SHA-256 of that part alone.
    pub(super) fn update_and_hash(
        &mut self,
        place: &StageTarget,
        file: &File,
        part: Range<u64>,
    ) -> Result<[u8; 32], PublishError> {
        if part.start == 0 {
            self.update_from(place, file, part)?;
            return Ok(self.clone().into_bytes());
        }
        let mut alone = Sha256::new();
        copy::for_each_buffer(place, file, part, |_, bytes| {
            self.update(bytes);
            alone.update(bytes);
            Ok(())
        })?;
        Ok(alone.finalize().into())
    }

    /// The hash itself.
    pub(super) fn into_bytes(self) -> [u8; 32] {
        match self {
            Self::Streaming(hasher) => hasher.finalize().into(),
            Self::Known(sha256) => sha256,
        }
    }
}
