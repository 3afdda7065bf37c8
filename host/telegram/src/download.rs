//! Fetches one file from Telegram: asks where it is, takes what comes within the limits, and tries
//! again what time may heal. Why one cannot be had is said in words for its sender.

use super::api::REQUEST_MAX;
use super::bot::TelegramBot;
use super::failure::ApiFailure;
use super::media::MessageFile;
use cofferdam_chat::download::{RetryAdvice, STALL, Unavailable, fetch, give_up, read_body, retry};
use cofferdam_warden::attachments::{DeclaredFile, Download, IntakeResult, SentFile};
use futures_util::TryStreamExt;
use serde_json::Value;
use teloxide_core::payloads::GetFile;
use teloxide_core::types::FileId;
use tokio::time::timeout;

impl SentFile for MessageFile {
    fn declaration(&self) -> DeclaredFile {
        let (name, mime_type) = (Some(self.name.clone()), self.mime_type.clone());
        DeclaredFile { name, mime_type, size: self.size, source: self.source() }
    }

    fn place(&self) -> Option<i64> {
        self.message_id
    }

    fn missing_reason(&self) -> Option<String> {
        self.file_id.is_none().then(|| NAMELESS.to_owned())
    }
}

/// Fetches a file and ends its download.
pub(super) async fn download(bot: &TelegramBot, file: MessageFile, item: Download) -> IntakeResult {
    fetch((bot, file), item, |(bot, file), item| Box::pin(bring(bot, file, item))).await
}

const NAMELESS: &str = "Telegram names no file to download";
const TOO_BIG: &str = "the file is too large for a bot: Telegram hands out at most 20 MiB";

async fn bring(bot: &TelegramBot, file: &MessageFile, item: &mut Download) -> Result<(), RetryAdvice> {
    let file_id = file.file_id.clone().ok_or_else(|| give_up(NAMELESS))?;
    let result = bot.api.call(&GetFile::new(FileId(file_id)), REQUEST_MAX).await.map_err(file_gone)?;
    let found: Value = serde_json::from_str(result.get()).unwrap_or_default();
    // Absent where Telegram cannot hand the file out (now).
    let path = found["file_path"].as_str().ok_or_else(|| give_up(NAMELESS))?;
    let (size, limit) = (found["file_size"].as_u64(), bot.base.limits.max_bytes);
    let fits = |bytes: Option<u64>| match bytes {
        Some(bytes) if bytes > limit.0 => Err(Unavailable::TooLarge(limit)),
        _ => Ok(()),
    };
    fits(size)?;
    let head = timeout(STALL, bot.api.file(path)).await;
    let response = head.map_err(|_| retry(Unavailable::Stalled))?.map_err(file_gone)?;
    let length = response.content_length();
    match response.status().as_u16() {
        200 => {}
        300..=399 => return Err(Unavailable::Redirected.into()),
        // A link that has expired is renewed by the next attempt.
        status @ (404 | 408 | 410 | 425 | 429 | 500..=599) => return Err(retry(Unavailable::Status(status))),
        status => return Err(Unavailable::Status(status).into()),
    }
    // What the message says of its size is only used where nobody else says anything.
    let expected = size.or(length).or(file.size);
    fits(length)?;
    let bytes = expected.unwrap_or(limit.0).min(limit.0);
    let body = response.bytes_stream().map_err(|error| file_gone(error.into()));
    read_body(body, item, bytes).await?;
    match (item.bytes_arrived(), expected) {
        (got, Some(expected)) if expected != got => Err(Unavailable::Mismatch { got, expected }.into()),
        _ => Ok(()),
    }
}

fn file_gone(failure: ApiFailure) -> RetryAdvice {
    if failure.has_words("file is too big") {
        return give_up(TOO_BIG);
    }
    let refused = |why: &str| Unavailable::Because(format!("Telegram does not hand it out: {why}"));
    match failure {
        ApiFailure::Refused { description, .. } => refused(&description).into(),
        ApiFailure::TooMany(pause) => {
            RetryAdvice::Again(refused("too many requests; send it again later"), Some(pause))
        }
        other => {
            tracing::info!(failure = %other, "a download broke off");
            retry(Unavailable::Broken)
        }
    }
}
