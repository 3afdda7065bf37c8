//! The plan of a call: the changes that the host carries out, in order, once the call succeeded.
//!
//! Planning looks and refuses; it changes nothing. What it found is found again before anything happens,
//! or that step is refused.

use super::error::{PublishError, PublishFailure};
use super::land::{Landed, SealedFile};
use super::remove::PlannedRemove;
use super::rename::PlannedRename;
use super::{Workspace, resolve};
use cofferdam_core::audit::{Effect, EntryKind};
use cofferdam_core::policy::GuestPath;

/// One step of a call's plan. Dropped, it does not happen.
pub enum Planned {
    /// A file gets its name.
    Write(SealedFile),
    /// A name becomes another.
    Rename(PlannedRename),
    /// A name goes.
    Remove(PlannedRemove),
}

impl From<SealedFile> for Planned {
    fn from(sealed: SealedFile) -> Self {
        Self::Write(sealed)
    }
}

/// What a change concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// What has the name.
    pub kind: EntryKind,
    /// Files, directories and others, the named one included.
    pub entries: u64,
    /// Length of all regular files among them.
    pub bytes: u64,
}

impl Planned {
    /// What it will have done: what the audit says before it happens.
    pub fn effect(&self) -> Effect {
        match self {
            Self::Write(sealed) => sealed.facts().into(),
            Self::Rename(rename) => Effect::Moved(rename.effect()),
            Self::Remove(remove) => Effect::Removed(remove.effect()),
        }
    }

    /// The path that it is about; of a rename the new one.
    pub fn path(&self) -> &GuestPath {
        match self {
            Self::Write(sealed) => sealed.path(),
            Self::Rename(rename) => rename.target(),
            Self::Remove(remove) => remove.path(),
        }
    }

    fn land(self) -> Result<Landed, PublishError> {
        match self {
            Self::Write(sealed) => sealed.land(),
            Self::Rename(rename) => rename.land(),
            Self::Remove(remove) => remove.land(),
        }
    }

    /// The word for it when it is done.
    fn done(&self) -> &'static str {
        match self {
            Self::Write(_) => "saved",
            Self::Rename(_) => "moved",
            Self::Remove(_) => "removed",
        }
    }
}

impl Workspace {
    /// Carries a plan out, in order, and returns what happened.
    ///
    /// Missing parent directories are made. Each step is durable before the next is tried.
    ///
    /// # Errors
    /// [`PublishFailure`] at the first that fails; it carries those that happened before.
    pub fn publish(&self, plan: Vec<Planned>) -> Result<Vec<Effect>, PublishFailure> {
        let mut landed = Vec::with_capacity(plan.len());
        for step in plan {
            let (path, effect, done) = (step.path().clone(), step.effect(), step.done());
            match step.land() {
                Ok(Landed::Durable) => landed.push(effect),
                Ok(Landed::Unconfirmed(source)) => {
                    landed.push(effect);
                    let error = PublishError::DurabilityUnknown { path, done, source };
                    return Err(PublishFailure { landed, error });
                }
                Err(error) => return Err(PublishFailure { landed, error }),
            }
        }
        Ok(landed)
    }
}

/// The handle and stat of what `path` stands for, for a change of its name.
pub(super) fn find(
    mount: &super::temp::Mount,
    path: &GuestPath,
) -> Result<(rustix::fd::OwnedFd, rustix::fs::Stat), PublishError> {
    if path.is_mount() {
        return Err(PublishError::IsAMount { path: path.clone() });
    }
    match resolve::handle(&mount.dir, path.below_mount()) {
        Ok(Some(found)) => Ok(found),
        Ok(None) => Err(PublishError::NotFound { path: path.clone() }),
        Err(errno) => Err(resolve::explain(&mount.dir, path, errno)),
    }
}
