//! The media of an incoming message: what the sender claims about a file, true or not.

use bytes::Bytes;
use serde_json::{Map, Value};

use super::files::{StoredFile, unique_id};

/// One file of a message. Name and MIME type come from the sender and may be anything.
#[derive(Clone, Debug)]
pub struct Media {
    pub(super) file_id: String,
    pub(super) stored: Option<StoredFile>,
    fields: Map<String, Value>,
}

impl Media {
    /// A file that is only announced; register its content with `TelegramServer::put_file`.
    pub fn new(file_id: &str) -> Self {
        Self { file_id: file_id.to_owned(), stored: None, fields: Map::new() }
    }

    /// A file that can be downloaded once the message is pushed; it announces its real size.
    pub fn with_content(file_id: &str, bytes: impl Into<Bytes>) -> Self {
        Self::with_file(file_id, StoredFile::new(bytes))
    }

    /// As [`with_content`](Self::with_content), for a file that is more than its bytes. The message
    /// announces the content's real length; `getFile` says what the file declares.
    pub fn with_file(file_id: &str, file: StoredFile) -> Self {
        let media = Self::new(file_id).size(file.content_len());
        Self { stored: Some(file), ..media }
    }

    /// `file_name`.
    #[must_use]
    pub fn name(self, name: &str) -> Self {
        self.field("file_name", name)
    }

    /// `mime_type`, which need not parse.
    #[must_use]
    pub fn mime(self, mime: &str) -> Self {
        self.field("mime_type", mime)
    }

    /// `file_size` in bytes as the message announces it; beyond 32 bits is fine.
    #[must_use]
    pub fn size(self, bytes: u64) -> Self {
        self.field("file_size", bytes)
    }

    /// The message announces no `file_size`.
    #[must_use]
    pub fn without_size(mut self) -> Self {
        self.fields.remove("file_size");
        self
    }

    /// Any field of the media object, even of the wrong type.
    #[must_use]
    pub fn field(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(name.to_owned(), value.into());
        self
    }

    /// The media object: ids, then what its kind has by itself, then what was set here.
    pub(super) fn object(&self, defaults: Value) -> Value {
        let mut object = Map::new();
        object.insert("file_id".to_owned(), self.file_id.clone().into());
        object.insert("file_unique_id".to_owned(), unique_id(&self.file_id).into());
        if let Value::Object(defaults) = defaults {
            object.extend(defaults);
        }
        object.extend(self.fields.clone());
        Value::Object(object)
    }

    /// The extension of its name, with the dot, if it is harmless enough for a path.
    pub(super) fn extension(&self) -> String {
        let name = self.fields.get("file_name").and_then(Value::as_str).unwrap_or_default();
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        let harmless = extension.chars().all(|c| c.is_ascii_alphanumeric()) && extension.len() <= 8;
        if harmless && !extension.is_empty() { format!(".{extension}") } else { String::new() }
    }
}
