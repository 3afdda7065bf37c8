//! The people of one channel whom the operator has let in by a code, and the codes of strangers: a
//! channel asks who they are and tells them, the operator decides (`cofferdam allow`).

use cofferdam_core::limits::TimeSpan;
use cofferdam_store::machine_now_ms;
use cofferdam_store::people::{NewCode, PairedPerson, People, PeopleError, PeopleList, WaitingStranger};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Those of one channel.
#[derive(Clone, Debug)]
pub struct PairedPeople {
    people: People,
    channel: &'static str,
    /// Whether the file of people cannot be read, which is said once.
    failing: Arc<AtomicBool>,
}

impl PairedPeople {
    /// Those of a channel, by its name in the file of people.
    pub fn new(people: People, channel: &'static str) -> Self {
        Self { people, channel, failing: Arc::default() }
    }

    /// Everybody in the file now, those of other channels included; nobody, while it cannot be
    /// read.
    pub fn load(&self) -> Arc<PeopleList> {
        self.try_load().unwrap_or_default()
    }

    /// The same; `None` while it cannot be read, which is said once.
    fn try_load(&self) -> Option<Arc<PeopleList>> {
        match self.people.load() {
            Ok(listed) => {
                self.failing.store(false, Ordering::Relaxed);
                Some(listed)
            }
            Err(error) => {
                if !self.failing.swap(true, Ordering::Relaxed) {
                    tracing::error!(%error, "only people whom the configuration names are served");
                }
                None
            }
        }
    }

    /// Those who were let in here; `None` while nobody knows. It is looked up each time, so that a
    /// removal holds from the next message on.
    pub fn load_paired(&self) -> Option<Vec<PairedPerson>> {
        let listed = self.try_load()?;
        Some(listed.paired.iter().filter(|one| one.channel == self.channel).cloned().collect())
    }

    /// The code of a stranger, the one that waits or another that lasts so long; none where it
    /// cannot be had. `name` is what they call themselves, bounded and on one line.
    pub async fn code(&self, sender: &str, name: &str, lasts: TimeSpan) -> Option<WaitingStranger> {
        let now = machine_now_ms();
        let mine =
            |one: &&WaitingStranger| one.channel == self.channel && one.sender == sender && one.is_good(now);
        if let Some(mine) = self.load().waiting.iter().find(mine) {
            return Some(mine.clone());
        }
        let expires_at = now.saturating_add(i64::try_from(lasts.0.as_millis()).unwrap_or(i64::MAX));
        let (channel, sender, name) = (self.channel.to_owned(), sender.to_owned(), name.to_owned());
        let new = NewCode { channel, sender, name, expires_at };
        let people = self.people.clone();
        let made = tokio::task::spawn_blocking(move || {
            let mut edit = people.edit()?;
            let has_forgotten = edit.forget_expired(now);
            let before = edit.list().waiting.len();
            let code = edit.code(new, now)?;
            // The loop that hears people waits for the disk: a stranger who gets nothing costs none
            // of its time, however often they write.
            if has_forgotten || edit.list().waiting.len() > before {
                edit.commit()?;
            }
            Ok::<_, PeopleError>(code)
        });
        match made.await {
            Ok(Ok(Some(code))) => Some(code),
            Ok(Ok(None)) => {
                tracing::warn!("a stranger gets no code, since too many wait; see `cofferdam allow`");
                None
            }
            Ok(Err(error)) => {
                tracing::error!(%error, "a stranger gets no code");
                None
            }
            Err(_) => None,
        }
    }

    /// Takes out codes that are good for nothing any more.
    pub async fn forget_expired(&self) {
        let people = self.people.clone();
        let forgotten = tokio::task::spawn_blocking(move || {
            let mut edit = people.edit()?;
            if edit.forget_expired(machine_now_ms()) { edit.commit() } else { Ok(()) }
        });
        if let Ok(Err(error)) = forgotten.await {
            tracing::warn!(%error, "old codes cannot be taken out now");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_store::people::CODES_MAX;
    use std::os::unix::fs::MetadataExt;
    use std::time::Duration;

    #[tokio::test]
    async fn a_stranger_for_whom_there_is_no_code_costs_no_writing() {
        const HOUR: TimeSpan = TimeSpan(Duration::from_secs(3600));
        let dir = tempfile::tempdir().expect("a folder");
        let people = PairedPeople::new(People::new(dir.path()), "paper");
        // Each writing puts a file of its own in the place of the one before.
        let file = || std::fs::metadata(dir.path().join("people.json")).expect("written").ino();
        for n in 1..CODES_MAX {
            assert!(people.code(&n.to_string(), "x", HOUR).await.is_some());
        }
        // One that is over at once makes room for another, and that is written.
        assert!(people.code("over", "x", TimeSpan(Duration::ZERO)).await.is_some());
        let before = file();
        let last = people.code("last", "x", HOUR).await.expect("there is room");
        assert_ne!(file(), before);
        assert_eq!(people.load().waiting.len(), CODES_MAX);
        let before = file();
        for _ in 0..3 {
            assert_eq!(people.code("late", "x", HOUR).await, None);
        }
        assert_eq!(people.code("last", "x", HOUR).await, Some(last));
        assert_eq!(file(), before);
    }
}
