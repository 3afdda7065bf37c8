//! A file that nobody else sees yet: its bytes, its hash, its share of the quotas.
//!
//! It refuses bytes over a quota before it writes any of them, and anything at all after a failure.
//! Dropped, it is gone, and what it held of the workspace's quota is given back.

use super::budget::CallBudget;
use super::copy::{self, CopyJob};
use super::digest::RunningHash;
use super::error::PublishError;
use super::land::SealedFile;
use super::quota::Reservation;
use super::resolve::{self, ResolvedEntry};
use super::source::{self, LinkRule};
use super::temp::{StagingFolder, TempName};
use super::{Disposition, Inner};
use cofferdam_core::audit::{EntryKind, FileFacts};
use cofferdam_core::tool::ErrorCode;
use cofferdam_policy::{ExpectedEntry, GuestPath, PathSnapshot};
use rustix::fs::{Mode, Stat, Timespec, Timestamps, fchmod, fsync, futimens};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// A file being written, visible to nobody.
pub(crate) struct StagedFile {
    place: StageTarget,
    body: StageBody,
    budget: Arc<CallBudget>,
    failed: Option<ErrorCode>,
}

/// Where a staged file wants to go.
pub(super) struct StageTarget {
    pub(super) inner: Arc<Inner>,
    pub(super) mount: Arc<StagingFolder>,
    pub(super) path: GuestPath,
    pub(super) disposition: Disposition,
    /// What the file that it replaces must be.
    pub(super) expected: Option<[u8; 32]>,
    /// What was approved to be replaced.
    pub(super) approved: Option<Box<PathSnapshot>>,
    /// The mode that it shall have, and not that of what was there; for the copy of a file that
    /// moves.
    pub(super) mode: Option<Mode>,
}

/// What there is of it so far.
pub(super) struct StageBody {
    pub(super) file: File,
    pub(super) temp: Option<TempName>,
    pub(super) bytes: u64,
    pub(super) digest: RunningHash,
    pub(super) reservation: Reservation,
}

impl StageBody {
    /// Writes `bytes` at the end, slice by slice.
    fn put(&mut self, job: &CopyJob<'_>, bytes: &[u8]) -> Result<(), PublishError> {
        for slice in bytes.chunks(copy::SLICE_BYTES) {
            job.check()?;
            self.file.write_all_at(slice, self.bytes).map_err(job.failed("writing"))?;
            self.digest.update(slice);
            self.bytes += slice.len() as u64;
        }
        Ok(())
    }
}

/// Whether `path` could be published now. The decision without a race is made when publishing.
pub(super) fn precheck(
    mount: &StagingFolder,
    path: &GuestPath,
    disposition: Disposition,
) -> Result<ResolvedEntry, PublishError> {
    if path.is_mount() {
        return Err(PublishError::IsADirectory { path: path.clone() });
    }
    let entry = resolve::entry(&mount.dir, path.below_mount())
        .map_err(|errno| resolve::explain(&mount.dir, path, errno))?;
    resolve::may_take(&entry, path, disposition, EntryKind::File)?;
    Ok(entry)
}

