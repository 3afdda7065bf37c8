//! What waits in each queue, and which of it may begin. Pure; time is given, and what the inbox
//! holds is handed in.
//!
//! An album stands in its queue from its first part on, so nothing that was sent after it overtakes
//! it. Nothing that is in memory overtakes what waits in the inbox: a queue of which something
//! waits there takes nothing else in.

use super::{AlbumWindow, Unit};
use cofferdam_core::id::SessionId;
use cofferdam_store::{QueuedUpdate, UpdateClaim};
use std::collections::{HashMap, VecDeque};
use tokio::time::Instant;

/// Messages of one queue that are held in memory; further ones wait in the inbox until the queue
/// has run dry.
pub const QUEUE_UNITS_MAX: usize = 32;
/// Queues that are held in memory, but for what a crash cut off; messages of further ones wait in
/// the inbox for a place.
pub const SESSIONS_QUEUED_MAX: usize = 1000;
/// Sessions that one reading of the inbox finds: more than there are queues, so that it finds some
/// that have none.
pub(super) const SESSIONS_READ_MAX: usize = 2000;
const _: () = assert!(SESSIONS_READ_MAX > SESSIONS_QUEUED_MAX, "or it finds only those that are there");

/// The queues and what waits in them.
#[derive(Debug)]
pub(super) struct QueueState {
    queues: HashMap<SessionId, SessionQueue>,
    load: usize,
    /// Whether all has come that goes before what the inbox holds.
    open: bool,
    /// Whether sessions without a queue may wait in the inbox.
    beyond: bool,
    /// What is being read from the inbox.
    reading: Option<InboxQuery>,
    albums: AlbumWindow,
}

/// What is to be read from the inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum InboxQuery {
    /// The messages of a queue that has run dry: up to [`QUEUE_UNITS_MAX`], its oldest.
    Session(SessionId),
    /// The sessions of which something waits: up to [`SESSIONS_READ_MAX`].
    Sessions,
}

#[derive(Debug, Default)]
struct SessionQueue {
    queue: VecDeque<WaitReason>,
    /// One unit is being worked on.
    busy: bool,
    /// Whether more of it may wait in the inbox.
    more: bool,
}

#[derive(Debug)]
enum WaitReason {
    Ready(Unit),
    /// An album whose parts are arriving.
    Album(GatheringAlbum),
}

#[derive(Debug)]
struct GatheringAlbum {
    album: String,
    first: Instant,
    last: Instant,
    /// Where somebody waits for the answer to it, once a part has said that one is waited for.
    awaited: Option<String>,
}

impl QueueState {
    /// No work yet.
    pub(super) fn new(albums: AlbumWindow) -> Self {
        Self { queues: HashMap::new(), load: 0, open: false, beyond: false, reading: None, albums }
    }

    /// Units that wait in memory or are worked on.
    pub(super) fn load(&self) -> usize {
        self.load
    }

    /// Adds what the inbox does not hold at the end of a queue, however many there are.
    pub(super) fn push(&mut self, session: SessionId, unit: Unit) {
        self.load += 1;
        // Of a session without a queue nobody knows what else waits.
        let queue = self.queues.entry(session).or_insert_with(SessionQueue::note_unread);
        queue.queue.push_back(WaitReason::Ready(unit));
    }

    /// Notes that a message has come. An album that has not begun to be worked on takes its part
    /// in; what has no place here waits in the inbox.
    pub(super) fn push_message(&mut self, session: SessionId, message: QueuedUpdate, now: Instant) {
        let no_place = self.beyond
            || self.queues.len() >= SESSIONS_QUEUED_MAX
            || self.reading == Some(InboxQuery::Sessions);
        if no_place && !self.queues.contains_key(&session) {
            self.beyond = true;
            return;
        }
        let is_read = self.is_reading(&session);
        let queue = self.queues.entry(session).or_default();
        if let Some(gathering) = queue.open_album(message.album.as_deref()) {
            gathering.last = now;
        } else if is_read || queue.more || queue.queue.len() >= QUEUE_UNITS_MAX {
            queue.more = true;
        } else {
            self.load += queue.add(message, now);
        }
    }

    /// Notes that an album which has not begun to be worked on is going to be answered.
    pub(super) fn note_awaited(&mut self, session: &SessionId, album: &str, target: String) {
        let queue = self.queues.get_mut(session);
        if let Some(gathering) = queue.and_then(|queue| queue.open_album(Some(album))) {
            gathering.awaited = Some(target);
        }
    }

    /// The queues that do nothing because parts of an album may still come, while somebody waits
    /// for the answer to it; and where they wait.
    pub(super) fn arriving_sessions(&self) -> impl Iterator<Item = (&SessionId, &str)> {
        let idle = self.queues.iter().filter(|(_, queue)| !queue.busy);
        idle.filter_map(|(session, queue)| match queue.queue.front()? {
            WaitReason::Album(gathering) => Some((session, gathering.awaited.as_deref()?)),
            WaitReason::Ready(_) => None,
        })
    }

    /// From here on what waits in the inbox is read.
    pub(super) fn open(&mut self) {
        (self.open, self.beyond) = (true, true);
    }

    /// The sessions of which something waits or is worked on.
    pub(super) fn sessions(&self) -> impl ExactSizeIterator<Item = &SessionId> {
        self.queues.keys()
    }

