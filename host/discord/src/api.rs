//! Requests to Discord's REST API: the one place that knows the bot's token. It follows no
//! redirect, sends no Referer, bounds what it reads, and keeps to the buckets.

use super::buckets::{Buckets, RateLimit};
use super::failure::ApiFailure;
use super::route::{Authority, Route};
use super::token::BotToken;
use cofferdam_agent::server::{Address, client, http_date, read_whole};
use cofferdam_core::lock::lock;
use cofferdam_store::{Store, now_ms};
use reqwest::header::{AUTHORIZATION, DATE};
use reqwest::multipart::Form;
use reqwest::{Client, Method, Url};
use serde_json::Value;
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

/// The REST API behind one token.
pub(super) struct DiscordApi {
    client: Client,
    base: Url,
    token: BotToken,
    buckets: Buckets,
    /// What waits then is left for the next start.
    stop: CancellationToken,
    /// Cancelled once Discord does not accept the token.
    pub(super) unauthorized: CancellationToken,
    /// The time by the server's clock, with the last answer that told it.
    date: Mutex<Option<SystemTime>>,
    /// Knows whether another node may say the same by now; none where nothing is said.
    store: Option<Store>,
}

/// An ordinary request takes at most so long.
pub(super) const REQUEST_MAX: Duration = Duration::from_secs(30);
/// A larger answer is not read: a hundred of the largest messages stay far below.
const ANSWER_BYTES_MAX: usize = 32 << 20;
/// As Discord wants it: <https://discord.com/developers/docs/reference#user-agent>.
pub(super) const AGENT: &str =
    concat!("DiscordBot (https://github.com/cofferdam, ", env!("CARGO_PKG_VERSION"), ")");

/// What a request carries.
pub(super) enum RequestBody<'a> {
    Nothing,
    Json(&'a Value),
    /// Parameters in the address.
    Query(&'a [(&'a str, String)]),
    /// Files, made anew for each attempt.
    Files(&'a (dyn Fn() -> Result<Form, ApiFailure> + Sync)),
}

/// Whether a request waits for its bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BucketWait {
    /// Until there is room, or the program stops.
    Waits,
    /// Not at all: who asks is told, and leaves it out or asks again later.
    Now,
}

impl DiscordApi {
    /// A client for a server and a token. Contacts nothing. That of a node has its `store`: it
    /// changes nothing at Discord while its lease is not certain.
    ///
    /// # Errors
    /// When the TLS library does not start.
    pub(super) fn new(
        address: Address,
        token: BotToken,
        stop: CancellationToken,
        store: Option<Store>,
    ) -> Result<Self, ApiFailure> {
        Ok(Self {
            client: client(address.reach, AGENT).build()?,
            base: address.url,
            token,
            buckets: Buckets::default(),
            stop,
            unauthorized: CancellationToken::new(),
            date: Mutex::default(),
            store,
        })
    }

    /// Makes a request, and returns the body of its answer as JSON; `null` where that is none: what
    /// cannot be read must not hide that the call succeeded.
    ///
    /// # Errors
    /// [`ApiFailure`].
    pub(super) async fn call(&self, route: &Route, carried: RequestBody<'_>) -> Result<Value, ApiFailure> {
        self.call_within(route, carried, (REQUEST_MAX, BucketWait::Waits)).await
    }

    /// The same, answered within a time.
    ///
    /// # Errors
    /// [`ApiFailure`].
    pub(super) async fn call_within(
        &self,
        route: &Route,
        carried: RequestBody<'_>,
        (limit, haste): (Duration, BucketWait),
    ) -> Result<Value, ApiFailure> {
        loop {
            let turn = match route.authority {
                Authority::Callback => None,
                Authority::Bot | Authority::Interaction => {
                    let turn = self.buckets.turn(route.name, &route.place);
                    Some(self.stop.run_until_cancelled(turn).await.ok_or_else(stopped_failure)?)
                }
            };
            let all = self.buckets.blocked_until().filter(|_| route.authority == Authority::Bot);
            let held = turn.as_ref().and_then(|turn| turn.empty_until()).max(all);
            if let Some(until) = held {
                if haste == BucketWait::Now {
                    return Err(ApiFailure::TooMany(until.saturating_duration_since(Instant::now())));
                }
                // Who does not wait must not wait behind this one.
                drop(turn);
                self.stop.run_until_cancelled(sleep_until(until)).await.ok_or_else(stopped_failure)?;
                continue;
            }
            // The wait may have been longer than the lease.
            if let Some(store) = self.store.as_ref().filter(|_| route.verb != Method::GET) {
                let unsure = |_| ApiFailure::Unreachable("this node's lease is not certain".into());
                store.ensure_lease().await.map_err(unsure)?;
            }
            let (status, headers, body) =
                timeout(limit, self.send(route, &carried)).await.map_err(|_| late(&carried, limit))??;
            let limited = (status == 429).then(|| RateLimit::read(&headers, &body));
            if let Some(turn) = &turn {
                self.buckets.note(turn, &headers, limited);
            }
            drop(turn);
            match (status, limited) {
                (_, Some(limited)) if haste == BucketWait::Now => {
                    return Err(ApiFailure::TooMany(limited.wait));
                }
                (_, Some(limited)) => {
                    tracing::debug!(route = route.name, ?limited, "Discord asks for a pause");
                    // No bucket holds callbacks back, and none holds an interaction back for all.
                    let is_free = match route.authority {
                        Authority::Bot => false,
                        Authority::Interaction => limited.over_all,
                        Authority::Callback => true,
                    };
                    if is_free {
                        let pause = tokio::time::sleep(limited.wait);
                        self.stop.run_until_cancelled(pause).await.ok_or_else(stopped_failure)?;
                    }
                }
                (200..=299, None) => return Ok(serde_json::from_slice(&body).unwrap_or_default()),
                (status, None) => {
                    let failure = ApiFailure::from_response(status, &body, route);
                    // Of a page of somebody else the token is as good as it was.
                    let is_said = matches!(failure, ApiFailure::Refused { status: 401, .. });
                    if is_said && route.authority == Authority::Bot {
                        self.unauthorized.cancel();
                        return Err(ApiFailure::Unauthorized);
                    }
                    return Err(failure);
                }
            }
        }
    }

