//! Bodies, bounded in size and time: one that is too long is refused where its length is told, and
//! as soon as it passes the bound where it is not. Long ones wait for room, so that all together
//! are bounded too; short ones never do.

use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The longest body.
pub const BODY_BYTES_MAX: usize = 8 << 20;

/// Bodies that are held at once, in bytes, without those of [`SMALL_BODY_BYTES_MAX`]. Each is held
/// until its request is answered, also where the client has gone.
pub const LARGE_BODIES_BYTES_MAX: usize = 64 << 20;

/// A body up to this length waits for no room. There are only so many connections and requests, so
/// all of these take little; and what a person answers, which may make room, is one of them.
pub const SMALL_BODY_BYTES_MAX: usize = 16 << 10;

const TOO_LONG: (StatusCode, &str) = (StatusCode::PAYLOAD_TOO_LARGE, "a body has at most 8 MiB");
const NO_ROOM: (StatusCode, &str) =
    (StatusCode::SERVICE_UNAVAILABLE, "too many long bodies are held; send it again when calls have ended");

/// The body, if it is short enough and has come within `patience`, and its part of the room for
/// `large` ones, where it needs one; else what to answer. The room is waited for as long again.
pub(super) async fn read(
    headers: &HeaderMap,
    body: Incoming,
    patience: Duration,
    large: &Arc<Semaphore>,
) -> Result<(Bytes, Option<OwnedSemaphorePermit>), (StatusCode, &'static str)> {
    let told = headers.get(header::CONTENT_LENGTH).and_then(|told| told.to_str().ok()?.parse::<u64>().ok());
    if told.is_some_and(|told| told > BODY_BYTES_MAX as u64) {
        return Err(TOO_LONG);
    }
    // One whose length is not told may be as long as any.
    let longest = told.and_then(|told| usize::try_from(told).ok()).unwrap_or(BODY_BYTES_MAX);
    let mut room = match longest > SMALL_BODY_BYTES_MAX {
        true => Some(reserve(large, longest, patience).await.ok_or(NO_ROOM)?),
        false => None,
    };
    let bytes = match tokio::time::timeout(patience, Limited::new(body, BODY_BYTES_MAX).collect()).await {
        Ok(Ok(collected)) => collected.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => return Err(TOO_LONG),
        Ok(Err(_)) => return Err((StatusCode::BAD_REQUEST, "the body cannot be read")),
        Err(_) => return Err((StatusCode::REQUEST_TIMEOUT, "the body did not come in time")),
    };
    if let Some(room) = &mut room {
        drop(room.split(longest.saturating_sub(bytes.len())));
    }
    Ok((bytes, room))
}

/// Room for so many bytes; none if there is none in time.
async fn reserve(large: &Arc<Semaphore>, bytes: usize, patience: Duration) -> Option<OwnedSemaphorePermit> {
    let bytes = u32::try_from(bytes).ok()?;
    tokio::time::timeout(patience, large.clone().acquire_many_owned(bytes)).await.ok()?.ok()
}
