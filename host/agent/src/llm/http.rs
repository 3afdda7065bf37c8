//! Asks a model's server, and again where time may heal a failure and nobody has seen anything of
//! an answer.
//!
//! It follows no redirects, sends no Referer, and gives the key to nobody but the address that it
//! was configured for.

use super::answer::ModelAnswer;
use super::config::{Config, refuse};
use super::dialect::{Dialect, StreamState};
use super::events::{Events, REST_MAX};
use super::failure::AttemptFailure;
use super::timeouts::{REQUEST_ATTEMPTS_MAX, RETRY_AFTER_MAX, RequestTimeouts};
use crate::server::{Address, Backoff, UnusableKey, client, http_date, read_beginning};
use crate::turn::{Delta, Deltas, ProviderError, StepReply, TokenUsage};
use bytes::Bytes;
use cofferdam_core::counts::COUNTS;
use cofferdam_core::secret::{Secret, redact};
use cofferdam_core::standing::MODEL;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use reqwest::{Client, RequestBuilder, Response};
use std::time::{Duration, SystemTime};
use tokio::time::{Instant, timeout, timeout_at};

/// So much of an answer that is an error is read.
pub(super) const ERROR_BYTES_MAX: usize = 64 << 10;

/// A request, ready to be sent.
pub(super) struct ModelRequest {
    pub(super) body: Bytes,
    /// About how many tokens it is to the model, where its server does not count.
    pub(super) tokens: u64,
    /// Whether it shows attachments, which may be why it is refused.
    pub(super) shows_files: bool,
}

pub(super) struct ModelServer {
    client: Client,
    address: Address,
    /// What it speaks.
    pub(super) dialect: Dialect,
    pub(super) key: Option<Secret>,
    patience: RequestTimeouts,
}

impl ModelServer {
    /// A client for the configured server. Contacts nobody.
    ///
    /// # Errors
    /// [`UnusableKey`] when its address is none, or the TLS library does not start.
    pub(super) fn new(config: &Config, key: Option<Secret>) -> Result<Self, UnusableKey> {
        let (address, patience) = (config.address()?, config.patience);
        let dialect = Dialect::new(config, &address);
        let builder = client(address.reach, concat!("cofferdam/", env!("CARGO_PKG_VERSION")));
        let client = builder.connect_timeout(patience.connect).build();
        let client =
            client.map_err(|error| refuse("kind", format!("the HTTP client does not start: {error}")))?;
        Ok(Self { client, address, dialect, key, patience })
    }

    /// The answer to a request.
    ///
    /// # Errors
    /// [`ProviderError`], after as many attempts as make sense.
    pub(super) async fn ask(
        &self,
        asking: ModelRequest,
        deltas: &mut Deltas<'_>,
    ) -> Result<StepReply, ProviderError> {
        let started = Instant::now();
        let mut backoff = Backoff::new(self.patience.pause, self.patience.pause_longest);
        let mut telling = AnswerListener::new(deltas);
        // Those that count: a server that says that it loads its model has not failed, and is
        // waited for as long as asking again makes sense at all.
        let mut attempt = 1;
        loop {
            let mut answer = ModelAnswer::for_request(asking.tokens);
            let failure = match self.attempt(asking.body.clone(), &mut answer, &mut telling).await {
                Ok(()) => return Ok(telling.end(answer.into_reply())),
                Err(failure) => failure,
            };
            let said = failure.to_string();
            let said = redact(&said);
            // Every attempt is paid for.
            let lost = telling.lost.and(answer.cost());
            telling.lost = lost;
            if answer.has_begun() {
                COUNTS.model_requests.add("broke_off", 1);
                MODEL.failed(now_ms(), &format!("the answer broke off: {}", failure.reason()));
                tracing::warn!(attempt, "the model's answer broke off: {said}");
                return Err(ProviderError::BrokeOff {
                    said: failure.interrupted_error().to_string(),
                    usage: lost,
                });
            }
            let asked = failure.retry_after().unwrap_or_default();
            let pause = backoff.pause_of_at_least(asked);
            let late = started.elapsed().saturating_add(pause) > self.patience.retrying;
            let hopeless = !failure.may_pass() || asked > RETRY_AFTER_MAX || late;
            let loading = matches!(failure, AttemptFailure::Loading(_));
            if hopeless || (attempt == REQUEST_ATTEMPTS_MAX && !loading) {
                COUNTS.model_requests.add("failed", 1);
                tracing::warn!(attempt, "the model's server gives no answer: {said}");
                let told = if asking.shows_files { failure.to_file_error() } else { failure.to_error() };
                match told {
                    // Another request may succeed.
                    ProviderError::TooLong(_) | ProviderError::Unshowable(_) => {
                        MODEL.note_refused(now_ms(), &failure.reason())
                    }
                    _ => MODEL.failed(now_ms(), &failure.reason()),
                }
                return Err(match told {
                    ProviderError::Unavailable(said) if lost != TokenUsage::default() => {
                        ProviderError::BrokeOff { said, usage: lost }
                    }
                    told => told,
                });
            }
            tracing::info!(attempt, ?pause, "the model's server is asked again: {said}");
            COUNTS.model_retries.add(1);
            attempt += u32::from(!loading);
            tokio::time::sleep(pause).await;
        }
    }

