//! What the server knows, behind one lock, and the notification that something changed.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::bail;
use tokio::sync::watch;

use super::bot::Bot;
use super::chats::Chats;
use super::fault::FaultPlan;
use super::files::Files;
use super::floods::Floods;
use super::gate::GateBook;
use super::journal::Journal;
use super::updates::UpdateQueue;

/// Requests and messages that a failed wait lists.
const SUMMARY_LINES: usize = 20;

/// Everything that the lock guards.
pub(super) struct Inner {
    pub(super) bot: Bot,
    pub(super) updates: UpdateQueue,
    pub(super) chats: Chats,
    pub(super) files: Files,
    pub(super) journal: Journal,
    pub(super) faults: FaultPlan,
    pub(super) floods: Floods,
    pub(super) gates: GateBook,
}

/// Shared by the handles and the connections.
pub(super) struct State {
    pub(super) token: String,
    inner: Mutex<Inner>,
    changes: watch::Sender<()>,
}

impl State {
    pub(super) fn new(token: String) -> Self {
        let inner = Inner {
            bot: Bot::new(&token),
            updates: UpdateQueue::default(),
            chats: Chats::default(),
            files: Files::default(),
            journal: Journal::default(),
            faults: FaultPlan::default(),
            floods: Floods::default(),
            gates: GateBook::default(),
        };
        Self { token, inner: Mutex::new(inner), changes: watch::Sender::new(()) }
    }

    /// Looks at the state.
    pub(super) fn read<R>(&self, look: impl FnOnce(&Inner) -> R) -> R {
        look(&self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the state and wakes everybody who waits for a change.
    pub(super) fn change<R>(&self, act: impl FnOnce(&mut Inner) -> R) -> R {
        let result = act(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner));
        self.changes.send_replace(());
        result
    }

    /// Subscribe before looking: a change between the two then still wakes.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Waits until `look` finds something; the error says what there was instead.
    pub(super) async fn wait<R>(
        &self,
        what: &str,
        timeout: Duration,
        mut look: impl FnMut(&Inner) -> Option<R>,
    ) -> anyhow::Result<R> {
        let mut changes = self.changes();
        let found = tokio::time::timeout(timeout, async {
            loop {
                if let Some(found) = self.read(&mut look) {
                    return found;
                }
                changes.changed().await.expect("self keeps the sender alive");
            }
        });
        match found.await {
            Ok(found) => Ok(found),
            Err(_) => bail!("no {what} within {timeout:?}; so far:\n{}", self.read(summary)),
        }
    }
}

/// The last requests and messages, for whoever reads a failed test.
fn summary(inner: &Inner) -> String {
    let requests = inner.journal.records.iter().rev().take(SUMMARY_LINES).rev().map(|record| {
        let params = serde_json::Value::Object(record.params.clone()).to_string();
        let short: String = params.chars().take(200).collect();
        format!("  request {} {} {short} -> {:?}", record.number, record.method, record.status)
    });
    let sent = inner.chats.sent.iter().rev().take(SUMMARY_LINES).rev().map(|message| {
        format!("  sent to {} as {}: {:?}", message.chat_id, message.message_id, message.text)
    });
    let unconfirmed = format!("  unconfirmed updates: {:?}", inner.updates.unconfirmed());
    requests.chain(sent).chain([unconfirmed]).collect::<Vec<_>>().join("\n")
}
