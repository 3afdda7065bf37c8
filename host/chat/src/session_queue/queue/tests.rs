//! The order of work, held against an inbox that is a map.

use super::*;
use cofferdam_core::id::TurnId;
use cofferdam_store::{AlbumStanding, BoundTurn};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

fn queue() -> QueueState {
    QueueState::new(AlbumWindow { silence: Duration::from_millis(1500), cap: Duration::from_secs(10) })
}

/// One for which the inbox was empty at the start.
fn opened() -> QueueState {
    let mut queue = queue();
    queue.open();
    assert_eq!(queue.next_read(), Some(InboxQuery::Sessions));
    queue.take_sessions(Vec::new());
    queue
}

fn session(name: &str) -> SessionId {
    SessionId::new(name)
}

fn message(update_id: i64) -> QueuedUpdate {
    QueuedUpdate { update_id, album: None }
}

fn part(album: &str) -> QueuedUpdate {
    QueuedUpdate { update_id: 0, album: Some(album.into()) }
}

fn begin(queue: &mut QueueState, now: Instant) -> Option<String> {
    queue.begin(now).map(|(_, unit)| match unit {
        Unit::Message(UpdateClaim::Update(id)) => id.to_string(),
        Unit::Message(UpdateClaim::Album(album)) => album,
        other => panic!("{other:?}"),
    })
}

#[test]
fn one_queue_goes_one_by_one_and_others_beside_it() {
    let (mut queue, now) = (opened(), Instant::now());
    for (name, id) in [("ann", 1), ("ann", 2), ("topic", 3)] {
        queue.push_message(session(name), message(id), now);
    }
    let mut begun = [begin(&mut queue, now), begin(&mut queue, now)];
    begun.sort();
    assert_eq!(begun, [Some("1".into()), Some("3".into())]);
    assert_eq!((begin(&mut queue, now), queue.load()), (None, 3));
    queue.finished(&session("ann"));
    assert_eq!(begin(&mut queue, now).as_deref(), Some("2"));
    queue.finished(&session("ann"));
    queue.finished(&session("topic"));
    assert!(queue.queues.is_empty() && queue.load() == 0, "idle queues take no memory");
    assert_eq!(queue.next_read(), None, "nothing is looked for that cannot be there");
}

#[test]
fn an_album_waits_for_silence_but_not_for_ever() {
    let (mut queue, start) = (queue(), Instant::now());
    let at = |ms| start + Duration::from_millis(ms);
    queue.push_message(session("ann"), part("a"), at(0));
    queue.push_message(session("ann"), message(9), at(0));
    queue.push_message(session("ann"), part("a"), at(1400));
    assert_eq!(queue.next_due(), Some(at(2900)));
    assert_eq!(begin(&mut queue, at(2899)), None, "and nothing overtakes it");
    assert_eq!(begin(&mut queue, at(2900)).as_deref(), Some("a"));
    assert_eq!((queue.next_due(), queue.load()), (None, 2));
    queue.push_message(session("ann"), part("a"), at(3000));
    assert_eq!(queue.load(), 3, "a late part is a unit of its own");
    queue.finished(&session("ann"));
    assert_eq!(begin(&mut queue, at(3000)).as_deref(), Some("9"));

    for ms in (20_000..32_000).step_by(1000) {
        queue.push_message(session("topic"), part("b"), at(ms));
    }
    assert_eq!(queue.next_due(), Some(at(30_000)), "the cap");
    assert_eq!(begin(&mut queue, at(30_000)).as_deref(), Some("b"));
}

