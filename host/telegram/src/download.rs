//! Fetches one file from Telegram: asks where it is, takes what comes within the limits, and tries
//! again what time may heal. Why one cannot be had is said in words for its sender.

use super::api::REQUEST_MAX;
use super::bot::TelegramBot;
use super::failure::ApiFailure;
use super::media::MessageFile;
use cofferdam_chat::download::{Attempts, RetryAdvice, Unavailable, deadline_for, read_body, retry};
use cofferdam_warden::attachments::{DeclaredFile, Download, IntakeResult, SentFile};
use futures_util::TryStreamExt;
use serde_json::Value;
use std::ops::ControlFlow::{Break, Continue};
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

/// A file that is to be fetched.
struct FileDownload<'a> {
    bot: &'a TelegramBot,
    file_id: String,
    /// As the message says.
    size: Option<u64>,
}

/// Fetches a file and ends its download.
pub(super) async fn download(bot: &TelegramBot, file: MessageFile, mut item: Download) -> IntakeResult {
    let Some(file_id) = file.file_id else { return item.fail(NAMELESS) };
    let source = FileDownload { bot, file_id, size: file.size };
    let mut attempts = Attempts::default();
    loop {
        let brought = source.bring(&mut item).await;
        match attempts.settle(item, brought).await {
            Break(settled) => return settled,
            Continue(unsettled) => item = unsettled,
        }
    }
}

const NAMELESS: &str = "Telegram names no file to download";
const TOO_BIG: &str = "the file is too large for a bot: Telegram hands out at most 20 MiB";

impl FileDownload<'_> {
    async fn bring(&self, item: &mut Download) -> Result<(), RetryAdvice> {
        let bot = self.bot;
        let request = GetFile::new(FileId(self.file_id.clone()));
        let result = bot.api.call(&request, REQUEST_MAX).await.map_err(file_gone)?;
        let file: Value = serde_json::from_str(result.get()).unwrap_or_default();
        // Absent where Telegram cannot hand the file out (now).
        let path = file["file_path"].as_str().ok_or_else(|| give_up(NAMELESS))?;
        let (size, limit) = (file["file_size"].as_u64(), bot.base.limits.max_bytes);
        let fits = |bytes: Option<u64>| match bytes {
            Some(bytes) if bytes > limit.0 => Err(RetryAdvice::Final(Unavailable::TooLarge(limit))),
            _ => Ok(()),
        };
        fits(size)?;
        let head = timeout(bot.timing.download_stall, bot.api.file(path)).await;
        let response = head.map_err(|_| retry(Unavailable::Stalled))?.map_err(file_gone)?;
        let length = response.content_length();
        match response.status().as_u16() {
            200 => {}
            300..=399 => return Err(RetryAdvice::Final(Unavailable::Redirected)),
            // A link that has expired is renewed by the next attempt.
            status @ (404 | 408 | 410 | 425 | 429 | 500..=599) => {
                return Err(retry(Unavailable::Status(status)));
            }
            status => return Err(RetryAdvice::Final(Unavailable::Status(status))),
        }
        // What the message says of its size is only used where nobody else says anything.
        let expected = size.or(length).or(self.size);
        fits(length)?;
        let deadline = deadline_for(expected.unwrap_or(limit.0).min(limit.0));
        let body = response.bytes_stream().map_err(|error| file_gone(bot.api.network(error)));
        read_body(body, item, bot.timing.download_stall, deadline).await?;
        match expected {
            Some(expected) if expected != item.bytes_arrived() => {
                Err(RetryAdvice::Final(Unavailable::Mismatch { got: item.bytes_arrived(), expected }))
            }
            _ => Ok(()),
        }
    }
}

fn give_up(why: &str) -> RetryAdvice {
    RetryAdvice::Final(Unavailable::Because(why.to_owned()))
}

fn file_gone(failure: ApiFailure) -> RetryAdvice {
    if failure.has_words("file is too big") {
        return give_up(TOO_BIG);
    }
    let refused = |why: &str| Unavailable::Because(format!("Telegram does not hand it out: {why}"));
    match failure {
        ApiFailure::Refused { description, .. } => RetryAdvice::Final(refused(&description)),
        ApiFailure::TooMany(pause) => {
            RetryAdvice::Again(refused("too many requests; send it again later"), Some(pause))
        }
        other => {
            tracing::info!(failure = %other, "a download broke off");
            retry(Unavailable::Broken)
        }
    }
}
