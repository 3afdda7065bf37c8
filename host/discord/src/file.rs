//! A file that came: what Discord tells of it, and what of that is kept. Pure.

use super::wire::{Snowflake, id};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The store keeps it as JSON, without the signature of its link. Name, type and size are Discord's
/// words.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct DiscordFile {
    pub(super) channel: Snowflake,
    /// Absent for a file of a command, which no message holds.
    pub(super) message: Option<Snowflake>,
    pub(super) id: Snowflake,
    pub(super) name: String,
    pub(super) mime_type: Option<String>,
    /// In bytes, as announced.
    pub(super) size: Option<u64>,
    /// The link without its query.
    pub(super) link: String,
    /// The link as it was signed.
    #[serde(skip)]
    pub(super) signed: Option<String>,
}

/// By what it is; a link may have been signed anew.
impl PartialEq for DiscordFile {
    fn eq(&self, other: &Self) -> bool {
        (self.channel, self.message, self.id) == (other.channel, other.message, other.id)
    }
}

impl DiscordFile {
    /// The files in a list of attachments.
    pub(super) fn all(list: &Value, channel: Snowflake, message: Option<Snowflake>, max: usize) -> Vec<Self> {
        let list = list.as_array().into_iter().flatten().take(max);
        list.filter_map(|file| Self::read(file, channel, message)).collect()
    }

    /// An attachment; one without a number cannot be told from another, and keeps its place all the
    /// same.
    pub(super) fn read(file: &Value, channel: Snowflake, message: Option<Snowflake>) -> Option<Self> {
        let text = |key: &str| file[key].as_str().filter(|text| !text.trim().is_empty());
        let signed = text("url").unwrap_or_default();
        file.is_object().then(|| Self {
            channel,
            message,
            id: id(&file["id"]).unwrap_or_default(),
            name: text("filename").unwrap_or("file").to_owned(),
            mime_type: text("content_type").map(str::to_owned),
            size: file["size"].as_u64(),
            link: signed.split(['?', '#']).next().unwrap_or_default().to_owned(),
            signed: Some(signed.to_owned()),
        })
    }
}
