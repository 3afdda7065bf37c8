//! The workspaces of a gateway: the usual one, one for each user where that is configured, and in
//! each a `/tmp` for every session.
//!
//! Those in use are open once in a process, so that those who publish in one folder know of each
//! other. A session's folder is locked while it is open: nobody removes what a call may be working
//! in.

use super::identity::FileIdentity;
use super::open::{OpenError, open_root, private_folder, umask};
use super::owner::{FileOwner, SESSIONS, TMP, USERS};
use super::quota::Quota;
use super::temp::{StagingFolder, StagingMethod};
use super::{Config, SessionFolder, Workspace};
use cofferdam_core::limits::ByteSize;
use cofferdam_core::lock::lock;
use rustix::fd::OwnedFd;
use rustix::fs::{FlockOperation, Mode, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, flock, fsync, futimens};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Places that stay open after their last call, the usual one apart; the least recently used goes
/// first.
pub const PLACES_OPEN_MAX: usize = 64;

/// How often a folder that is being removed is asked for: its removal holds it for one rename.
const ASK_EVERY: Duration = Duration::from_millis(1);
/// How often it is asked for at most.
const ASKS_MAX: u32 = 5000;

/// All workspaces below one root, under one quota.
pub struct Workspaces {
    pub(super) root: Arc<OwnedFd>,
    pub(super) config: Config,
    pub(super) quota: Arc<Quota>,
    technique: StagingMethod,
    usual: Arc<Workspace>,
    /// By their folder below the root.
    pub(super) open: Mutex<BTreeMap<String, OpenWorkspace>>,
}

/// A workspace that is open.
pub(super) struct OpenWorkspace {
    workspace: Arc<Workspace>,
    used: Instant,
}

impl OpenWorkspace {
    /// Whether a call, or something that a call has planned, still has it. Nobody else hands it on.
    fn is_in_use(&self) -> bool {
        Arc::strong_count(&self.workspace) > 1
    }
}

impl Workspaces {
    /// The workspaces, the folders of the usual one made when missing and cleared of what a crash
    /// left.
    ///
    /// # Errors
    /// [`OpenError`]; without a workspace nothing starts.
    pub fn open(config: &Config) -> Result<Self, OpenError> {
        Self::open_with(config, StagingMethod::detect(), umask())
    }

    /// The same with the choices that tests make.
    pub(super) fn open_with(
        config: &Config,
        technique: StagingMethod,
        umask: Mode,
    ) -> Result<Self, OpenError> {
        let root = Arc::new(open_root(&config.root)?);
        let mounts = config.mounts(&root, "", technique)?;
        fsync(&root).map_err(|e| OpenError::Root { root: config.root.clone(), source: e.into() })?;
        let quota = Arc::new(Quota::new(config.max_bytes, mounts.clone(), root.clone()));
        let usual = Arc::new(Workspace { mounts, quota: quota.clone(), umask, session: None });
        Ok(Self { root, config: config.clone(), quota, technique, usual, open: Mutex::default() })
    }

    /// The one of calls that belong to no session, where users share theirs.
    pub(crate) fn default_workspace(&self) -> &Arc<Workspace> {
        &self.usual
    }

    /// Whether each user has an own one.
    pub fn is_per_user(&self) -> bool {
        self.config.per_user
    }

    /// Who has files here, where users have their own: `CHANNEL:USER`.
    ///
    /// # Errors
    /// What the system says.
    pub fn people(&self) -> io::Result<Vec<String>> {
        let users = match std::fs::read_dir(self.config.root.join(USERS)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            users => users?,
        };
        let names = users.map(|user| user.map(|user| user.file_name().into_string()));
        let names = names.collect::<io::Result<Vec<_>>>()?.into_iter().flatten();
        Ok(names.filter_map(|name| name.split_once('-').map(|(of, who)| format!("{of}:{who}"))).collect())
    }

    /// Bytes in all of them as last measured, and counted since; `None` before the first time.
    pub fn bytes(&self) -> Option<u64> {
        self.quota.known_bytes()
    }

    /// The quota over all of them.
    pub fn max_bytes(&self) -> ByteSize {
        self.quota.limit()
    }

    /// Changes the quota, for all that is written from here on.
    pub fn set_max_bytes(&self, limit: ByteSize) {
        self.quota.set_limit(limit);
    }

    /// The workspace of a place, its folders made at first use. Its session is used now, and is in
    /// use until what comes back is dropped.
    ///
    /// # Errors
    /// [`OpenError`], for the log: it names host paths.
    pub(crate) fn open_for(&self, owner: &FileOwner) -> Result<Arc<Workspace>, OpenError> {
        let name = owner.folder();
        if name.is_empty() {
            return Ok(self.usual.clone());
        }
        let found = lock(&self.open).get_mut(&name).map(|open| {
            open.used = Instant::now();
            open.workspace.clone()
        });
        let workspace = match (found, owner.session()) {
            (Some(found), _) => found,
            (None, None) => self.keep(self.open_user(owner, &name)?, name),
            (None, Some(session)) => self.keep(self.open_session(owner, &session, &name)?, name),
        };
        workspace.touch();
        Ok(workspace)
    }

