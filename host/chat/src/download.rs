//! Fetching one file from a platform: a few attempts with pauses, within the limits, and why it
//! cannot be had in words for its sender. How it is asked for is the channel's.

use cofferdam_agent::server::Backoff;
use cofferdam_core::limits::ByteSize;
use cofferdam_warden::attachments::{Attachment, Download};
use futures_util::future::BoxFuture;
use futures_util::{Stream, StreamExt};
use std::pin::pin;
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// Attempts at one file.
const ATTEMPTS_MAX: u32 = 3;
/// A pause that a platform asks for is kept up to this; a longer one fails the file.
const ASKED_PAUSE_MAX: Duration = Duration::from_secs(30);
/// One attempt may take this much at least, and what its size takes at [`SLOWEST_BYTES_PER_S`].
pub const ATTEMPT_MIN: Duration = Duration::from_secs(60);
/// Slower downloads are given up, so that a trickle does not hold a chat for ever.
pub const SLOWEST_BYTES_PER_S: u64 = 32 << 10;
/// A download that brings nothing for so long is given up.
const STALL: Duration = Duration::from_secs(30);

/// What is said of a download that breaks off.
pub const BROKEN: &str = "its download broke off; send it again";

/// Why an attempt brought no file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedAttempt {
    /// In words for its sender.
    why: String,
    /// Absent where nothing helps; else the pause before the next one that the platform asks for.
    again: Option<Duration>,
}

/// Nothing helps.
pub fn give_up(why: impl Into<String>) -> FailedAttempt {
    FailedAttempt { why: why.into(), again: None }
}

/// Another attempt may help, after such a pause at least.
pub fn retry(why: impl Into<String>, pause: Duration) -> FailedAttempt {
    FailedAttempt { why: why.into(), again: Some(pause) }
}

/// It has more bytes than a file may.
pub fn refuse_length(limit: ByteSize) -> FailedAttempt {
    give_up(format!("too large: the limit is {limit}"))
}

/// Why it is not there, by the HTTP status in place of it.
pub fn describe_status(status: u16) -> String {
    match status {
        300..=399 => "its download was redirected elsewhere, which is not followed".to_owned(),
        _ => format!("its download failed with HTTP status {status}"),
    }
}

/// What comes of asking for it, unless nothing does for long.
///
/// # Errors
/// It has stalled.
pub async fn await_head<T>(asking: impl Future<Output = T>) -> Result<T, FailedAttempt> {
    in_time(STALL, asking).await
}

async fn in_time<T>(patience: Duration, coming: impl Future<Output = T>) -> Result<T, FailedAttempt> {
    let stalled = |_| retry("its download stalled; send it again", Duration::ZERO);
    timeout(patience, coming).await.map_err(stalled)
}

/// Fetches a file in a few attempts, with pauses between them, and ends its download.
pub async fn fetch<S>(
    mut source: S,
    mut item: Download,
    attempt: impl for<'a> Fn(&'a mut S, &'a mut Download) -> BoxFuture<'a, Result<(), FailedAttempt>>,
) -> Attachment {
    let mut backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(5));
    let mut made = 0;
    let why = loop {
        made += 1;
        let attempted = attempt(&mut source, &mut item).await;
        let Err(FailedAttempt { why, again }) = attempted else { return item.finish() };
        let Some(pause) = again.filter(|pause| made < ATTEMPTS_MAX && *pause <= ASKED_PAUSE_MAX) else {
            break why;
        };
        tracing::debug!(%why, attempt = made, "a download is tried again");
        tokio::time::sleep(backoff.pause().max(pause)).await;
    };
    tracing::info!(%why, "an attachment is unavailable");
    item.fail(&why)
}

/// Takes a body of about so many bytes into the item. A file names the same bytes for ever, so a
/// later attempt passes over those that an earlier one has brought.
///
/// # Errors
/// [`FailedAttempt`]
pub async fn read_body<P: AsRef<[u8]>>(
    body: impl Stream<Item = Result<P, FailedAttempt>>,
    item: &mut Download,
    bytes: u64,
) -> Result<(), FailedAttempt> {
    let (mut body, mut known) = (pin!(body), item.bytes_arrived());
    let deadline = Instant::now() + ATTEMPT_MIN.max(Duration::from_secs(bytes / SLOWEST_BYTES_PER_S));
    loop {
        let patience = STALL.min(deadline.saturating_duration_since(Instant::now()));
        let Some(piece) = in_time(patience, body.next()).await?.transpose()? else { return Ok(()) };
        let piece = piece.as_ref();
        let passed = usize::try_from(known).unwrap_or(usize::MAX).min(piece.len());
        known -= passed as u64;
        if let Some(new) = piece.get(passed..).filter(|new| !new.is_empty()) {
            item.write(new).map_err(give_up)?;
        }
    }
}
