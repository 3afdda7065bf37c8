//! The plan of a call: the changes that the host carries out, in order, once the call succeeded.
//!
//! Planning looks and refuses; it changes nothing. What it found is found again before anything
//! happens, or that step is refused.

use super::error::{PublishError, PublishFailure};
use super::land::SealedFile;
use super::park::ParkFolder;
use super::remove::PlannedRemove;
use super::rename::PlannedRename;
use super::resolve::{self, ResolvedEntry};
use super::temp::StagingFolder;
use super::{Workspace, identity};
use cofferdam_core::audit::Effect;
use cofferdam_policy::{ExpectedEntry, GuestPath, PathSnapshot};
use rustix::fd::OwnedFd;
use rustix::fs::Stat;
use rustix::io::Errno;
use std::sync::Arc;

/// One step of a call's plan. Dropped, it does not happen.
pub(crate) enum PlannedChange {
    /// A file gets its name.
    Write(SealedFile),
    /// A name becomes another.
    Rename(PlannedRename),
    /// A name goes.
    Remove(PlannedRemove),
}

impl PlannedChange {
    /// What it will have done: what the audit says before it happens.
    pub(crate) fn effect(&self) -> Effect {
        match self {
            Self::Write(sealed) => sealed.facts().into(),
            Self::Rename(rename) => rename.effect(),
            Self::Remove(remove) => remove.effect(),
        }
    }

    /// The path that it is about; of a rename the new one.
    pub(crate) fn path(&self) -> &GuestPath {
        match self {
            Self::Write(sealed) => sealed.path(),
            Self::Rename(rename) => &rename.target,
            Self::Remove(remove) => remove.path(),
        }
    }

    /// Lands only on what is expected at each of its paths, and fails with
    /// [`PublishError::NotAsApproved`] where anything else, or nothing, has the name then. That
    /// nothing may be replaced is its disposition's to say.
    ///
    /// # Errors
    /// [`PublishError::NotAsApproved`] where it is about something else already.
    pub(crate) fn expect_approved<'a>(
        &mut self,
        expected: impl Fn(&GuestPath) -> ExpectedEntry<'a>,
    ) -> Result<(), PublishError> {
        match self {
            Self::Write(sealed) => {
                let target = expected(sealed.path());
                sealed.expect_approved(target);
                Ok(())
            }
            Self::Rename(rename) => {
                let (source, target) = (expected(&rename.source), expected(&rename.target));
                rename.expect_approved(source, target)
            }
            Self::Remove(remove) => {
                let removed = expected(remove.path());
                remove.expect_approved(removed)
            }
        }
    }

    fn land(self) -> Result<(), PublishError> {
        match self {
            Self::Write(sealed) => sealed.land(),
            Self::Rename(rename) => rename.land(),
            Self::Remove(remove) => remove.land(),
        }
    }
}

/// Files that a call has staged and not sealed: each has a descriptor.
pub const STAGED_MAX: usize = 32;

/// Renames and removals of one call: each holds a descriptor on what it is about until it happens.
pub const RENAMES_AND_REMOVALS_MAX: usize = 64;

/// Sealed files of one call that keep their descriptor until they are published; later ones wait by
/// name.
const HELD_MAX: usize = 16;

/// The plan of a call while it grows. It holds a bounded number of descriptors, however many its
/// steps are.
#[derive(Default)]
pub(crate) struct ChangePlan {
    steps: Vec<PlannedChange>,
    held: usize,
    names: usize,
    /// One for each mount with files that are set aside.
    parks: Vec<Arc<ParkFolder>>,
}

impl ChangePlan {
    /// Adds these steps at its end, all or none.
    ///
    /// # Errors
    /// It has too many renames and removals, or a file cannot be set aside.
    pub(crate) fn extend(&mut self, mut steps: Vec<PlannedChange>) -> Result<(), PublishError> {
        for step in &mut steps {
            match step {
                PlannedChange::Write(_) if self.held < HELD_MAX => self.held += 1,
                PlannedChange::Write(sealed) => {
                    let park = self.park(sealed)?;
                    sealed.park(&park)?;
                }
                PlannedChange::Rename(_) | PlannedChange::Remove(_) => {
                    if self.names >= RENAMES_AND_REMOVALS_MAX {
                        let (path, limit) = (step.path().clone(), RENAMES_AND_REMOVALS_MAX);
                        return Err(PublishError::NameCount { path, limit });
                    }
                    self.names += 1;
                }
            }
        }
        self.steps.append(&mut steps);
        Ok(())
    }

