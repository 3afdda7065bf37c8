//! How fast messages go out: at most so many to one recipient and over all in a span of time,
//! before a platform has to say so. A reply waits for its place and is never left out; what only
//! shows that something is done goes when there is room to spare.

use cofferdam_core::lock::lock;
use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// At most so many messages in any span of this length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Messages; not 0.
    pub count: usize,
    /// The span.
    pub per: Duration,
}

/// Recipients that are remembered; who got nothing for as long as their rates reach is forgotten
/// before.
const RECIPIENTS_MAX: usize = 1024;

/// Lets messages out one by one. A recipient is named by the platform's number of the chat; of its
/// rates all hold, and where there are none it is sent to as fast as one likes.
#[derive(Debug)]
pub struct Pacer {
    all: &'static [Rate],
    book: Mutex<SendTimes>,
}

impl Pacer {
    /// Nothing was sent yet. `all` holds over all recipients.
    pub fn new(all: &'static [Rate]) -> Self {
        Self { all, book: Mutex::default() }
    }

    /// Returns when a message of a reply may go out. In the order of the calls for one recipient.
    pub async fn turn(&self, id: i64, rates: &[Rate]) {
        let at = lock(&self.book).recipient(id).reserve(rates, Instant::now());
        wait_until(at).await;
        // The platform may have asked for a pause meanwhile.
        while let Some(over) = self.held_until(id) {
            sleep_until(over).await;
        }
        let at = lock(&self.book).all.reserve(self.all, Instant::now());
        wait_until(at).await;
    }

    /// Returns when something may go out that can be left out as well. Dropping the future leaves
    /// it out.
    pub async fn spare(&self, id: i64, rates: &[Rate]) {
        while let Err(later) = self.take_spare(id, rates) {
            sleep_until(later).await;
        }
    }

    fn take_spare(&self, id: i64, rates: &[Rate]) -> Result<(), Instant> {
        lock(&self.book).spare(id, (rates, self.all), Instant::now())
    }

    /// The platform takes nothing for this recipient for so long.
    pub fn hold(&self, id: i64, pause: Duration) {
        let until = Instant::now() + pause;
        let mut book = lock(&self.book);
        let recipient = book.recipient(id);
        recipient.held = recipient.held.max(Some(until));
    }

    fn held_until(&self, id: i64) -> Option<Instant> {
        let book = lock(&self.book);
        book.recipients.get(&id)?.held.filter(|until| *until > Instant::now())
    }
}

/// Does not wait for what has come: a timer takes a millisecond to say so.
async fn wait_until(at: Instant) {
    if at > Instant::now() {
        sleep_until(at).await;
    }
}

/// What was let out. Pure; time is given.
#[derive(Debug, Default)]
struct SendTimes {
    all: RateWindow,
    recipients: HashMap<i64, RateWindow>,
}

/// When messages were let out, or will be, in order.
#[derive(Debug, Default)]
struct RateWindow {
    times: VecDeque<Instant>,
    /// Until then the platform takes nothing.
    held: Option<Instant>,
}

impl SendTimes {
    fn recipient(&mut self, id: i64) -> &mut RateWindow {
        if self.recipients.len() >= RECIPIENTS_MAX {
            let now = Instant::now();
            self.recipients.retain(|_, sent| sent.is_current(now));
        }
        self.recipients.entry(id).or_default()
    }

    /// Notes something that can be left out; the error is when to ask again.
    fn spare(&mut self, id: i64, (rates, all): (&[Rate], &[Rate]), now: Instant) -> Result<(), Instant> {
        let recipient = self.recipient(id);
        let held = recipient.held.unwrap_or(now);
        let at = recipient.free(&spared(rates), now).max(held);
        let at = at.max(self.all.free(&spared(all), now));
        if at > now {
            return Err(at);
        }
        self.recipient(id).note(rates, now);
        self.all.note(all, now);
        Ok(())
    }
}

/// What of the rates may be used where a fifth is kept for replies, and one message at least.
fn spared(rates: &[Rate]) -> Vec<Rate> {
    rates.iter().map(|rate| Rate { count: rate.count - rate.count.div_ceil(5), ..*rate }).collect()
}

impl RateWindow {
    /// A place for a message: when it may go.
    fn reserve(&mut self, rates: &[Rate], now: Instant) -> Instant {
        let at = self.free(rates, now);
        self.note(rates, at);
        at
    }

    /// When the next message may go. What counts for no rate waits behind nothing.
    fn free(&self, rates: &[Rate], now: Instant) -> Instant {
        if rates.is_empty() {
            return now;
        }
        let last = self.times.back().copied().unwrap_or(now);
        let by_rate = rates.iter().filter_map(|rate| {
            let before = self.times.len().checked_sub(rate.count.max(1))?;
            Some(self.times[before] + rate.per)
        });
        by_rate.max().unwrap_or(now).max(now).max(last)
    }

