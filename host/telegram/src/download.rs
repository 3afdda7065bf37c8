//! Fetches one file from Telegram: asks where it is, takes what comes within the limits, and tries
//! again what time may heal. Why one cannot be had is said in words for its sender.

use super::api::REQUEST_MAX;
use super::bot::TelegramBot;
use super::failure::ApiFailure;
use super::media::MessageFile;
use cofferdam_chat::download::{
    BROKEN, FailedAttempt, await_head, describe_status, fetch, give_up, read_body, refuse_length, retry,
};
use cofferdam_warden::attachments::{Attachment, DeclaredFile, Download, SentFile};
use futures_util::TryStreamExt;
use serde_json::Value;
use std::time::Duration;
use teloxide_core::payloads::GetFile;
use teloxide_core::types::FileId;

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
pub(super) async fn download(bot: &TelegramBot, file: MessageFile, item: Download) -> Attachment {
    fetch((bot, file), item, |(bot, file), item| Box::pin(bring(bot, file, item))).await
}

const NAMELESS: &str = "Telegram names no file to download";
const TOO_BIG: &str = "the file is too large for a bot: Telegram hands out at most 20 MiB";

async fn bring(bot: &TelegramBot, file: &MessageFile, item: &mut Download) -> Result<(), FailedAttempt> {
    let file_id = file.file_id.clone().ok_or_else(|| give_up(NAMELESS))?;
    let result = bot.api.call(&GetFile::new(FileId(file_id)), REQUEST_MAX).await.map_err(file_gone)?;
    let found: Value = serde_json::from_str(result.get()).unwrap_or_default();
    // Absent where Telegram cannot hand the file out (now).
    let path = found["file_path"].as_str().ok_or_else(|| give_up(NAMELESS))?;
    let (size, limit) = (found["file_size"].as_u64(), bot.base.limits.max_bytes);
    let fits = |bytes: Option<u64>| match bytes {
        Some(bytes) if bytes > limit.0 => Err(refuse_length(limit)),
        _ => Ok(()),
    };
    fits(size)?;
    let response = await_head(bot.api.file(path)).await?.map_err(file_gone)?;
    let length = response.content_length();
    match response.status().as_u16() {
        200 => {}
        // A link that has expired is renewed by the next attempt.
        status @ (404 | 408 | 410 | 425 | 429 | 500..=599) => {
            return Err(retry(describe_status(status), Duration::ZERO));
        }
        status => return Err(give_up(describe_status(status))),
    }
    // What the message says of its size is only used where nobody else says anything.
    let expected = size.or(length).or(file.size);
    fits(length)?;
    let bytes = expected.unwrap_or(limit.0).min(limit.0);
    let body = response.bytes_stream().map_err(|error| file_gone(error.into()));
    read_body(body, item, bytes).await?;
    match (item.bytes_arrived(), expected) {
        // Not all of it came, or more.
        (got, Some(expected)) if expected != got => {
            Err(give_up(format!("truncated: {got} of {expected} bytes arrived; send it again")))
        }
        _ => Ok(()),
    }
}

fn file_gone(failure: ApiFailure) -> FailedAttempt {
    if failure.has_words("file is too big") {
        return give_up(TOO_BIG);
    }
    let refused = |why: &str| format!("Telegram does not hand it out: {why}");
    match failure {
        ApiFailure::Refused { description, .. } => give_up(refused(&description)),
        ApiFailure::TooMany(pause) => retry(refused("too many requests; send it again later"), pause),
        other => {
            tracing::info!(failure = %other, "a download broke off");
            retry(BROKEN, Duration::ZERO)
        }
    }
}
