//! First answers to commands, within the 3 s after which a person is told that it failed: given as
//! soon as the command is kept, however long it waits for its turn; and again by the next start,
//! where nobody knows whether it was given.

use super::api::{BucketWait, DiscordApi, RequestBody};
use super::bot::DiscordBot;
use super::failure::{ApiFailure, codes};
use super::route::Route;
use super::wire::{Interaction, Snowflake};
use cofferdam_agent::server::Backoff;
use cofferdam_chat::handler::StartDecision;
use cofferdam_core::lock::lock;
use cofferdam_store::NewUpdate;
use serde_json::json;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// After so long Discord has told the person that the program does not answer.
pub(super) const ANSWER_MAX: Duration = Duration::from_secs(3);
/// Commands that are acknowledged at once; a further one is when its turn has come.
pub(super) const ACKS_MAX: usize = 1024;

/// Those that are under way, and some that were given. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Acks(Arc<Mutex<HashMap<Snowflake, JoinHandle<StartDecision>>>>);

impl Acks {
    /// Begins to tell Discord that an answer to a command comes, which is kept by now; `noted` is
    /// how it is kept once that is told.
    pub(super) fn begin(&self, bot: &DiscordBot, interaction: Interaction, noted: NewUpdate) {
        let (api, base) = (bot.api.clone(), bot.base.clone());
        let mut known = lock(&self.0);
        if !make_room(&mut known) {
            tracing::debug!(
                "so many commands wait to be acknowledged that one more is when its turn has come"
            );
            return;
        }
        let id = interaction.id;
        let telling = async move {
            let told = tell(&api, &interaction, &base.stop.soon).await;
            if told == StartDecision::Now {
                let note = || base.store.persist(&base.channel, vec![noted.clone()]);
                base.store_until_done("note that a command was acknowledged", note).await;
            }
            told
        };
        known.insert(id, tokio::spawn(telling));
    }

    /// Whether the command is to run: not before the answer is given, nor where it came too late.
    pub(super) async fn acknowledge(
        &self,
        api: &DiscordApi,
        interaction: &Interaction,
        stop: &CancellationToken,
    ) -> StartDecision {
        let begun = lock(&self.0).remove(&interaction.id);
        match begun {
            // It is given, and that is kept.
            _ if interaction.acknowledged => StartDecision::Now,
            Some(begun) => begun.await.unwrap_or(StartDecision::Later),
            None => tell(api, interaction, stop).await,
        }
    }
}

/// Whether one more can be begun. Those that are over are forgotten, since another node may have the
/// turn: asked again, Discord says the same.
fn make_room(known: &mut HashMap<Snowflake, JoinHandle<StartDecision>>) -> bool {
    known.retain(|_, ack| !ack.is_finished());
    known.len() < ACKS_MAX
}

async fn tell(api: &DiscordApi, interaction: &Interaction, stop: &CancellationToken) -> StartDecision {
    let route = Route::answer(interaction);
    // An answer is to come, and everybody there sees it.
    let deferred = json!({ "type": 5 });
    let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));
    loop {
        let told = api.call_within(&route, RequestBody::Json(&deferred), (ANSWER_MAX, BucketWait::Waits));
        let failure = match stop.run_until_cancelled(told).await {
            None => return StartDecision::Later,
            Some(Ok(_)) => return StartDecision::Now,
            Some(Err(failure)) => failure,
        };
        match &failure {
            failure if failure.is_code(codes::ACKNOWLEDGED) => return StartDecision::Now,
            ApiFailure::Refused { .. } => {
                tracing::warn!(interaction = interaction.id, %failure, "a command is not run: its sender was told that it failed");
                return StartDecision::Never;
            }
            _ => tracing::debug!(%failure, "a command is not acknowledged yet"),
        }
        let Some(()) = stop.run_until_cancelled(sleep(backoff.pause())).await else {
            return StartDecision::Later;
        };
    }
}

#[cfg(test)]
mod tests {
    use super::super::token::BotToken;
    use super::*;
    use cofferdam_agent::server::{Address, ServerScope};

    #[tokio::test]
    async fn what_is_kept_as_given_is_remembered_no_longer_than_its_turn_begins() {
        let url = "http://127.0.0.1:9".parse().expect("an address");
        let token = BotToken::parse("aaaaaaaa.bbbbbbbb.cccccccc").expect("a token");
        let address = Address { url, reach: ServerScope::Loopback };
        let stop = CancellationToken::new();
        let api = DiscordApi::new(address, token, stop.clone(), None).expect("a client");
        let acks = Acks::default();
        lock(&acks.0).insert(5, tokio::spawn(std::future::pending()));
        let interaction = Interaction { id: 5, application: 6, token: "t".into(), acknowledged: true };
        assert_eq!(acks.acknowledge(&api, &interaction, &stop).await, StartDecision::Now);
        assert!(lock(&acks.0).is_empty());
    }

    #[tokio::test]
    async fn no_more_are_remembered_than_the_limit() {
        let mut known = HashMap::new();
        for id in (1..).take(ACKS_MAX) {
            assert!(make_room(&mut known), "{id}");
            known.insert(id, tokio::spawn(std::future::pending()));
        }
        assert!(!make_room(&mut known), "nobody has heard of any of them");
        let given = tokio::spawn(std::future::ready(StartDecision::Now));
        while !given.is_finished() {
            tokio::task::yield_now().await;
        }
        known.insert(1, given);
        assert!(make_room(&mut known), "one was given");
        assert_eq!(known.len(), ACKS_MAX - 1);
    }
}
