//! What has come, as the queues take it: each piece of work with its session, and which message
//! asks to stop what runs; and the work of the queues.

use super::{Channel, ChannelServices, CurrentChannel, MessageAction, ResumedTurn, begin_activity, turn};
use crate::session_queue::{
    Arrival, STOPS_AT_ONCE_MAX, SessionQueues, StopResult, Stopping, TurnSlot, TurnWorker, Unit,
};
use crate::{Activity, ShownActivity};
use async_trait::async_trait;
use cofferdam_core::command::{ControlWord, word};
use cofferdam_core::id::SessionId;
use cofferdam_core::lock::lock;
use cofferdam_store::{
    AlbumStanding, BoundTurn, LeftWork, NewUpdate, PersistResult, QueueMode, QueuedUpdate, StoreError,
    StoredReply, Update, UpdateFate, node_of,
};
use futures_util::FutureExt;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc;

/// Pages in which the inbox is read at the start.
const PAGE: u32 = 100;
/// How long the turns under way may finish after a stop.
const GRACE: Duration = Duration::from_secs(5);

/// The queues of a channel.
pub fn queues<C: Channel>(channels: CurrentChannel<C>) -> SessionQueues {
    let base = channels.borrow().base().clone();
    SessionQueues {
        worker: Arc::new(SessionWorker { channels, signs: Mutex::default() }),
        store: base.store,
        channel: base.channel,
        running: base.running,
        places: base.places,
        albums: base.albums,
        grace: GRACE,
        stop: base.stop,
    }
}

/// Does the work of the queues, as the channel of the moment.
struct SessionWorker<C> {
    channels: CurrentChannel<C>,
    /// The signs for albums that are still arriving: no turn runs yet, and the person who sends one
    /// sees nothing else of it. There is one a session at most, so no more than queues; it goes on
    /// as that of the turn, which takes the place beside it among those worked on at once.
    signs: Mutex<HashMap<SessionId, (Arc<TurnSlot>, ShownActivity)>>,
}

#[async_trait]
impl<C: Channel> TurnWorker for SessionWorker<C> {
    async fn work(&self, session: &SessionId, unit: Unit) {
        let channel = self.channels.borrow().clone();
        let sign = match unit {
            // It is answered beside the album that may be arriving.
            Unit::Stop(..) => None,
            Unit::Reply(_) | Unit::Bound(_) | Unit::Message(_) => lock(&self.signs).remove(session),
        };
        turn::work(channel, (session, unit), sign).await;
    }

    async fn take_over(&self, gone: &[String]) -> Result<Vec<Arrival>, StoreError> {
        let channel = self.channels.borrow().clone();
        take_over(&*channel, gone).await
    }

    fn show_arriving(&self, session: &SessionId, target: &str) {
        let mut signs = lock(&self.signs);
        if signs.contains_key(session) {
            return;
        }
        let Some(target) = C::target(target) else { return };
        let channel = self.channels.borrow();
        let slot = channel.base().slot();
        let alive = begin_activity(&*channel, &target, (Activity::Typing, Some(slot.clone())));
        signs.insert(session.clone(), (slot, alive));
    }
}

/// Hands work to the queues, in order; `None` once the program stops.
pub async fn hand_on(
    base: &ChannelServices,
    arrivals: &mpsc::Sender<Arrival>,
    work: impl IntoIterator<Item = Arrival>,
) -> Option<()> {
    for arrival in work {
        base.stop.soon.run_until_cancelled(arrivals.send(arrival)).await?.ok()?;
    }
    Some(())
}

/// All that the last run left, in the order of work; where there are several nodes, what nobody
/// has. A store that another process keeps busy, or that is away, is waited for.
///
/// # Errors
/// [`StoreError::Unknown`]: of that only a new start finds all.
pub async fn load_left<C: Channel>(channel: &C) -> Result<Vec<Arrival>, StoreError> {
    load_until_known(channel.base(), || load_left_once(channel)).await
}

/// What `load` takes over, which it does again where nothing has changed before; nothing once the
/// program stops.
///
/// # Errors
/// [`StoreError::Unknown`].
pub(super) async fn load_until_known<F>(
    base: &ChannelServices,
    mut load: impl FnMut() -> F,
) -> Result<Vec<Arrival>, StoreError>
where
    F: Future<Output = Result<Vec<Arrival>, StoreError>>,
{
    let load = || {
        load().map(|loaded| match loaded {
            Err(error @ StoreError::Unknown { .. }) => Ok(Err(error)),
            loaded => loaded.map(Ok),
        })
    };
    let loaded = base.store_until_done("look up what the last run left", load).await;
    loaded.unwrap_or_else(|| Ok(Vec::new()))
}

