//! Reads the messages to a turn that runs.

use super::bot::Bot;
use super::came::Came;
use super::download::fetch_within;
use super::prepare::{Prepared, Todo, prepare, queue_of};
use super::recent;
use super::wire;
use crate::attachments::Attachments;
use crate::store::{Queue, Standing, Update};
use crate::turn::{Letters, Opened, Progress};
use async_trait::async_trait;
use std::sync::Arc;

/// Reads the messages to one turn.
pub(super) struct Reader {
    pub(super) bot: Arc<Bot>,
    /// Whose turn it is; nobody else's words are said to it.
    pub(super) sender: i64,
    /// What the turn began with.
    pub(super) question: Came,
    /// Told of the files that come in.
    pub(super) progress: Arc<dyn Progress>,
}

#[async_trait]
impl Letters for Reader {
    type Letter = Prepared;

    fn read(&self, updates: &[Update]) -> Option<Prepared> {
        let rules = self.bot.rules();
        let prepared = self.prepared(updates).filter(|prepared| prepared.sender == self.sender)?;
        messages(updates).any(|message| queue_of(&message, &rules) == Queue::Steer).then_some(prepared)
    }

    async fn open(&self, prepared: Prepared, held: &Attachments) -> Option<Opened> {
        let bot = &self.bot;
        let came = Came::with(bot, &prepared).await?;
        let noting = recent::to_note(bot, &prepared, &came, Some(&self.question)).await?;
        let Prepared { text, about, .. } = prepared;
        let text = [about, Some(text)].into_iter().flatten().collect::<Vec<_>>().join("\n");
        let limits = bot.limits.beside(held);
        let attachments = fetch_within(bot, came.files(), &limits, &*self.progress).await;
        Some(Opened { text, attachments, noting })
    }

    async fn again(&self, updates: &[Update]) -> Attachments {
        let bot = &self.bot;
        let came = match self.prepared(updates) {
            Some(prepared) => Came::with(bot, &prepared).await.unwrap_or_default(),
            None => Came::default(),
        };
        // They were admitted beside what the turn had; now their number is known.
        fetch_within(bot, came.files(), &bot.limits, &*self.progress).await
    }
}

impl Reader {
    fn prepared(&self, updates: &[Update]) -> Option<Prepared> {
        match prepare(messages(updates).collect(), Standing::First, &self.bot.rules()) {
            Todo::Run(prepared) => Some(*prepared),
            Todo::Say(..) | Todo::Nothing => None,
        }
    }
}

fn messages(updates: &[Update]) -> impl Iterator<Item = wire::Message> {
    updates.iter().filter_map(|update| wire::Update::read(&update.raw)?.message)
}
