//! How a request to a model fails, sorted by what helps; what the user is told, and what the
//! operator.
//!
//! The text of a failure is for the operator's log and holds a server's words, bounded and without
//! secrets. What the user is told holds nothing of it.

use crate::turn::ProviderError;
use cofferdam_core::secret::redact;
use cofferdam_core::text::{one_line, with_causes};
use serde_json::Value;
use std::time::Duration;

/// Why one attempt did not bring a whole answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum AttemptFailure {
    /// Not reached, or the connection broke.
    #[error("not reached: {0}")]
    Unreachable(String),
    /// Nothing came for so long.
    #[error("silent for {0:?}")]
    Silent(Duration),
    /// The server cannot answer now; it may have said when it can.
    #[error("busy: {said}")]
    Busy {
        /// Its words.
        said: String,
        /// The pause that it asks for.
        after: Option<Duration>,
    },
    /// The server is there, its model not yet.
    #[error("not ready: {0}")]
    Loading(String),
    /// The stream ended before the answer did.
    #[error("the stream ended before the answer did")]
    Cut,
    /// Something else than what the API describes.
    #[error("its answer cannot be read: {0}")]
    Unreadable(String),
    /// More than the gateway takes.
    #[error("it sends too much: {0}")]
    TooMuch(&'static str),
    /// The key is wrong, or may not use this model.
    #[error("the key is not accepted ({0}); check [provider] api_key_env or api_key_file")]
    Key(String),
    /// Nobody pays.
    #[error("the account has no credit left ({0})")]
    Credit(String),
    /// Neither the address nor the model is known there.
    #[error("not found ({0}); check [provider] base_url and model")]
    NotFound(String),
    /// It points elsewhere, and a key is not carried elsewhere.
    #[error("redirected (HTTP status {0}), which is not followed; check [provider] base_url")]
    Redirected(u16),
    /// The conversation does not fit.
    #[error("the conversation is too long for it ({0})")]
    TooLong(String),
    /// The request does not fit, for any reason.
    #[error("the request is too large for it ({0})")]
    TooLarge(String),
    /// The model sees no files of such a kind.
    #[error("it cannot be shown such a file ({0}); take its kind out of [provider] accepts")]
    Blind(String),
    /// It refuses the request as it stands.
    #[error("refused ({0})")]
    Refused(String),
}

/// A server's words are cut here.
const SAID_BYTES_MAX: usize = 300;

/// What a server says when a conversation does not fit, in lower case.
const TOO_LONG: &[&str] = &[
    "context_length_exceeded",
    "prompt is too long",
    "maximum context length",
    "exceed_context_size",
    "exceeds the available context",
    "context window",
    "contextwindowexceeded",
    // Anthropic, of input and answer together; Gemini; xAI.
    "exceed context limit",
    "exceeds the maximum number of tokens",
    "maximum prompt length",
    "request_too_large",
];

/// What a server says when its model cannot be shown an image or a document, in lower case.
const BLIND: &[&str] =
    &["image input is not supported", "'input_file' is not supported", "unsupported content[].type"];

/// What a server says with status 503 while its model comes into memory, in lower case: llama.cpp,
/// and Hugging Face's.
const LOADING: &[&str] = &["loading model", "currently loading"];

impl AttemptFailure {
    /// The failure that an answer of this status tells of. `after` is the pause that it asks for.
    pub(super) fn from_status(status: u16, body: &str, after: Option<Duration>) -> Self {
        let error = serde_json::from_str::<Value>(body).ok().map(|body| body["error"].clone());
        let error = error.filter(|error| !error.is_null());
        // Servers mask a wrong key in their words and still show some of it.
        let said = match (status, &error) {
            (401 | 403, _) => format!("HTTP status {status}"),
            (_, Some(error)) => format!("HTTP status {status}: {}", words(error)),
            (_, None) => format!("HTTP status {status}: {}", bounded(body)),
        };
        let kind = error.as_ref().map(kinds).unwrap_or_default();
        if kind.contains("insufficient_quota") || kind.contains("billing") || status == 402 {
            return Self::Credit(said);
        }
        // llama.cpp says so with status 500, which is no reason to ask again.
        if has_one_of(BLIND, &said) {
            return Self::Blind(said);
        }
        match status {
            401 | 403 => Self::Key(said),
            503 if has_one_of(LOADING, &said) => Self::Loading(said),
            408 | 409 | 425 | 429 | 500..=599 => Self::Busy { said, after },
            300..=399 => Self::Redirected(status),
            413 => Self::TooLarge(said),
            _ if is_too_long(&said, &kind) => Self::TooLong(said),
            404 | 405 => Self::NotFound(said),
            _ => Self::Refused(said),
        }
    }

