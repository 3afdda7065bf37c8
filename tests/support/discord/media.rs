//! A file of an incoming message: what Discord says about it, true or not.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::cdn::{Cdn, CdnPath, clean};
use crate::exchange::Body;

/// One file of a message or a command. Name and type come from the sender and may be anything.
#[derive(Clone, Debug)]
pub struct Media {
    name: String,
    body: Option<Body>,
    id: Option<u64>,
    content_type: Option<String>,
    fields: Map<String, Value>,
    without: Vec<String>,
}

impl Media {
    /// A file of these bytes, which declares their number and a type by its name.
    pub fn new(name: &str, bytes: impl Into<Bytes>) -> Self {
        Self::of(name, Some(Body::Bytes(bytes.into())))
    }

    /// A file of one byte repeated: larger than memory if need be.
    pub fn repeated(name: &str, byte: u8, len: u64) -> Self {
        Self::of(name, Some(Body::Repeated(byte, len)))
    }

    /// A file that is only announced: its link leads nowhere.
    pub fn announced(name: &str, size: u64) -> Self {
        Self::of(name, None).size(size)
    }

    fn of(name: &str, body: Option<Body>) -> Self {
        let content_type = guess(name).map(str::to_owned);
        Self { name: name.to_owned(), body, id: None, content_type, fields: Map::new(), without: Vec::new() }
    }

    /// The id of the attachment; otherwise the next one.
    #[must_use]
    pub fn id(mut self, id: u64) -> Self {
        self.id = Some(id);
        self
    }

    /// `content_type`, which need not parse; the CDN serves it, too.
    #[must_use]
    pub fn content_type(mut self, content_type: &str) -> Self {
        self.content_type = Some(content_type.to_owned());
        self
    }

    /// `size` as declared.
    #[must_use]
    pub fn size(self, bytes: u64) -> Self {
        self.field("size", bytes)
    }

    /// The description that its sender gave it.
    #[must_use]
    pub fn description(self, words: &str) -> Self {
        self.field("description", words)
    }

    /// Another link instead of the signed one, for example on another host.
    #[must_use]
    pub fn url(self, url: &str) -> Self {
        self.field("url", url)
    }

    /// Any field of the attachment object, even of the wrong type.
    #[must_use]
    pub fn field(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(name.to_owned(), value.into());
        self
    }

    /// Leaves a field out, such as `content_type`.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.without.push(name.to_owned());
        self
    }

    /// The id that a test gave it.
    pub(super) fn wanted_id(&self) -> Option<u64> {
        self.id
    }

    /// Stores the file and makes the attachment object.
    pub(super) fn store(&self, cdn: &mut Cdn, folder: &'static str, owner: u64, id: u64) -> Value {
        let at = CdnPath { folder, owner, id, name: clean(&self.name) };
        let body = self.body.clone().unwrap_or(Body::Bytes(Bytes::new()));
        let size = body.len();
        let served = self.content_type.as_deref().unwrap_or("application/octet-stream");
        let (url, proxy_url) = cdn.put(&at, body, served);
        if self.body.is_none() {
            cdn.remove(id);
        }
        let mut attachment = json!({
            "id": id.to_string(), "filename": at.name, "size": size, "url": url, "proxy_url": proxy_url,
        });
        if at.name != self.name {
            attachment["title"] = self.name.rsplit_once('.').map_or(&*self.name, |(stem, _)| stem).into();
        }
        if let Some(content_type) = &self.content_type {
            attachment["content_type"] = content_type.clone().into();
        }
        if self.content_type.as_deref().is_some_and(|kind| kind.starts_with("image/")) {
            attachment["width"] = 1280.into();
            attachment["height"] = 960.into();
        }
        if let Some(fields) = attachment.as_object_mut() {
            fields.extend(self.fields.clone());
            fields.retain(|name, _| !self.without.contains(name));
        }
        attachment
    }
}

/// The type that Discord tells by a name.
fn guess(name: &str) -> Option<&'static str> {
    let (_, extension) = name.rsplit_once('.')?;
    Some(match extension.to_ascii_lowercase().as_str() {
        "jpg" | "jpeg" => "image/jpeg",
        "png" => "image/png",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "txt" => "text/plain; charset=utf-8",
        "json" => "application/json; charset=utf-8",
        "pdf" => "application/pdf",
        "ogg" => "audio/ogg",
        "mp3" => "audio/mpeg",
        "mp4" => "video/mp4",
        "zip" => "application/zip",
        _ => return None,
    })
}
