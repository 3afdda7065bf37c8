//! The queues over a store, with a worker that ends each message when the test says so.

use super::*;
use cofferdam_store::{Headers, NewReply, NewUpdate, QueueMode, Store, StoreError, UpdateFate};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio::time::timeout;

const CHANNEL: &str = "c";

/// Ends messages at once, those of `ann` one for each leave.
struct Fake {
    store: Store,
    leave: Semaphore,
    stop: Stop,
    done: Mutex<Vec<i64>>,
    /// The albums that have been said to arrive.
    arrive: Mutex<BTreeSet<String>>,
    seen: mpsc::UnboundedSender<i64>,
}

#[async_trait::async_trait]
impl TurnWorker for Fake {
    async fn work(&self, _: &SessionId, unit: Unit) {
        let bound = match unit {
            Unit::Message(claim) => self.store.claim(CHANNEL, claim).await.expect("the store"),
            Unit::Stop(stopping, _) => {
                let claim = UpdateClaim::Update(stopping.update_id);
                self.store.claim(CHANNEL, claim).await.expect("the store")
            }
            Unit::Bound(turn) => Some(turn),
            Unit::Reply(_) => None,
        };
        let Some(bound) = bound else { return };
        let update = &bound.updates[0];
        if update.raw == "ann" {
            tokio::select! {
                leave = self.leave.acquire() => leave.expect("open").forget(),
                () = self.stop.now.cancelled() => return,
            }
        }
        let nothing = NewReply { target: String::new(), parts: Vec::new() };
        self.store.end(CHANNEL, &bound.turn, nothing).await.expect("the store");
        self.done.lock().expect("done").push(update.update_id);
        self.seen.send(update.update_id).expect("the test looks");
    }

    async fn take_over(&self, gone: &[String]) -> Result<Vec<Arrival>, StoreError> {
        if gone == ["doubt"] {
            return Err(StoreError::Unknown("s".into(), "lost".into()));
        }
        let turns = self.store.take_over(CHANNEL, gone).await?.turns;
        self.leave.acquire().await.expect("open").forget();
        Ok(turns.into_iter().map(|turn| Arrival::Bound(SessionId::new(&turn.updates[0].raw), turn)).collect())
    }

    fn show_arriving(&self, session: &SessionId, target: &str) {
        self.arrive.lock().expect("arrive").insert(format!("{session} at {target}"));
    }
}

struct Fixture {
    store: Store,
    arrivals: mpsc::Sender<Arrival>,
    worker: Arc<Fake>,
    seen: mpsc::UnboundedReceiver<i64>,
    stop: Stop,
    running: JoinHandle<Result<(), StoreError>>,
}

fn fixture(store: Store) -> Fixture {
    with_grace(store, Duration::ZERO)
}

fn with_grace(store: Store, grace: Duration) -> Fixture {
    let (arrivals, queue) = mpsc::channel(ARRIVALS_MAX);
    let (sees, seen) = mpsc::unbounded_channel();
    let stop = Stop::default();
    let worker = Arc::new(Fake {
        store: store.clone(),
        leave: Semaphore::new(0),
        stop: stop.clone(),
        done: Mutex::default(),
        arrive: Mutex::default(),
        seen: sees,
    });
    let second = Duration::from_secs(1);
    let queues = SessionQueues {
        worker: worker.clone(),
        store: store.clone(),
        channel: CHANNEL.into(),
        running: Arc::default(),
        places: TurnPlaces::new(8),
        albums: AlbumWindow { silence: second, cap: second },
        grace,
        stop: stop.clone(),
    };
    Fixture { store, arrivals, worker, seen, stop, running: tokio::spawn(queues.run(queue)) }
}

