//! How much Discord takes: a bucket for each route and place, by the headers of its answers, and
//! one over all. Within a bucket one request follows the other's answer, so nothing is sent into
//! one that is known to be empty.

use cofferdam_chat::ASKED_WAIT_MAX;
use cofferdam_core::lock::lock;
use reqwest::header::HeaderMap;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;

/// Buckets that are remembered; of more, those go that are free and not empty. Each command has one
/// of its own, with its token, of which nobody asks again.
pub(super) const BUCKETS_MAX: usize = 256;

/// Where a 429 names no time.
const RETRY_AFTER_DEFAULT: Duration = Duration::from_secs(5);
/// After any 429 nothing is sent for so long: of 10 000 in 10 minutes Discord makes a ban.
const RETRY_AFTER_LEAST: Duration = Duration::from_millis(100);

/// A bucket, and what is known of it. That is noted also by who has not waited for a place in it.
#[derive(Default)]
struct Bucket {
    /// Held by the one whose request is in it, who waits for no other bucket meanwhile.
    turns: Arc<tokio::sync::Mutex<()>>,
    /// Until when it is empty.
    empty_until: Mutex<Option<Instant>>,
}

/// What is known of all of them.
#[derive(Default)]
pub(super) struct Buckets(Mutex<BucketStates>);

#[derive(Default)]
struct BucketStates {
    /// What Discord calls the bucket of a route.
    names: HashMap<&'static str, String>,
    /// By that name, or the route as long as it is not known, and the place.
    buckets: HashMap<(String, String), Arc<Bucket>>,
    /// Until then nothing that is authorized is taken.
    all: Option<Instant>,
}

/// A request's place in its bucket; while it lives nobody else's is sent into it.
pub(super) struct BucketUse {
    route: &'static str,
    place: String,
    name: String,
    bucket: Arc<Bucket>,
    _turn: OwnedMutexGuard<()>,
}

impl Buckets {
    /// A place in the bucket of a route; waits for those before.
    pub(super) async fn turn(&self, route: &'static str, place: &str) -> BucketUse {
        loop {
            let name = self.name_of(route);
            let bucket = self.bucket(&name, place);
            let turn = bucket.turns.clone().lock_owned().await;
            // Perhaps the answer before has told what it is called.
            if self.name_of(route) == name {
                return BucketUse { route, place: place.to_owned(), name, bucket, _turn: turn };
            }
        }
    }

    /// Until when nothing authorized may be sent, if that is so.
    pub(super) fn blocked_until(&self) -> Option<Instant> {
        lock(&self.0).all.filter(|until| *until > Instant::now())
    }

    /// Notes what an answer tells; `retry_after` is that of a 429, `global` whether it is over all.
    /// Waits for nobody: two routes may change their names for each other's at once.
    pub(super) fn note(&self, turn: &BucketUse, headers: &HeaderMap, limited: Option<RateLimit>) {
        let now = Instant::now();
        let remaining = number(headers, "x-ratelimit-remaining");
        let reset = number(headers, "x-ratelimit-reset-after").and_then(seconds);
        let until = match limited {
            Some(RateLimit { wait, over_all: true }) => {
                let mut book = lock(&self.0);
                book.all = book.all.max(Some(now + wait));
                None
            }
            Some(RateLimit { wait, over_all: false }) => Some(now + wait),
            None => reset.filter(|_| remaining.is_some_and(|left| left < 1.0)).map(|reset| now + reset),
        };
        turn.bucket.note_empty(until);
        let Some(name) = headers.get("x-ratelimit-bucket").and_then(|name| name.to_str().ok()) else {
            return;
        };
        if name == turn.name {
            return;
        }
        lock(&self.0).names.insert(turn.route, name.to_owned());
        self.bucket(name, &turn.place).note_empty(until);
    }

    fn name_of(&self, route: &'static str) -> String {
        lock(&self.0).names.get(route).cloned().unwrap_or_else(|| route.to_owned())
    }

