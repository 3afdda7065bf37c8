//! Requests to the Bot API: the one place that builds URLs with the token in them.
//!
//! teloxide-core describes the methods; the requests are made here, because its client sleeps for
//! 10 s on a 5xx, reads results as types that lose a whole message for one unknown field, and
//! follows redirects. This one follows none, sends no Referer and bounds what it reads.

use super::failure::{ApiFailure, result_of};
use super::pace::Pace;
use super::token::BotToken;
use cofferdam_agent::server::{Address, client, http_date, read_whole};
use reqwest::header::DATE;
use reqwest::multipart::Form;
use reqwest::{Client, Response, Url};
use serde::Serialize;
use serde_json::value::RawValue;
use std::time::{Duration, SystemTime};
use teloxide_core::requests::Payload;

/// The Bot API behind one token.
pub(super) struct TelegramApi {
    client: Client,
    base: Url,
    token: BotToken,
    /// How fast it sends.
    pub(super) pace: Pace,
}

/// An ordinary request takes at most so long.
pub(super) const REQUEST_MAX: Duration = Duration::from_secs(30);
/// A larger answer is not read: a hundred of the largest updates stay far below.
const ANSWER_BYTES_MAX: usize = 32 << 20;

impl TelegramApi {
    /// A client for a server and a token. Contacts nothing.
    ///
    /// # Errors
    /// When the TLS library does not start.
    pub(super) fn new(address: Address, token: BotToken, pace: Pace) -> Result<Self, ApiFailure> {
        let client = client(address.reach, concat!("cofferdam/", env!("CARGO_PKG_VERSION"))).build()?;
        Ok(Self { client, base: address.url, token, pace })
    }

    /// Calls a method and returns its result, unparsed: what the caller cannot read must not hide
    /// that the call succeeded.
    ///
    /// # Errors
    /// [`ApiFailure`].
    pub(super) async fn call<P: Payload + Serialize>(
        &self,
        payload: &P,
        timeout: Duration,
    ) -> Result<Box<RawValue>, ApiFailure> {
        self.call_dated(payload, timeout).await.0
    }

    /// The same, with the time by the server's clock if there was an answer.
    pub(super) async fn call_dated<P: Payload + Serialize>(
        &self,
        payload: &P,
        timeout: Duration,
    ) -> (Result<Box<RawValue>, ApiFailure>, Option<SystemTime>) {
        let url = self.url(&["bot", self.token.reveal()], [method_name(P::NAME).as_str()]);
        let response = match self.client.post(url).json(payload).timeout(timeout).send().await {
            Ok(response) => response,
            Err(error) => return (Err(error.into()), None),
        };
        let date = response.headers().get(DATE).and_then(|date| http_date(date.to_str().ok()?));
        (self.result(response).await, date)
    }

    /// The same for a method that takes files. How long it may take is the caller's to say.
    ///
    /// # Errors
    /// [`ApiFailure`].
    pub(super) async fn upload(&self, method: &str, form: Form) -> Result<Box<RawValue>, ApiFailure> {
        let url = self.url(&["bot", self.token.reveal()], [method]);
        self.result(self.client.post(url).multipart(form).send().await?).await
    }

    async fn result(&self, response: Response) -> Result<Box<RawValue>, ApiFailure> {
        let status = response.status().as_u16();
        let answer = read_whole(response, ANSWER_BYTES_MAX).await?;
        let too_long = || ApiFailure::Unreachable(format!("an answer of more than {ANSWER_BYTES_MAX} bytes"));
        result_of(status, &String::from_utf8_lossy(&answer.ok_or_else(too_long)?))
    }

    /// Begins the download of a `file_path`: the answer's head, of any status.
    ///
    /// # Errors
    /// [`ApiFailure::Refused`] for a path that would lead elsewhere; [`ApiFailure::Unreachable`].
    pub(super) async fn file(&self, file_path: &str) -> Result<Response, ApiFailure> {
        let sound = |part: &&str| !part.is_empty() && *part != "." && *part != "..";
        if !file_path.split('/').all(|part| sound(&part)) || file_path.contains(['\\', '\0']) {
            let description = "the file's path on the server is unusable".to_owned();
            return Err(ApiFailure::Refused { code: 400, description });
        }
        let url = self.url(&["file/bot", self.token.reveal()], file_path.split('/'));
        // No overall timeout: the reader of the body limits both silence and length.
        self.client.get(url).send().await.map_err(ApiFailure::from)
    }

    /// `<base>/<prefix><segments…>`; each segment is percent-encoded, slashes within it, too.
    fn url<'s>(&self, prefix: &[&str], segments: impl IntoIterator<Item = &'s str>) -> Url {
        let mut url = self.base.clone();
        {
            let mut path = url.path_segments_mut().expect("an http URL has path segments");
            path.pop_if_empty();
            path.extend(prefix.concat().split('/'));
            path.extend(segments);
        }
        url
    }
}

/// The method as the documentation writes it. Telegram ignores case; other servers need not.
fn method_name(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(chars).collect()
}

#[cfg(test)]
mod tests {
    use super::super::config::Config;
    use super::*;

    fn api(api_url: &str) -> TelegramApi {
        let config = Config { api_url: api_url.into(), ..Config::default() };
        let token = BotToken::parse("1:abc").expect("a token");
        let pace = Pace::new(config.flood_limits, tokio_util::sync::CancellationToken::new(), None);
        TelegramApi::new(config.address().expect("an address"), token, pace).expect("a client")
    }

    #[test]
    fn urls_keep_the_base_and_encode_the_rest() {
        let url = |base: &str, segments: &[&str]| {
            api(base).url(&["bot", "1:abc"], segments.iter().copied()).to_string()
        };
        assert_eq!(url("https://api.telegram.org", &["getMe"]), "https://api.telegram.org/bot1:abc/getMe");
        assert_eq!(
            url("http://127.0.0.1:8/base/", &["a b?#%2e", "c"]),
            "http://127.0.0.1:8/base/bot1:abc/a%20b%3F%23%252e/c"
        );
        assert_eq!(method_name("SendMessage"), "sendMessage");
    }

    #[tokio::test]
    async fn a_path_that_leads_elsewhere_is_not_requested() {
        for path in ["../x", "a/../../x", "/etc/passwd", "a//b", "a\\b", "", "a/."] {
            let refused = api("http://127.0.0.1:1").file(path).await.map(|_| ()).expect_err(path);
            assert!(matches!(refused, ApiFailure::Refused { .. }), "{path}: {refused}");
        }
    }
}
