//! A file that nobody else sees yet: its bytes, its hash, its share of the quotas.
//!
//! It refuses bytes over a quota before it writes any of them, and anything at all after a failure.
//! Dropped, it is gone, and what it held of the workspace's quota is given back.

use super::budget::CallBudget;
use super::copy;
use super::digest::RunningHash;
use super::error::PublishError;
use super::land::SealedFile;
use super::quota::Reservation;
use super::resolve::{self, ResolvedEntry};
use super::source::{self, LinkRule};
use super::temp::{self, StagingFolder, TempName};
use super::{Disposition, Workspace};
use cofferdam_core::audit::{EntryKind, FileFacts};
use cofferdam_core::tool::ErrorCode;
use cofferdam_policy::{ExpectedEntry, GuestPath, PathSnapshot};
use rustix::fs::{Mode, Stat, Timespec, Timestamps, fchmod, fsync, futimens};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// A file being written, visible to nobody.
pub(crate) struct StagedFile {
    pub(super) place: StageTarget,
    pub(super) file: File,
    pub(super) temp: Option<TempName>,
    /// So many there are so far.
    pub(super) bytes: u64,
    pub(super) digest: RunningHash,
    pub(super) reservation: Reservation,
    failed: Option<ErrorCode>,
}

/// Where a staged file wants to go, and on whose share.
pub(super) struct StageTarget {
    pub(super) workspace: Arc<Workspace>,
    pub(super) mount: Arc<StagingFolder>,
    pub(super) path: GuestPath,
    pub(super) budget: Arc<CallBudget>,
    pub(super) disposition: Disposition,
    /// What the file that it replaces must be.
    pub(super) expected: Option<[u8; 32]>,
    /// What was approved to be replaced.
    pub(super) approved: Option<Box<PathSnapshot>>,
    /// The mode that it shall have, and not that of what was there; for the copy of a file that
    /// moves.
    pub(super) mode: Option<Mode>,
}

impl StageTarget {
    /// Goes on, unless the call should stop.
    pub(super) fn check(&self) -> Result<(), PublishError> {
        self.budget.check(&self.path)
    }

    /// The error for an answer of the system while `doing` something.
    pub(super) fn failed<E: Into<io::Error>>(&self, doing: &'static str) -> impl Fn(E) -> PublishError {
        move |source| PublishError::from_io(&self.path, doing, source)
    }

    /// The error for what the system answered while something was read for this file. No disk
    /// failed where it only ends early: somebody cut it meanwhile.
    pub(super) fn reading_failed(&self, source: io::Error) -> PublishError {
        match source.raw_os_error() {
            Some(_) => PublishError::InputUnreadable { path: self.path.clone(), source },
            None => PublishError::from_io(&self.path, "reading", source),
        }
    }
}

/// Whether something of this kind could get the name `path` now. The decision without a race is
/// made when publishing.
pub(super) fn precheck(
    mount: &StagingFolder,
    path: &GuestPath,
    disposition: Disposition,
    kind: EntryKind,
) -> Result<ResolvedEntry, PublishError> {
    if path.is_mount() {
        return Err(PublishError::IsADirectory { path: path.clone() });
    }
    let entry = resolve::entry(&mount.dir, path.below_mount())
        .map_err(|errno| resolve::explain(&mount.dir, path, errno))?;
    resolve::may_take(&entry, path, disposition, kind)?;
    Ok(entry)
}

impl Workspace {
    /// An empty file that will become `path` if it is sealed and published.
    ///
    /// # Errors
    /// What is already wrong with the path is told now, before anybody writes for nothing.
    pub(crate) fn stage(
        self: &Arc<Self>,
        path: &GuestPath,
        disposition: Disposition,
        budget: &Arc<CallBudget>,
    ) -> Result<StagedFile, PublishError> {
        budget.check(path)?;
        let disposition = budget.disposition(path, disposition);
        let mount = Arc::clone(self.mount_of(path)?);
        precheck(&mount, path, disposition, EntryKind::File)?;
        budget.take_change(path)?;
        let (file, temp) = temp::create(&mount).map_err(|e| PublishError::from_io(path, "staging it", e))?;
        let (digest, reservation) = (RunningHash::new(), Reservation::new(&self.quota));
        let place = StageTarget {
            workspace: Arc::clone(self),
            mount,
            path: path.clone(),
            budget: Arc::clone(budget),
            disposition,
            expected: None,
            approved: None,
            mode: None,
        };
        Ok(StagedFile { place, file, temp, bytes: 0, digest, reservation, failed: None })
    }
}