    /// Keeps it open; somebody else may have opened it meanwhile, then it is theirs.
    fn keep(&self, workspace: Workspace, name: String) -> Arc<Workspace> {
        let mut places = lock(&self.open);
        // Closed after the lock is let go.
        let mut closed = Vec::new();
        while places.len() >= PLACES_OPEN_MAX {
            let unused = places.iter().filter(|(_, open)| !open.is_in_use());
            let Some(oldest) = unused.min_by_key(|(_, open)| open.used).map(|(name, _)| name.clone()) else {
                break;
            };
            closed.extend(places.remove(&oldest));
        }
        let new = || OpenWorkspace { workspace: Arc::new(workspace), used: Instant::now() };
        let kept = places.entry(name).or_insert_with(new).workspace.clone();
        drop(places);
        kept
    }

    /// Closes a place that no call has and none had for `age`; false when one does or did.
    pub(super) fn close_unused(&self, name: &str, age: Duration) -> bool {
        let mut places = lock(&self.open);
        let closed = match places.get(name) {
            None => None,
            Some(open) if open.is_in_use() || open.used.elapsed() < age => return false,
            Some(_) => places.remove(name),
        };
        drop(places);
        drop(closed);
        true
    }

    fn open_user(&self, owner: &FileOwner, name: &str) -> Result<Workspace, OpenError> {
        let base = self.base(owner)?;
        Ok(self.workspace(self.config.mounts(&base, name, self.technique)?, None))
    }

    fn open_session(&self, owner: &FileOwner, session: &str, name: &str) -> Result<Workspace, OpenError> {
        // Open for as long as this is: its mounts are shared.
        let user = self.open_for(&owner.for_user())?;
        let failed = |below: &str, errno| self.config.folder_error(below, errno);
        let all = format!("{}{SESSIONS}", owner.for_user().folder());
        let sessions = private_folder(self.base(owner)?, SESSIONS).map_err(|errno| failed(&all, errno))?;
        let folder = hold(&sessions, session).map_err(|errno| failed(name, errno))?;
        let tmp = self.config.mount(&folder, TMP, name, self.technique)?;
        let mount = |mount: &Arc<StagingFolder>| if mount.guest == TMP { tmp.clone() } else { mount.clone() };
        let mounts = user.mounts.iter().map(mount).collect();
        Ok(self.workspace(mounts, Some(SessionFolder { folder, _user: user })))
    }

    fn workspace(&self, mounts: Vec<Arc<StagingFolder>>, session: Option<SessionFolder>) -> Workspace {
        Workspace { mounts, quota: self.quota.clone(), umask: self.usual.umask, session }
    }

    /// The folder that is laid out like the root, made when missing: the root, or the user's.
    fn base(&self, owner: &FileOwner) -> Result<Arc<OwnedFd>, OpenError> {
        let Some(user) = owner.user() else { return Ok(self.root.clone()) };
        let failed = |below: &str, errno| self.config.folder_error(below, errno);
        let users = private_folder(&self.root, USERS).map_err(|errno| failed(USERS, errno))?;
        let own = private_folder(users, &user);
        own.map(Arc::new).map_err(|errno| failed(&format!("{USERS}/{user}"), errno))
    }
}

impl Workspace {
    /// Its session is used now. Where that cannot be noted, nothing can be removed either.
    fn touch(&self) {
        if let Some(session) = &self.session {
            let time = |tv_nsec| Timespec { tv_sec: 0, tv_nsec };
            let now = Timestamps { last_access: time(UTIME_OMIT), last_modification: time(UTIME_NOW) };
            let _ = futimens(&session.folder, &now);
        }
    }
}

/// A session's folder, made when missing, and locked so that it stays while this is open.
fn hold(sessions: &OwnedFd, name: &str) -> rustix::io::Result<OwnedFd> {
    for _ in 0..ASKS_MAX {
        let folder = match private_folder(sessions, name) {
            // Renamed away between being found and being opened.
            Err(Errno::NOENT) => continue,
            folder => folder?,
        };
        match flock(&folder, FlockOperation::NonBlockingLockShared) {
            // It may have been renamed away in between.
            Ok(()) if FileIdentity::from_file(&folder)?.has_name(sessions, name)? => return Ok(folder),
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => thread::sleep(ASK_EVERY),
            Err(errno) => return Err(errno),
        }
    }
    Err(Errno::BUSY)
}
