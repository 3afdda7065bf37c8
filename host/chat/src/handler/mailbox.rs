//! What is said to a turn while it runs: messages that wait in the inbox and are addressed to it.
//! They keep their place in the queue, where they are found to be answered, or are answered when
//! the turn came to its end first.

use super::files::{complete_files, fetch_files};
use super::{Channel, ChannelTurn, MessageAction, RequestFiles, recent};
use async_trait::async_trait;
use cofferdam_agent::turn::{Steering, SteeringMessage, StepListener};
use cofferdam_core::id::TurnId;
use cofferdam_store::{AlbumStanding, QueueMode, SteerUpdate, TakeUpRequest, Update, now_ms};
use cofferdam_warden::attachments::Attachments;
use std::sync::Arc;

/// The messages to one turn.
pub(super) struct Mailbox<C: Channel> {
    pub(super) channel: Arc<C>,
    /// Whom they are to.
    pub(super) turn: TurnId,
    /// Whose turn it is; nobody else's words are said to it.
    pub(super) sender: String,
    /// What the turn began with.
    pub(super) question: RequestFiles<C::File>,
    /// Told of the files that come in.
    pub(super) progress: Arc<dyn StepListener>,
}

#[async_trait]
impl<C: Channel> Steering for Mailbox<C> {
    async fn next(&self, held: &Attachments) -> Option<SteeringMessage> {
        let base = self.channel.base();
        let look = || base.store.load_steers(&base.channel, &self.turn);
        for steer in base.store_until_done("look for messages", look).await? {
            let updates = self.complete_message(steer).await?;
            if updates.is_empty() {
                // What was sent after it is heard after it.
                return None;
            }
            let Some(mut asked) = self.read(&updates).filter(|asked| self.is_to_it(asked)) else { continue };
            complete_files(&*self.channel, &mut asked).await?;
            let noting = recent::to_note(&*self.channel, &asked, Some(&self.question)).await?;
            let limits = base.limits.with_room_beside(held);
            let attachments = fetch_files(&self.channel, asked.files.all(), &limits, &*self.progress).await;
            let text = [asked.about, Some(asked.text)].into_iter().flatten().collect::<Vec<_>>().join("\n");
            let updates = updates.iter().map(|update| update.update_id).collect();
            let taking = TakeUpRequest { channel: base.channel.clone(), updates, noting };
            return Some(SteeringMessage { text, attachments, taking });
        }
        None
    }

    async fn refetch_files(&self) -> Vec<Attachments> {
        let base = self.channel.base();
        let look = || base.store.load_taken_up(&base.channel, &self.turn);
        let mut found = Vec::new();
        for updates in base.store_until_done("look for messages", look).await.unwrap_or_default() {
            found.push(self.files_again(&updates).await);
        }
        found
    }
}

impl<C: Channel> Mailbox<C> {
    /// The updates of one message; none while parts of its album may still come. `None` once the
    /// program stops.
    async fn complete_message(&self, steer: SteerUpdate) -> Option<Vec<Update>> {
        let Some(album) = steer.album else { return Some(vec![steer.update]) };
        let base = self.channel.base();
        let look = || base.store.album(&base.channel, &album);
        let mut parts = base.store_until_done("look up an album", look).await?;
        parts.retain(|part| part.turn.is_none());
        let whole = base.albums.is_over(&parts, now_ms());
        let updates = parts.into_iter().map(|part| part.update);
        Some(if whole { updates.collect() } else { Vec::new() })
    }

    fn read(&self, updates: &[Update]) -> Option<ChannelTurn<C>> {
        match self.channel.read(updates, AlbumStanding::First) {
            MessageAction::Run(asked) => Some(*asked),
            MessageAction::Say(..) | MessageAction::Nothing => None,
        }
    }

    /// Whether the person who began the turn speaks to it; an edit may have made a message of its
    /// own of what did.
    fn is_to_it(&self, asked: &ChannelTurn<C>) -> bool {
        asked.sender == self.sender && asked.queue == QueueMode::Steer
    }

    /// The files of a message that was taken up, fetched again: they were admitted beside what the
    /// turn had, and now their number is known.
    async fn files_again(&self, updates: &[Update]) -> Attachments {
        let channel = &self.channel;
        let files = match self.read(updates) {
            Some(mut asked) => complete_files(&**channel, &mut asked).await.map(|()| asked.files.all()),
            None => None,
        };
        let files = files.unwrap_or_default();
        fetch_files(channel, files, &channel.base().limits, &*self.progress).await
    }
}
