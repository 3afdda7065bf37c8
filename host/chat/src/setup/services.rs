//! What every channel is given by the code that composes the program.

use super::ChannelSettings;
use crate::approvals::{ApprovalService, Rules};
use crate::handler::{ChannelServices, SettleAudit};
use crate::loop_health::note_next_within;
use crate::people::{AccessControl, ConfiguredPeople, PairedPeople};
use crate::runs::Runs;
use crate::session_queue::{AlbumWindow, RunningTurns, Stop, TurnPlaces};
use cofferdam_agent::voice::Voice;
use cofferdam_store::people::People;
use cofferdam_store::{Presence, Store, StoreRetry, now_ms};
use cofferdam_warden::attachments::BlobStore;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Everything that a channel needs from others. Clones share it.
#[derive(Clone)]
pub struct Services {
    /// The inbox and the replies.
    pub store: Store,
    /// The note for those who look at it.
    pub presence: Arc<Presence>,
    /// Those whom the operator lets in besides.
    pub people: People,
    /// How many turns of a channel are worked on at once.
    pub turns_at_once: usize,
    /// Takes the bytes of attachments.
    pub blobs: BlobStore,
    /// Settles the audit of nodes that are gone.
    pub settle: SettleAudit,
    /// Runs of workflows.
    pub runs: Runs,
    /// Hears voice messages, and speaks.
    pub voice: Voice,
    /// What the configuration says that was there at the start.
    pub settings: ChannelSettings,
}

/// An entry of the command menu.
#[derive(Clone, Debug, PartialEq)]
pub struct MenuEntry {
    /// The tool's name, without `/`.
    pub name: String,
    /// One sentence.
    pub summary: String,
    /// What it is, if it is a tool; absent for a word to the gateway itself, which is there
    /// in every chat of the bot.
    pub tool: Option<MenuTool>,
}

/// A tool of the menu.
#[derive(Clone, Debug, PartialEq)]
pub struct MenuTool {
    /// Under which it runs.
    pub profile: String,
    /// The JSON Schema of its arguments.
    pub arguments: Value,
    /// Whether it uses the files of a message.
    pub takes_files: bool,
}

/// How often the store is pruned.
const PRUNE_EVERY: Duration = Duration::from_secs(60 * 60);

/// Forgets what is done and old, for as long as this is polled; for all channels of a store.
pub async fn prune(store: Store) {
    loop {
        match store.prune(now_ms()).await {
            Ok(0) => {}
            Ok(count) => tracing::debug!(count, "old updates are forgotten"),
            Err(error) => tracing::warn!(%error, "old updates cannot be forgotten now"),
        }
        tokio::time::sleep(PRUNE_EVERY).await;
    }
}

impl Services {
    /// What a channel of this name stands on that is `channel` in the store and ends with `soon`.
    pub fn base(
        &self,
        (name, channel): (&'static str, String),
        soon: CancellationToken,
        people: ConfiguredPeople,
        albums: AlbumWindow,
    ) -> ChannelServices {
        let stop = Stop { soon, now: CancellationToken::new() };
        let store_retry = StoreRetry::new(stop.soon.clone(), note_next_within);
        let ChannelSettings { runner, outgoing, attachments, approvals, .. } = self.settings.clone();
        let rules = Rules::new(&people.approvers, &approvals);
        let approvals = ApprovalService::new(
            self.store.clone(),
            (store_retry.clone(), stop.clone()),
            channel.clone(),
            rules,
        );
        ChannelServices {
            store: self.store.clone(),
            channel,
            store_retry,
            stop,
            runner,
            approvals,
            running: Arc::new(RunningTurns::default()),
            places: TurnPlaces::new(self.turns_at_once),
            blobs: self.blobs.clone(),
            limits: attachments,
            outgoing,
            settle: self.settle.clone(),
            albums,
            runs: self.runs.clone(),
            voice: self.voice.clone(),
            door: AccessControl::new(people, PairedPeople::new(self.people.clone(), name)),
        }
    }
}
