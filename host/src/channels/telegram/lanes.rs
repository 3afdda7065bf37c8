//! The order of work: what belongs to one chat and topic runs one after the other in the order of
//! arrival, different ones side by side. Pure; time is given.
//!
//! An album stands in its lane from its first part on, so nothing that was sent after it overtakes it.

use crate::store::{BoundTurn, Reply};
use std::collections::{HashMap, VecDeque};
use std::time::Duration;
use tokio::time::Instant;

/// A chat and, where it has topics, the topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct LaneKey {
    pub(super) chat: i64,
    pub(super) thread: Option<i64>,
}

/// A piece of work.
#[derive(Debug)]
pub(super) enum Unit {
    /// Send what is left of a reply.
    Reply(Reply),
    /// Run a turn again that a crash cut off.
    Bound(BoundTurn),
    /// Answer the message of an update.
    Update(i64),
    /// Answer an album, once it is complete.
    Album(Gathering),
}

/// An album whose parts are arriving.
#[derive(Debug)]
pub(super) struct Gathering {
    /// Names the album in the store.
    pub(super) album: String,
    first: Instant,
    last: Instant,
    /// Whether a part has said that an answer is waited for.
    awaited: bool,
}

/// The lanes and what waits in them.
#[derive(Debug)]
pub(super) struct Lanes {
    lanes: HashMap<LaneKey, Lane>,
    load: usize,
    window: Duration,
    cap: Duration,
}

#[derive(Debug, Default)]
struct Lane {
    queue: VecDeque<Unit>,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Idle,
    /// One unit is being worked on.
    Busy,
}

impl Lanes {
    /// No work yet. An album is complete when no part came for `window`, and after `cap` at the latest.
    pub(super) fn new(window: Duration, cap: Duration) -> Self {
        Self { lanes: HashMap::new(), load: 0, window, cap }
    }

    /// Units that wait or are worked on.
    pub(super) fn load(&self) -> usize {
        self.load
    }

    /// Units that wait in a lane.
    pub(super) fn waiting(&self, key: LaneKey) -> usize {
        self.lanes.get(&key).map_or(0, |lane| lane.queue.len())
    }

    /// Adds work at the end of a lane.
    pub(super) fn push(&mut self, key: LaneKey, unit: Unit) {
        self.load += 1;
        self.lanes.entry(key).or_default().queue.push_back(unit);
    }

    /// Notes that a part of an album came. An album that has not begun to be worked on takes it in.
    pub(super) fn push_part(&mut self, key: LaneKey, album: String, now: Instant) {
        match self.gathering(key, &album) {
            Some(gathering) => gathering.last = now,
            None => {
                self.push(key, Unit::Album(Gathering { album, first: now, last: now, awaited: false }));
            }
        }
    }

    /// Notes that an album which has not begun to be worked on is going to be answered.
    pub(super) fn awaits(&mut self, key: LaneKey, album: &str) {
        if let Some(gathering) = self.gathering(key, album) {
            gathering.awaited = true;
        }
    }

    /// The lanes that do nothing because parts of an album may still come, while somebody waits for the answer to it.
    pub(super) fn arriving(&self) -> impl Iterator<Item = LaneKey> {
        let arriving = |lane: &Lane| {
            let first = lane.queue.front().filter(|_| lane.state == State::Idle);
            matches!(first, Some(Unit::Album(gathering)) if gathering.awaited)
        };
        self.lanes.iter().filter(move |(_, lane)| arriving(lane)).map(|(key, _)| *key)
    }

    fn gathering(&mut self, key: LaneKey, album: &str) -> Option<&mut Gathering> {
        self.lanes.get_mut(&key)?.queue.iter_mut().find_map(|unit| match unit {
            Unit::Album(gathering) if gathering.album == album => Some(gathering),
            _ => None,
        })
    }

    /// The next unit that may begin; its lane is busy until [`Lanes::finished`].
    pub(super) fn begin(&mut self, now: Instant) -> Option<(LaneKey, Unit)> {
        let (window, cap) = (self.window, self.cap);
        let startable = |lane: &Lane| {
            lane.state == State::Idle
                && lane.queue.front().is_some_and(|unit| unit.due(window, cap) <= Some(now))
        };
        let (key, lane) = self.lanes.iter_mut().find(|(_, lane)| startable(lane))?;
        let unit = lane.queue.pop_front()?;
        lane.state = State::Busy;
        Some((*key, unit))
    }