impl Fixture {
    /// Messages come, from the inbox as a poller brings them.
    async fn come(&self, session: &str, ids: std::ops::Range<i64>) {
        let id = SessionId::new(session);
        let headers =
            Headers { session: id.clone(), sender: "1".into(), queue: QueueMode::Turn, answers: None };
        let new = |update_id| NewUpdate {
            update_id,
            album: None,
            message: None,
            raw: session.into(),
            fate: UpdateFate::Pending(headers.clone()),
        };
        self.store.persist(CHANNEL, ids.clone().map(new).collect()).await.expect("the store");
        for update_id in ids {
            let message = QueuedUpdate { update_id, album: None };
            self.arrivals.send(Arrival::Message(id.clone(), message)).await.expect("taken");
        }
    }

    async fn end(self) -> Store {
        self.stop.soon.cancel();
        self.running.await.expect("ended").expect("nothing was in doubt");
        self.store
    }
}

#[tokio::test]
async fn a_session_that_waits_keeps_nobody_from_the_door_and_a_restart_goes_on() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut f = fixture(Store::open(dir.path()).expect("a store"));
    f.arrivals.send(Arrival::Inbox).await.expect("taken");
    f.come("ann", 0..200).await;
    f.come("ben", 1000..1003).await;
    for expected in 1000..1003 {
        assert_eq!(f.seen.recv().await, Some(expected));
    }
    let session = SessionId::new("ann");
    let (sender, target) = ("1".to_owned(), String::new());
    let stopping = Stopping { session, update_id: 2000, sender, by: StopPower::Served, target };
    let headers =
        Headers { session: SessionId::new("ann"), sender: "1".into(), queue: QueueMode::Turn, answers: None };
    let fate = UpdateFate::Pending(headers);
    let update = NewUpdate { update_id: 2000, album: None, message: None, raw: "stop".into(), fate };
    f.store.persist(CHANNEL, vec![update]).await.expect("the store");
    f.arrivals.send(Arrival::Stop(stopping)).await.expect("taken");
    assert_eq!(f.seen.recv().await, Some(2000), "it passes by all that waits");
    f.worker.leave.add_permits(50);
    for expected in 0..50 {
        assert_eq!(f.seen.recv().await, Some(expected));
    }

    let mut f = fixture(f.end().await);
    for turn in f.store.take_over(CHANNEL, &[]).await.expect("the store").turns {
        f.arrivals.send(Arrival::Bound(SessionId::new("ann"), turn)).await.expect("taken");
    }
    f.arrivals.send(Arrival::Inbox).await.expect("taken");
    f.come("ann", 200..210).await;
    f.worker.leave.add_permits(160);
    for expected in 50..210 {
        assert_eq!(f.seen.recv().await, Some(expected));
    }
    assert_eq!(f.worker.done.lock().expect("done").len(), 160, "each once");
    let store = f.end().await;
    assert!(store.pending(CHANNEL, None, 1).await.expect("the store").is_empty());
}

/// Another node runs it by now.
#[tokio::test]
async fn the_turns_of_a_node_that_was_taken_out_get_no_time_to_end() {
    let dir = tempfile::tempdir().expect("a directory");
    let hour = Duration::from_secs(60 * 60);
    let mut f = with_grace(Store::open(dir.path()).expect("a store"), hour);
    f.arrivals.send(Arrival::Inbox).await.expect("taken");
    f.come("ann", 1..2).await;
    f.come("ben", 2..3).await;
    assert_eq!(f.seen.recv().await, Some(2), "the turn before runs as well");
    f.store.note_taken_over();
    timeout(Duration::from_secs(60), f.end()).await.expect("nothing is waited for");
}

