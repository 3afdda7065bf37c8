//! A note beside the database for those who look at a running `serve`: who it is, when it polled
//! last, and how it has fared.
//!
//! It decides nothing and nothing depends on it: what is held is told by locks. Replaced in one
//! step and never synchronized, because after a power loss nobody runs.

use super::machine_now_ms;
use cofferdam_core::lock::lock;
use cofferdam_core::secret::redact;
use cofferdam_core::standing::HealthHistory;
use cofferdam_core::text::one_line;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// A note that is longer is none.
const NOTE_BYTES_MAX: u64 = 16 << 10;
/// What came of a reload is cut here.
const RELOADED_BYTES_MAX: usize = 2048;
/// So many runs that wait for the audit are named.
const HELD_RUNS_NAMED: usize = 20;
/// Polls that follow each other faster than this, in milliseconds, are not all noted.
const NOTED_EVERY_MS: i64 = 1000;

/// What the note says. Times are milliseconds since 1970 UTC.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PresenceNote {
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
    /// Each of several channels, by name.
    #[serde(default)]
    pub channels: BTreeMap<String, ChannelNoted>,
    /// Of this process, or, where it has nothing to tell, of those before it.
    #[serde(default)]
    pub health: Health,
    /// Of this process.
    #[serde(default)]
    pub reloads: Reloads,
    /// Runs that wait until the audit is settled, the first 20; of this process.
    #[serde(default)]
    pub held_runs: Vec<String>,
}

/// What is noted of one channel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelNoted {
    /// The bot as people call it, once that is known.
    pub bot: Option<String>,
    /// When the platform answered last.
    pub polled_at: Option<i64>,
}

/// How a gateway has fared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// What it has logged last as an error.
    pub error: Option<LastError>,
    /// How asking a model has gone.
    #[serde(default)]
    pub model: HealthHistory,
    /// How writing to the store has gone.
    #[serde(default)]
    pub store: HealthHistory,
}

/// What came of reading the configuration anew.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reloads {
    /// How many have begun in this process.
    pub begun: u64,
    /// The last one that ended.
    pub ended: Option<Reloaded>,
}

/// A reload that ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reloaded {
    /// Counts those that have begun, from 1.
    pub number: u64,
    /// Whether what was read is in force now.
    pub applied: bool,
    /// On one line, without secrets: what is new, or why it was refused.
    pub said: String,
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
    noted: Mutex<PresenceNote>,
    /// Whether the note is this process's to write: another one may serve with this state.
    begun: AtomicBool,
}

impl Presence {
    /// A note in this state directory. Nothing is written yet.
    pub fn new(file: &Path) -> Arc<Self> {
        let (pid, version) = (std::process::id(), env!("CARGO_PKG_VERSION").to_owned());
        let before = self::read_note(file).map(|before| before.health).unwrap_or_default();
        // It has tried nothing yet; what the one before came to says nothing of it.
        let health = Health {
            model: HealthHistory::default().merge_earlier(&before.model),
            store: HealthHistory::default().merge_earlier(&before.store),
            ..before
        };
        let started_at = machine_now_ms();
        let noted = PresenceNote { pid, version, started_at, health, ..PresenceNote::default() };
        Arc::new(Self { path: file.to_owned(), noted: Mutex::new(noted), begun: AtomicBool::new(false) })
    }

    /// Notes that this process has begun to serve.
    pub fn note_begin(&self) {
        self.begun.store(true, Ordering::Relaxed);
        self.note(|_| {});
    }

    /// Notes who polls on a channel.
    pub fn note_account(&self, channel: &str, bot: &str) {
        self.note(|noted| {
            noted.channels.entry(channel.to_owned()).or_default().bot = Some(bot.to_owned());
            // The first one by name.
            noted.bot = noted.channels.values().find_map(|channel| channel.bot.clone());
        });
    }

