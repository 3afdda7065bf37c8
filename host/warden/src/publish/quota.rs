//! How many bytes the workspaces may hold together, counting what is being staged.
//!
//! The trees are walked once, then the number is kept by what lands. It is measured again when it
//! would refuse, and when it is older than [`MEASURED_AGE_MAX`], so that what people and other
//! processes delete or add is seen. Two processes know of each other's files only through that, so
//! together they can overshoot by what both stage within that time; one process alone cannot.

use super::error::PublishError;
use super::open::open_existing;
use super::owner::HOLDERS;
use super::temp::StagingFolder;
use super::walk::{self, HiddenNames, StopCheck};
use crate::stop::StopReason;
use cofferdam_core::limits::ByteSize;
use cofferdam_core::lock::lock;
use cofferdam_policy::GuestPath;
use rustix::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// An older measurement is repeated.
const MEASURED_AGE_MAX: Duration = Duration::from_secs(60);

/// A walk that took longer is not repeated at every refusal: a full workspace is asked often.
const CHEAP_WALK: Duration = Duration::from_millis(50);

/// A costly walk is repeated after so many times its duration.
const REST_PER_WALK: u32 = 10;

/// A caller that waits for another's walk looks this often whether it should stop.
const STOP_CHECK_EVERY: Duration = Duration::from_millis(20);

/// The workspace's quota.
pub(super) struct Quota {
    limit: AtomicU64,
    mounts: Vec<Arc<StagingFolder>>,
    /// Holds the mounts of all other places.
    root: Arc<OwnedFd>,
    state: Mutex<QuotaState>,
    walked: Condvar,
}

#[derive(Default)]
struct QuotaState {
    /// Bytes on disk, as measured and kept since.
    landed: u64,
    /// Bytes staged and not landed.
    staged: u64,
    /// Bytes that landed during the walk under way, which may or may not have seen them.
    landed_in_walk: u64,
    walking: bool,
    /// When the last walk ended.
    measured: Option<Instant>,
    /// How long it took.
    took: Duration,
}

impl Quota {
    /// Nothing is measured yet.
    pub(super) fn new(limit: ByteSize, mounts: Vec<Arc<StagingFolder>>, root: Arc<OwnedFd>) -> Self {
        let limit = AtomicU64::new(limit.0);
        Self { limit, mounts, root, state: Mutex::default(), walked: Condvar::new() }
    }

    /// Bytes on disk as far as they are known; `None` before anything was measured.
    pub(super) fn known_bytes(&self) -> Option<u64> {
        let state = lock(&self.state);
        state.measured.is_some().then_some(state.landed)
    }

    /// The limit.
    pub(super) fn limit(&self) -> ByteSize {
        ByteSize(self.limit.load(Ordering::Relaxed))
    }

    /// From here on nothing is granted beyond `limit`; what was granted stays.
    pub(super) fn set_limit(&self, limit: ByteSize) {
        self.limit.store(limit.0, Ordering::Relaxed);
    }

    /// `freed` bytes that had landed are gone. A walk under way may count them or not; until the
    /// next one they count, so that nothing is granted twice.
    pub(super) fn release(&self, freed: u64) {
        let mut state = lock(&self.state);
        state.landed = state.landed.saturating_sub(freed);
    }

    /// Grants `bytes` to the file staged for `path`.
    fn take(&self, path: &GuestPath, bytes: u64, stop: StopCheck<'_>) -> Result<(), PublishError> {
        let mut state = lock(&self.state);
        if state.measured.is_none_or(|at| at.elapsed() > MEASURED_AGE_MAX) {
            state = self.measure(state, path, stop)?;
        }
        if !state.fits(bytes, self.limit()) && state.may_measure_again() {
            state = self.measure(state, path, stop)?;
        }
        if !state.fits(bytes, self.limit()) {
            return Err(PublishError::WorkspaceQuota { path: path.clone(), limit: self.limit() });
        }
        state.staged += bytes;
        Ok(())
    }

    /// Measures for `path`, or waits for the thread that is measuring.
    fn measure<'a>(
        &'a self,
        mut state: MutexGuard<'a, QuotaState>,
        path: &GuestPath,
        stop: StopCheck<'_>,
    ) -> Result<MutexGuard<'a, QuotaState>, PublishError> {
        if state.walking {
            while state.walking {
                if let Some(stop) = stop() {
                    return Err(stop.error(path));
                }
                let waited = self.walked.wait_timeout(state, STOP_CHECK_EVERY);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            // A walk that was stopped measured nothing: then this caller walks.
            if state.measured.is_some() {
                return Ok(state);
            }
        }
        state.walking = true;
        state.landed_in_walk = 0;
        drop(state);
        let began = Instant::now();
        let bytes = self.walk(path, stop);
        let mut state = lock(&self.state);
        state.walking = false;
        self.walked.notify_all();
        state.landed = bytes?.saturating_add(state.landed_in_walk);
        (state.measured, state.took) = (Some(Instant::now()), began.elapsed());
        Ok(state)
    }

    fn walk(&self, path: &GuestPath, stop: StopCheck<'_>) -> Result<u64, PublishError> {
        let failed = |errno| PublishError::from_io(path, "measuring the workspace", errno);
        let stopped = |stop: StopReason| stop.error(path);
        let mut total = 0u64;
        for mount in &self.mounts {
            let bytes = walk::measure(&*mount.dir, HiddenNames::AtRoot, stop).map_err(failed)?;
            total = total.saturating_add(bytes.map_err(stopped)?);
        }
        for places in HOLDERS {
            let Some(folder) = open_existing(&self.root, places).map_err(failed)? else { continue };
            let bytes = walk::measure(folder, HiddenNames::Anywhere, stop).map_err(failed)?;
            total = total.saturating_add(bytes.map_err(stopped)?);
        }
        Ok(total)
    }
}

impl QuotaState {
    fn fits(&self, bytes: u64, limit: ByteSize) -> bool {
        let total = [self.landed, self.staged, bytes].iter().try_fold(0u64, |sum, n| sum.checked_add(*n));
        total.is_some_and(|total| total <= limit.0)
    }

    fn may_measure_again(&self) -> bool {
        self.took <= CHEAP_WALK || self.measured.is_none_or(|at| at.elapsed() >= self.took * REST_PER_WALK)
    }
}

/// Bytes granted to one staged file; given back when dropped.
pub(super) struct Reservation {
    quota: Arc<Quota>,
    bytes: u64,
}

impl Reservation {
    /// Nothing granted yet.
    pub(super) fn new(quota: &Arc<Quota>) -> Self {
        Self { quota: Arc::clone(quota), bytes: 0 }
    }

    /// Grants `bytes` more, all or nothing.
    pub(super) fn grow(
        &mut self,
        path: &GuestPath,
        bytes: u64,
        stop: StopCheck<'_>,
    ) -> Result<(), PublishError> {
        self.quota.take(path, bytes, stop)?;
        self.bytes += bytes;
        Ok(())
    }

    /// The file is on disk, where it took the place of `freed` bytes.
    pub(super) fn land(&mut self, freed: u64) {
        let bytes = std::mem::take(&mut self.bytes);
        let mut state = lock(&self.quota.state);
        state.staged = state.staged.saturating_sub(bytes);
        state.landed = state.landed.saturating_add(bytes).saturating_sub(freed);
        if state.walking {
            state.landed_in_walk = state.landed_in_walk.saturating_add(bytes.saturating_sub(freed));
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut state = lock(&self.quota.state);
        state.staged = state.staged.saturating_sub(self.bytes);
    }
}