    /// The steps, in order.
    pub(crate) fn into_steps(self) -> Vec<PlannedChange> {
        self.steps
    }

    /// Where files of the same mount are set aside.
    fn park(&mut self, sealed: &SealedFile) -> Result<Arc<ParkFolder>, PublishError> {
        let mount = &sealed.place.mount;
        if let Some(park) = self.parks.iter().find(|park| Arc::ptr_eq(&park.mount, mount)) {
            return Ok(Arc::clone(park));
        }
        let park = ParkFolder::make(mount).map_err(sealed.place.failed("setting it aside"))?;
        self.parks.push(Arc::clone(&park));
        Ok(park)
    }
}

impl Workspace {
    /// Carries a plan out, in order, and returns what happened.
    ///
    /// Missing parent directories are made. Each step is durable before the next is tried.
    ///
    /// # Errors
    /// [`PublishFailure`] at the first that fails; it carries those that happened before.
    pub(crate) fn publish(&self, plan: Vec<PlannedChange>) -> Result<Vec<Effect>, PublishFailure> {
        let mut landed = Vec::with_capacity(plan.len());
        for step in plan {
            let effect = step.effect();
            let done = step.land();
            if matches!(done, Ok(()) | Err(PublishError::DurabilityUnknown { .. })) {
                landed.push(effect);
            }
            if let Err(error) = done {
                return Err(PublishFailure { landed, error });
            }
        }
        Ok(landed)
    }
}

/// What must still have a name that goes. Something was found there, so that nothing is expected
/// refuses it.
pub(super) fn approved_to_go(
    path: &GuestPath,
    expected: ExpectedEntry<'_>,
) -> Result<Option<Box<PathSnapshot>>, PublishError> {
    match expected {
        ExpectedEntry::Anything => Ok(None),
        ExpectedEntry::Nothing => Err(PublishError::NotAsApproved { path: path.clone() }),
        ExpectedEntry::This(seen) => Ok(Some(Box::new(seen.clone()))),
    }
}

/// Something else has the name of what was to go.
pub(super) fn replaced_error(path: &GuestPath, was_approved: bool) -> PublishError {
    let path = path.clone();
    match was_approved {
        true => PublishError::NotAsApproved { path },
        false => PublishError::Exchanged { path },
    }
}

/// Refuses all but what was approved, if something was, at the name that `path` has in `parent`.
pub(super) fn check_approved(
    parent: &OwnedFd,
    path: &GuestPath,
    approved: Option<&PathSnapshot>,
) -> Result<(), PublishError> {
    let Some(seen) = approved else { return Ok(()) };
    let found = resolve::handle(parent, resolve::split(path).1)
        .map_err(|errno| PublishError::from_io(path, "looking at it", errno))?;
    match found {
        Some((_, stat)) if identity::is_as_approved(&stat, seen) => Ok(()),
        _ => Err(PublishError::NotAsApproved { path: path.clone() }),
    }
}

/// The regular file at `path`, with the directory that it lies in, if it is there.
pub(super) fn find_old(
    mount: &StagingFolder,
    path: &GuestPath,
) -> Result<Option<(OwnedFd, Stat)>, PublishError> {
    let (way, leaf) = resolve::split(path);
    let failed = |errno| resolve::explain(&mount.dir, path, errno);
    let parent = match resolve::directory(&mount.dir, way.as_bytes()) {
        Err(Errno::NOENT) => return Ok(None),
        parent => parent.map_err(failed)?,
    };
    match resolve::entry(&parent, leaf).map_err(failed)? {
        ResolvedEntry::File(old) => Ok(Some((parent, old))),
        _ => Ok(None),
    }
}

/// The handle and stat of what `path` stands for, for a change of its name.
pub(super) fn find(mount: &StagingFolder, path: &GuestPath) -> Result<(OwnedFd, Stat), PublishError> {
    if path.is_mount() {
        return Err(PublishError::IsAMount { path: path.clone() });
    }
    match resolve::handle(&mount.dir, path.below_mount()) {
        Ok(Some(found)) => Ok(found),
        Ok(None) => Err(PublishError::NotFound { path: path.clone() }),
        Err(errno) => Err(resolve::explain(&mount.dir, path, errno)),
    }
}