    /// Notes that a channel's platform has answered, off the async threads.
    pub fn note_poll(self: &Arc<Self>, channel: &'static str) {
        let now = machine_now_ms();
        let last = lock(&self.noted).channels.get(channel).and_then(|channel| channel.polled_at);
        // A clock that was set back must not keep it from being noted.
        if last.is_some_and(|last| (0..NOTED_EVERY_MS).contains(&(now - last))) {
            return;
        }
        let presence = self.clone();
        tokio::task::spawn_blocking(move || {
            presence.note(|noted| {
                noted.channels.entry(channel.to_owned()).or_default().polled_at = Some(now);
                noted.polled_at = Some(now);
            });
        });
    }

    /// Notes how it has fared, if that is news. Blocks on the disk, for a moment.
    pub fn note_health(&self, health: Health) {
        let before = lock(&self.noted).health.clone();
        let health = Health {
            error: health.error.or(before.error.clone()),
            model: health.model.merge_earlier(&before.model),
            store: HealthHistory { succeeded_at: None, ..health.store.merge_earlier(&before.store) },
        };
        if health != before {
            self.note(|noted| noted.health = health);
        }
    }

    /// Notes that the configuration is being read anew; the number of the reload.
    pub fn begin_reload(&self) -> u64 {
        self.note(|noted| noted.reloads.begun += 1);
        lock(&self.noted).reloads.begun
    }

    /// Notes what came of the last reload that has begun.
    pub fn end_reload(&self, applied: bool, said: &str) {
        let said = one_line(&redact(said), RELOADED_BYTES_MAX);
        self.note(|noted| {
            noted.reloads.ended = Some(Reloaded { number: noted.reloads.begun, applied, said });
        });
    }

    /// Notes which runs wait until the audit is settled, if that is news. Blocks on the disk, for a
    /// moment.
    pub fn note_held_runs(&self, mut runs: Vec<String>) {
        runs.truncate(HELD_RUNS_NAMED);
        let is_news = lock(&self.noted).held_runs != runs;
        if is_news {
            self.note(|noted| noted.held_runs = runs);
        }
    }

    fn note(&self, change: impl FnOnce(&mut PresenceNote)) {
        // Held while it is written: two writers would share one temporary name.
        let mut noted = lock(&self.noted);
        change(&mut noted);
        if !self.begun.load(Ordering::Relaxed) {
            return;
        }
        let written = serde_json::to_vec(&*noted).map_err(std::io::Error::from).and_then(|text| {
            let new = self.path.with_extension("json-new");
            fs::write(&new, &text)
                .and_then(|()| fs::rename(&new, &self.path))
                .or_else(|_| self.overwrite(text))
        });
        if let Err(error) = written {
            tracing::debug!(%error, "the note for `cofferdam status` is not written");
        }
    }

    /// Writes over the note that is there: a full disk has no room for another, and that it is full
    /// is to be told.
    fn overwrite(&self, mut text: Vec<u8>) -> std::io::Result<()> {
        let file = fs::File::options().write(true).open(&self.path)?;
        let length = usize::try_from(file.metadata()?.len()).unwrap_or_default();
        // Blanks after it mean nothing, and leave nothing of what was longer.
        text.resize(text.len().max(length), b' ');
        file.write_all_at(&text, 0)
    }
}

