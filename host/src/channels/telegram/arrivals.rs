//! What has come, as the lanes take it: each piece of work with its session, and which message asks to stop what runs.

use super::answer::{self, session};
use super::bot::{Bot, Bots};
use super::prepare::{Todo, prepare, queue_of};
use super::send::Target;
use super::wire;
use crate::store::{BoundTurn, Fate, NewUpdate, Queue, Queued, Reply, Standing, Update};
use crate::turn::Arriving;
use crate::turn::lanes::{Arrival, Awaited, Stopping, Unit, Worker};
use async_trait::async_trait;
use cofferdam_core::command::{Word, word};
use cofferdam_core::id::SessionId;

/// Does the work of the lanes, as the bot of the moment.
pub(super) struct Works {
    bots: Bots,
    signs: Arriving,
}

impl Works {
    /// Nothing is shown yet.
    pub(super) fn new(bots: Bots) -> Self {
        Self { bots, signs: Arriving::default() }
    }
}

#[async_trait]
impl Worker for Works {
    async fn work(&self, session: &SessionId, unit: Unit) {
        let bot = self.bots.borrow().clone();
        let sign = match unit {
            // It is answered beside the album that may be arriving.
            Unit::Stop(..) => None,
            Unit::Reply(_) | Unit::Bound(_) | Unit::Message(_) => self.signs.take(session),
        };
        answer::work(bot, unit, sign).await;
    }

    fn arriving(&self, session: &SessionId, target: &str) {
        let begin = || Some(self.bots.borrow().working(Target::from_text(target)?));
        self.signs.show(session, begin);
    }
}

/// A reply that is to be sent.
pub(super) fn reply(bot: &Bot, reply: Reply) -> Arrival {
    let session = Target::from_text(&reply.target).map(|target| session(bot, &target));
    Arrival::Reply(session.unwrap_or_else(nowhere), reply)
}

/// A turn that a crash cut off.
pub(super) fn bound(bot: &Bot, turn: BoundTurn) -> Arrival {
    let message = turn.updates.first().and_then(|update| read(&update.raw));
    let session = message.map(|message| session(bot, &Target::answering(&message)));
    Arrival::Bound(session.unwrap_or_else(nowhere), turn)
}

/// Of a batch, those updates that the inbox did not know before, under the sessions that it has them by.
pub(super) fn messages(bot: &Bot, batch: &[NewUpdate], fresh: &[Update]) -> Vec<Arrival> {
    let is_fresh = |new: &&NewUpdate| fresh.iter().any(|update| update.update_id == new.update_id);
    let mut arrivals = Vec::with_capacity(fresh.len());
    for new in batch.iter().filter(is_fresh) {
        let Fate::Pending(headers) = &new.fate else { continue };
        let session = &headers.session;
        if let Some(stopping) = stopping(bot, new.update_id, &new.raw) {
            arrivals.push(Arrival::Stop(stopping));
            continue;
        }
        let message = Queued { update_id: new.update_id, album: new.album.clone() };
        arrivals.push(Arrival::Message(session.clone(), message));
        arrivals.extend(new.album.as_ref().and_then(|album| {
            let (session, album, target) = (session.clone(), album.clone(), awaited(bot, &new.raw)?);
            Some(Arrival::Awaited(Awaited { session, album, target }))
        }));
    }
    arrivals
}

/// Where an answer is waited for to an album of which this is a part. In a group the part that says whom it is meant
/// for may be another one.
fn awaited(bot: &Bot, raw: &str) -> Option<String> {
    let message = read(raw)?;
    let target = Target::answering(&message).to_text();
    (prepare(vec![message], Standing::First, &bot.rules()) != Todo::Nothing).then_some(target)
}

/// The message that asks to stop what runs in its chat.
pub(super) fn stopping(bot: &Bot, update_id: i64, raw: &str) -> Option<Stopping> {
    let message = read(raw).filter(|message| message.media_group_id.is_none())?;
    let rules = bot.rules();
    if queue_of(&message, &rules) != Queue::Turn {
        return None;
    }
    match prepare(vec![message], Standing::First, &rules) {
        Todo::Run(prepared) if word(&prepared.text) == Some(Word::Cancel) => {
            let (session, target) = (session(bot, &prepared.target), prepared.target.to_text());
            Some(Stopping { session, update_id, by: rules.power_of(prepared.sender), target })
        }
        _ => None,
    }
}

/// What belongs to no chat shares one lane.
fn nowhere() -> SessionId {
    SessionId::new("")
}

fn read(raw: &str) -> Option<wire::Message> {
    wire::Update::read(raw)?.message
}