#[test]
fn an_album_arrives_until_its_queue_begins_it() {
    let (mut queue, now) = (opened(), Instant::now());
    let arriving = |queue: &QueueState| {
        queue.arriving_sessions().map(|(_, target)| target.to_owned()).collect::<Vec<_>>()
    };
    let await_album = |queue: &mut QueueState, album: &str| {
        queue.note_awaited(&session("ann"), album, format!("{album} here"));
    };
    queue.push_message(session("ann"), part("a"), now);
    assert!(arriving(&queue).is_empty(), "it may be for somebody else");
    await_album(&mut queue, "b");
    assert!(arriving(&queue).is_empty());
    await_album(&mut queue, "a");
    assert_eq!(arriving(&queue), ["a here"]);
    let later = now + Duration::from_secs(2);
    assert_eq!(begin(&mut queue, later).as_deref(), Some("a"));
    queue.push_message(session("ann"), part("b"), later);
    await_album(&mut queue, "b");
    assert!(arriving(&queue).is_empty(), "something else is worked on");
    queue.finished(&session("ann"));
    assert_eq!(arriving(&queue), ["b here"]);
}

#[test]
fn an_album_that_waits_in_memory_takes_in_what_comes_when_its_queue_is_full() {
    let (mut queue, start) = (queue(), Instant::now());
    let at = |ms| start + Duration::from_millis(ms);
    queue.push_message(session("ann"), part("a"), at(0));
    for id in 1..=QUEUE_UNITS_MAX as i64 {
        queue.push_message(session("ann"), message(id), at(0));
    }
    queue.push_message(session("ann"), part("a"), at(1000));
    queue.push_message(session("ann"), part("b"), at(1000));
    assert_eq!((queue.load(), queue.next_due()), (QUEUE_UNITS_MAX, Some(at(2500))));
}

#[test]
fn what_a_crash_cut_off_comes_before_what_the_inbox_holds() {
    let (mut queue, now) = (queue(), Instant::now());
    let turn = BoundTurn { turn: TurnId::new("t"), updates: Vec::new(), standing: AlbumStanding::First };
    queue.push(session("ann"), Unit::Bound(turn));
    assert_eq!(queue.next_read(), None, "not before all has come");
    queue.open();
    assert!(matches!(queue.begin(now), Some((_, Unit::Bound(_)))));
    queue.push_message(session("ann"), message(5), now);
    assert_eq!((queue.load(), begin(&mut queue, now)), (1, None), "older ones may wait in the inbox");
    assert_eq!(queue.next_read(), Some(InboxQuery::Sessions));
    queue.take_sessions(vec![session("ann"), session("ben")]);
    assert_eq!(queue.next_read(), Some(InboxQuery::Session(session("ben"))), "the other queue is busy");
    queue.push_message(session("ben"), message(7), now);
    queue.take_messages(session("ben"), vec![message(6), message(7)], now);
    assert_eq!(begin(&mut queue, now).as_deref(), Some("6"));
    queue.finished(&session("ann"));
    assert_eq!(queue.next_read(), Some(InboxQuery::Session(session("ann"))));
    queue.note_unread();
    assert_eq!(
        queue.next_read(),
        Some(InboxQuery::Session(session("ann"))),
        "what was not read is wanted still"
    );
    queue.take_messages(session("ann"), vec![message(4), message(5)], now);
    assert_eq!(begin(&mut queue, now).as_deref(), Some("4"));
    queue.finished(&session("ann"));
    assert_eq!(begin(&mut queue, now).as_deref(), Some("5"));
    queue.finished(&session("ann"));
    queue.finished(&session("ben"));
    assert_eq!(begin(&mut queue, now).as_deref(), Some("7"));
    queue.finished(&session("ben"));
    assert_eq!(
        queue.next_read(),
        Some(InboxQuery::Session(session("ben"))),
        "more had come while it was read"
    );
    queue.take_messages(session("ben"), Vec::new(), now);
    assert!(queue.queues.is_empty() && queue.next_read().is_none());
}

/// The inbox, and what was done of it.
#[derive(Default)]
struct Model {
    waits: BTreeMap<i64, SessionId>,
    done: BTreeMap<SessionId, Vec<i64>>,
}

impl Model {
    fn comes(&mut self, queue: &mut QueueState, id: i64, name: &str, now: Instant) {
        self.waits.insert(id, session(name));
        queue.push_message(session(name), message(id), now);
    }

