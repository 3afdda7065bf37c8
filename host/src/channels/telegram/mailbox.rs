//! What is said to a turn while it runs: messages that wait in the inbox and are addressed to it. They keep their
//! place in the lane, where they are found to be answered, or are answered when the turn came to its end first.

use super::bot::Bot;
use super::came::Came;
use super::download::fetch_within;
use super::prepare::{Prepared, Todo, prepare, queue_of};
use super::recent;
use super::wire;
use crate::attachments::Attachments;
use crate::store::{AlbumPart, Queue, Standing, Steer, TakeUp, Update, now_ms};
use crate::turn::{Progress, Said, Steering};
use async_trait::async_trait;
use cofferdam_core::id::TurnId;
use std::sync::Arc;
use std::time::Duration;

/// The messages to one turn.
pub(super) struct Mailbox {
    pub(super) bot: Arc<Bot>,
    pub(super) turn: TurnId,
    /// Whose turn it is; nobody else's words are said to it.
    pub(super) sender: i64,
    /// What the turn began with.
    pub(super) question: Came,
    /// Told of the files that come in.
    pub(super) progress: Arc<dyn Progress>,
}

#[async_trait]
impl Steering for Mailbox {
    async fn next(&self, held: &Attachments) -> Option<Said> {
        let bot = &self.bot;
        let waiting = bot.stored("look for messages", || bot.store.steers(&bot.channel, &self.turn)).await?;
        for steer in waiting {
            let updates = self.whole(steer).await?;
            if updates.is_empty() {
                // What was sent after it is heard after it.
                return None;
            }
            let mine = |prepared: &Prepared| prepared.sender == self.sender;
            let Some(prepared) = self.read(&updates).filter(mine).filter(|_| self.still_steers(&updates))
            else {
                continue;
            };
            let came = Came::with(bot, &prepared).await?;
            let noting = recent::to_note(bot, &prepared, &came, Some(&self.question)).await?;
            let Prepared { text, about, .. } = prepared;
            let text = [about, Some(text)].into_iter().flatten().collect::<Vec<_>>().join("\n");
            let limits = bot.limits.beside(held);
            let attachments = fetch_within(bot, came.files(), &limits, &*self.progress).await;
            let updates = updates.iter().map(|update| update.update_id).collect();
            let taking = TakeUp { channel: bot.channel.clone(), updates, noting };
            return Some(Said { text, attachments, taking });
        }
        None
    }

    async fn again(&self) -> Vec<Attachments> {
        let bot = &self.bot;
        let look = || bot.store.taken_up(&bot.channel, &self.turn);
        let mut found = Vec::new();
        for updates in bot.stored("look for messages", look).await.unwrap_or_default() {
            let came = match self.read(&updates) {
                Some(prepared) => Came::with(bot, &prepared).await.unwrap_or_default(),
                None => Came::default(),
            };
            // They were admitted beside what the turn had; now their number is known.
            found.push(fetch_within(bot, came.files(), &bot.limits, &*self.progress).await);
        }
        found
    }
}

impl Mailbox {
    /// The updates of one message; none while parts of its album may still come. `None` once the bot stops.
    async fn whole(&self, steer: Steer) -> Option<Vec<Update>> {
        let Some(album) = steer.album else { return Some(vec![steer.update]) };
        let bot = &self.bot;
        let mut parts = bot.stored("look up an album", || bot.store.album(&bot.channel, &album)).await?;
        parts.retain(|part| part.turn.is_none());
        let whole = is_whole(&parts, now_ms(), (bot.timing.album_window, bot.timing.album_cap));
        let updates = parts.into_iter().map(|part| part.update);
        Some(if whole { updates.collect() } else { Vec::new() })
    }

    fn read(&self, updates: &[Update]) -> Option<Prepared> {
        match prepare(messages(updates).collect(), Standing::First, &self.bot.rules()) {
            Todo::Run(prepared) => Some(*prepared),
            Todo::Say(..) | Todo::Nothing => None,
        }
    }

    /// Whether it is meant for the turn as it reads now: an edit may have made a message of its own of it.
    fn still_steers(&self, updates: &[Update]) -> bool {
        let rules = self.bot.rules();
        messages(updates).any(|message| queue_of(&message, &rules) == Queue::Steer)
    }
}

fn messages(updates: &[Update]) -> impl Iterator<Item = wire::Message> {
    updates.iter().filter_map(|update| wire::Update::read(&update.raw)?.message)
}

/// Whether no more parts of an album are waited for: none came for `window`, or the first came before `cap`.
fn is_whole(parts: &[AlbumPart], now: i64, (window, cap): (Duration, Duration)) -> bool {
    let ago = |ms: i64| Duration::from_millis(u64::try_from(now.saturating_sub(ms)).unwrap_or(0));
    let (first, last) = (parts.first(), parts.last());
    last.is_some_and(|last| ago(last.received_at) >= window)
        || first.is_some_and(|first| ago(first.received_at) >= cap)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_album_is_whole_after_silence_or_long_enough() {
        let part = |received_at| AlbumPart {
            update: Update { update_id: 1, raw: String::new() },
            turn: None,
            received_at,
        };
        let times = (Duration::from_millis(1500), Duration::from_secs(10));
        let check = |came: &[i64], now: i64, expected: bool| {
            let parts: Vec<_> = came.iter().copied().map(part).collect();
            assert_eq!(is_whole(&parts, now, times), expected, "{came:?} at {now}");
        };
        check(&[], 99_999, false);
        check(&[1000], 2499, false);
        check(&[1000], 2500, true);
        check(&[1000, 2400], 2600, false);
        check(&[1000, 10_900], 11_000, true);
        check(&[1000], 500, false);
    }
}
