//! The publisher on a real filesystem. Each test has a workspace of its own in a temporary
//! directory.
//!
//! A refusal is checked whole: the error is told, what was there is untouched, nothing is left
//! behind, and the next call works.

#![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

mod appending;
mod editing;
mod exchanging;
mod hashing;
mod landing;
mod leftovers;
mod looking;
mod parking;
mod places;
mod quotas;
mod races;
mod refusals;
mod removing;
mod renaming;

use super::error::PublishFailure;
use super::land::SealedFile;
use super::quota::Quota;
use super::temp::{StagingFolder, StagingMethod};
use super::{CallBudget, Config, Contents, Disposition, LinkRule, PlannedChange, Workspace, Workspaces};
use cofferdam_core::audit::{Effect, EntryKind, FileFacts};
use cofferdam_core::limits::{ByteSize, Limits};
use cofferdam_core::tool::{ErrorCode, ToolError};
use cofferdam_policy::{ExpectedEntry, GuestPath};
use rustix::fs::Mode;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};
use support::needs;

pub(super) const BOTH: [StagingMethod; 2] = [StagingMethod::Unnamed, StagingMethod::Named];

/// A workspace and the directory around it, in which nothing else may appear.
pub(super) struct Room {
    outer: tempfile::TempDir,
    pub(super) workspace: Arc<Workspace>,
}

impl Room {
    pub(super) fn new(technique: StagingMethod) -> Self {
        Self::with(technique, 0o022, ByteSize::mib(64))
    }

    pub(super) fn with(technique: StagingMethod, umask: u32, max_bytes: ByteSize) -> Self {
        let outer = tempfile::tempdir().unwrap();
        let config = Config::shared(outer.path().join("workspace"), max_bytes);
        let workspaces = Workspaces::open_with(&config, technique, Mode::from_raw_mode(umask)).unwrap();
        Self { outer, workspace: workspaces.default_workspace().clone() }
    }

    /// The same directory opened anew, as the next start does.
    pub(super) fn reopened(&self) -> Arc<Workspace> {
        let config = Config::shared(self.outer.path().join("workspace"), ByteSize::mib(64));
        Workspaces::open(&config).unwrap().default_workspace().clone()
    }

    pub(super) fn host(&self, guest: &str) -> PathBuf {
        self.outer.path().join("workspace").join(guest.trim_start_matches('/'))
    }