    /// A request for something below the address, with this key.
    pub(super) fn get(&self, path: &str, key: Option<&Secret>) -> RequestBuilder {
        self.client.get(self.address.join(path)).headers(self.dialect.headers(key))
    }

    async fn attempt(
        &self,
        body: Bytes,
        answer: &mut ModelAnswer,
        telling: &mut AnswerListener<'_>,
    ) -> Result<(), AttemptFailure> {
        let deadline = Instant::now() + self.patience.first_byte;
        let request = self
            .client
            .post(self.address.join(self.dialect.path()))
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream")
            .headers(self.dialect.headers(self.key.as_ref()))
            .body(body);
        let head = timeout(self.patience.first_byte, request.send()).await;
        let head = head.map_err(|_| AttemptFailure::Silent(self.patience.first_byte))?;
        let response = head.map_err(AttemptFailure::network)?;
        let left = deadline.saturating_duration_since(Instant::now());
        if response.status() != 200 || !may_be_events(response.headers()) {
            return Err(refusal(response, left).await);
        }
        hear_answer(self.dialect, Events::new(response, left, &self.patience), answer, telling).await
    }
}

/// Puts an answer together from its events. Once it is whole, all that follows, such as its usage,
/// is waited for up to [`REST_MAX`].
///
/// # Errors
/// [`AttemptFailure`] when the stream fails before the answer is whole, or tells of an error.
pub(super) async fn hear_answer(
    dialect: Dialect,
    mut events: Events,
    answer: &mut ModelAnswer,
    telling: &mut AnswerListener<'_>,
) -> Result<(), AttemptFailure> {
    // Once it is whole: when nothing more is waited for.
    let mut end: Option<Instant> = None;
    loop {
        let next = match end {
            None => events.next().await,
            Some(end) => timeout_at(end, events.next()).await.unwrap_or(Ok(None)),
        };
        let data = match next {
            Ok(Some(data)) => data,
            // However its stream goes on, the answer is there.
            Ok(None) | Err(_) if end.is_some() => return Ok(()),
            Ok(None) => return Err(AttemptFailure::Cut),
            Err(failure) => return Err(failure),
        };
        let heard = dialect.hear(&data, answer);
        telling.tell(answer);
        match heard {
            Ok(StreamState::More) => {}
            Ok(StreamState::Whole) => end = end.or(Some(Instant::now() + REST_MAX)),
            Ok(StreamState::End) => {
                events.rest();
                return Ok(());
            }
            Err(AttemptFailure::Unreadable(_)) if end.is_some() => return Ok(()),
            Err(failure) => return Err(failure),
        }
    }
}

/// Tells of an answer while it comes.
pub(super) struct AnswerListener<'a> {
    to: &'a mut Deltas<'a>,
    /// What earlier attempts have cost.
    lost: TokenUsage,
    /// What all of it costs, as it was told last; none before anything has come.
    told: Option<TokenUsage>,
}

