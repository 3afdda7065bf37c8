//! Fetching a file from Discord's hosts. A link is signed for a day; afterwards the message that
//! holds the file is asked for a fresh one.

use super::api::RequestBody;
use super::bot::DiscordBot;
use super::buckets::{number, seconds};
use super::failure::ApiFailure;
use super::file::DiscordFile;
use super::route::{self, Route};
use super::wire::id;
use cofferdam_chat::download::{
    BROKEN, FailedAttempt, await_head, describe_status, fetch, give_up, read_body, refuse_length, retry,
};
use cofferdam_warden::attachments::{Attachment, DeclaredFile, Download, SentFile};
use futures_util::TryStreamExt;
use reqwest::{Response, Url};
use serde_json::Value;
use std::time::Duration;

/// Where files come from, exactly.
const HOSTS: [&str; 2] = ["cdn.discordapp.com", "media.discordapp.net"];

const ELSEWHERE: &str = "its address is none of Discord's, which is not followed";
const GONE: &str = "Discord does not hand it out any more; send it again";

impl SentFile for DiscordFile {
    fn declaration(&self) -> DeclaredFile {
        let (name, mime_type) = (Some(self.name.clone()), self.mime_type.clone());
        // What is no address of Discord's is nobody's to repeat.
        let source = address(&self.link).map(|_| self.link.clone());
        DeclaredFile { name, mime_type, size: self.size, source }
    }

    fn place(&self) -> Option<i64> {
        self.message
    }

    fn missing_reason(&self) -> Option<String> {
        None
    }
}

/// Fetches a file and ends its download.
pub(super) async fn download(bot: &DiscordBot, file: DiscordFile, item: Download) -> Attachment {
    let source = FileDownload { bot, file, is_renewed: false };
    fetch(source, item, |source, item| Box::pin(source.bring(item))).await
}

struct FileDownload<'a> {
    bot: &'a DiscordBot,
    file: DiscordFile,
    /// Whether a fresh link was asked for.
    is_renewed: bool,
}

impl FileDownload<'_> {
    async fn bring(&mut self, item: &mut Download) -> Result<(), FailedAttempt> {
        let (bot, limit) = (self.bot, self.bot.base.limits.max_bytes);
        let response = loop {
            let link = match self.file.signed.clone() {
                Some(link) => link,
                None => self.fresh_link().await?,
            };
            let url = address(&link).ok_or_else(|| give_up(ELSEWHERE))?;
            let response = await_head(bot.cdn.get(url)).await?.map_err(|error| broken_download(&error))?;
            match response.status().as_u16() {
                200 => break response,
                403 | 404 | 410 if !self.is_renewed => self.file.signed = None,
                403 | 404 | 410 => return Err(give_up(GONE)),
                status @ (408 | 425 | 429 | 500..=599) => {
                    let pause = number(response.headers(), "retry-after").and_then(seconds);
                    return Err(retry(describe_status(status), pause.unwrap_or_default()));
                }
                status => return Err(give_up(describe_status(status))),
            }
        };
        if response.content_length().is_some_and(|length| length > limit.0) {
            return Err(refuse_length(limit));
        }
        // What Discord has said of its size decides nothing but patience: a short one is told at
        // the end.
        let bytes = response.content_length().or(self.file.size).unwrap_or(limit.0).min(limit.0);
        let body = response.bytes_stream().map_err(|error| broken_download(&error));
        read_body(body, item, bytes).await
    }

    /// Asks the message for the file of the same number, once.
    async fn fresh_link(&mut self) -> Result<String, FailedAttempt> {
        let Some(message) = self.file.message.filter(|_| !self.is_renewed) else {
            return Err(give_up(GONE));
        };
        let found = self
            .bot
            .api
            .call(&Route::bot(route::MESSAGE, &[self.file.channel, message]), RequestBody::Nothing)
            .await;
        let found = match found {
            Ok(found) => found,
            Err(ApiFailure::Refused { .. } | ApiFailure::Unauthorized) => return Err(give_up(GONE)),
            Err(failure) => {
                tracing::info!(%failure, "a link is not renewed");
                return Err(retry(BROKEN, Duration::ZERO));
            }
        };
        self.is_renewed = true;
        let lists = [&found["attachments"], &found["message_snapshots"][0]["message"]["attachments"]];
        let mut all = lists.into_iter().filter_map(Value::as_array).flatten();
        let same = all.find(|file| id(&file["id"]) == Some(self.file.id));
        let link = same.and_then(|file| file["url"].as_str()).ok_or_else(|| give_up(GONE))?.to_owned();
        self.file.signed = Some(link.clone());
        Ok(link)
    }
}