    fn note(&mut self, rates: &[Rate], at: Instant) {
        // What counts for no rate says nothing about those that do: it must not make them
        // forgotten.
        let Some(most) = rates.iter().map(|rate| rate.count).max() else { return };
        self.times.push_back(at);
        while self.times.len() > most {
            self.times.pop_front();
        }
    }

    /// Whether it says anything about what may go now or later. No rate reaches further than a
    /// minute.
    fn is_current(&self, now: Instant) -> bool {
        let recent = self.times.back().is_some_and(|last| *last + Duration::from_secs(60) > now);
        recent || self.held.is_some_and(|until| until > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHAT: &[Rate] =
        &[Rate { count: 5, per: Duration::from_secs(5) }, Rate { count: 18, per: Duration::from_secs(60) }];
    const ALL: &[Rate] = &[Rate { count: 3, per: Duration::from_secs(1) }];

    fn seconds(start: Instant, times: &[Instant]) -> Vec<u64> {
        times.iter().map(|at| (*at - start).as_secs()).collect()
    }

    #[test]
    fn replies_wait_for_their_place_and_none_is_left_out() {
        let (mut sent, start) = (RateWindow::default(), Instant::now());
        let times: Vec<_> = (0..24).map(|_| sent.reserve(CHAT, start)).collect();
        let expected = [[0; 5], [5; 5], [10; 5]].concat();
        assert_eq!(seconds(start, &times)[..15], expected);
        assert_eq!(seconds(start, &times)[15..], [15, 15, 15, 60, 60, 60, 60, 60, 65]);
        assert!(sent.times.len() <= 18, "no more is remembered than the rates reach");
        // Any span holds as many as a rate allows.
        for rate in CHAT {
            for (n, at) in times.iter().enumerate().skip(rate.count) {
                assert!(*at >= times[n - rate.count] + rate.per, "{n}");
            }
        }
    }

    #[test]
    fn what_can_be_left_out_leaves_room_for_a_reply() {
        let (mut book, now) = (SendTimes::default(), Instant::now());
        for _ in 0..4 {
            assert_eq!(book.spare(7, (CHAT, &[]), now), Ok(()));
        }
        assert_eq!(book.spare(7, (CHAT, &[]), now), Err(now + CHAT[0].per));
        assert_eq!(book.recipient(7).reserve(CHAT, now), now, "a reply goes at once");
        assert_eq!(book.spare(8, (CHAT, &[]), now), Ok(()), "another chat is another");
        let later = now + CHAT[0].per;
        assert_eq!(book.spare(7, (CHAT, &[]), later), Ok(()));
    }

    #[test]
    fn what_counts_for_no_rate_neither_waits_nor_is_counted() {
        let (mut book, now) = (SendTimes::default(), Instant::now());
        for _ in 0..CHAT[0].count {
            assert_eq!(book.recipient(7).reserve(CHAT, now), now);
        }
        let next = now + CHAT[0].per;
        assert_eq!(book.recipient(7).reserve(CHAT, now), next, "a reply that waits");
        assert_eq!(book.spare(7, (&[], ALL), now), Ok(()));
        assert_eq!(book.recipient(7).reserve(CHAT, now), next, "what went before is remembered");
        assert_eq!(book.all.times.len(), 1, "over all it counts");
    }

    #[test]
    fn the_limit_over_all_holds_back_what_can_wait_and_only_then_replies() {
        let (mut book, now) = (SendTimes::default(), Instant::now());
        let mut spare = |id| book.spare(id, (CHAT, ALL), now);
        assert_eq!((spare(1), spare(2)), (Ok(()), Ok(())));
        assert_eq!(spare(3), Err(now + ALL[0].per));
        assert_eq!(book.all.reserve(ALL, now), now);
        assert_eq!(book.all.reserve(ALL, now), now + ALL[0].per);
    }

    #[test]
    fn a_pause_that_the_platform_asks_for_is_kept_for_that_chat_alone() {
        let pacer = Pacer::new(&[]);
        pacer.hold(7, Duration::from_secs(60));
        pacer.hold(7, Duration::from_secs(1));
        let (now, held) = (Instant::now(), pacer.held_until(7).expect("held"));
        assert!(held > now + Duration::from_secs(50), "the longer pause counts");
        assert_eq!(pacer.take_spare(7, &[]), Err(held));
        assert_eq!((pacer.held_until(8), pacer.take_spare(8, &[])), (None, Ok(())));
    }

    #[test]
    fn who_got_nothing_lately_is_forgotten() {
        let (mut book, now) = (SendTimes::default(), Instant::now());
        let long_ago = now.checked_sub(Duration::from_secs(61)).expect("the machine runs for longer");
        for id in 0..RECIPIENTS_MAX as i64 {
            book.recipients.entry(id).or_default().note(CHAT, long_ago);
        }
        book.recipient(-1);
        assert_eq!(book.recipients.len(), 1);
    }

    #[tokio::test]
    async fn without_rates_nothing_waits() {
        let pacer = Pacer::new(&[]);
        for _ in 0..1000 {
            pacer.turn(7, &[]).await;
            pacer.spare(7, &[]).await;
        }
    }
}
