//! Bodies, bounded in size and time: one that is too long is refused where its length is told, and
//! as soon as it passes the bound where it is not.

use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use std::time::Duration;

/// The longest body.
pub const BODY_BYTES_MAX: usize = 8 << 20;

const TOO_LONG: (StatusCode, &str) = (StatusCode::PAYLOAD_TOO_LARGE, "a body has at most 8 MiB");

/// The body, if it is short enough and has come within `patience`; else what to answer.
pub(super) async fn read(
    headers: &HeaderMap,
    body: Incoming,
    patience: Duration,
) -> Result<Bytes, (StatusCode, &'static str)> {
    let told = headers.get(header::CONTENT_LENGTH).and_then(|told| told.to_str().ok()?.parse::<u64>().ok());
    if told.is_some_and(|told| told > BODY_BYTES_MAX as u64) {
        return Err(TOO_LONG);
    }
    match tokio::time::timeout(patience, Limited::new(body, BODY_BYTES_MAX).collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(TOO_LONG),
        Ok(Err(_)) => Err((StatusCode::BAD_REQUEST, "the body cannot be read")),
        Err(_) => Err((StatusCode::REQUEST_TIMEOUT, "the body did not come in time")),
    }
}