async fn load_left_once<C: Channel>(channel: &C) -> Result<Vec<Arrival>, StoreError> {
    let base = channel.base();
    // What nodes that are gone had begun comes once their audit is settled; nothing waits for that.
    let mut left = take_over(channel, &[]).await?;
    // Of several nodes each looks for those that concern a turn which it runs.
    if !base.store.is_shared() {
        left.extend(load_stops(channel).await?);
    }
    left.push(Arrival::Inbox);
    Ok(left)
}

/// What nodes that are gone had begun, those whose audit can be settled now.
///
/// # Errors
/// When the store cannot be read.
pub async fn load_from_gone_nodes(base: &ChannelServices) -> Result<Option<Arrival>, StoreError> {
    let gone = gone_nodes(base).await?;
    Ok((!gone.is_empty()).then_some(Arrival::LeftBy(gone)))
}

/// Messages of sessions that are this node's, which others have stored; those of them that stop
/// what runs wait for nothing.
///
/// # Errors
/// When the store cannot be read.
pub async fn load_from_nodes<C: Channel>(channel: &C) -> Result<Vec<Arrival>, StoreError> {
    let base = channel.base();
    let mut found = Vec::new();
    for session in base.running.sessions() {
        let waiting = base.store.load_waiting_updates(&base.channel, &session, PAGE).await?;
        found.extend(waiting.iter().filter_map(|update| stop_request(channel, update)).map(Arrival::Stop));
    }
    found.push(Arrival::Inbox);
    Ok(found)
}

/// The nodes that are gone, had begun something, and whose audit is settled: a turn that goes on
/// asks it which calls have landed. Of those whose files are elsewhere no turn goes on
/// here.
async fn gone_nodes(base: &ChannelServices) -> Result<Vec<String>, StoreError> {
    let gone = base.store.gone_nodes(&base.channel).await?;
    let here = if gone.is_empty() { None } else { base.store.settled_here().await? };
    let is_here = |holder: &String| here.as_ref().is_none_or(|here| here.contains(node_of(holder)));
    let (here, elsewhere) = gone.into_iter().partition(is_here);
    Ok(base.settle_audits(here).await.into_iter().chain::<Vec<_>>(elsewhere).collect())
}

async fn take_over<C: Channel>(channel: &C, gone: &[String]) -> Result<Vec<Arrival>, StoreError> {
    let base = channel.base();
    let LeftWork { replies, turns } = base.store.take_over(&base.channel, gone).await?;
    let replies = replies.into_iter().map(|left| reply(channel, left));
    let left: Vec<_> = replies.chain(turns.into_iter().map(|turn| bound(channel, turn))).collect();
    expect_turns(channel, &left);
    if !left.is_empty() {
        tracing::info!(count = left.len(), "continuing what was left");
    }
    Ok(left)
}

/// Has the turns stopped that were cut off, where the message that had stopped one was bound and has
/// not ended: it stands behind that turn.
fn expect_turns<C: Channel>(channel: &C, left: &[Arrival]) {
    let mut sessions = BTreeSet::new();
    for arrival in left {
        let Arrival::Bound(session, turn) = arrival else { continue };
        match turn.updates.first().and_then(|update| stop_request(channel, update)) {
            Some(stopping) if sessions.contains(session) => _ = channel.base().running.stop(&stopping),
            Some(_) => {}
            None => {
                let Some(sender) = sender_of(channel, turn) else { continue };
                channel.base().running.expect(session.clone(), sender);
                sessions.insert(session.clone());
            }
        }
    }
}

/// Who began a turn that was cut off, if it runs again.
fn sender_of<C: Channel>(channel: &C, turn: &BoundTurn) -> Option<String> {
    let todo = match ResumedTurn::from_updates(&turn.updates) {
        Some(resumed) => resumed.todo(channel),
        None => channel.read(&turn.updates, turn.standing),
    };
    match todo {
        MessageAction::Run(asked) => Some(asked.sender),
        MessageAction::Say(..) | MessageAction::Nothing => None,
    }
}

/// What the message of a turn that was cut off has stopped, and what came of it.
pub(super) fn stopped_before<C: Channel>(channel: &C, turn: &BoundTurn) -> Option<(Stopping, StopResult)> {
    let stopping = stop_request(channel, turn.updates.first()?)?;
    let found = channel.base().running.result_of(stopping.update_id)?;
    Some((stopping, found))
}