    /// The failure that an error in a stream tells of. Its code may be a status.
    pub(super) fn from_stream_error(error: &Value) -> Self {
        // As a number, or as a text: LiteLLM.
        let code = &error["code"];
        let status = code.as_u64().or_else(|| code.as_str()?.parse().ok());
        if let Some(status @ 400..=599) = status.and_then(|code| u16::try_from(code).ok()) {
            let body = serde_json::json!({ "error": error }).to_string();
            return Self::from_status(status, &body, None);
        }
        let (kind, said) = (kinds(error), words(error));
        let says = |names: &[&str]| names.iter().any(|name| kind.contains(name));
        // "invalid_image", "image_file_not_found" and their like are of what a request shows. Not the
        // type: a limit of pictures in a minute has one that names them, and passes.
        let of_an_image = code.as_str().is_some_and(|code| has_one_of(&["image"], code));
        if says(&["insufficient_quota", "billing"]) {
            Self::Credit(said)
        } else if says(&["authentication", "permission", "invalid_api_key"]) {
            Self::Key(kind)
        } else if has_one_of(BLIND, &said) {
            Self::Blind(said)
        } else if is_too_long(&said, &kind) {
            Self::TooLong(said)
        } else if says(&["not_found"]) && !of_an_image {
            Self::NotFound(said)
        } else if of_an_image || says(&["invalid_request", "invalid_prompt"]) {
            Self::Refused(said)
        } else {
            // Overloaded, rate limited, or a fault of the server's own.
            Self::Busy { said, after: None }
        }
    }

    /// A failure of the HTTP client. Its own text would hold the address.
    pub(super) fn network(error: reqwest::Error) -> Self {
        Self::Unreachable(bounded(&with_causes(&error.without_url())))
    }

    /// The same for those who watch the gateway: without the server's words, which may repeat what
    /// a person said.
    pub(super) fn reason(&self) -> String {
        let bare = |said: &str| match said.split(':').next() {
            Some(status) if status.starts_with("HTTP status") => status.to_owned(),
            _ => "see the log".to_owned(),
        };
        let mut told = self.clone();
        match &mut told {
            Self::Busy { said, .. }
            | Self::Loading(said)
            | Self::Unreadable(said)
            | Self::Key(said)
            | Self::Credit(said)
            | Self::NotFound(said)
            | Self::TooLong(said)
            | Self::TooLarge(said)
            | Self::Blind(said)
            | Self::Refused(said) => *said = bare(said),
            Self::Unreachable(_) | Self::Silent(_) | Self::Cut | Self::TooMuch(_) | Self::Redirected(_) => {}
        }
        told.to_string()
    }

