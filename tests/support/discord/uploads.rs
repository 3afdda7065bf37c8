//! The files that come with a message of the bot.

use serde_json::{Value, json};

use super::cdn::{CdnPath, clean};
use super::draft::{Draft, upload_number};
use super::params::id_of;
use super::sent::SentFile;
use super::state::Inner;
use crate::exchange::Body;
use crate::exchange::multipart::Uploads;

/// Stores the files of a request, and lists them in the message after those that it has.
pub(super) fn store_files(
    inner: &mut Inner,
    channel: u64,
    draft: &Draft,
    uploads: &Uploads,
    message: &mut Value,
) -> Vec<SentFile> {
    let mut numbered: Vec<_> =
        uploads.iter().filter_map(|(field, file)| Some((upload_number(field)?, file))).collect();
    numbered.sort_by_key(|(number, _)| *number);
    let mut files = Vec::new();
    for (number, file) in numbered {
        let listed = draft.attachments.iter().flatten().find(|listed| id_of(&listed["id"]) == Some(number));
        let text = |name: &str| listed.and_then(|listed| listed[name].as_str()).map(str::to_owned);
        let id = inner.clock.next_id();
        let name = text("filename").unwrap_or_else(|| file.filename.clone());
        let mime = file.content_type.clone();
        let at = CdnPath { folder: "attachments", owner: channel, id, name: clean(&name) };
        let served = mime.clone().unwrap_or_else(|| "application/octet-stream".to_owned());
        let (url, proxy_url) = inner.cdn.put(&at, Body::Bytes(file.bytes.clone()), &served);
        let mut attachment = json!({
            "id": id.to_string(), "filename": at.name, "size": file.bytes.len(), "url": url,
            "proxy_url": proxy_url, "content_type": served,
        });
        if let Some(description) = text("description") {
            attachment["description"] = description.into();
        }
        if let Some(list) = message["attachments"].as_array_mut() {
            list.push(attachment);
        }
        files.push(SentFile { id, name, mime, description: text("description"), bytes: file.bytes.clone() });
    }
    files
}
