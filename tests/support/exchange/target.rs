//! Which requests are meant: a method (or a file download), perhaps only with certain parameters.
//! Faults, gates and waits all choose their requests through this.

use std::fmt::Display;

use serde_json::{Map, Value};

use super::multipart::Uploads;

/// What a request asks for. Methods are held in lower case, since the Bot API ignores case.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Method(String),
    Download,
}

impl Kind {
    pub(crate) fn method(name: &str) -> Self {
        Self::Method(name.to_ascii_lowercase())
    }
}

/// One routed request: what it asks for and its parameters, whatever their encoding was.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) kind: Kind,
    pub(crate) params: Map<String, Value>,
    pub(crate) uploads: Uploads,
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

    /// Narrows the choice to requests whose parameter (or field of one: `data.flags`) has this
    /// value: strings compare as they are, everything else as compact JSON.
    #[must_use]
    pub fn with(mut self, parameter: &str, value: impl Display) -> Self {
        self.only.push((parameter.to_owned(), value.to_string()));
        self
    }

    /// The method; `None` for downloads.
    pub(crate) fn method_name(&self) -> Option<&str> {
        match &self.kind {
            Kind::Method(name) => Some(name),
            Kind::Download => None,
        }
    }

    pub(crate) fn kind(&self) -> &Kind {
        &self.kind
    }

    pub(crate) fn matches(&self, kind: &Kind, params: &Map<String, Value>) -> bool {
        let is = |value: &Value, wanted: &str| match value {
            Value::String(text) => text == wanted,
            other => format!("{other}") == wanted,
        };
        let mut only = self.only.iter();
        self.kind == *kind && only.all(|(name, wanted)| find(params, name).is_some_and(|v| is(v, wanted)))
    }
}

/// A parameter, or a field of one: `data.flags`.
fn find<'p>(params: &'p Map<String, Value>, name: &str) -> Option<&'p Value> {
    params.get(name).or_else(|| {
        let mut steps = name.split('.');
        let first = params.get(steps.next()?)?;
        steps.try_fold(first, |value, step| value.get(step))
    })
}

impl From<&str> for Target {
    fn from(method: &str) -> Self {
        Self::method(method)
    }
}