/// The messages of the inbox that ask to stop something: they wait for nothing that came before
/// them.
async fn load_stops<C: Channel>(channel: &C) -> Result<Vec<Arrival>, StoreError> {
    let base = channel.base();
    let (mut found, mut after) = (Vec::new(), None);
    while found.len() < STOPS_AT_ONCE_MAX {
        let page = base.store.pending(&base.channel, after, PAGE).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.update_id);
        found.extend(page.iter().filter_map(|update| stop_request(channel, update)).map(Arrival::Stop));
    }
    found.truncate(STOPS_AT_ONCE_MAX);
    Ok(found)
}

/// What came of a batch: what strangers are told, and those updates that the inbox did not know
/// before, under the sessions that it has them by.
pub fn from_batch<C: Channel>(channel: &C, batch: &[NewUpdate], persisted: PersistResult) -> Vec<Arrival> {
    let PersistResult { pending, claimed, replies, is_for_others, .. } = persisted;
    let mut arrivals: Vec<_> = replies.into_iter().map(|told| reply(channel, told)).collect();
    arrivals.extend(claimed.into_iter().map(Arrival::Session));
    for new in batch {
        let (UpdateFate::Pending(headers), Some(update)) =
            (&new.fate, pending.iter().find(|update| update.update_id == new.update_id))
        else {
            continue;
        };
        if let Some(stopping) = stop_request(channel, update) {
            arrivals.push(Arrival::Stop(stopping));
            continue;
        }
        let message = QueuedUpdate { update_id: new.update_id, album: new.album.clone() };
        arrivals.push(Arrival::Message(headers.session.clone(), message));
        arrivals.extend(new.album.clone().and_then(|album| {
            let (session, target) = (headers.session.clone(), awaited_target(channel, update)?);
            Some(Arrival::Awaited { session, album, target })
        }));
    }
    // Once there is room, they may be for this node all the same.
    arrivals.extend(is_for_others.then_some(Arrival::Inbox));
    arrivals
}

/// A reply that is to be sent.
pub fn reply<C: Channel>(channel: &C, reply: StoredReply) -> Arrival {
    Arrival::Reply(session(channel, C::target(&reply.target)), reply)
}

/// A message of the gateway's own. It waits for nothing that is under way in its session: a turn
/// there may itself wait for such a message, to the person who has this one sent.
pub fn message<C: Channel>(channel: &C, reply: StoredReply) -> Arrival {
    let session = session(channel, C::target(&reply.target));
    Arrival::Reply(SessionId::new(format!("{session}#messages")), reply)
}

/// A turn that a crash cut off.
fn bound<C: Channel>(channel: &C, turn: BoundTurn) -> Arrival {
    let target = match ResumedTurn::from_updates(&turn.updates) {
        Some(resumed) => C::target(&resumed.target),
        None => turn.updates.first().and_then(|update| channel.target_of(update)),
    };
    Arrival::Bound(session(channel, target), turn)
}

/// Where an answer is waited for to an album of which this is a part. In a group the part that says
/// whom it is meant for may be another one.
fn awaited_target<C: Channel>(channel: &C, update: &Update) -> Option<String> {
    let target = match channel.read(std::slice::from_ref(update), AlbumStanding::First) {
        MessageAction::Nothing => return None,
        MessageAction::Say(target, _) => target,
        MessageAction::Run(asked) => asked.target,
    };
    Some(C::reply_address(&target, None))
}

/// What a message asks for that is to stop what runs in its chat.
fn stop_request<C: Channel>(channel: &C, update: &Update) -> Option<Stopping> {
    let MessageAction::Run(asked) = channel.read(std::slice::from_ref(update), AlbumStanding::First) else {
        return None;
    };
    let stops = word(&asked.text) == Some(ControlWord::Cancel);
    if !stops || asked.queue != QueueMode::Turn || asked.files.album.is_some() {
        return None;
    }
    let (session, target) = (channel.session(&asked.target), C::reply_address(&asked.target, None));
    Some(Stopping { session, update_id: update.update_id, sender: asked.sender, by: asked.power, target })
}

/// What belongs to no conversation shares one queue.
fn session<C: Channel>(channel: &C, target: Option<C::Target>) -> SessionId {
    target.map_or_else(|| SessionId::new(""), |target| channel.session(&target))
}
