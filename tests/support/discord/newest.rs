//! Looks at what is new, for runs so long that looking at everything each time takes longer than
//! all else.

use std::time::Duration;

use super::inject::checked;
use super::sent::SentMessage;
use super::server::DiscordServer;
use super::state::Inner;
use crate::exchange::{RequestRecord, Target};

impl DiscordServer {
    /// How many messages the bot has sent.
    pub fn sent_count(&self) -> usize {
        self.state.read(|inner| inner.sent.len())
    }

    /// The number that the next request will have.
    pub fn next_request(&self) -> u64 {
        self.state.read(|inner| inner.exchanges.journal.next_number())
    }

    /// The requests from this number on (among the latest 100 000).
    pub fn requests_since(&self, number: u64) -> Vec<RequestRecord> {
        self.state.read(|inner| inner.exchanges.journal.since(number).cloned().collect())
    }

    /// How many of them are of a target.
    pub fn request_count(&self, target: impl Into<Target>, since: u64) -> usize {
        let target = checked(target);
        self.state.read(|inner| {
            inner.exchanges.journal.since(since).filter(|record| record.matches(&target)).count()
        })
    }

    /// The messages from the `from`th on, as they are now, once these are accepted.
    ///
    /// # Errors
    /// After the timeout, with a list of what there was instead.
    pub async fn wait_for_newest(
        &self,
        timeout: Duration,
        from: usize,
        mut accept: impl FnMut(&[SentMessage]) -> bool,
    ) -> anyhow::Result<Vec<SentMessage>> {
        let look = |inner: &Inner| {
            let newest = inner.sent.get(from..)?;
            accept(newest).then(|| newest.to_vec())
        };
        self.state.wait("messages that are accepted", timeout, look).await
    }
}
