//! Looks at what is new, for runs so long that looking at everything each time takes longer than all else.

use std::time::Duration;

use super::sent::SentMessage;
use super::server::TelegramServer;
use super::state::Inner;
use super::target::Target;

impl TelegramServer {
    /// How many messages the bot has sent.
    pub fn sent_count(&self) -> usize {
        self.state.read(|inner| inner.chats.sent.len())
    }

    /// How many requests of a target there were (among the latest 100 000).
    pub fn request_count(&self, target: impl Into<Target>) -> usize {
        let target = target.into();
        self.state.read(|inner| inner.journal.matching(&target).count())
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
            let newest = inner.chats.sent.get(from..)?;
            accept(newest).then(|| newest.to_vec())
        };
        self.state.wait("messages that are accepted", timeout, look).await
    }
}
