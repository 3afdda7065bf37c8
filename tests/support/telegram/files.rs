//! Files that can be downloaded: their bytes, the size that `getFile` declares, and their path.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::error::ApiError;
use super::params;
use crate::exchange::{Answer, Body, Call, Kind};

/// Largest file that the public Bot API server hands out, in bytes.
const MAX_DOWNLOAD_BYTES: u64 = 20 * 1024 * 1024;

/// A file on the server. What it declares and what it holds are set apart on purpose.
#[derive(Clone, Debug)]
pub struct StoredFile {
    content: Body,
    /// What `getFile` says; the length of the content if nothing else is set.
    size: u64,
    size_shown: bool,
    path: Option<String>,
    path_shown: bool,
}

impl StoredFile {
    /// A file of these bytes, which declares their number.
    pub fn new(bytes: impl Into<Bytes>) -> Self {
        Self::of(Body::Bytes(bytes.into()))
    }

    /// A file of one byte repeated: larger than memory if need be.
    pub fn repeated(byte: u8, len: u64) -> Self {
        Self::of(Body::Repeated(byte, len))
    }

    /// Declares another size, in bytes. Above 20 MiB `getFile` refuses, as the public server does.
    #[must_use]
    pub fn declared_size(mut self, bytes: u64) -> Self {
        self.size = bytes;
        self
    }

    /// `getFile` leaves `file_size` out.
    #[must_use]
    pub fn without_size(mut self) -> Self {
        self.size_shown = false;
        self
    }

    /// Lies at this `file_path` instead of a generated one such as `documents/file_3.pdf`.
    #[must_use]
    pub fn at(mut self, path: &str) -> Self {
        self.path = Some(path.to_owned());
        self
    }

    /// `getFile` leaves `file_path` out.
    #[must_use]
    pub fn without_path(mut self) -> Self {
        self.path_shown = false;
        self
    }

    /// The number of bytes that a download really has.
    pub fn content_len(&self) -> u64 {
        self.content.len()
    }

    fn of(content: Body) -> Self {
        let size = content.len();
        Self { content, size, size_shown: true, path: None, path_shown: true }
    }
}

/// The `file_unique_id` that belongs to a `file_id`: the same for the same file, in every message.
pub(super) fn unique_id(file_id: &str) -> String {
    format!("AgAD{}", hex::encode(&Sha256::digest(file_id.as_bytes())[..6]))
}

/// All files by their `file_id`.
#[derive(Default)]
pub(super) struct Files {
    by_id: BTreeMap<String, StoredFile>,
    stored: usize,
}

impl Files {
    /// Stores a file; `folder` and `extension` make up its path where it has none.
    pub(super) fn put(&mut self, id: &str, mut file: StoredFile, folder: &str, extension: &str) {
        let number = self.stored;
        self.stored += 1;
        file.path.get_or_insert_with(|| format!("{folder}/file_{number}{extension}"));
        self.by_id.insert(id.to_owned(), file);
    }

    /// `getFile`.
    pub(super) fn get(&self, params: &Map<String, Value>) -> Result<Value, ApiError> {
        let id = params::string(params, "file_id").unwrap_or_default();
        if id.is_empty() {
            return Err(ApiError::bad_request("file_id not specified"));
        }
        let file = self
            .by_id
            .get(&id)
            .ok_or_else(|| ApiError::bad_request("wrong file_id or the file is temporarily unavailable"))?;
        if file.size > MAX_DOWNLOAD_BYTES {
            return Err(ApiError::bad_request("file is too big"));
        }
        let mut result = json!({ "file_id": id, "file_unique_id": unique_id(&id) });
        if file.size_shown {
            result["file_size"] = file.size.into();
        }
        if let Some(path) = file.path.as_ref().filter(|_| file.path_shown) {
            result["file_path"] = path.clone().into();
        }
        Ok(result)
    }

    /// Adds the `file_id` to a download's parameters, so that faults and gates can choose by it.
    pub(super) fn name_download(&self, call: &mut Call) {
        if call.kind != Kind::Download {
            return;
        }
        if let Some((id, _)) = self.at_path(&call.params) {
            let id = Value::String(id.clone());
            call.params.insert("file_id".to_owned(), id);
        }
    }

    /// The answer to a download.
    pub(super) fn download(&self, call: &Call) -> Answer {
        match self.at_path(&call.params) {
            Some((_, file)) => Answer::with_body(200, "application/octet-stream", file.content.clone()),
            None => ApiError::new(404, "Not Found").to_answer(),
        }
    }

    fn at_path(&self, params: &Map<String, Value>) -> Option<(&String, &StoredFile)> {
        let path = params.get("file_path")?.as_str()?;
        self.by_id.iter().find(|(_, file)| file.path.as_deref() == Some(path))
    }
}