    pub(super) fn outside(&self) -> PathBuf {
        let dir = self.outer.path().join("outside");
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    pub(super) fn seal(&self, at: &str, how: Disposition, bytes: &[u8]) -> Result<SealedFile, ToolError> {
        let mut staged = self.workspace.stage(&path(at), how, &budget())?;
        staged.write(bytes)?;
        Ok(staged.seal()?)
    }

    pub(super) fn publish(&self, sealed: Vec<SealedFile>) -> Result<Vec<Effect>, PublishFailure> {
        self.workspace.publish(sealed.into_iter().map(PlannedChange::Write).collect())
    }

    pub(super) fn save(&self, at: &str, how: Disposition, bytes: &[u8]) -> Result<FileFacts, ToolError> {
        let sealed = self.seal(at, how, bytes)?;
        match self.publish(vec![sealed])?.remove(0) {
            Effect::Written(facts) => Ok(facts),
            other => panic!("it did {other:?}"),
        }
    }

    /// Makes directories `d` so deep below a root, an empty file in each of some: one call makes no
    /// more of them.
    pub(super) fn make_deep(&self, root: &str, depth: usize) {
        for deep in (0..depth).step_by(64).chain([depth]) {
            self.save(&format!("{root}{}/m", "/d".repeat(deep)), Disposition::Replace, b"").unwrap();
        }
    }

    /// Everything in the outer directory: kind, mode and content or target.
    pub(super) fn tree(&self) -> BTreeMap<PathBuf, String> {
        let mut tree = BTreeMap::new();
        list(self.outer.path(), &mut tree);
        tree
    }

    /// Plans a rename and carries it out.
    pub(super) fn rename(&self, from: &str, to: &str, how: Disposition) -> Result<Vec<Effect>, ToolError> {
        let (plan, _) = self.workspace.plan_rename(&path(from), &path(to), how, &budget())?;
        Ok(self.workspace.publish(plan)?)
    }

    /// Plans a removal and carries it out.
    pub(super) fn remove(&self, at: &str, contents: Contents) -> Result<Vec<Effect>, ToolError> {
        let plan = self.workspace.plan_remove(&path(at), contents, &budget())?;
        Ok(self.workspace.publish(vec![PlannedChange::Remove(plan)])?)
    }

    /// A workspace whose `/tmp` lies on another filesystem, if this machine has one for this test.
    pub(super) fn across(test: &str) -> Option<(Self, tempfile::TempDir)> {
        let room = Self::new(StagingMethod::detect());
        let device = |at: &Path| fs::metadata(at).map(|meta| meta.dev()).ok();
        let other = tempfile::tempdir_in("/dev/shm").ok();
        let other = other.filter(|other| device(other.path()) != device(room.outer.path()));
        if !needs::available(test, "another filesystem at /dev/shm", other.is_some()) {
            return None;
        }
        let other = other.unwrap();
        let dir = cap_std::fs::Dir::from_std_file(fs::File::open(other.path()).unwrap());
        let Workspace { mounts, umask, .. } = &*room.workspace;
        let mount = |mount: &Arc<StagingFolder>| {
            let dir =
                if mount.guest == "/tmp" { Arc::new(dir.try_clone().unwrap()) } else { mount.dir.clone() };
            let technique = mount.technique;
            Arc::new(StagingFolder { guest: mount.guest, dir, technique, making: RwLock::new(()) })
        };
        let mounts: Vec<_> = mounts.iter().map(mount).collect();
        let root = Arc::new(fs::File::open(room.host("/")).unwrap().into());
        let quota = Arc::new(Quota::new(ByteSize::mib(64), mounts.clone(), root));
        let workspace = Arc::new(Workspace { mounts, quota, umask: *umask, session: None });
        Some((Self { outer: room.outer, workspace }, other))
    }

    /// `doing` is refused with `code`, and leaves no trace. Returns the message.
    pub(super) fn unchanged_by(
        &self,
        code: ErrorCode,
        doing: impl FnOnce() -> Result<Vec<Effect>, ToolError>,
    ) -> String {
        let before = self.tree();
        let error = doing().unwrap_err();
        assert_eq!(error.code, code, "{error}");
        assert!(!error.message.contains(self.outer.path().to_str().unwrap()), "{error}");
        assert_eq!(self.tree(), before, "{error}");
        error.message
    }

    /// Saving is refused with `code`, and leaves no trace. Returns the message.
    pub(super) fn refuses(&self, at: &str, how: Disposition, code: ErrorCode) -> String {
        let before = self.tree();
        let error = self.save(at, how, b"new").unwrap_err();
        assert_eq!(error.code, code, "{at}: {error}");
        assert!(!error.message.contains(self.outer.path().to_str().unwrap()), "{error}");
        assert_eq!(self.tree(), before, "{at}");
        self.save("/tmp/next-call", Disposition::CreateNew, b"works").unwrap();
        fs::remove_file(self.host("/tmp/next-call")).unwrap();
        error.message
    }
}

pub(super) fn path(text: &str) -> GuestPath {
    GuestPath::parse(text).unwrap()
}

pub(super) fn budget() -> Arc<CallBudget> {
    Arc::new(CallBudget::new(ByteSize::mib(50), || None))
}

pub(super) fn mode_of(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

fn list(dir: &Path, tree: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let meta = fs::symlink_metadata(&path).unwrap();
        let kind = meta.file_type();
        let what = if kind.is_dir() {
            list(&path, tree);
            "directory".to_owned()
        } else if kind.is_symlink() {
            format!("link to {}", fs::read_link(&path).unwrap().display())
        } else if kind.is_file() {
            format!("file {:?}", fs::read(&path).unwrap())
        } else {
            format!("fifo {} socket {}", kind.is_fifo(), kind.is_socket())
        };
        tree.insert(path, format!("{:o} {what}", meta.mode()));
    }
}
