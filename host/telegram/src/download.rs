//! Fetches one file from Telegram: asks where it is, takes what comes within the limits, and tries again what time may
//! heal. Why one cannot be had is said in words for its sender.

use super::api::REQUEST_MAX;
use super::bot::Bot;
use super::failure::Failure;
use super::media::Media;
use async_trait::async_trait;
use cofferdam_agent::server::Backoff;
use cofferdam_core::limits::ByteSize;
use cofferdam_warden::attachments::{Declared, Download, Fetcher, Rejected, SentFile, Settled};
use reqwest::Response;
use serde_json::Value;
use std::time::Duration;
use teloxide_core::payloads::GetFile;
use teloxide_core::types::FileId;
use tokio::time::{Instant, timeout};

/// Attempts at one file.
const ATTEMPTS_MAX: u32 = 3;
/// A pause that Telegram asks for is kept up to this; a longer one fails the file.
const ASKED_PAUSE_MAX: Duration = Duration::from_secs(30);
/// One attempt may take this much at least, and what its size takes at [`SLOWEST_BYTES_PER_S`].
pub(super) const ATTEMPT_MIN: Duration = Duration::from_secs(60);
/// Slower downloads are given up, so that a trickle does not hold a chat for ever.
pub(super) const SLOWEST_BYTES_PER_S: u64 = 32 << 10;

impl SentFile for Media {
    fn declared(&self) -> Declared {
        let (name, mime_type) = (Some(self.name.clone()), self.mime_type.clone());
        Declared { name, mime_type, size: self.size, source: self.source() }
    }

    fn place(&self) -> Option<i64> {
        self.message_id
    }

    fn missing(&self) -> Option<String> {
        self.file_id.is_none().then(|| Unavailable::Nameless.to_string())
    }
}

/// A file that is to be fetched.
struct Wanted {
    file_id: String,
    /// As the message says.
    size: Option<u64>,
    item: Download,
}

#[async_trait]
impl Fetcher for Bot {
    type File = Media;

    async fn fetch(&self, file: Media, item: Download) -> Settled {
        match file.file_id {
            Some(file_id) => fetch(self, Wanted { file_id, size: file.size, item }).await,
            None => item.fail(&Unavailable::Nameless.to_string()),
        }
    }
}

/// Why a file is not there, in words for its sender.
#[derive(Debug, thiserror::Error)]
enum Unavailable {
    #[error("Telegram names no file to download")]
    Nameless,
    #[error("the file is too large for a bot: Telegram hands out at most 20 MiB")]
    TooBig,
    #[error("too large: the limit is {0}")]
    TooLarge(ByteSize),
    #[error("Telegram does not hand it out: {0}")]
    Refused(String),
    #[error("its download was redirected elsewhere, which is not followed")]
    Redirected,
    #[error("its download failed with HTTP status {0}")]
    Status(u16),
    #[error("truncated: {got} of {expected} bytes arrived; send it again")]
    Mismatch { got: u64, expected: u64 },
    #[error("its download stalled; send it again")]
    Stalled,
    #[error("its download broke off; send it again")]
    Broken,
    #[error(transparent)]
    Rejected(#[from] Rejected),
}

/// What helps after a failed attempt.
enum Trouble {
    /// Nothing.
    Final(Unavailable),
    /// Another attempt, after this pause if Telegram asks for one.
    Again(Unavailable, Option<Duration>),
}

async fn fetch(bot: &Bot, mut wanted: Wanted) -> Settled {
    let mut backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(5));
    let mut attempt = 1;
    let why = loop {
        let (why, pause) = match try_once(bot, &mut wanted).await {
            Ok(()) => return wanted.item.finish(),
            Err(Trouble::Final(why)) => break why,
            Err(Trouble::Again(why, pause)) => (why, pause),
        };
        if attempt == ATTEMPTS_MAX || pause.is_some_and(|pause| pause > ASKED_PAUSE_MAX) {
            break why;
        }
        tracing::debug!(%why, attempt, "a download is tried again");
        attempt += 1;
        tokio::time::sleep(backoff.pause().max(pause.unwrap_or_default())).await;
    };
    tracing::info!(%why, "an attachment is unavailable");
    wanted.item.fail(&why.to_string())
}