    async fn send(
        &self,
        route: &Route,
        carried: &RequestBody<'_>,
    ) -> Result<(u16, reqwest::header::HeaderMap, Vec<u8>), ApiFailure> {
        let request = self.client.request(route.verb.clone(), route.url(&self.base));
        let request = match route.authority {
            Authority::Bot => request.header(AUTHORIZATION, format!("Bot {}", self.token.reveal())),
            Authority::Interaction | Authority::Callback => request,
        };
        let request = match carried {
            RequestBody::Nothing => request,
            RequestBody::Json(body) => request.json(body),
            RequestBody::Query(parameters) => request.query(parameters),
            RequestBody::Files(form) => request.multipart(form()?),
        };
        let response = request.send().await?;
        let date = response.headers().get(DATE).and_then(|date| http_date(date.to_str().ok()?));
        if date.is_some() {
            *lock(&self.date) = date;
        }
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let answer = read_whole(response, ANSWER_BYTES_MAX).await?;
        let too_long = || ApiFailure::Unreachable(format!("an answer of more than {ANSWER_BYTES_MAX} bytes"));
        Ok((status, headers, answer.ok_or_else(too_long)?))
    }

    /// The time by the server's clock, as the last answer has told it.
    pub(super) fn date(&self) -> Option<SystemTime> {
        *lock(&self.date)
    }

    /// The same in milliseconds since 1970 UTC, for who compares it with ids: they are made by that
    /// clock. By the machine's where no answer has told it.
    pub(super) fn platform_now_ms(&self) -> i64 {
        let since = self.date().and_then(|date| date.duration_since(UNIX_EPOCH).ok());
        since.and_then(|since| i64::try_from(since.as_millis()).ok()).unwrap_or_else(now_ms)
    }

    /// The token, for the gateway.
    pub(super) fn token(&self) -> &BotToken {
        &self.token
    }
}

fn stopped_failure() -> ApiFailure {
    ApiFailure::Unreachable("the program stops".into())
}

fn late(carried: &RequestBody<'_>, limit: Duration) -> ApiFailure {
    match carried {
        RequestBody::Files(_) => ApiFailure::TooSlow(limit),
        _ => ApiFailure::Unreachable(format!("Discord has not answered within {} s", limit.as_secs())),
    }
}

#[cfg(test)]
mod tests {
    use super::super::route::{CREATE, EDIT_ANSWER, MESSAGES};
    use super::super::wire::Interaction;
    use super::*;
    use cofferdam_agent::server::ServerScope;
    use reqwest::header::HeaderMap;

    /// One of a server that is not there.
    fn api() -> DiscordApi {
        let closed = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", closed.local_addr().expect("bound"));
        drop(closed);
        let address = Address { url: url.parse().expect("an address"), reach: ServerScope::Loopback };
        let token = BotToken::parse("aaaaaaaa.bbbbbbbb.cccccccc").expect("a token");
        DiscordApi::new(address, token, CancellationToken::new(), None).expect("a client")
    }

    #[tokio::test]
    async fn a_node_without_its_lease_asks_and_says_nothing() {
        let store = Store::in_memory().expect("there is room");
        let api = DiscordApi { store: Some(store.clone()), ..api() };
        let fails = async |name| {
            let failed = api.call(&Route::bot(name, &[7]), RequestBody::Nothing).await;
            failed.expect_err("nobody listens").to_string()
        };
        assert!(!fails(CREATE).await.contains("this node"));
        store.note_taken_over();
        assert!(fails(CREATE).await.contains("this node's lease is not certain"));
        assert!(!fails(MESSAGES).await.contains("this node"), "it may look");
    }

    #[tokio::test]
    async fn what_waits_for_no_bucket_does_not_wait_behind_what_does() {
        let (api, route) = (api(), Route::bot(CREATE, &[7]));
        let turn = api.buckets.turn(route.name, &route.place).await;
        let limited = RateLimit { wait: Duration::from_secs(600), over_all: false };
        api.buckets.note(&turn, &HeaderMap::new(), Some(limited));
        drop(turn);
        let waits = api.call(&route, RequestBody::Nothing);
        let at_once = api.call_within(&route, RequestBody::Nothing, (REQUEST_MAX, BucketWait::Now));
        tokio::select! {
            biased;
            answer = waits => panic!("the bucket is empty: {answer:?}"),
            told = timeout(Duration::from_secs(10), at_once) => {
                let told = told.expect("it does not wait");
                assert!(matches!(told, Err(ApiFailure::TooMany(_))), "{told:?}");
            }
        }
    }

    /// Who has the token of an interaction answers in the bot's name, and it is in the address.
    #[tokio::test]
    async fn a_request_that_reaches_nobody_tells_no_token() {
        let api = api();
        let of = Interaction { id: 5, application: 6, token: "s3cret".into(), acknowledged: false };
        for route in [Route::answer(&of), Route::on_answer(EDIT_ANSWER, &of)] {
            let failure = api.call(&route, RequestBody::Nothing).await.expect_err("nobody listens");
            assert!(matches!(failure, ApiFailure::Unreachable(_)), "{failure}");
            assert!(!format!("{failure:?}").contains("s3cret"), "{failure}");
        }
    }
}
