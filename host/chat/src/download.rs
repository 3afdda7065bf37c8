//! Fetching one file from a platform: a few attempts with pauses, within the limits, and why it
//! cannot be had in words for its sender. How it is asked for is the channel's.

use cofferdam_agent::server::Backoff;
use cofferdam_core::limits::ByteSize;
use cofferdam_warden::attachments::{Download, IntakeResult};
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
pub const STALL: Duration = Duration::from_secs(30);

/// Why a file is not there, in words for its sender.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// It has more bytes than a file may.
    #[error("too large: the limit is {0}")]
    TooLarge(ByteSize),
    /// Somebody sends us elsewhere.
    #[error("its download was redirected elsewhere, which is not followed")]
    Redirected,
    /// The server says no.
    #[error("its download failed with HTTP status {0}")]
    Status(u16),
    /// Not all of it came, or more.
    #[error("truncated: {got} of {expected} bytes arrived; send it again")]
    Mismatch {
        /// Bytes that arrived.
        got: u64,
        /// Bytes that were announced.
        expected: u64,
    },
    /// Nothing came for long.
    #[error("its download stalled; send it again")]
    Stalled,
    /// The connection broke.
    #[error("its download broke off; send it again")]
    Broken,
    /// In the channel's own words.
    #[error("{0}")]
    Because(String),
}

/// What helps after a failed attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RetryAdvice {
    /// Nothing.
    Final(Unavailable),
    /// Another attempt, after this pause if the platform asks for one.
    Again(Unavailable, Option<Duration>),
}

/// Another attempt may help.
pub fn retry(why: Unavailable) -> RetryAdvice {
    RetryAdvice::Again(why, None)
}

/// Nothing helps, for a reason in the channel's own words.
pub fn give_up(why: &str) -> RetryAdvice {
    Unavailable::Because(why.to_owned()).into()
}

impl From<Unavailable> for RetryAdvice {
    fn from(why: Unavailable) -> Self {
        Self::Final(why)
    }
}

/// Fetches a file in a few attempts, with pauses between them, and ends its download.
pub async fn fetch<S>(
    mut source: S,
    mut item: Download,
    attempt: impl for<'a> Fn(&'a mut S, &'a mut Download) -> BoxFuture<'a, Result<(), RetryAdvice>>,
) -> IntakeResult {
    let mut backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(5));
    let mut made = 0;
    let why = loop {
        made += 1;
        match attempt(&mut source, &mut item).await {
            Ok(()) => return item.finish(),
            Err(RetryAdvice::Again(why, pause))
                if made < ATTEMPTS_MAX && pause.is_none_or(|pause| pause <= ASKED_PAUSE_MAX) =>
            {
                tracing::debug!(%why, attempt = made, "a download is tried again");
                tokio::time::sleep(backoff.pause().max(pause.unwrap_or_default())).await;
            }
            Err(RetryAdvice::Final(why) | RetryAdvice::Again(why, _)) => break why,
        }
    };
    tracing::info!(%why, "an attachment is unavailable");
    item.fail(&why.to_string())
}

/// Takes a body of about so many bytes into the item. A file names the same bytes for ever, so a
/// later attempt passes over those that an earlier one has brought.
///
/// # Errors
/// [`RetryAdvice`]
pub async fn read_body<P: AsRef<[u8]>>(
    body: impl Stream<Item = Result<P, RetryAdvice>>,
    item: &mut Download,
    bytes: u64,
) -> Result<(), RetryAdvice> {
    let (mut body, mut known) = (pin!(body), item.bytes_arrived());
    let deadline = Instant::now() + ATTEMPT_MIN.max(Duration::from_secs(bytes / SLOWEST_BYTES_PER_S));
    loop {
        let patience = STALL.min(deadline.saturating_duration_since(Instant::now()));
        let piece = timeout(patience, body.next()).await.map_err(|_| retry(Unavailable::Stalled))?;
        let Some(piece) = piece.transpose()? else { return Ok(()) };
        let piece = piece.as_ref();
        let passed = usize::try_from(known).unwrap_or(usize::MAX).min(piece.len());
        known -= passed as u64;
        if let Some(new) = piece.get(passed..).filter(|new| !new.is_empty()) {
            item.write(new).map_err(|why| give_up(&why))?;
        }
    }
}