impl StagedFile {
    /// Appends `bytes`.
    ///
    /// # Errors
    /// A quota, a full disk, another write error, or the call's stop. The file is then of no use.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), PublishError> {
        self.run_step(|staged| {
            staged.admit(bytes.len() as u64)?;
            staged.digest.resume(&staged.place, &staged.file, staged.bytes)?;
            staged.put(bytes)
        })
    }

    /// Appends `bytes`, whose SHA-256 the caller knows. A file that holds nothing else is not
    /// hashed.
    ///
    /// # Errors
    /// As for [`StagedFile::write`].
    pub(crate) fn append_bytes_known(&mut self, bytes: &[u8], sha256: &[u8; 32]) -> Result<(), PublishError> {
        if self.bytes > 0 || bytes.is_empty() {
            return self.write(bytes);
        }
        self.run_step(|staged| {
            staged.admit(bytes.len() as u64)?;
            staged.digest = RunningHash::Known(*sha256);
            staged.put(bytes)
        })
    }

    /// Appends the first `len` bytes of `source`, whose SHA-256 the caller knows, inside the kernel
    /// where it can. The position of `source` does not matter and does not change.
    ///
    /// # Errors
    /// As for [`StagedFile::write`]; also a write error when `source` is shorter, and a read error
    /// when the disk does not give it.
    pub(crate) fn append_file_known(
        &mut self,
        source: &File,
        len: u64,
        sha256: &[u8; 32],
    ) -> Result<(), PublishError> {
        if len == 0 {
            return self.write(&[]);
        }
        self.run_step(|staged| staged.append_from(source, len, Some(*sha256)).map(drop))
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
            let mount = staged.place.workspace.mount_of(path)?;
            let (file, stat) = source::open(mount, path, links, expected)?;
            let bytes = u64::try_from(stat.st_size).unwrap_or(0);
            let sha256 = staged.append_from(&file, bytes, None)?;
            Ok(FileFacts { path: path.to_string(), bytes, sha256: hex::encode(sha256) })
        })
    }

    /// Appends the first `len` bytes of `source`, whose SHA-256 may be known; returns that of what
    /// was staged of it.
    pub(super) fn append_from(
        &mut self,
        source: &File,
        len: u64,
        known: Option<[u8; 32]>,
    ) -> Result<[u8; 32], PublishError> {
        self.admit(len)?;
        let Self { place, file, bytes, digest, .. } = self;
        let before = *bytes;
        match known {
            Some(sha256) if before == 0 => *digest = RunningHash::Known(sha256),
            _ => digest.resume(place, file, before)?,
        }
        copy::append(place, source, len, file, before)?;
        *bytes += len;
        let part = before..*bytes;
        match known {
            Some(sha256) => digest.update_from(place, file, part).map(|()| sha256),
            None => digest.update_and_hash(place, file, part),
        }
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
        futimens(&self.file, &times).map_err(self.place.failed("setting its times"))
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
            place.check()?;
            let mode = match precheck(&place.mount, &place.path, place.disposition, EntryKind::File)? {
                ResolvedEntry::File(old) => Mode::from_raw_mode(old.st_mode & 0o777),
                // Told early; that it is the file that was read is found when publishing.
                _ if place.expected.is_some() => {
                    return Err(PublishError::Changed { path: place.path.clone() });
                }
                _ => place.workspace.new_file_mode(),
            };
            let mode = place.mode.unwrap_or(mode);
            let file = &staged.file;
            fchmod(file, mode).and_then(|()| fsync(file)).map_err(place.failed("syncing it"))?;
            Ok(mode)
        })?;
        Ok(SealedFile::new(self, mode))
    }

    /// Writes `bytes` at the end, slice by slice.
    fn put(&mut self, bytes: &[u8]) -> Result<(), PublishError> {
        for slice in bytes.chunks(copy::SLICE_BYTES) {
            self.place.check()?;
            self.file.write_all_at(slice, self.bytes).map_err(self.place.failed("writing"))?;
            self.digest.update(slice);
            self.bytes += slice.len() as u64;
        }
        Ok(())
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
        let StageTarget { path, budget, .. } = &self.place;
        budget.check(path)?;
        budget.spend(path, bytes)?;
        self.reservation.grow(path, bytes, &|| budget.stop())
    }
}