/// Counts what the request has cost once it has ended, however it does: that of a turn that is
/// stopped is dropped.
impl Drop for AnswerListener<'_> {
    fn drop(&mut self) {
        let TokenUsage { input_tokens, output_tokens } = self.told.unwrap_or_default();
        COUNTS.model_tokens.add("input", input_tokens);
        COUNTS.model_tokens.add("output", output_tokens);
    }
}

impl<'a> AnswerListener<'a> {
    /// Has told nothing yet.
    pub(super) fn new(to: &'a mut Deltas<'a>) -> Self {
        Self { to, lost: TokenUsage::default(), told: None }
    }

    /// Tells what is new: text, and what it costs by then. Of arguments, which nobody is shown, the
    /// cost alone is told.
    fn tell(&mut self, answer: &mut ModelAnswer) {
        if let Some(fresh) = answer.take_new_text() {
            (self.to)(Delta::Text(fresh.to_owned()));
        }
        let spent = self.lost.and(answer.cost());
        if self.told != Some(spent) && (answer.has_begun() || spent != TokenUsage::default()) {
            self.told = Some(spent);
            (self.to)(Delta::Spent(spent));
        }
    }

    /// The whole reply, with what attempts before it have cost.
    fn end(&mut self, mut reply: StepReply) -> StepReply {
        COUNTS.model_requests.add("answered", 1);
        MODEL.note_success(now_ms());
        reply.usage = reply.usage.and(self.lost);
        self.told = Some(reply.usage);
        reply
    }
}

fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

/// Whether a body can be a stream of events: some servers do not say, but none calls it JSON or a
/// page.
fn may_be_events(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    !kind.starts_with("application/json") && !kind.starts_with("text/html")
}

/// The failure that an answer without events tells of.
async fn refusal(mut response: Response, left: Duration) -> AttemptFailure {
    let status = response.status().as_u16();
    let after = retry_after(response.headers(), SystemTime::now());
    let mut body = Vec::new();
    // What has come by then says enough.
    let _ = timeout(left, read_beginning(&mut response, ERROR_BYTES_MAX, &mut body)).await;
    let body = String::from_utf8_lossy(&body);
    if status != 200 {
        return AttemptFailure::from_status(status, &body, after);
    }
    match serde_json::from_str::<serde_json::Value>(&body) {
        Ok(answer) if !answer["error"].is_null() => AttemptFailure::from_stream_error(&answer["error"]),
        _ => AttemptFailure::Unreadable("it is no stream of events".into()),
    }
}

/// The pause that a server asks for, in any form: milliseconds, seconds, or a date.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(ms) = text("retry-after-ms").and_then(|ms| ms.parse().ok()) {
        return Some(Duration::from_millis(ms));
    }
    let text = text(RETRY_AFTER.as_str())?;
    let seconds = text.parse::<f64>().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.or_else(|| Some(http_date(text)?.duration_since(now).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::{HeaderName, HeaderValue};

    #[test]
    fn a_pause_is_asked_for_in_several_forms() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let asked = |name: &'static str, value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
            retry_after(&headers, now).map(|pause| pause.as_millis())
        };
        assert_eq!(asked("retry-after", "7"), Some(7000));
        assert_eq!(asked("retry-after", " 0.5 "), Some(500));
        assert_eq!(asked("retry-after-ms", "250"), Some(250));
        // The date of RFC 9110's own example, ten seconds later, and long ago.
        assert_eq!(asked("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT"), Some(10_000));
        assert_eq!(asked("retry-after", "Sun, 06 Nov 1994 08:49:27 GMT"), Some(0));
        for nonsense in ["", "soon", "-1", "NaN", "1e400"] {
            assert_eq!(asked("retry-after", nonsense), None, "{nonsense}");
        }
        assert_eq!(retry_after(&HeaderMap::new(), now), None);
    }

    #[test]
    fn what_calls_itself_json_or_a_page_is_no_stream() {
        let may = |kind: &'static str| {
            may_be_events(&[(CONTENT_TYPE, HeaderValue::from_static(kind))].into_iter().collect())
        };
        assert!(may("text/event-stream; charset=utf-8") && may("") && may_be_events(&HeaderMap::new()));
        assert!(!may("application/json") && !may("text/html; charset=utf-8"));
    }
}