/// The address of a file, if it is one of Discord's hosts as they are, over https and without
/// anything else.
fn address(link: &str) -> Option<Url> {
    let rest = link.strip_prefix("https://")?;
    let (host, _) = rest.split_once('/')?;
    let url = Url::parse(link).ok()?;
    (HOSTS.contains(&host) && url.host_str() == Some(host)).then_some(url)
}

/// Where files are asked for: Discord's hosts, or what stands in for them.
pub(super) struct Cdn {
    pub(super) client: reqwest::Client,
    pub(super) instead: Option<Url>,
}

impl Cdn {
    async fn get(&self, url: Url) -> Result<Response, reqwest::Error> {
        let url = match &self.instead {
            Some(base) => {
                let mut instead = base.clone();
                instead.set_path(&format!("{}{}", base.path().trim_end_matches('/'), url.path()));
                instead.set_query(url.query());
                instead
            }
            None => url,
        };
        self.client.get(url).send().await
    }
}

/// Without the address, which holds the signature.
fn broken_download(error: &reqwest::Error) -> FailedAttempt {
    let (timeout, connect) = (error.is_timeout(), error.is_connect());
    tracing::info!(timeout, connect, "a download broke off");
    retry(BROKEN, Duration::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_discords_hosts_are_asked() {
        for link in [
            "https://cdn.discordapp.com/attachments/1/2/a.png?ex=1&is=2&hm=3",
            "https://media.discordapp.net/x",
        ] {
            assert!(address(link).is_some(), "{link}");
        }
        for link in [
            "",
            "http://cdn.discordapp.com/a",
            "https://cdn.discordapp.com",
            "https://cdn.discordapp.com:443/a",
            "https://cdn.discordapp.com:8443/a",
            "https://u@cdn.discordapp.com/a",
            "https://cdn.discordapp.com@evil.example/a",
            "https://cdn.discordapp.com.evil.example/a",
            "https://evil.example/cdn.discordapp.com/a",
            "https://cdn.discordapp.com\\@evil.example/a",
            "https://CDN.discordapp.com/a",
            "https://cdn.discordapp.com./a",
            "//cdn.discordapp.com/a",
            "https://images-ext-1.discordapp.net/a",
            "https:/cdn.discordapp.com/a",
        ] {
            assert!(address(link).is_none(), "{link}");
        }
    }

    #[test]
    fn what_is_kept_of_a_file_holds_no_signature() {
        let file = json!({ "id": "11", "filename": "a.txt", "size": 3, "content_type": "text/plain",
            "url": "https://cdn.discordapp.com/attachments/1/11/a.txt?ex=1&hm=secret", "title": "x" });
        let read = DiscordFile::read(&file, 5, Some(7)).expect("a file");
        let kept = serde_json::to_string(&read).expect("plain data");
        assert!(!kept.contains("secret") && !kept.contains('?'), "{kept}");
        let again: DiscordFile = serde_json::from_str(&kept).expect("it");
        assert_eq!((&again, again.signed.as_deref()), (&read, None));
        let source = read.declaration().source;
        assert_eq!(source.as_deref(), Some("https://cdn.discordapp.com/attachments/1/11/a.txt"));
        assert_eq!(
            DiscordFile::read(&json!({ "url": 5 }), 5, None)
                .expect("it keeps its place")
                .declaration()
                .source,
            None
        );
        assert_eq!(DiscordFile::read(&json!("x"), 5, None), None);
    }
}
