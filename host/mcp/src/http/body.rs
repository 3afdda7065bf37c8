//! Bodies, bounded in size and time: one that is too long is refused where its length is told, and
//! as soon as it passes the bound where it is not.

use super::{Answer, text_response};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use std::time::Duration;

/// The longest body.
pub const BODY_BYTES_MAX: usize = 8 << 20;

/// Why a body is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RefusedBody {
    TooLong,
    TooSlow,
    Broken,
}

impl RefusedBody {
    /// The connection is closed: all else that comes on it is the rest of that body.
    pub(super) fn answer(self) -> Answer {
        let mut answer = match self {
            Self::TooLong => text_response(StatusCode::PAYLOAD_TOO_LARGE, "a body has at most 8 MiB"),
            Self::TooSlow => text_response(StatusCode::REQUEST_TIMEOUT, "the body did not come in time"),
            Self::Broken => text_response(StatusCode::BAD_REQUEST, "the body cannot be read"),
        };
        answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        answer
    }
}

/// The body, if it is short enough and has come within `patience`.
pub(super) async fn read(
    headers: &HeaderMap,
    body: Incoming,
    patience: Duration,
) -> Result<Bytes, RefusedBody> {
    let told = headers.get(header::CONTENT_LENGTH).and_then(|told| told.to_str().ok()?.parse::<u64>().ok());
    if told.is_some_and(|told| told > BODY_BYTES_MAX as u64) {
        return Err(RefusedBody::TooLong);
    }
    match tokio::time::timeout(patience, Limited::new(body, BODY_BYTES_MAX).collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(RefusedBody::TooLong),
        Ok(Err(_)) => Err(RefusedBody::Broken),
        Err(_) => Err(RefusedBody::TooSlow),
    }
}