/// The note of the one who served last in this state directory, if there is one.
pub fn read_note(path: &Path) -> Option<PresenceNote> {
    let is_short = fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() <= NOTE_BYTES_MAX);
    if is_short { serde_json::from_slice(&fs::read(path).ok()?).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE_NAME: &str = "serving.json";

    #[tokio::test]
    async fn a_note_is_whole_or_none() {
        let dir = tempfile::tempdir().expect("a folder");
        assert_eq!(read_note(&dir.path().join(FILE_NAME)), None);
        let presence = Presence::new(&dir.path().join(FILE_NAME));
        presence.note_account("telegram", "@early");
        assert_eq!(read_note(&dir.path().join(FILE_NAME)), None, "who has not begun writes no note");
        let presence = Presence::new(&dir.path().join(FILE_NAME));
        presence.note_begin();
        let first = read_note(&dir.path().join(FILE_NAME)).expect("written");
        assert_eq!((first.pid, first.bot, first.polled_at), (std::process::id(), None, None));
        presence.note_account("telegram", "@bot");
        assert_eq!(
            read_note(&dir.path().join(FILE_NAME)).and_then(|noted| noted.bot).as_deref(),
            Some("@bot")
        );
        let error = Some(LastError { at: "2026-01-02T03:04:05Z".into(), said: "full".into() });
        presence.note_health(Health { error: error.clone(), ..Health::default() });
        // The next process goes on with it, until it has something to tell itself.
        let next = Presence::new(&dir.path().join(FILE_NAME));
        next.note_begin();
        let failed = HealthHistory {
            failed_at: Some(7),
            reason: Some("404".into()),
            failing_since: Some(7),
            ..HealthHistory::default()
        };
        next.note_health(Health { model: failed.clone(), ..Health::default() });
        let told = read_note(&dir.path().join(FILE_NAME)).expect("written").health;
        assert_eq!(told, Health { error, model: failed.clone(), ..Health::default() });
        // Whether it still fails is for the next one to find out.
        Presence::new(&dir.path().join(FILE_NAME)).note_begin();
        let told = read_note(&dir.path().join(FILE_NAME)).expect("written").health.model;
        assert_eq!(told, HealthHistory { failing_since: None, ..failed });
        let file = dir.path().join(FILE_NAME);
        let text = fs::read_to_string(&file).expect("readable");
        fs::write(&file, "{").expect("writable");
        assert_eq!(read_note(&dir.path().join(FILE_NAME)), None);
        for (bytes, is_read) in [(16 << 10, true), ((16 << 10) + 1, false)] {
            fs::write(&file, format!("{text:bytes$}")).expect("writable");
            assert_eq!(read_note(&dir.path().join(FILE_NAME)).is_some(), is_read, "{bytes} bytes");
        }
    }

    #[test]
    fn where_there_is_no_room_for_another_note_the_one_that_is_there_is_written_over() {
        let dir = tempfile::tempdir().expect("a folder");
        let presence = Presence::new(&dir.path().join(FILE_NAME));
        presence.note_begin();
        presence.note_account("telegram", &"long".repeat(100));
        // No file can be made under that name any more.
        fs::create_dir(dir.path().join("serving.json-new")).expect("writable");
        let failed = HealthHistory {
            failed_at: Some(7),
            reason: Some("full".into()),
            failing_since: Some(7),
            ..HealthHistory::default()
        };
        presence.note_account("telegram", "@bot");
        presence.note_health(Health { store: failed.clone(), ..Health::default() });
        let told = read_note(&dir.path().join(FILE_NAME)).expect("whole");
        assert_eq!((told.bot.as_deref(), told.health.store), (Some("@bot"), failed));
    }

    #[test]
    fn runs_that_wait_for_the_audit_are_noted_until_they_do_not() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join(FILE_NAME);
        let presence = Presence::new(&file);
        presence.note_begin();
        let held = || read_note(&file).expect("written").held_runs;
        let runs: Vec<String> = (0..25).map(|n| format!("w-{n}")).collect();
        presence.note_held_runs(runs.clone());
        assert_eq!(held(), runs[..20]);
        // The next process looks for itself.
        Presence::new(&file).note_begin();
        assert!(held().is_empty());
        presence.note_held_runs(runs[..1].to_vec());
        assert_eq!(held(), ["w-0"]);
        presence.note_held_runs(Vec::new());
        assert!(held().is_empty());
    }

    #[test]
    fn what_came_of_a_reload_is_noted_with_its_number() {
        let dir = tempfile::tempdir().expect("a folder");
        let presence = Presence::new(&dir.path().join(FILE_NAME));
        presence.note_begin();
        assert_eq!(presence.begin_reload(), 1);
        assert_eq!(
            read_note(&dir.path().join(FILE_NAME)).expect("written").reloads,
            Reloads { begun: 1, ended: None }
        );
        presence.end_reload(false, "c.toml:3: no");
        assert_eq!(presence.begin_reload(), 2);
        let told = read_note(&dir.path().join(FILE_NAME)).expect("written").reloads;
        let ended = Reloaded { number: 1, applied: false, said: "c.toml:3: no".into() };
        assert_eq!(told, Reloads { begun: 2, ended: Some(ended) });
    }
}
