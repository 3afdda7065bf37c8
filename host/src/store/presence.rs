//! A note beside the database for those who look at a running `serve`: who it is, when it polled last, and how it has
//! fared.
//!
//! It decides nothing and nothing depends on it: what is held is told by locks. Replaced in one step and never
//! synchronized, because after a power loss nobody runs.

use super::now_ms;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The file's name within the state directory.
const FILE_NAME: &str = "serving.json";
/// A note that is longer is none.
const NOTE_BYTES_MAX: u64 = 4096;
/// Polls that follow each other faster than this, in milliseconds, are not all noted.
const NOTED_EVERY_MS: i64 = 1000;

/// What the note says. Times are milliseconds since 1970 UTC.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Noted {
    /// The process.
    pub pid: u32,
    /// The release that runs.
    pub version: String,
    /// Since when.
    pub started_at: i64,
    /// The bot as people call it, once that is known.
    pub bot: Option<String>,
    /// When the platform answered a poll last.
    pub polled_at: Option<i64>,
    /// Of this process, or, where it has nothing to tell, of those before it.
    #[serde(default)]
    pub health: Health,
}

/// How a gateway has fared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// What it has logged last as an error.
    pub error: Option<LastError>,
    /// When a model has answered last.
    pub model_answered_at: Option<i64>,
    /// When one was asked last and did not answer.
    pub model_failed_at: Option<i64>,
}

/// An error of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastError {
    /// When: UTC, RFC 3339, to the second.
    pub at: String,
    /// On one line, without secrets.
    pub said: String,
}

/// The note of this process.
#[derive(Debug)]
pub struct Presence {
    path: PathBuf,
    noted: Mutex<Noted>,
}

impl Presence {
    /// A note in this state directory. Nothing is written yet.
    pub fn new(dir: &Path) -> Arc<Self> {
        let (pid, version) = (std::process::id(), env!("CARGO_PKG_VERSION").to_owned());
        let health = self::noted(dir).map(|before| before.health).unwrap_or_default();
        let noted = Noted { pid, version, started_at: now_ms(), bot: None, polled_at: None, health };
        Arc::new(Self { path: dir.join(FILE_NAME), noted: Mutex::new(noted) })
    }

    /// Notes that this process has begun to serve.
    pub fn begins(&self) {
        self.note(|_| {});
    }

    /// Notes who polls.
    pub fn polls_as(&self, bot: &str) {
        self.note(|noted| noted.bot = Some(bot.to_owned()));
    }

    /// Notes that a poll was answered, off the async threads.
    pub fn polled(self: &Arc<Self>) {
        let now = now_ms();
        let last = self.noted.lock().unwrap_or_else(PoisonError::into_inner).polled_at;
        // A clock that was set back must not keep it from being noted.
        if last.is_some_and(|last| (0..NOTED_EVERY_MS).contains(&(now - last))) {
            return;
        }
        let presence = self.clone();
        tokio::task::spawn_blocking(move || presence.note(|noted| noted.polled_at = Some(now)));
    }

    /// Notes how it has fared, if that is news. Blocks on the disk, for a moment.
    pub fn fares(&self, health: Health) {
        let Health { error, model_answered_at, model_failed_at } = health;
        let before = self.noted.lock().unwrap_or_else(PoisonError::into_inner).health.clone();
        let health = Health {
            error: error.or(before.error.clone()),
            model_answered_at: model_answered_at.or(before.model_answered_at),
            model_failed_at: model_failed_at.or(before.model_failed_at),
        };
        if health != before {
            self.note(|noted| noted.health = health);
        }
    }

    fn note(&self, change: impl FnOnce(&mut Noted)) {
        // Held while it is written: two writers would share one temporary name.
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut noted);
        let written = serde_json::to_vec(&*noted).map_err(std::io::Error::from).and_then(|text| {
            let new = self.path.with_extension("json-new");
            fs::write(&new, text)?;
            fs::rename(&new, &self.path)
        });
        if let Err(error) = written {
            tracing::debug!(%error, "the note for `cofferdam status` is not written");
        }
    }
}

/// The note of whoever served last in this state directory, if there is one.
pub fn noted(dir: &Path) -> Option<Noted> {
    let path = dir.join(FILE_NAME);
    let is_short = fs::metadata(&path).is_ok_and(|meta| meta.is_file() && meta.len() <= NOTE_BYTES_MAX);
    if is_short { serde_json::from_slice(&fs::read(path).ok()?).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_note_is_whole_or_none() {
        let dir = tempfile::tempdir().expect("a folder");
        assert_eq!(noted(dir.path()), None);
        let presence = Presence::new(dir.path());
        presence.begins();
        let first = noted(dir.path()).expect("written");
        assert_eq!((first.pid, first.bot, first.polled_at), (std::process::id(), None, None));
        presence.polls_as("@bot");
        assert_eq!(noted(dir.path()).and_then(|noted| noted.bot).as_deref(), Some("@bot"));
        let error = Some(LastError { at: "2026-01-02T03:04:05Z".into(), said: "full".into() });
        presence.fares(Health { error: error.clone(), ..Health::default() });
        // The next process goes on with it, until it has something to tell itself.
        let next = Presence::new(dir.path());
        next.fares(Health { model_answered_at: Some(7), ..Health::default() });
        let told = noted(dir.path()).expect("written").health;
        assert_eq!(told, Health { error, model_answered_at: Some(7), model_failed_at: None });
        let file = dir.path().join(FILE_NAME);
        let text = fs::read_to_string(&file).expect("readable");
        fs::write(&file, "{").expect("writable");
        assert_eq!(noted(dir.path()), None);
        for (bytes, is_read) in [(4096, true), (4097, false)] {
            fs::write(&file, format!("{text:bytes$}")).expect("writable");
            assert_eq!(noted(dir.path()).is_some(), is_read, "{bytes} bytes");
        }
    }
}
