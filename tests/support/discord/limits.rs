//! Rate limits: buckets of a route and a channel, and the one over all; whoever exceeds them is
//! refused with 429.

use std::collections::HashMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::error;
use super::params;
use crate::exchange::Answer;

/// So many requests in a span of this length.
pub type Rate = (usize, Duration);

/// What every bucket takes unless a test sets less.
const GENEROUS: Rate = (10_000, Duration::from_secs(1));

/// Which 429 it is, as `X-RateLimit-Scope` tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The bot sends too much into a bucket.
    User,
    /// The bot sends too much in all.
    Global,
    /// Others use up what a resource takes.
    Shared,
}

impl Scope {
    fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Global => "global",
            Self::Shared => "shared",
        }
    }
}

/// One bucket: what is left until it is full again.
struct Bucket {
    left: usize,
    full_at: Instant,
}

/// What this server takes, and what it took.
#[derive(Default)]
pub(super) struct Limits {
    /// By route.
    rates: HashMap<String, Rate>,
    /// Over all authorized requests.
    all: Option<Rate>,
    buckets: HashMap<(String, String), Bucket>,
}

impl Limits {
    /// Sets what each bucket of a route takes; all of them are full again.
    pub(super) fn set_rate(&mut self, route: &str, rate: Rate) {
        self.rates.insert(route.to_owned(), rate);
        self.buckets.retain(|(known, _), _| known != route);
    }

    /// Sets what is taken over all.
    pub(super) fn set_global(&mut self, rate: Option<Rate>) {
        self.all = rate;
        self.buckets.remove(&(String::new(), String::new()));
    }

    /// Counts a request, and returns the headers that its answer has, or the refusal.
    pub(super) fn take(
        &mut self,
        route: &str,
        call: &Map<String, Value>,
    ) -> Result<Vec<(&'static str, String)>, Answer> {
        // Interactions do not count, nor do the addresses of the gateway.
        let authorized = !["_response", "_followup"].iter().any(|end| route.ends_with(end));
        if let Some(rate) = self.all.filter(|_| authorized) {
            let (bucket, fits) = spend(&mut self.buckets, (String::new(), String::new()), rate);
            if !fits {
                let wait = bucket.full_at.saturating_duration_since(Instant::now());
                return Err(too_many(wait, Scope::Global));
            }
        }
        let rate = self.rates.get(route).copied().unwrap_or(GENEROUS);
        let (bucket, fits) = spend(&mut self.buckets, (route.to_owned(), major(call)), rate);
        let headers = headers(route, rate, bucket);
        if fits {
            return Ok(headers);
        }
        let wait = bucket.full_at.saturating_duration_since(Instant::now());
        let refusal = too_many(wait, Scope::User);
        Err(headers.into_iter().fold(refusal, |answer, (name, value)| answer.with_header(name, value)))
    }
}

/// What of a path has buckets of its own.
fn major(call: &Map<String, Value>) -> String {
    let parts = ["channel_id", "guild_id", "token"].into_iter();
    parts.map(|name| params::text(call, name)).collect::<Vec<_>>().join(" ")
}

fn spend(
    buckets: &mut HashMap<(String, String), Bucket>,
    key: (String, String),
    (count, per): Rate,
) -> (&Bucket, bool) {
    let now = Instant::now();
    let bucket = buckets.entry(key).or_insert(Bucket { left: count, full_at: now });
    if bucket.full_at <= now {
        *bucket = Bucket { left: count, full_at: now + per };
    }
    let fits = bucket.left > 0;
    bucket.left = bucket.left.saturating_sub(1);
    (bucket, fits)
}

fn headers(route: &str, (count, _): Rate, bucket: &Bucket) -> Vec<(&'static str, String)> {
    let after = bucket.full_at.saturating_duration_since(Instant::now());
    let reset = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default() + after;
    vec![
        ("X-RateLimit-Limit", count.to_string()),
        ("X-RateLimit-Remaining", bucket.left.to_string()),
        ("X-RateLimit-Reset", format!("{:.3}", reset.as_secs_f64())),
        ("X-RateLimit-Reset-After", format!("{:.3}", after.as_secs_f64())),
        ("X-RateLimit-Bucket", hex::encode(&Sha256::digest(route.as_bytes())[..16])),
    ]
}

/// 429 as the API says it.
pub(super) fn too_many(wait: Duration, scope: Scope) -> Answer {
    let body = json!({
        "message": match scope {
            Scope::Shared => "The resource is being rate limited.",
            _ => "You are being rate limited.",
        },
        // Never too early by rounding.
        "retry_after": (wait.as_secs_f64() * 1000.0).ceil() / 1000.0,
        "global": scope == Scope::Global,
    });
    let answer = error::answer(429, &body)
        .with_header("Retry-After", (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).to_string())
        .with_header("X-RateLimit-Scope", scope.name().to_owned());
    match scope {
        Scope::Global => answer.with_header("X-RateLimit-Global", "true".to_owned()),
        _ => answer,
    }
}