    fn read(&self, queue: &mut QueueState, now: Instant) {
        while let Some(wanted) = queue.next_read() {
            match wanted {
                InboxQuery::Session(wanted) => {
                    let of = self.waits.iter().filter(|(_, session)| **session == wanted);
                    let found = of.map(|(id, _)| message(*id)).take(QUEUE_UNITS_MAX).collect();
                    queue.take_messages(wanted, found, now);
                }
                InboxQuery::Sessions => {
                    let mut seen = BTreeSet::new();
                    let first = self.waits.values().filter(|session| seen.insert(*session));
                    queue.take_sessions(first.take(SESSIONS_READ_MAX).cloned().collect());
                }
            }
            assert!(queue.queues.len() <= SESSIONS_QUEUED_MAX);
            assert!(queue.queues.values().all(|queue| queue.queue.len() <= QUEUE_UNITS_MAX));
        }
    }

    /// Begins all that may begin.
    fn begin(&mut self, queue: &mut QueueState, now: Instant) -> Vec<SessionId> {
        let mut begun = Vec::new();
        while let Some((session, unit)) = queue.begin(now) {
            let Unit::Message(UpdateClaim::Update(id)) = unit else { panic!("{unit:?}") };
            assert!(self.waits.remove(&id).is_some(), "{id} is begun twice");
            self.done.entry(session.clone()).or_default().push(id);
            begun.push(session);
        }
        begun
    }
}

#[test]
fn whatever_comes_is_done_once_and_in_order_and_memory_is_bounded() {
    let (mut queue, mut model, now) = (opened(), Model::default(), Instant::now());
    // One session writes far more than a queue holds, and its first message takes as long as all
    // the others.
    for id in 0..300 {
        model.comes(&mut queue, id, "ann", now);
    }
    let anns = model.begin(&mut queue, now);
    assert_eq!((anns.len(), queue.load()), (1, QUEUE_UNITS_MAX));
    // More sessions than there are queues, each with three messages.
    let many = SESSIONS_QUEUED_MAX as i64 + 100;
    let mut busy = Vec::new();
    for id in 0..3 * many {
        model.comes(&mut queue, 1000 + id, &format!("s{}", id % many), now);
        if id % 7 == 0 {
            busy.extend(model.begin(&mut queue, now));
            model.read(&mut queue, now);
        }
        if id % 50 == 0
            && let Some(session) = busy.pop()
        {
            queue.finished(&session);
        }
    }
    while !busy.is_empty() {
        for session in busy.split_off(busy.len() / 2) {
            queue.finished(&session);
        }
        model.read(&mut queue, now);
        busy.extend(model.begin(&mut queue, now));
    }
    assert_eq!(model.waits.len(), 299, "only what waits behind the first one");
    queue.finished(&anns[0]);
    loop {
        model.read(&mut queue, now);
        let begun = model.begin(&mut queue, now);
        let Some(session) = begun.first() else { break };
        queue.finished(session);
    }
    assert!(model.waits.is_empty() && queue.queues.is_empty() && queue.load() == 0);
    assert_eq!(model.done.len() as i64, many + 1);
    for (session, done) in &model.done {
        assert!(done.is_sorted(), "{session}: {done:?}");
    }
}

#[test]
fn a_session_of_which_more_may_wait_is_read_before_what_comes() {
    let (mut queue, now) = (opened(), Instant::now());
    queue.add_session(session("ann"));
    queue.push_message(session("ann"), message(2), now);
    assert_eq!(begin(&mut queue, now), None);
    assert_eq!(queue.next_read(), Some(InboxQuery::Session(session("ann"))));
    queue.take_messages(session("ann"), vec![message(1), message(2)], now);
    for id in ["1", "2"] {
        assert_eq!(begin(&mut queue, now).as_deref(), Some(id));
        queue.finished(&session("ann"));
    }
}