    fn bucket(&self, name: &str, place: &str) -> Arc<Bucket> {
        let mut book = lock(&self.0);
        if book.buckets.len() >= BUCKETS_MAX {
            let is_empty = |bucket: &Bucket| bucket.empty_until().is_some();
            book.buckets.retain(|_, bucket| Arc::strong_count(bucket) > 1 || is_empty(bucket));
        }
        book.buckets.entry((name.to_owned(), place.to_owned())).or_default().clone()
    }
}

impl Bucket {
    /// Notes until when it is empty; a later time that was noted stays.
    fn note_empty(&self, until: Option<Instant>) {
        let mut empty_until = lock(&self.empty_until);
        *empty_until = (*empty_until).max(until);
    }

    /// Until when it is empty, if it is.
    fn empty_until(&self) -> Option<Instant> {
        lock(&self.empty_until).filter(|until| *until > Instant::now())
    }
}

impl BucketUse {
    /// Until when the bucket is empty, if it is.
    pub(super) fn empty_until(&self) -> Option<Instant> {
        self.bucket.empty_until()
    }
}

/// What a 429 says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RateLimit {
    /// How long nothing is taken.
    pub(super) wait: Duration,
    /// For all that is authorized.
    pub(super) over_all: bool,
}

impl RateLimit {
    /// From the answer, which need not be Discord's own: what stands before it says so in a header
    /// alone.
    pub(super) fn read(headers: &HeaderMap, body: &[u8]) -> Self {
        let said: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
        let wait = said["retry_after"].as_f64().or_else(|| number(headers, "retry-after")).and_then(seconds);
        let told = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let over_all = said["global"] == true
            || told("x-ratelimit-global").is_some_and(|value| value.eq_ignore_ascii_case("true"))
            || told("x-ratelimit-scope") == Some("global");
        Self { wait: wait.unwrap_or(RETRY_AFTER_DEFAULT).max(RETRY_AFTER_LEAST), over_all }
    }
}

/// A header that is a number.
pub(super) fn number(headers: &HeaderMap, name: &str) -> Option<f64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