    /// What is to be read from the inbox next; one at a time, until [`QueueState::take_messages`]
    /// or [`QueueState::take_sessions`].
    pub(super) fn next_read(&mut self) -> Option<InboxQuery> {
        if self.reading.is_some() || !self.open {
            return None;
        }
        let dry = self.queues.iter_mut().find(|(_, queue)| queue.more && queue.is_empty());
        let dry = dry.map(|(session, queue)| {
            queue.more = false;
            InboxQuery::Session(session.clone())
        });
        let wanted = match dry {
            Some(wanted) => wanted,
            None if self.beyond && self.queues.len() < SESSIONS_QUEUED_MAX => {
                self.beyond = false;
                InboxQuery::Sessions
            }
            None => return None,
        };
        self.reading = Some(wanted.clone());
        Some(wanted)
    }

    /// What waits in the inbox of the queue that was wanted.
    pub(super) fn take_messages(&mut self, session: SessionId, messages: Vec<QueuedUpdate>, now: Instant) {
        self.reading = None;
        let queue = self.queues.entry(session.clone()).or_default();
        queue.more |= messages.len() >= QUEUE_UNITS_MAX;
        for message in messages {
            match queue.open_album(message.album.as_deref()) {
                Some(gathering) => gathering.last = now,
                None => self.load += queue.add(message, now),
            }
        }
        self.leave(&session);
    }

    /// The sessions of which something waits in the inbox, by their oldest message.
    pub(super) fn take_sessions(&mut self, sessions: Vec<SessionId>) {
        self.reading = None;
        self.beyond |= sessions.len() >= SESSIONS_READ_MAX;
        sessions.into_iter().for_each(|session| self.add_session(session));
    }

    /// Notes that something of a session waits in the inbox.
    pub(super) fn add_session(&mut self, session: SessionId) {
        if self.queues.contains_key(&session) || self.queues.len() < SESSIONS_QUEUED_MAX {
            // It may be a queue that has some of it already: then the reading finds nothing more.
            self.queues.entry(session).or_insert_with(SessionQueue::note_unread).more = true;
        } else {
            self.beyond = true;
        }
    }

    /// What was wanted has not been read: it is wanted still.
    pub(super) fn note_unread(&mut self) {
        match self.reading.take() {
            Some(InboxQuery::Session(session)) => {
                self.queues.entry(session).or_insert_with(SessionQueue::note_unread).more = true
            }
            Some(InboxQuery::Sessions) => self.beyond = true,
            None => {}
        }
    }

    /// The next unit that may begin; its queue is busy until [`QueueState::finished`].
    pub(super) fn begin(&mut self, now: Instant) -> Option<(SessionId, Unit)> {
        let albums = self.albums;
        let startable = |queue: &SessionQueue| {
            !queue.busy && queue.queue.front().is_some_and(|waits| waits.due_at(albums) <= Some(now))
        };
        let (session, queue) = self.queues.iter_mut().find(|(_, queue)| startable(queue))?;
        let unit = match queue.queue.pop_front()? {
            WaitReason::Ready(unit) => unit,
            WaitReason::Album(gathering) => Unit::Message(UpdateClaim::Album(gathering.album)),
        };
        queue.busy = true;
        Some((session.clone(), unit))
    }

    /// The unit that a queue was busy with has ended.
    pub(super) fn finished(&mut self, session: &SessionId) {
        if let Some(queue) = self.queues.get_mut(session) {
            queue.busy = false;
            self.load -= 1;
            self.leave(session);
        }
    }

    /// When the next album of an idle queue is complete.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let idle = self.queues.values().filter(|queue| !queue.busy);
        idle.filter_map(|queue| queue.queue.front()?.due_at(self.albums)).min()
    }

    /// A queue of which nothing waits takes no memory.
    fn leave(&mut self, session: &SessionId) {
        let over = self.queues.get(session).is_some_and(|queue| queue.is_empty() && !queue.more);
        if over && !self.is_reading(session) {
            self.queues.remove(session);
        }
    }

    fn is_reading(&self, session: &SessionId) -> bool {
        matches!(&self.reading, Some(InboxQuery::Session(queue)) if queue == session)
    }
}

impl SessionQueue {
    /// One of which something may wait in the inbox.
    fn note_unread() -> Self {
        Self { more: true, ..Self::default() }
    }

    fn is_empty(&self) -> bool {
        !self.busy && self.queue.is_empty()
    }

    /// The album of this name that takes parts in.
    fn open_album(&mut self, album: Option<&str>) -> Option<&mut GatheringAlbum> {
        let wanted = album?;
        self.queue.iter_mut().find_map(|waits| match waits {
            WaitReason::Album(gathering) if gathering.album == wanted => Some(gathering),
            _ => None,
        })
    }

    /// Adds a message that is not there yet; how many units came of it.
    fn add(&mut self, message: QueuedUpdate, now: Instant) -> usize {
        let is_there = |waits: &WaitReason| matches!(waits, WaitReason::Ready(Unit::Message(UpdateClaim::Update(id))) if *id == message.update_id);
        // It was read from the inbox before its arrival came through.
        if self.queue.iter().any(is_there) {
            return 0;
        }
        self.queue.push_back(match message.album {
            Some(album) => WaitReason::Album(GatheringAlbum { album, first: now, last: now, awaited: None }),
            None => WaitReason::Ready(Unit::Message(UpdateClaim::Update(message.update_id))),
        });
        1
    }
}

impl WaitReason {
    /// When it may begin; `None` means at once, which is less than every time.
    fn due_at(&self, albums: AlbumWindow) -> Option<Instant> {
        match self {
            Self::Ready(_) => None,
            Self::Album(gathering) => Some(albums.closes_at(gathering.first, gathering.last)),
        }
    }
}

#[cfg(test)]
mod tests;