    /// Whether the same request may succeed a little later.
    pub(super) fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::Unreachable(_) | Self::Silent(_) | Self::Busy { .. } | Self::Loading(_) | Self::Cut
        )
    }

    /// The pause that the server asks for.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Busy { after, .. } => *after,
            _ => None,
        }
    }

    /// What the user is told when nothing of an answer has come.
    pub(super) fn to_error(&self) -> ProviderError {
        let asked_to_wait = self.retry_after().filter(|after| *after > super::timeouts::RETRY_AFTER_MAX);
        match self {
            Self::Busy { .. } if asked_to_wait.is_some() => {
                let wait = describe_span(asked_to_wait.unwrap_or_default());
                ProviderError::Unavailable(format!(
                    "The model takes no requests for another {wait}; your message is kept. Send /retry after that."
                ))
            }
            Self::Unreachable(_) | Self::Silent(_) | Self::Busy { .. } | Self::Cut => ProviderError::Unavailable(
                "The model cannot be reached right now; your message is kept. Send /retry to try again.".into(),
            ),
            Self::Loading(_) => ProviderError::Unavailable(
                "The model is still being loaded; your message is kept. Send /retry in a few minutes.".into(),
            ),
            Self::TooMuch(_) => ProviderError::Unavailable(
                "The model's answer was too large and was cut off. Ask for less at once, or send /retry to try again."
                    .into(),
            ),
            Self::Key(_) => ProviderError::Refused(
                "The model does not accept this gateway's key; the operator must check the key.".into(),
            ),
            Self::Credit(_) => ProviderError::Refused(
                "The model's account has no credit left; the operator must see to it.".into(),
            ),
            Self::NotFound(_) | Self::Redirected(_) | Self::Unreadable(_) => ProviderError::Refused(
                "The model was not found where this gateway looks for it; the operator must check the provider's address and model."
                    .into(),
            ),
            Self::TooLong(_) | Self::TooLarge(_) => ProviderError::TooLong(
                "The conversation has become too long for the model. Send /new to begin another.".into(),
            ),
            Self::Blind(_) => ProviderError::Refused(
                "The model cannot look at what came with your message; write again without it. The operator sets what it is shown."
                    .into(),
            ),
            Self::Refused(_) => ProviderError::Refused(
                "The model's server refuses this request; the operator finds the reason in the log.".into(),
            ),
        }
    }

    /// The same of a request that shows files, which may be what is refused: a picture that is too
    /// large or broken, a locked document.
    pub(super) fn to_file_error(&self) -> ProviderError {
        let told = self.to_error();
        match self {
            Self::Refused(_) | Self::Blind(_) | Self::TooLarge(_) => {
                ProviderError::Unshowable(told.to_string())
            }
            _ => told,
        }
    }

    /// What the user is told when a part of the answer had come: it does not count.
    pub(super) fn interrupted_error(&self) -> ProviderError {
        match self {
            Self::TooMuch(_) => self.to_error(),
            _ => ProviderError::Unavailable(
                "The model's answer broke off before its end; your message is kept. Send /retry to try again.".into(),
            ),
        }
    }
}

/// An error's type and code, in lower case.
fn kinds(error: &Value) -> String {
    // A secret in lower case would be known to nobody.
    let text = |name: &str| redact(error[name].as_str().unwrap_or_default()).to_ascii_lowercase();
    one_line(&format!("{} {}", text("type"), text("code")), SAID_BYTES_MAX)
}

/// An error's type, code and message.
fn words(error: &Value) -> String {
    let text = error.as_str().or_else(|| error["message"].as_str()).unwrap_or_default();
    bounded(format!("{} {text}", kinds(error).trim()).trim())
}

/// Words on one line. Secrets are taken out first: a cut could leave a part of one, which nothing
/// finds any more.
fn bounded(said: &str) -> String {
    one_line(&redact(said), SAID_BYTES_MAX)
}

fn is_too_long(said: &str, kind: &str) -> bool {
    has_one_of(TOO_LONG, said) || has_one_of(TOO_LONG, kind)
}

fn has_one_of(words: &[&str], said: &str) -> bool {
    let said = said.to_ascii_lowercase();
    words.iter().any(|words| said.contains(words))
}

