//! Whether a gateway could be opened, for those who only look: what is there is opened as a start
//! opens it, and of what is missing it is asked whether it could be made. Nothing is made, locked,
//! swept, settled or migrated, so that a `serve` beside it notices nothing.

use super::{
    Gateway, GatewayError, Role, audit_file, cache_dir, call_threads, load_policies, make_private,
    outgoing_dir, sandbox, sources, unusable,
};
use crate::config::Config;
use cofferdam_agent::tools::Registry;
use cofferdam_policy::PolicySet;
use cofferdam_warden::audit::AuditLog;
use cofferdam_warden::sandbox::{Sandbox, SandboxError};
use rustix::fs::{Access, AtFlags, CWD, accessat};
use std::io;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Whether anyone who prepares a gateway goes on with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreparePurpose {
    /// It serves: what is missing is made, and what must be its own is locked.
    Serve,
    /// It only looks.
    Look,
}

impl PreparePurpose {
    /// A folder of the gateway's own, made, or such that it could be.
    pub(super) fn private_folder(self, dir: &Path) -> Result<(), GatewayError> {
        match self {
            Self::Serve => make_private(dir),
            Self::Look => check_folder(dir).map_err(|cause| unusable(dir, cause)),
        }
    }
}

impl Gateway {
    /// Looks whether [`Gateway::open`] would succeed, the tools apart, which are loaded by
    /// [`try_tools`].
    ///
    /// # Errors
    /// What `open` would say.
    pub fn check_open(config: &Config) -> Result<(), GatewayError> {
        load_policies(config.policies_dir.as_deref()).map_err(GatewayError::Policies)?;
        let root = &config.workspace.root;
        if !root.exists() {
            check_folder(root)
                .map_err(|cause| GatewayError::State(format!("the workspace {}", root.display()), cause))?;
        }
        config.workspace.check_open()?;
        AuditLog::check_open(&audit_file(config), &config.audit)?;
        for folder in ["blobs", "cache"].map(|name| config.state_dir.join(name)) {
            PreparePurpose::Look.private_folder(&folder)?;
        }
        PreparePurpose::Look.private_folder(&outgoing_dir(config))?;
        let (cache, _temporary) = choose_cache(config)?;
        let sandbox = sandbox(config, &cache)?;
        drop(call_threads(Role::Serve)?);
        sandbox.try_worker()?;
        Ok(())
    }
}

/// Policies and tools alone, for commands that look and do not call.
///
/// # Errors
/// [`GatewayError`].
pub fn look(config: &Config) -> Result<Registry, GatewayError> {
    review(config, config.policies_dir.as_deref()).map(|(_, registry)| registry)
}

/// The same with the policies themselves, for commands that explain them.
///
/// # Errors
/// [`GatewayError`].
pub fn review(config: &Config, policies_dir: Option<&Path>) -> Result<(PolicySet, Registry), GatewayError> {
    // No workspace: opening one makes folders and sweeps, and a reviewer's machine has none.
    load(config, policies_dir, |_| Ok(()))
}

/// Tools as a start would load them, and whether a worker would run their calls.
///
/// # Errors
/// [`GatewayError`]: no worker starts, or there are no policies.
pub fn try_tools(config: &Config) -> Result<Registry, GatewayError> {
    // What is embedded loads without one, and no call would run.
    load(config, config.policies_dir.as_deref(), Sandbox::try_worker).map(|(_, registry)| registry)
}

fn load(
    config: &Config,
    policies_dir: Option<&Path>,
    try_sandbox: impl FnOnce(&Sandbox) -> Result<(), SandboxError>,
) -> Result<(PolicySet, Registry), GatewayError> {
    let policies = load_policies(policies_dir).map_err(GatewayError::Policies)?;
    let (cache, _temporary) = choose_cache(config)?;
    let sandbox = sandbox(config, &cache)?;
    try_sandbox(&sandbox)?;
    let registry = Registry::load(&sandbox, &policies, &sources(config, policies_dir));
    Ok((policies, registry))
}

/// Where commands that only look have compiled components. Where the state has no cache that is a
/// folder which is gone with the second value: a start, perhaps under another account, would find
/// one that is not its own.
///
/// # Errors
/// [`GatewayError::State`] where no temporary folder can be made.
pub(super) fn choose_cache(config: &Config) -> Result<(PathBuf, Option<TempDir>), GatewayError> {
    let path = cache_dir(config);
    // What is there and cannot be used is told as a start would.
    if path.symlink_metadata().is_ok() {
        return Ok((path, None));
    }
    let made =
        tempfile::tempdir().map_err(|cause| GatewayError::State("a temporary folder".into(), cause))?;
    Ok((made.path().to_owned(), Some(made)))
}

/// Whether there is such a folder and things can be made in it, or it could be made itself.
fn check_folder(dir: &Path) -> io::Result<()> {
    let dir = std::path::absolute(dir)?;
    for there in dir.ancestors() {
        match std::fs::metadata(there) {
            Ok(meta) if meta.is_dir() => {
                return Ok(accessat(CWD, there, Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS)?);
            }
            Ok(_) => return Err(io::Error::from(rustix::io::Errno::NOTDIR)),
            // A link to nowhere is in the way, though nothing is behind it.
            Err(error) if error.kind() == io::ErrorKind::NotFound && there.symlink_metadata().is_err() => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

#[cfg(test)]
mod tests {
    use super::check_folder;

    #[test]
    fn a_folder_that_could_be_made_is_not_made() {
        let dir = tempfile::tempdir().expect("a folder");
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("file"), "").expect("writable");
        std::os::unix::fs::symlink("nowhere", at("link")).expect("writable");
        for (name, could) in
            [("", true), ("a/b/c", true), ("file", false), ("file/a", false), ("link/a", false)]
        {
            assert_eq!(check_folder(&at(name)).is_ok(), could, "{name}");
        }
        assert!(!at("a").exists());
        assert!(check_folder(std::path::Path::new("/proc/self/none")).is_err(), "nothing can be made there");
    }
}
