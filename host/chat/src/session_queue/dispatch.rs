//! Gives work to the queues and starts what may start, until the stop; then waits for what is under
//! way. It waits for nothing else itself: the inbox is read beside it.

use super::queue::{InboxQuery, QUEUE_UNITS_MAX, QueueState, SESSIONS_READ_MAX};
use super::{AlbumWindow, Arrival, RunningTurns, Stop, TurnPlaces, Unit};
use async_trait::async_trait;
use cofferdam_agent::tools::follow_work;
use cofferdam_core::counts::COUNTS;
use cofferdam_core::id::SessionId;
use cofferdam_store::{QueuedUpdate, Store, StoreError};
use std::collections::{BTreeSet, HashMap};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, sleep, sleep_until, timeout};

/// Arrivals between the channel that brings them and the queues.
pub const ARRIVALS_MAX: usize = 16;

/// Messages that asked to stop something and are answered at once, beside the queues. One more
/// stops what runs all the same, and is answered in its place.
pub const STOPS_AT_ONCE_MAX: usize = 64;

/// What is cut off gets so long to notice, on top of the grace.
const CUT_OFF_MAX: Duration = Duration::from_secs(2);

/// How long after a failure the inbox is read again.
const READ_AGAIN: Duration = Duration::from_secs(1);

/// Does a channel's work.
#[async_trait]
pub trait TurnWorker: Send + Sync + 'static {
    /// Does one unit's work. Returns early, leaving everything for the next start, when the program
    /// stops.
    async fn work(&self, session: &SessionId, unit: Unit);

    /// Takes over what nodes had begun that are `gone`, in the order of work.
    async fn take_over(&self, gone: &[String]) -> Result<Vec<Arrival>, StoreError>;

    /// Somebody waits at `target` for the answer to an album, the next unit of a session that is at
    /// nothing else. Parts of it may still come. Repeated until its work begins; must
    /// return at once.
    fn show_arriving(&self, session: &SessionId, target: &str);
}

/// The queues of one channel.
pub struct SessionQueues {
    /// Does their work.
    pub worker: Arc<dyn TurnWorker>,
    /// The inbox.
    pub store: Store,
    /// What is this channel's in it.
    pub channel: String,
    /// The turns that run now.
    pub running: Arc<RunningTurns>,
    /// Their places.
    pub places: Arc<TurnPlaces>,
    /// How long further parts of an album are waited for.
    pub albums: AlbumWindow,
    /// How long the work under way may go on after a stop.
    pub grace: Duration,
    /// When to end.
    pub stop: Stop,
}

impl SessionQueues {
    /// Runs until the arrivals end or the program stops. What arrives is taken at once.
    ///
    /// # Errors
    /// [`StoreError::Unknown`], where only a new start finds what nodes that are gone have left.
    pub async fn run(self, mut arrivals: mpsc::Receiver<Arrival>) -> Result<(), StoreError> {
        let mut queue = QueueState::new(self.albums);
        let (mut tasks, mut reads, mut releases) = (JoinSet::new(), JoinSet::new(), JoinSet::new());
        let mut busy: HashMap<Id, SessionId> = HashMap::new();
        let mut stops: HashMap<Id, SessionId> = HashMap::new();
        let mut ended = Ok(());
        loop {
            while let Some((session, unit)) = queue.begin(Instant::now()) {
                busy.insert(self.spawn(&mut tasks, &session, unit), session);
            }
            for (session, target) in queue.arriving_sessions() {
                self.worker.show_arriving(session, target);
            }
            let room = self.room(queue.sessions().len());
            if let Some(wanted) = queue.next_read() {
                reads.spawn(read(self.store.clone(), self.channel.clone(), (wanted, room)));
            }
            COUNTS.held.set((queue.load() + stops.len()) as u64);
            let due = queue.next_due();
            tokio::select! {
                () = self.stop.soon.cancelled() => break,
                arrival = arrivals.recv() => match arrival {
                    Some(Arrival::Stop(stopping)) => {
                        let stopped = self.running.stop(&stopping);
                        match stops.len() < STOPS_AT_ONCE_MAX {
                            true => {
                                let session = stopping.session.clone();
                                let unit = Unit::Stop(stopping, stopped);
                                stops.insert(self.spawn(&mut tasks, &session, unit), session);
                            }
                            false => add(&mut queue, Arrival::Stop(stopping)),
                        }
                    }
                    // Here, so that nothing is read of a session before the turn that was cut off.
                    Some(Arrival::LeftBy(gone)) => match self.take_over(&gone).await {
                        Ok(left) => {
                            left.into_iter().for_each(|arrival| add(&mut queue, arrival));
                            // Their sessions have come over with what waited there.
                            queue.open();
                        }
                        // It may be this node's by now, and then no look finds it any more.
                        Err(error @ StoreError::Unknown { .. }) if !self.stop.soon.is_cancelled() => {
                            ended = Err(error);
                            break;
                        }
                        Err(error) => tracing::debug!(%error, "what nodes have left is taken over later"),
                    },
                    Some(arrival) => {
                        if matches!(arrival, Arrival::Inbox) && self.store.is_shared() && releases.is_empty() {
                            // To another node a stop that is not bound yet would mean the turn that
                            // it begins.
                            let held = queue.sessions().chain(stops.values()).cloned().collect();
                            releases.spawn(release(self.store.clone(), self.channel.clone(), held));
                        }
                        add(&mut queue, arrival);
                    }
                    None => break,
                },
                Some(_) = releases.join_next() => {}
                Some(found) = reads.join_next() => take(&mut queue, found),
                Some(over) = tasks.join_next_with_id() => {
                    let id = id_of(over);
                    stops.remove(&id);
                    if let Some(session) = busy.remove(&id) {
                        queue.finished(&session);
                        if self.store.is_shared() {
                            // There is room for what nobody had time for.
                            queue.open();
                        }
                    }
                }
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {}
            }
        }
        self.wind_down(tasks).await;
        ended
    }