/// A pause in seconds, if it is one; at most [`ASKED_WAIT_MAX`].
pub(super) fn seconds(seconds: f64) -> Option<Duration> {
    Some(Duration::try_from_secs_f64(seconds).ok()?.min(ASKED_WAIT_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::{HeaderName, HeaderValue};

    fn headers(all: &[(&'static str, &'static str)]) -> HeaderMap {
        all.iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn a_429_is_read_from_its_body_or_its_headers() {
        let limited = |seconds, over_all| RateLimit { wait: Duration::from_secs_f64(seconds), over_all };
        let plain = headers(&[("retry-after", "7")]);
        assert_eq!(RateLimit::read(&plain, br#"{"retry_after":1.5,"global":false}"#), limited(1.5, false));
        assert_eq!(RateLimit::read(&plain, b"<html>"), limited(7.0, false));
        assert_eq!(
            RateLimit::read(&headers(&[]), br#"{"retry_after":0.5,"global":true}"#),
            limited(0.5, true)
        );
        let global = headers(&[("x-ratelimit-global", "true")]);
        assert_eq!(RateLimit::read(&global, b""), limited(5.0, true));
        let none = RateLimit::read(&plain, br#"{"retry_after":0}"#);
        assert_eq!(none, limited(0.1, false), "it is not asked again without a pause");
        for odd in [r#"{"retry_after":-1}"#, r#"{"retry_after":1e300}"#, r#"{"retry_after":"x"}"#] {
            assert_eq!(RateLimit::read(&headers(&[]), odd.as_bytes()), limited(5.0, false), "{odd}");
        }
    }

    #[tokio::test]
    async fn a_pause_that_no_clock_can_add_up_is_cut() {
        let limited = RateLimit::read(&headers(&[]), br#"{"retry_after":1e19}"#);
        assert_eq!(limited.wait, ASKED_WAIT_MAX);
        let plain = headers(&[("retry-after", "1e19")]);
        assert_eq!(RateLimit::read(&plain, b"<html>"), limited);
        let buckets = Buckets::default();
        let turn = buckets.turn("create", "5").await;
        for over_all in [false, true] {
            buckets.note(&turn, &headers(&[]), Some(RateLimit { over_all, ..limited }));
            assert!(turn.empty_until().max(buckets.blocked_until()).is_some(), "{over_all}");
        }
        let empty = headers(&[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset-after", "1e19")]);
        buckets.note(&turn, &empty, None);
        assert!(turn.empty_until().is_some());
    }

    #[tokio::test]
    async fn a_bucket_that_is_empty_says_so_to_the_next_and_to_no_other() {
        let buckets = Buckets::default();
        let first = buckets.turn("create", "5").await;
        assert!(first.empty_until().is_none());
        let empty = headers(&[
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset-after", "60"),
            ("x-ratelimit-bucket", "abc"),
        ]);
        buckets.note(&first, &empty, None);
        drop(first);
        assert!(buckets.turn("create", "5").await.empty_until().is_some());
        assert!(buckets.turn("create", "6").await.empty_until().is_none(), "another channel");
        assert!(buckets.turn("edit", "5").await.empty_until().is_none(), "another route");
        // Two routes of one bucket.
        let edit = buckets.turn("edit", "5").await;
        buckets.note(&edit, &headers(&[("x-ratelimit-bucket", "abc")]), None);
        drop(edit);
        assert!(buckets.turn("edit", "5").await.empty_until().is_some());
        assert!(buckets.blocked_until().is_none());
        let other = buckets.turn("create", "7").await;
        let limited = RateLimit { wait: Duration::from_secs(60), over_all: true };
        buckets.note(&other, &headers(&[]), Some(limited));
        assert!(buckets.blocked_until().is_some() && other.empty_until().is_none());
    }

    /// Two routes of one place that change their names for each other's: neither waits for the
    /// other, which waits for it.
    #[tokio::test]
    async fn what_an_answer_tells_of_another_bucket_waits_for_nobody_who_uses_that() {
        let buckets = Buckets::default();
        let called = |name| headers(&[("x-ratelimit-bucket", name)]);
        for (route, name) in [("create", "a"), ("edit", "b")] {
            let turn = buckets.turn(route, "5").await;
            buckets.note(&turn, &called(name), None);
        }
        let (create, edit) = (buckets.turn("create", "5").await, buckets.turn("edit", "5").await);
        let empty = headers(&[
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset-after", "60"),
            ("x-ratelimit-bucket", "b"),
        ]);
        buckets.note(&create, &empty, None);
        // Its own bucket is that one still: what was noted of that stays.
        buckets.note(&edit, &called("a"), None);
        drop((create, edit));
        assert!(buckets.turn("create", "5").await.empty_until().is_some(), "it is b now");
        assert!(buckets.turn("edit", "5").await.empty_until().is_some(), "a was noted as well");
    }

    #[tokio::test]
    async fn no_more_buckets_are_remembered_than_there_is_room_for() {
        let buckets = Buckets::default();
        for n in 0..BUCKETS_MAX + 10 {
            drop(buckets.turn("create", &n.to_string()).await);
        }
        assert!(lock(&buckets.0).buckets.len() <= BUCKETS_MAX);
    }

    #[tokio::test]
    async fn thousands_of_commands_leave_few_buckets_and_every_one_that_is_empty() {
        let buckets = Buckets::default();
        let first = buckets.turn("create", "5").await;
        let empty = headers(&[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset-after", "600")]);
        buckets.note(&first, &empty, None);
        drop(first);
        for token in 0..3000 {
            drop(buckets.turn("edit an answer", &format!("6/{token}")).await);
        }
        assert!(lock(&buckets.0).buckets.len() <= 256);
        assert!(buckets.turn("create", "5").await.empty_until().is_some());
    }
}