/// A span in words that nobody mistakes, rounded up.
fn describe_span(span: Duration) -> String {
    match span.as_secs().saturating_add(u64::from(span.subsec_nanos() > 0)) {
        seconds @ 0..=90 => format!("{seconds} seconds"),
        seconds @ 91..=5400 => format!("{} minutes", seconds.div_ceil(60)),
        seconds => format!("{} hours", seconds.div_ceil(3600)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_core::secret::Secret;

    #[test]
    fn statuses_are_sorted_by_what_helps() {
        let of = |status, body: &str| AttemptFailure::from_status(status, body, None);
        for status in [408, 409, 429, 500, 502, 503, 529] {
            assert!(of(status, "").may_pass(), "{status}");
        }
        for status in [301, 400, 401, 402, 403, 404, 413, 422] {
            assert!(!of(status, "").may_pass(), "{status}");
        }
        assert!(matches!(of(401, ""), AttemptFailure::Key(_)));
        assert_eq!(of(307, ""), AttemptFailure::Redirected(307));
        assert!(matches!(of(404, r#"{"error":{"message":"no model"}}"#), AttemptFailure::NotFound(_)));
        assert!(matches!(
            of(400, r#"{"error":{"code":"context_length_exceeded"}}"#),
            AttemptFailure::TooLong(_)
        ));
        let anthropic = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 2 tokens > 1 maximum"}}"#;
        assert!(matches!(of(400, anthropic), AttemptFailure::TooLong(_)));
        // As llama.cpp says it.
        let loads = r#"{"error":{"message":"Loading model","type":"unavailable_error","code":503}}"#;
        assert!(matches!(of(503, loads), AttemptFailure::Loading(_)) && of(503, loads).may_pass());
        assert!(matches!(of(503, r#"{"error":"Model x is currently loading"}"#), AttemptFailure::Loading(_)));
        assert!(matches!(of(500, loads), AttemptFailure::Busy { .. }));
        for said in [
            "input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000",
            "The input token count (134123) exceeds the maximum number of tokens allowed (131072).",
            "This model's maximum prompt length is 131072 but the request contains 136973 tokens.",
        ] {
            let body = serde_json::json!({ "error": { "message": said } }).to_string();
            assert!(matches!(of(400, &body), AttemptFailure::TooLong(_)), "{said}");
        }
        let llama = r#"{"error":{"code":400,"type":"exceed_context_size_error","message":"x"}}"#;
        assert!(matches!(of(400, llama), AttemptFailure::TooLong(_)));
        let proxy = r#"{"error":{"code":"400","message":"litellm.ContextWindowExceededError: x"}}"#;
        assert!(matches!(of(400, proxy), AttemptFailure::TooLong(_)));
        assert!(matches!(of(429, r#"{"error":{"code":"insufficient_quota"}}"#), AttemptFailure::Credit(_)));
        assert!(
            matches!(of(400, r#"{"error":"plain"}"#), AttemptFailure::Refused(said) if said.contains("plain"))
        );
    }

    #[test]
    fn errors_in_a_stream_are_sorted_alike() {
        let of = |error: &str| AttemptFailure::from_stream_error(&serde_json::from_str(error).expect("JSON"));
        assert!(of(r#"{"type":"overloaded_error","message":"Overloaded"}"#).may_pass());
        assert!(
            of(r#"{"type":"api_error"}"#).may_pass() && of(r#"{"code":"rate_limit_exceeded"}"#).may_pass()
        );
        assert!(of(r#"{"code":502,"message":"upstream"}"#).may_pass());
        for code in ["401", r#""401""#] {
            assert!(
                matches!(of(&format!(r#"{{"code":{code},"message":"no"}}"#)), AttemptFailure::Key(_)),
                "{code}"
            );
        }
        assert!(matches!(of(r#"{"type":"authentication_error"}"#), AttemptFailure::Key(_)));
        assert!(matches!(
            of(r#"{"type":"invalid_request_error","message":"x"}"#),
            AttemptFailure::Refused(_)
        ));
        assert!(matches!(of(r#"{"code":"context_length_exceeded"}"#), AttemptFailure::TooLong(_)));
    }

    #[test]
    fn an_image_refused_in_a_stream_is_not_sent_again() {
        let of = |error: Value| AttemptFailure::from_stream_error(&error);
        for code in [
            "invalid_image",
            "invalid_image_format",
            "invalid_base64_image",
            "image_too_large",
            "image_parse_error",
            "unsupported_image_media_type",
            "empty_image_file",
            "image_file_not_found",
        ] {
            let failure = of(serde_json::json!({ "code": code, "message": "x" }));
            assert!(matches!(failure, AttemptFailure::Refused(_)) && !failure.may_pass(), "{code}");
            assert!(matches!(failure.to_file_error(), ProviderError::Unshowable(_)), "{code}");
        }
        let blind = serde_json::json!({ "code": "server_error", "message": "image input is not supported" });
        assert!(matches!(of(blind), AttemptFailure::Blind(_)));
        let slow = serde_json::json!({ "type": "input-images", "code": "rate_limit_exceeded" });
        assert!(matches!(of(slow), AttemptFailure::Busy { .. }));
        let model = serde_json::json!({ "type": "invalid_request_error", "code": "model_not_found" });
        assert!(matches!(of(model), AttemptFailure::NotFound(_)));
    }

    #[test]
    fn users_are_told_in_plain_words_and_nothing_of_the_servers() {
        let said = "https://x.example sk-123 {\"error\":1}";
        let all = [
            AttemptFailure::Unreachable(said.into()),
            AttemptFailure::Silent(Duration::from_secs(1)),
            AttemptFailure::Busy { said: said.into(), after: Some(Duration::from_secs(3600)) },
            AttemptFailure::Loading(said.into()),
            AttemptFailure::Cut,
            AttemptFailure::Unreadable(said.into()),
            AttemptFailure::TooMuch("text in one answer"),
            AttemptFailure::Key(said.into()),
            AttemptFailure::Credit(said.into()),
            AttemptFailure::NotFound(said.into()),
            AttemptFailure::Redirected(302),
            AttemptFailure::TooLong(said.into()),
            AttemptFailure::TooLarge(said.into()),
            AttemptFailure::Blind(said.into()),
            AttemptFailure::Refused(said.into()),
        ];
        for failure in all {
            // Of the network this program says itself what is wrong.
            let reason = failure.reason();
            assert!(!reason.contains("sk-") || matches!(failure, AttemptFailure::Unreachable(_)), "{reason}");
            for told in [failure.to_error(), failure.interrupted_error()] {
                let told = told.to_string();
                assert!(!told.contains("sk-") && !told.contains("http") && !told.contains('{'), "{told}");
                assert!(told.ends_with('.') && told.len() < 200, "{told}");
            }
        }
        let refused = AttemptFailure::from_status(400, r#"{"error":{"message":"no, Ann: go"}}"#, None);
        assert_eq!(refused.reason(), "refused (HTTP status 400)");
        let wait = |seconds: f64| {
            AttemptFailure::Busy { said: String::new(), after: Some(Duration::from_secs_f64(seconds)) }
                .to_error()
                .to_string()
        };
        for seconds in [30.5, 31.0] {
            assert!(wait(seconds).contains("another 31 seconds"), "{}", wait(seconds));
        }
        assert!(wait(301.0).contains("another 6 minutes") && wait(7200.0).contains("another 2 hours"));
        assert!(wait(2.0).contains("cannot be reached"), "that pause was kept, and helped nothing");
    }

    #[test]
    fn a_key_across_the_cut_is_taken_out_as_a_whole() {
        let key = Secret::new("sk-SECRET-of-this-gateway-0123456789");
        let said = format!("{}{}", "x".repeat(SAID_BYTES_MAX - 20), key.reveal());
        let check = |failure: AttemptFailure| {
            let told = failure.to_string().to_ascii_lowercase();
            assert!(told.contains("xxx***") && !told.contains("sk-s"), "{told}");
        };
        check(AttemptFailure::from_status(400, &said, None));
        for error in
            [serde_json::json!({ "message": said }), serde_json::json!({ "type": said }), said.into()]
        {
            check(AttemptFailure::from_stream_error(&error));
            let body = serde_json::json!({ "error": error }).to_string();
            check(AttemptFailure::from_status(400, &body, None));
        }
    }

    #[test]
    fn a_refused_key_is_not_quoted_and_words_are_bounded() {
        let body = r#"{"error":{"message":"Incorrect API key provided: sk-ab***yz"}}"#;
        assert!(!AttemptFailure::from_status(401, body, None).to_string().contains("yz"));
        let long = format!(r#"{{"error":{{"message":"{}"}}}}"#, "x".repeat(10_000));
        assert!(AttemptFailure::from_status(400, &long, None).to_string().len() < 400);
    }
}
