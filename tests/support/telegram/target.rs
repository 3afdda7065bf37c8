//! Which requests are meant: a method (or a file download), perhaps only with certain parameters.
//! Faults, gates and waits all choose their requests through this.

use std::fmt::Display;

use serde_json::{Map, Value};

use super::multipart::Uploads;

/// What a request asks for. Methods are held in lower case, since the Bot API ignores case.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Method(String),
    Download,
}

impl Kind {
    pub(super) fn method(name: &str) -> Self {
        Self::Method(name.to_ascii_lowercase())
    }
}

/// One routed request: what it asks for and its parameters, whatever their encoding was.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) kind: Kind,
    pub(super) params: Map<String, Value>,
    pub(super) uploads: Uploads,
}

/// A choice of requests. A plain string converts into the method of that name.
#[derive(Clone, Debug)]
pub struct Target {
    kind: Kind,
    only: Vec<(String, String)>,
}

impl Target {
    /// The requests of one method; case does not matter.
    pub fn method(name: &str) -> Self {
        Self { kind: Kind::method(name), only: Vec::new() }
    }

    /// Every file download, `GET /file/bot<TOKEN>/<file_path>`. Its parameters are `file_path` and,
    /// where the path is registered, `file_id`.
    pub fn download() -> Self {
        Self { kind: Kind::Download, only: Vec::new() }
    }

    /// The downloads of one file.
    pub fn download_of(file_id: &str) -> Self {
        Self::download().with("file_id", file_id)
    }

    /// Narrows the choice to requests whose parameter has this value: strings compare as they are,
    /// everything else as compact JSON.
    #[must_use]
    pub fn with(mut self, parameter: &str, value: impl Display) -> Self {
        self.only.push((parameter.to_owned(), value.to_string()));
        self
    }

    pub(super) fn kind(&self) -> &Kind {
        &self.kind
    }

    pub(super) fn matches(&self, kind: &Kind, params: &Map<String, Value>) -> bool {
        let is = |value: &Value, wanted: &str| match value {
            Value::String(text) => text == wanted,
            other => format!("{other}") == wanted,
        };
        let mut only = self.only.iter();
        self.kind == *kind && only.all(|(name, wanted)| params.get(name).is_some_and(|v| is(v, wanted)))
    }
}

impl From<&str> for Target {
    fn from(method: &str) -> Self {
        Self::method(method)
    }
}
