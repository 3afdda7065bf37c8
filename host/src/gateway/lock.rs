//! The lock that makes a state directory one `serve`'s, or one name of several that share it.

use super::{GatewayError, PreparePurpose, account, unusable};
use crate::config::Config;
use cofferdam_warden::files::{lock_within, open_if_regular};
use rustix::fs::OFlags;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A process that was killed while it started a worker leaves the lock with that one until it runs
/// its own program.
pub const LOCK_WAIT_MAX: Duration = Duration::from_secs(1);

/// What a `serve` that has the state for itself holds locked.
const ALONE: &str = "serve.lock";

/// The file that a `serve` holds locked.
pub(super) fn lock_file(config: &Config) -> PathBuf {
    config.state_dir.join(config.store.own_name("serve", "lock"))
}

/// The file of what `serve` notes of itself.
pub fn note_file(config: &Config) -> PathBuf {
    config.state_dir.join(config.store.own_name("serving", "json"))
}

/// Held until dropped.
#[derive(Debug)]
pub struct ServeLock(#[expect(dead_code, reason = "the lock lives as long as the file is open")] File);

impl ServeLock {
    /// Takes the lock; waits for one that is about to be let go, at most [`LOCK_WAIT_MAX`].
    ///
    /// # Errors
    /// [`GatewayError::Locked`] when another process holds it.
    pub fn take(config: &Config) -> Result<Self, GatewayError> {
        Self::take_file(config, lock_file(config))
    }

    /// The same lock as a `serve` with SQLite takes, whatever engine is configured.
    ///
    /// # Errors
    /// [`ServeLock::take`].
    pub fn take_of_sqlite(config: &Config) -> Result<Self, GatewayError> {
        Self::take_file(config, config.state_dir.join(ALONE))
    }

    fn take_file(config: &Config, path: PathBuf) -> Result<Self, GatewayError> {
        let file = open(config, &path, PreparePurpose::Serve)?
            .ok_or_else(|| unusable(&path, io::ErrorKind::NotFound.into()))?;
        match lock_within(&file, LOCK_WAIT_MAX, Duration::from_millis(10)) {
            Ok(true) => Ok(Self(file)),
            Ok(false) => Err(GatewayError::Locked(config.state_dir.display().to_string())),
            Err(errno) => Err(unusable(&path, errno.into())),
        }
    }

    /// Looks whether it could be taken if nobody had it, and leaves it alone.
    ///
    /// # Errors
    /// [`GatewayError::State`].
    pub fn check_free(config: &Config) -> Result<(), GatewayError> {
        open(config, &lock_file(config), PreparePurpose::Look).map(drop)
    }
}

/// The file, made when missing; none where it is missing and nothing is to be made.
fn open(config: &Config, path: &Path, purpose: PreparePurpose) -> Result<Option<File>, GatewayError> {
    account::check_begun_state(config)?;
    purpose.private_folder(&config.state_dir)?;
    let mut options = File::options();
    options.read(true).write(true).create(purpose == PreparePurpose::Serve).truncate(false);
    match open_if_regular(path, OFlags::empty(), &mut options) {
        Err(error) if purpose == PreparePurpose::Look && error.kind() == io::ErrorKind::NotFound => Ok(None),
        Ok(None) => Err(unusable(path, io::Error::other("it is not a regular file; move it away"))),
        opened => opened.map_err(|cause| unusable(path, cause)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Flags;
    use cofferdam_store::{Health, LastError, Presence, read_note};
    use std::collections::BTreeMap;

    #[test]
    fn one_that_is_let_go_in_time_is_taken_and_one_that_is_held_is_not() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("cofferdam.toml");
        std::fs::write(&file, "[workspace]\nroot = \"w\"\n[state]\ndir = \"s\"\n").expect("writable");
        let config = Config::load(Some(&file), &Flags::default(), &BTreeMap::new()).expect("valid");
        let first = ServeLock::take(&config).expect("free");
        assert!(matches!(ServeLock::take(&config), Err(GatewayError::Locked(_))));
        std::thread::scope(|scope| {
            let second = scope.spawn(|| ServeLock::take(&config));
            // Whether the other one waits by now or not: it is free before its time is over.
            std::thread::sleep(LOCK_WAIT_MAX / 4);
            drop(first);
            assert!(second.join().expect("no panic").is_ok());
        });
    }

    /// A node of this name; its state is in the folder that it shares with others.
    fn node(dir: &Path, name: &str) -> Config {
        let file = dir.join(format!("{name}.toml"));
        let text = format!(
            "[workspace]\nroot = \"w\"\n[state]\ndir = \"s\"\n[store]\nengine = \"postgres\"\n\
             url_env = \"DATABASE_URL\"\n[cluster]\nnode = {name:?}\n"
        );
        std::fs::write(&file, text).expect("writable");
        let url = ("DATABASE_URL".to_owned(), "postgres://u@localhost/d".to_owned());
        Config::load(Some(&file), &Flags::default(), &BTreeMap::from([url])).expect("valid")
    }

    #[test]
    fn what_a_node_notes_of_its_health_is_not_taken_for_that_of_another_one() {
        let dir = tempfile::tempdir().expect("a folder");
        let [a, b] = ["a", "b"].map(|name| node(dir.path(), name));
        assert_eq!(a.state_dir, b.state_dir);
        std::fs::create_dir(&a.state_dir).expect("writable");
        let begin = |node: &Config| {
            let presence = Presence::new(&note_file(node));
            presence.note_begin();
            presence
        };
        let error = LastError { at: "2026-01-02T03:04:05Z".to_owned(), said: "full".to_owned() };
        let ill = Health { error: Some(error), ..Health::default() };
        begin(&a).note_health(ill.clone());
        assert_eq!(read_note(&note_file(&b)), None, "it has noted nothing");
        begin(&b);
        let noted = |node: &Config| read_note(&note_file(node)).expect("noted").health;
        assert_eq!((noted(&a), noted(&b)), (ill.clone(), Health::default()));
        // What it goes on with is its own.
        begin(&a);
        assert_eq!((noted(&a), noted(&b)), (ill, Health::default()));
    }
}