#[tokio::test]
async fn what_comes_while_a_turn_is_taken_over_does_not_overtake_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = Store::open(dir.path()).expect("a store");
    let headers =
        Headers { session: SessionId::new("ben"), sender: "1".into(), queue: QueueMode::Turn, answers: None };
    let fate = UpdateFate::Pending(headers);
    let update = NewUpdate { update_id: 2, album: None, message: None, raw: "ben".into(), fate };
    // Before these queues read the inbox: they would take it for theirs.
    store.persist(CHANNEL, vec![update]).await.expect("the store");
    store.claim(CHANNEL, UpdateClaim::Update(2)).await.expect("the store").expect("by a node that is gone");
    let mut f = fixture(store);
    f.arrivals.send(Arrival::Inbox).await.expect("taken");
    f.come("ben", 1..2).await;
    assert_eq!(f.seen.recv().await, Some(1));
    f.arrivals.send(Arrival::LeftBy(vec!["gone".into()])).await.expect("taken");
    f.come("ben", 3..4).await;
    f.arrivals.send(Arrival::Inbox).await.expect("taken");
    // Whatever else could be done is done by then.
    f.come("carl", 5..6).await;
    assert!(timeout(Duration::from_millis(50), f.seen.recv()).await.is_err(), "the turn goes before all");
    f.worker.leave.add_permits(1);
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push(f.seen.recv().await.expect("seen"));
    }
    // Another session's is at any place.
    seen.retain(|id| *id != 5);
    assert_eq!(seen, [2, 3]);
    f.end().await;
}

/// What may be this node's by now is found by a new start alone.
#[tokio::test]
async fn a_take_over_of_which_nobody_knows_what_came_of_it_ends_the_channel() {
    let f = fixture(Store::in_memory().expect("there is room"));
    f.arrivals.send(Arrival::LeftBy(vec!["doubt".into()])).await.expect("taken");
    let ended = f.running.await.expect("ended");
    assert!(matches!(ended, Err(StoreError::Unknown { .. })), "{ended:?}");
    assert!(f.stop.soon.is_cancelled());
}

#[tokio::test]
async fn more_stops_than_are_answered_at_once_wait_in_their_place() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut f = fixture(Store::open(dir.path()).expect("a store"));
    f.arrivals.send(Arrival::Inbox).await.expect("taken");
    let count = STOPS_AT_ONCE_MAX as i64 + 5;
    let headers =
        Headers { session: SessionId::new("ann"), sender: "1".into(), queue: QueueMode::Turn, answers: None };
    let new = |update_id| NewUpdate {
        update_id,
        album: None,
        message: None,
        raw: "ann".into(),
        fate: UpdateFate::Pending(headers.clone()),
    };
    f.store.persist(CHANNEL, (0..count).map(new).collect()).await.expect("the store");
    for update_id in 0..count {
        let session = SessionId::new("ann");
        let (sender, target) = ("1".to_owned(), String::new());
        let stopping = Stopping { session, update_id, sender, by: StopPower::Served, target };
        f.arrivals.send(Arrival::Stop(stopping)).await.expect("taken");
    }
    f.worker.leave.add_permits(count as usize);
    let mut seen = Vec::new();
    for _ in 0..count {
        seen.push(f.seen.recv().await.expect("seen"));
    }
    seen.sort_unstable();
    assert_eq!(seen, (0..count).collect::<Vec<_>>(), "each once");
    f.end().await;
}

#[tokio::test]
async fn an_album_that_arrives_is_said_to_until_it_is_worked_on() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut f = fixture(Store::open(dir.path()).expect("a store"));
    let session = SessionId::new("ben");
    let headers =
        Headers { session: session.clone(), sender: "1".into(), queue: QueueMode::Turn, answers: None };
    let (album, fate) = (Some("a".to_owned()), UpdateFate::Pending(headers));
    let update = NewUpdate { update_id: 7, album: album.clone(), message: None, raw: "ben".into(), fate };
    f.store.persist(CHANNEL, vec![update]).await.expect("the store");
    let message = QueuedUpdate { update_id: 7, album };
    f.arrivals.send(Arrival::Message(session.clone(), message)).await.expect("taken");
    let awaited = Arrival::Awaited { session, album: "a".into(), target: "home".into() };
    f.arrivals.send(awaited).await.expect("taken");
    assert_eq!(f.seen.recv().await, Some(7));
    assert_eq!(f.worker.arrive.lock().expect("arrive").iter().collect::<Vec<_>>(), ["ben at home"]);
    f.end().await;
}