async fn try_once(bot: &Bot, wanted: &mut Wanted) -> Result<(), Trouble> {
    let request = GetFile::new(FileId(wanted.file_id.clone()));
    let result = bot.api.call(&request, REQUEST_MAX).await.map_err(no_file)?;
    let file: Value = serde_json::from_str(result.get()).unwrap_or_default();
    // Absent where Telegram cannot hand the file out (now).
    let path = file["file_path"].as_str().ok_or(Trouble::Final(Unavailable::Nameless))?;
    let (size, limit) = (file["file_size"].as_u64(), bot.base.limits.max_bytes);
    let fits = |bytes: Option<u64>| match bytes {
        Some(bytes) if bytes > limit.0 => Err(Trouble::Final(Unavailable::TooLarge(limit))),
        _ => Ok(()),
    };
    fits(size)?;
    let head = timeout(bot.timing.download_stall, bot.api.file(path)).await;
    let response = head.map_err(|_| again(Unavailable::Stalled))?.map_err(no_file)?;
    let length = response.content_length();
    match response.status().as_u16() {
        200 => {}
        300..=399 => return Err(Trouble::Final(Unavailable::Redirected)),
        // A link that has expired is renewed by the next attempt.
        status @ (404 | 408 | 410 | 425 | 429 | 500..=599) => return Err(again(Unavailable::Status(status))),
        status => return Err(Trouble::Final(Unavailable::Status(status))),
    }
    // What the message says of its size is only used where nobody else says anything.
    let expected = size.or(length).or(wanted.size);
    fits(length)?;
    let bytes = expected.unwrap_or(limit.0).min(limit.0);
    let patience = ATTEMPT_MIN.max(Duration::from_secs(bytes / SLOWEST_BYTES_PER_S));
    read_body(bot, response, &mut wanted.item, Instant::now() + patience).await?;
    match expected {
        Some(expected) if expected != wanted.item.taken() => {
            Err(Trouble::Final(Unavailable::Mismatch { got: wanted.item.taken(), expected }))
        }
        _ => Ok(()),
    }
}

/// Takes the body into the item. A file's id names the same bytes for ever, so a later attempt passes
/// over those that an earlier one has brought.
async fn read_body(
    bot: &Bot,
    mut response: Response,
    item: &mut Download,
    deadline: Instant,
) -> Result<(), Trouble> {
    let mut known = item.taken();
    loop {
        let patience = bot.timing.download_stall.min(deadline.saturating_duration_since(Instant::now()));
        let piece = timeout(patience, response.chunk()).await.map_err(|_| again(Unavailable::Stalled))?;
        let piece = piece.map_err(|error| no_file(bot.api.network(error)))?;
        let Some(piece) = piece else { return Ok(()) };
        let passed = usize::try_from(known).unwrap_or(usize::MAX).min(piece.len());
        known -= passed as u64;
        if let Some(new) = piece.get(passed..).filter(|new| !new.is_empty()) {
            item.write(new).map_err(|error| Trouble::Final(error.into()))?;
        }
    }
}

fn again(why: Unavailable) -> Trouble {
    Trouble::Again(why, None)
}

fn no_file(failure: Failure) -> Trouble {
    if failure.says("file is too big") {
        return Trouble::Final(Unavailable::TooBig);
    }
    match failure {
        Failure::Refused { description, .. } => Trouble::Final(Unavailable::Refused(description)),
        Failure::TooMany(pause) => {
            Trouble::Again(Unavailable::Refused("too many requests; send it again later".into()), Some(pause))
        }
        other => {
            tracing::info!(failure = %other, "a download broke off");
            again(Unavailable::Broken)
        }
    }
}