impl StagedFile {
    /// Bytes so far.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> u64 {
        self.body.bytes
    }

    pub(super) fn new(place: StageTarget, body: StageBody, budget: Arc<CallBudget>) -> Self {
        Self { place, body, budget, failed: None }
    }

    /// Appends `bytes`.
    ///
    /// # Errors
    /// A quota, a full disk, another write error, or the call's stop. The file is then of no use.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), PublishError> {
        self.run_step(|staged| {
            staged.admit(bytes.len() as u64)?;
            let job = CopyJob { path: &staged.place.path, budget: &staged.budget };
            let body = &mut staged.body;
            body.digest.resume(&job, &body.file, body.bytes)?;
            body.put(&job, bytes)
        })
    }

    /// Appends `bytes`, whose SHA-256 the caller knows. A file that holds nothing else is not
    /// hashed.
    ///
    /// # Errors
    /// As for [`StagedFile::write`].
    pub(crate) fn append_bytes_known(&mut self, bytes: &[u8], sha256: &[u8; 32]) -> Result<(), PublishError> {
        if self.body.bytes > 0 || bytes.is_empty() {
            return self.write(bytes);
        }
        self.run_step(|staged| {
            staged.admit(bytes.len() as u64)?;
            staged.body.digest = RunningHash::Known(*sha256);
            staged.body.put(&CopyJob { path: &staged.place.path, budget: &staged.budget }, bytes)
        })
    }

    /// Appends the first `len` bytes of `source`, whose SHA-256 the caller knows, inside the kernel
    /// where it can. The position of `source` does not matter and does not change.
    ///
    /// # Errors
    /// As for [`StagedFile::write`]; also a write error when `source` is shorter.
    pub(crate) fn append_file_known(
        &mut self,
        source: &File,
        len: u64,
        sha256: &[u8; 32],
    ) -> Result<(), PublishError> {
        if len == 0 {
            return self.write(&[]);
        }
        self.run_step(|staged| {
            staged.admit(len)?;
            let job = CopyJob { path: &staged.place.path, budget: &staged.budget };
            let body = &mut staged.body;
            let before = body.bytes;
            if before == 0 {
                body.digest = RunningHash::Known(*sha256);
            } else {
                body.digest.resume(&job, &body.file, before)?;
            }
            copy::append(&job, source, len, &body.file, before)?;
            body.bytes += len;
            body.digest.update_from(&job, &body.file, before..body.bytes)
        })
    }

    /// Appends the workspace file `path`, as long as it is now, and returns what was appended.
    ///
    /// Whether that mount is granted is for the caller to know. The hash is that of the bytes
    /// staged, also when the source changes.
    ///
    /// # Errors
    /// There is no such regular file, or it is not what is expected; and those of
    /// [`StagedFile::write`]. The file is then of no use.
    pub(crate) fn append_file(
        &mut self,
        path: &GuestPath,
        links: LinkRule,
        expected: ExpectedEntry<'_>,
    ) -> Result<FileFacts, PublishError> {
        self.run_step(|staged| {
            let mount = staged.place.inner.mount_of(path)?;
            let (file, stat) = source::open(mount, path, links, expected)?;
            let bytes = u64::try_from(stat.st_size).unwrap_or(0);
            let sha256 = staged.append_unknown(&file, bytes)?;
            Ok(FileFacts { path: path.to_string(), bytes, sha256: hex::encode(sha256) })
        })
    }

    /// Appends the first `len` bytes of `source`; returns the SHA-256 of what was staged of it.
    pub(super) fn append_unknown(&mut self, source: &File, len: u64) -> Result<[u8; 32], PublishError> {
        self.admit(len)?;
        let job = CopyJob { path: &self.place.path, budget: &self.budget };
        let body = &mut self.body;
        let before = body.bytes;
        body.digest.resume(&job, &body.file, before)?;
        copy::append(&job, source, len, &body.file, before)?;
        body.bytes += len;
        body.digest.update_and_hash(&job, &body.file, before..body.bytes)
    }

    /// Gives it the mode and the times of the file that moves here, not of the one that it
    /// replaces.
    pub(super) fn take_after(&mut self, stat: &Stat) -> Result<(), PublishError> {
        self.place.mode = Some(Mode::from_raw_mode(stat.st_mode & 0o777));
        #[allow(clippy::unnecessary_cast, reason = "the widths differ between machines")]
        let time = |seconds, nanos| Timespec { tv_sec: seconds as i64, tv_nsec: nanos as _ };
        let times = Timestamps {
            last_access: time(stat.st_atime, stat.st_atime_nsec),
            last_modification: time(stat.st_mtime, stat.st_mtime_nsec),
        };
        let failed = |errno| PublishError::from_io(&self.place.path, "setting its times", errno);
        futimens(&self.body.file, &times).map_err(failed)
    }

    /// Publishes only over a regular file with this SHA-256, and fails with
    /// [`PublishError::Changed`] where anything else, or nothing, has the name then.
    pub(crate) fn expect(&mut self, sha256: [u8; 32]) {
        self.place.expected = Some(sha256);
    }

    /// The finished file, its bytes on disk. Nothing can be appended any more.
    ///
    /// # Errors
    /// As for [`StagedFile::write`]; also when the disk did not take the bytes.
    pub(crate) fn seal(mut self) -> Result<SealedFile, PublishError> {
        let mode = self.run_step(|staged| {
            let place = &staged.place;
            staged.budget.check(&place.path)?;
            let failed = |errno| PublishError::from_io(&place.path, "syncing it", errno);
            let mode = match precheck(&place.mount, &place.path, place.disposition)? {
                ResolvedEntry::File(old) => Mode::from_raw_mode(old.st_mode & 0o777),
                // Told early; that it is the file that was read is found when publishing.
                _ if place.expected.is_some() => {
                    return Err(PublishError::Changed { path: place.path.clone() });
                }
                _ => place.inner.new_file_mode(),
            };
            let mode = place.mode.unwrap_or(mode);
            fchmod(&staged.body.file, mode).map_err(failed)?;
            fsync(&staged.body.file).map_err(failed)?;
            Ok(mode)
        })?;
        Ok(SealedFile::new(self.place, self.body, mode, self.budget))
    }

    /// Runs `step`; after a failure every further step is refused with the same code.
    fn run_step<T>(
        &mut self,
        step: impl FnOnce(&mut Self) -> Result<T, PublishError>,
    ) -> Result<T, PublishError> {
        if let Some(code) = self.failed {
            return Err(PublishError::Abandoned { path: self.place.path.clone(), code });
        }
        let done = step(self);
        self.failed = done.as_ref().err().map(PublishError::code);
        done
    }

    /// Takes `bytes` of both quotas, or none of the workspace's.
    fn admit(&mut self, bytes: u64) -> Result<(), PublishError> {
        let (path, budget) = (&self.place.path, &self.budget);
        budget.check(path)?;
        budget.spend(path, bytes)?;
        self.body.reservation.grow(path, bytes, &|| budget.stop())
    }
}