    /// Nothing once the program stops: a store that does not answer would hold that up, and the next
    /// start finds what was taken over.
    async fn take_over(&self, gone: &[String]) -> Result<Vec<Arrival>, StoreError> {
        let taken = self.stop.soon.run_until_cancelled(self.worker.take_over(gone)).await;
        taken.unwrap_or_else(|| Ok(Vec::new()))
    }

    /// How many sessions may be taken that no node has: what can be worked on here at once.
    fn room(&self, sessions: usize) -> usize {
        if !self.store.is_shared() {
            return SESSIONS_READ_MAX;
        }
        self.places.open_max().saturating_sub(sessions)
    }

    fn spawn(&self, tasks: &mut JoinSet<()>, session: &SessionId, unit: Unit) -> Id {
        let (worker, session) = (self.worker.clone(), session.clone());
        let work = follow_work(async move { worker.work(&session, unit).await });
        tasks.spawn(async move { work.await.unwrap_or_else(|panic| resume_unwind(panic)) }).id()
    }

    /// Lets what is under way finish, for a while; at once where other nodes have taken this one
    /// out: they do it all by now.
    async fn wind_down(&self, mut tasks: JoinSet<()>) {
        self.stop.soon.cancel();
        let mut all = async || while tasks.join_next().await.is_some() {};
        tokio::select! {
            ended = timeout(self.grace, all()) => if ended.is_ok() {
                return;
            },
            () = self.store.taken_over() => {}
        }
        self.stop.now.cancel();
        if timeout(CUT_OFF_MAX, all()).await.is_err() {
            tracing::warn!(turns = tasks.len(), "turns were cut off; the next start runs them again");
        }
    }
}

fn add(queue: &mut QueueState, arrival: Arrival) {
    match arrival {
        Arrival::Reply(session, reply) => queue.push(session, Unit::Reply(reply)),
        Arrival::Bound(session, turn) => queue.push(session, Unit::Bound(turn)),
        Arrival::Message(session, message) => queue.push_message(session, message, Instant::now()),
        Arrival::Session(session) => queue.add_session(session),
        Arrival::Awaited { session, album, target } => queue.note_awaited(&session, &album, target),
        Arrival::Stop(stopping) => {
            let message = QueuedUpdate { update_id: stopping.update_id, album: None };
            queue.push_message(stopping.session, message, Instant::now());
        }
        Arrival::Inbox | Arrival::LeftBy(_) => queue.open(),
    }
}

fn id_of(ended: Result<(Id, ()), JoinError>) -> Id {
    match ended {
        Ok((id, ())) => id,
        Err(error) => {
            tracing::error!(%error, "the work for a message failed; the next start tries it again");
            error.id()
        }
    }
}

/// What was read from the inbox.
enum InboxRead {
    Session(SessionId, Vec<QueuedUpdate>),
    Sessions(Vec<SessionId>),
}

/// Reads the inbox, again until it can be read: without it there is nothing to go on with.
async fn read(store: Store, channel: String, (wanted, room): (InboxQuery, usize)) -> InboxRead {
    loop {
        let found = match &wanted {
            InboxQuery::Session(session) => store
                .load_waiting(&channel, session, size(QUEUE_UNITS_MAX))
                .await
                .map(|messages| InboxRead::Session(session.clone(), messages)),
            InboxQuery::Sessions => {
                store.sessions(&channel, size(SESSIONS_READ_MAX), size(room)).await.map(InboxRead::Sessions)
            }
        };
        match found {
            Ok(found) => return found,
            Err(error) => tracing::error!(%error, "the inbox cannot be read; waiting for it"),
        }
        sleep(READ_AGAIN).await;
    }
}

/// Leaves sessions to any node of which nothing is open, but for those that are `held`.
async fn release(store: Store, channel: String, held: BTreeSet<SessionId>) {
    if let Err(error) = store.release(&channel, held).await {
        tracing::debug!(%error, "sessions are left to other nodes later");
    }
}

fn size(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn take(queue: &mut QueueState, found: Result<InboxRead, JoinError>) {
    match found {
        Ok(InboxRead::Session(session, messages)) => queue.take_messages(session, messages, Instant::now()),
        Ok(InboxRead::Sessions(sessions)) => queue.take_sessions(sessions),
        Err(error) => {
            tracing::error!(%error, "reading the inbox failed; trying again");
            queue.note_unread();
        }
    }
}
