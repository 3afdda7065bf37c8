//! How fast Telegram takes messages, a little below what
//! <https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this> says: 1 a
//! second in a chat, 20 a minute in a group, 30 a second in all. What arrives is what counts there,
//! and requests do not arrive as evenly as they leave.

use super::config::FloodLimits;
use super::failure::ApiFailure;
use super::send::is_group;
use cofferdam_chat::outbound::{Pacer, Rate};
use cofferdam_store::Store;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const EACH: Rate = Rate { count: 5, per: Duration::from_secs(6) };
const CHAT: &[Rate] = &[EACH];
const GROUP: &[Rate] = &[EACH, Rate { count: 18, per: Duration::from_secs(60) }];
const ALL: &[Rate] = &[Rate { count: 28, per: Duration::from_secs(1) }];

/// Paces what the bot sends, and remembers which chats take nothing for now.
pub(super) struct Pace {
    pacer: Pacer,
    limits: FloodLimits,
    /// What waits then is left for the next start.
    stop: CancellationToken,
    /// Knows whether another node may send the same by now; none where nothing is sent.
    store: Option<Store>,
}

impl Pace {
    /// By these limits, until the stop. That of a node has its `store`: it sends no reply while its
    /// lease is not certain.
    pub(super) fn new(limits: FloodLimits, stop: CancellationToken, store: Option<Store>) -> Self {
        let all = if limits == FloodLimits::Telegram { ALL } else { &[] };
        Self { pacer: Pacer::new(all), limits, stop, store }
    }

    /// Makes a request that is a message of a reply, when its turn has come.
    pub(super) async fn reply<T>(
        &self,
        chat: i64,
        request: impl Future<Output = Result<T, ApiFailure>>,
    ) -> Result<T, ApiFailure> {
        tokio::select! {
            biased;
            () = self.pacer.turn(chat, self.rates(chat)) => {
                // The wait may have been longer than the lease.
                if let Some(store) = &self.store {
                    let unsure = |_| ApiFailure::Unreachable("this node's lease is not certain".into());
                    store.ensure_lease().await.map_err(unsure)?;
                }
                self.send_noted(chat, request).await
            }
            () = self.stop.cancelled() => Err(ApiFailure::Unreachable("the program stops".into())),
        }
    }

    /// Waits until there is room for a message that can be left out.
    pub(super) async fn spare(&self, chat: i64) {
        self.pacer.spare(chat, self.rates(chat)).await;
    }

    /// Waits until there is room for a sign of life, which is no message in its chat.
    pub(super) async fn sign(&self, chat: i64) {
        self.pacer.spare(chat, &[]).await;
    }

    /// Makes a request, and notes the pause that Telegram asks for.
    pub(super) async fn send_noted<T>(
        &self,
        chat: i64,
        request: impl Future<Output = Result<T, ApiFailure>>,
    ) -> Result<T, ApiFailure> {
        let answer = request.await;
        if let Err(ApiFailure::TooMany(pause)) = &answer {
            self.pacer.hold(chat, *pause);
        }
        answer
    }

    fn rates(&self, chat: i64) -> &'static [Rate] {
        match self.limits {
            FloodLimits::Server => &[],
            FloodLimits::Telegram if is_group(chat) => GROUP,
            FloodLimits::Telegram => CHAT,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_node_whose_lease_went_while_a_reply_waited_sends_it_no_more() {
        let store = Store::in_memory().expect("there is room");
        let pace = Pace::new(FloodLimits::Telegram, CancellationToken::new(), Some(store.clone()));
        let reply = || pace.reply(7, async { Ok(()) });
        reply().await.expect("it has its lease");
        store.note_taken_over();
        let refused = reply().await.expect_err("another node sends it");
        assert!(matches!(&refused, ApiFailure::Unreachable(why) if why.contains("lease")), "{refused}");
    }
}
