//! What is said to a turn while it runs: messages that wait in the inbox and are addressed to it. They keep their place in
//! the lane, where they are found to be answered, or are answered when the turn came to its end first.

use super::lanes::Window;
use super::{Said, Steering};
use crate::attachments::Attachments;
use crate::store::{Keeper, NewRecent, Steer, Store, TakeUp, Update, now_ms};
use async_trait::async_trait;
use cofferdam_core::id::TurnId;

/// The messages to one turn, which its channel reads.
pub struct Mailbox<L> {
    /// Reads them.
    pub letters: L,
    /// The inbox.
    pub store: Store,
    /// What is this channel's in it.
    pub channel: String,
    /// Waits for it.
    pub keeper: Keeper,
    /// Whom they are to.
    pub turn: TurnId,
    /// How long further parts of an album are waited for.
    pub albums: Window,
}

/// Reads a channel's messages to one turn.
#[async_trait]
pub trait Letters: Send + Sync {
    /// A message that is not opened yet.
    type Letter: Send;

    /// The message that these updates are; none where it is not whoever began the turn that speaks to it there, or not
    /// any more: an edit may have made a message of its own of it.
    fn read(&self, updates: &[Update]) -> Option<Self::Letter>;

    /// What it says, with its files fetched as far as a turn may have them that holds `held`. `None` once the program
    /// stops.
    async fn open(&self, letter: Self::Letter, held: &Attachments) -> Option<Opened>;

    /// The files of a message that was taken up, fetched again.
    async fn again(&self, updates: &[Update]) -> Attachments;
}

/// A message to a turn.
#[derive(Clone, Debug)]
pub struct Opened {
    /// Text or caption, as typed.
    pub text: String,
    /// What came with it, counted from 0.
    pub attachments: Attachments,
    /// What is noted of its files.
    pub noting: Option<NewRecent>,
}

#[async_trait]
impl<L: Letters> Steering for Mailbox<L> {
    async fn next(&self, held: &Attachments) -> Option<Said> {
        let look = || self.store.steers(&self.channel, &self.turn);
        for steer in self.keeper.stored("look for messages", look).await? {
            let updates = self.whole(steer).await?;
            if updates.is_empty() {
                // What was sent after it is heard after it.
                return None;
            }
            let Some(letter) = self.letters.read(&updates) else { continue };
            let Opened { text, attachments, noting } = self.letters.open(letter, held).await?;
            let updates = updates.iter().map(|update| update.update_id).collect();
            let taking = TakeUp { channel: self.channel.clone(), updates, noting };
            return Some(Said { text, attachments, taking });
        }
        None
    }

    async fn again(&self) -> Vec<Attachments> {
        let look = || self.store.taken_up(&self.channel, &self.turn);
        let mut found = Vec::new();
        for updates in self.keeper.stored("look for messages", look).await.unwrap_or_default() {
            found.push(self.letters.again(&updates).await);
        }
        found
    }
}

impl<L> Mailbox<L> {
    /// The updates of one message; none while parts of its album may still come. `None` once the program stops.
    async fn whole(&self, steer: Steer) -> Option<Vec<Update>> {
        let Some(album) = steer.album else { return Some(vec![steer.update]) };
        let look = || self.store.album(&self.channel, &album);
        let mut parts = self.keeper.stored("look up an album", look).await?;
        parts.retain(|part| part.turn.is_none());
        let whole = self.albums.is_over(&parts, now_ms());
        let updates = parts.into_iter().map(|part| part.update);
        Some(if whole { updates.collect() } else { Vec::new() })
    }
}
