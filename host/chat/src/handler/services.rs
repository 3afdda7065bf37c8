//! What every channel stands on: the services that it is given, and what its turns share.

use crate::approvals::ApprovalService;
use crate::people::{AccessControl, PeopleRules};
use crate::runs::Runs;
use crate::session_queue::{AlbumWindow, RunningTurns, Stop, TurnPlaces, TurnSlot};
use cofferdam_agent::turn::Runner;
use cofferdam_agent::voice::Voice;
use cofferdam_store::{Store, StoreError, StoreRetry, node_of, now};
use cofferdam_warden::attachments::outgoing::Outgoing;
use cofferdam_warden::attachments::{self, BlobStore};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Writes down what became of the changes that a node left open which is gone; blocks. Before
/// its turns go on elsewhere: they must not be told of a change that was made as of one that was
/// not.
pub type SettleAudit = Arc<dyn Fn(&str) -> Result<(), String> + Send + Sync>;

/// What a channel stands on. Clones share what lasts.
#[derive(Clone)]
pub struct ChannelServices {
    /// The inbox and the replies.
    pub store: Store,
    /// What is this channel's in it; another account of the same platform is another channel there.
    pub channel: String,
    /// Repeats what must be written down.
    pub store_retry: StoreRetry,
    /// When to end.
    pub stop: Stop,
    /// Answers turns.
    pub runner: Arc<Runner>,
    /// Has approvals decided.
    pub approvals: ApprovalService,
    /// The turns that run now.
    pub running: Arc<RunningTurns>,
    /// The places of those that are worked on at once.
    pub places: Arc<TurnPlaces>,
    /// Takes the bytes of attachments.
    pub blobs: BlobStore,
    /// What a message may bring.
    pub limits: attachments::Config,
    /// Holds the bytes of replies' files.
    pub outgoing: Outgoing,
    /// Settles the audit of nodes that are gone.
    pub settle: SettleAudit,
    /// How long further parts of an album are waited for.
    pub albums: AlbumWindow,
    /// Runs of workflows.
    pub runs: Runs,
    /// Hears voice messages, and speaks.
    pub voice: Voice,
    /// Who comes in.
    pub door: AccessControl,
}

impl ChannelServices {
    /// Repeats work in the store until it succeeds; `None` once the program stops.
    pub async fn store_until_done<T, F>(&self, what: &str, work: impl FnMut() -> F) -> Option<T>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        self.store_retry.store_until_done(what, work).await
    }

    /// Who is served now.
    pub fn people_rules(&self) -> PeopleRules {
        self.door.rules(self.runner.owner())
    }

    /// Who is served by the configuration that is in force, also where this is of one before: for
    /// what has waited for a person meanwhile.
    pub fn people_rules_in_force(&self) -> PeopleRules {
        self.door.in_force().rules(self.runner.owner())
    }

    /// Settles the audit of nodes that are gone, each for itself; the holders of which it is settled.
    /// The others are tried again by the next look.
    pub(crate) async fn settle_audits(&self, mut gone: Vec<String>) -> Vec<String> {
        let nodes: BTreeSet<_> = gone.iter().map(|holder| node_of(holder).to_owned()).collect();
        for node in nodes {
            let (settle, named) = (self.settle.clone(), node.clone());
            let settled = tokio::task::spawn_blocking(move || settle(&named)).await;
            match settled.unwrap_or_else(|error| Err(error.to_string())) {
                Ok(()) => continue,
                Err(error) => {
                    tracing::warn!(error, node, "what a node has left waits until its audit is settled")
                }
            }
            gone.retain(|holder| node_of(holder) != node);
        }
        gone
    }

    /// Removes the blobs that no reply needs any more. One that stays for now is removed later. A
    /// bucket is swept beside: it may be away, and no conversation and no stop waits for that.
    pub async fn sweep(&self) {
        let (outgoing, store) = (self.outgoing.clone(), self.store.clone());
        let sweep = move || outgoing.sweep_beside(now(), || store.blobs_in_use());
        match tokio::task::spawn_blocking(sweep).await {
            Ok(Ok(Some(bucket))) => drop(tokio::task::spawn_blocking(move || bucket.run())),
            Ok(Err(error)) => tracing::warn!(%error, "blobs of replies cannot be swept now"),
            Ok(Ok(None)) | Err(_) => {}
        }
    }

    /// A place for a turn, which is not taken yet.
    pub(crate) fn slot(&self) -> Arc<TurnSlot> {
        TurnSlot::new(&self.places)
    }
}
