//! What a person says to a turn that is at work: the model hears it before its next step. What
//! comes too late for that is answered by a turn of its own, since it waits where every message
//! waits.

use super::HistoryEntry;
use super::rounds::{EarlyEnd, Rounds};
use async_trait::async_trait;
use cofferdam_core::attachment::addendum;
use cofferdam_store::TakeUpRequest;
use cofferdam_warden::attachments::Attachments;

/// Messages that one turn takes up; further ones are answered by turns of their own.
pub(super) const STEERS_MAX: usize = 32;

/// Brings what is said to one turn while it runs.
#[async_trait]
pub trait Steering: Send + Sync {
    /// The next message that waits, with its files fetched as far as a turn may have them that
    /// holds `held`. `None` when none waits that is whole. Dropping the future takes nothing.
    async fn next(&self, held: &Attachments) -> Option<SteeringMessage>;

    /// The files of the messages that the turn took up before a crash, fetched again, in order.
    async fn refetch_files(&self) -> Vec<Attachments>;
}

/// A message to a turn that runs.
#[derive(Clone, Debug)]
pub struct SteeringMessage {
    /// Text or caption, as typed.
    pub text: String,
    /// What came with it, counted from 0.
    pub attachments: Attachments,
    /// How it becomes the turn's.
    pub taking: TakeUpRequest,
}

impl Rounds<'_> {
    /// Takes up what was said meanwhile.
    pub(super) async fn hear(&mut self) -> Result<(), EarlyEnd> {
        let Some(steering) = self.turn.steering.clone().filter(|_| self.is_durable()) else {
            return Ok(());
        };
        while self.conversation.steers() < STEERS_MAX {
            let said = tokio::select! {
                biased;
                // Its files may take long to come.
                () = self.stop.cancelled() => return Err(self.stop_reason()),
                said = steering.next(&self.turn.attachments) => said,
            };
            let Some(SteeringMessage { text, attachments, taking }) = said else { break };
            let (all, attachments) = self.turn.attachments.extend_with(&attachments);
            let entry = HistoryEntry::Steer { text, addendum: addendum(&attachments.infos()), attachments };
            if !self.conversation.take_up(entry, &taking).await? {
                break;
            }
            self.turn.attachments = all;
        }
        Ok(())
    }
}