    /// The unit that a lane was busy with has ended.
    pub(super) fn finished(&mut self, key: LaneKey) {
        if let Some(lane) = self.lanes.get_mut(&key) {
            lane.state = State::Idle;
            self.load -= 1;
            if lane.queue.is_empty() {
                self.lanes.remove(&key);
            }
        }
    }

    /// When the next album of an idle lane is complete.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let idle = self.lanes.values().filter(|lane| lane.state == State::Idle);
        idle.filter_map(|lane| lane.queue.front()?.due(self.window, self.cap)).min()
    }
}

impl Unit {
    /// When it may begin; `None` means at once, which is less than every time.
    fn due(&self, window: Duration, cap: Duration) -> Option<Instant> {
        match self {
            Self::Album(gathering) => Some((gathering.last + window).min(gathering.first + cap)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANN: LaneKey = LaneKey { chat: 1, thread: None };
    const TOPIC: LaneKey = LaneKey { chat: 1, thread: Some(4) };

    fn lanes() -> Lanes {
        Lanes::new(Duration::from_millis(1500), Duration::from_secs(10))
    }

    fn begin(lanes: &mut Lanes, now: Instant) -> Option<String> {
        lanes.begin(now).map(|(_, unit)| match unit {
            Unit::Update(id) => id.to_string(),
            Unit::Album(gathering) => gathering.album,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn one_lane_goes_one_by_one_and_others_beside_it() {
        let (mut lanes, now) = (lanes(), Instant::now());
        for (key, id) in [(ANN, 1), (ANN, 2), (TOPIC, 3)] {
            lanes.push(key, Unit::Update(id));
        }
        let mut begun = [begin(&mut lanes, now), begin(&mut lanes, now)];
        begun.sort();
        assert_eq!(begun, [Some("1".into()), Some("3".into())]);
        assert_eq!((begin(&mut lanes, now), lanes.load()), (None, 3));
        assert_eq!((lanes.waiting(ANN), lanes.waiting(TOPIC)), (1, 0));
        lanes.finished(ANN);
        assert_eq!(begin(&mut lanes, now).as_deref(), Some("2"));
        lanes.finished(ANN);
        lanes.finished(TOPIC);
        assert!(lanes.lanes.is_empty() && lanes.load() == 0, "idle lanes take no memory");
    }

    #[test]
    fn an_album_arrives_until_its_lane_begins_it() {
        let (mut lanes, now) = (lanes(), Instant::now());
        let arriving = |lanes: &Lanes| lanes.arriving().collect::<Vec<_>>();
        lanes.push_part(ANN, "a".into(), now);
        assert_eq!(arriving(&lanes), [], "it may be for somebody else");
        lanes.awaits(ANN, "b");
        assert_eq!(arriving(&lanes), []);
        lanes.awaits(ANN, "a");
        assert_eq!(arriving(&lanes), [ANN]);
        let later = now + Duration::from_secs(2);
        assert_eq!(begin(&mut lanes, later).as_deref(), Some("a"));
        lanes.push_part(ANN, "b".into(), later);
        lanes.awaits(ANN, "b");
        assert_eq!(arriving(&lanes), [], "something else is worked on");
        lanes.finished(ANN);
        assert_eq!(arriving(&lanes), [ANN]);
    }

    #[test]
    fn an_album_waits_for_silence_but_not_for_ever() {
        let (mut lanes, start) = (lanes(), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        lanes.push_part(ANN, "a".into(), at(0));
        lanes.push(ANN, Unit::Update(9));
        lanes.push_part(ANN, "a".into(), at(1400));
        assert_eq!(lanes.next_due(), Some(at(2900)));
        assert_eq!(begin(&mut lanes, at(2899)), None, "and nothing overtakes it");
        assert_eq!(begin(&mut lanes, at(2900)).as_deref(), Some("a"));
        assert_eq!((lanes.next_due(), lanes.load()), (None, 2));
        lanes.push_part(ANN, "a".into(), at(3000));
        assert_eq!(lanes.load(), 3, "a late part is a unit of its own");
        lanes.finished(ANN);
        assert_eq!(begin(&mut lanes, at(3000)).as_deref(), Some("9"));

        for ms in (20_000..32_000).step_by(1000) {
            lanes.push_part(TOPIC, "b".into(), at(ms));
        }
        assert_eq!(lanes.next_due(), Some(at(30_000)), "the cap");
        assert_eq!(begin(&mut lanes, at(30_000)).as_deref(), Some("b"));
    }
}
