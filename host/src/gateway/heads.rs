//! How far the audits of the nodes are. Each node tells it the others through the store, and writes
//! down what they tell: who cuts or changes the chain of one node has to change those of all. What
//! other processes of the node append is told with it. It also notes how far its own is settled,
//! for who takes its work over.

use anyhow::Context as _;
use cofferdam_core::audit::AuditEvent;
use cofferdam_store::{AuditHeads, Store};
use cofferdam_warden::audit::{AuditError, AuditLog, Durability, Head};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::spawn_blocking;

/// How often. What a chain has lost that is younger, no other node can show.
pub const HEADS_TOLD_EVERY: Duration = Duration::from_secs(5);

/// Records after which it is noted how far they are settled: nobody publishes while they are read.
const NOTED_EVERY: u64 = 1000;
/// How long a moment is waited for in which nobody publishes, before the next time.
const MOMENT: Duration = Duration::from_secs(1);

/// Tells and hears of heads.
pub struct HeadExchange {
    audit: Arc<AuditLog>,
    store: Store,
    /// What others have told.
    heard: BTreeMap<String, String>,
    /// Up to which record others know of this chain, or need not: what they tell is no news to them.
    told: u64,
    /// Whether it was looked whether this chain holds the head that the database has of it.
    is_compared: bool,
    /// The last head that the database has of this chain without its holding it.
    missing: Option<String>,
    /// Up to which record this chain was settled when that was noted last, or at the start; none
    /// where only the next start can settle it.
    noted: Option<u64>,
}

impl HeadExchange {
    /// Of this node.
    pub fn new(audit: Arc<AuditLog>, store: Store) -> Self {
        let noted = Some(audit.head().seq);
        Self { audit, store, heard: BTreeMap::new(), told: 0, is_compared: false, missing: None, noted }
    }

    /// Goes on for ever.
    pub async fn run(mut self) {
        loop {
            if let Err(error) = self.exchange().await {
                tracing::warn!(%error, "how far the audits are was not told to other nodes, or not written down");
            }
            tokio::time::sleep(HEADS_TOLD_EVERY).await;
        }
    }

    async fn exchange(&mut self) -> anyhow::Result<()> {
        let (head, heads) = self.tell().await?;
        let is_new = |(node, head): &(&String, &String)| self.heard.get(*node) != Some(*head);
        let new: BTreeMap<_, _> =
            heads.iter().filter(is_new).map(|(node, head)| (node.clone(), head.clone())).collect();
        if !new.is_empty() {
            let (audit, event) = (self.audit.clone(), AuditEvent::Heads { heads: new });
            let seq = spawn_blocking(move || audit.append(event, Durability::Buffered))
                .await
                .context("the program stops")??;
            if seq == head.seq + 1 {
                self.told = seq;
            }
        }
        self.heard = heads;
        self.note_settled(head.seq).await
    }

    /// Tells how far this chain is; that, and how far those of the others are.
    async fn tell(&mut self) -> anyhow::Result<(Head, BTreeMap<String, String>)> {
        // Before anything is told: a later head takes the place of that one. And before the head is
        // read: what is recorded of a missing one is told with it, so that it cannot be cut either.
        if !self.is_compared {
            self.compare().await?;
            self.is_compared = true;
        }
        let audit = self.audit.clone();
        let head =
            spawn_blocking(move || audit.confirm_newest_head()).await.context("the program stops")??;
        let told = (head.seq > self.told).then(|| head.to_string());
        let AuditHeads { own, others } = self.store.exchange_heads(told.clone()).await?;
        self.told = head.seq;
        if let (Some(known), Some(told)) = (own, told)
            && known != told
        {
            self.note_missing(known).await?;
        }
        Ok((head, others))
    }

    /// Looks whether this chain holds the head that the database has of it.
    async fn compare(&mut self) -> anyhow::Result<()> {
        let Some(known) = self.store.exchange_heads(None).await?.own else { return Ok(()) };
        // What is no head is none that a chain could hold.
        let holds = match known.parse::<Head>() {
            Err(_) => false,
            Ok(head) => {
                let audit = self.audit.clone();
                spawn_blocking(move || audit.holds(&head)).await.context("the program stops")??
            }
        };
        if holds { Ok(()) } else { self.note_missing(known).await }
    }

    /// Logs and records, once for each, that the database has a head of this chain which it does
    /// not hold. Once the chain is longer again the database has another one; the record stays.
    async fn note_missing(&mut self, head: String) -> anyhow::Result<()> {
        if self.missing.as_ref() == Some(&head) {
            return Ok(());
        }
        if head.parse::<Head>().is_err() {
            tracing::error!(%head, "what the database has of this node is no head of an audit, and is replaced");
            self.missing = Some(head);
            return Ok(());
        }
        tracing::error!(
            %head,
            "the chain of this node does not hold the head that the database has of it: it was cut, changed \
             or taken away. Stop the node, keep its folder as it is for an inquiry, and put it back from a \
             copy if there is one; `cofferdam audit verify` tells of it until then"
        );
        if let Some(node) = self.audit.node() {
            let heads = [(node.to_owned(), head.clone())].into();
            let (audit, event) = (self.audit.clone(), AuditEvent::Heads { heads });
            spawn_blocking(move || audit.append(event, Durability::Buffered))
                .await
                .context("the program stops")??;
        }
        self.missing = Some(head);
        Ok(())
    }

    /// Notes now and then how far this chain is settled, which now ends with this record. Who takes
    /// over reads what comes after that, however long this node was there.
    async fn note_settled(&mut self, last: u64) -> anyhow::Result<()> {
        if self.noted.is_none_or(|noted| last < noted.saturating_add(NOTED_EVERY)) {
            return Ok(());
        }
        let audit = self.audit.clone();
        match spawn_blocking(move || audit.note_settled(MOMENT)).await.context("the program stops")? {
            Ok(true) => self.noted = Some(last),
            Err(AuditError::Busy { .. }) => {}
            Ok(false) => self.noted = None,
            Err(error) => {
                tracing::warn!(%error, "how far the audit is settled is not noted until the next start");
                self.noted = None;
            }
        }
        Ok(())
    }
}

/// Tells the others how far the audit of this node is when it ends, unless it has no record. It
/// compares first, as at a start: a process that only sends a message has no other moment for it.
pub async fn tell_last(audit: &Arc<AuditLog>, store: &Store) {
    if let Err(error) = HeadExchange::new(audit.clone(), store.clone()).tell().await {
        tracing::warn!(%error, "other nodes were not told how far the audit of this one is");
    }
}
