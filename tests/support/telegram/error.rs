//! The refusals of the Bot API: an error code, the description that clients match on, and
//! sometimes parameters.

use serde_json::{Map, Value, json};

use crate::exchange::Answer;

/// A refusal as the Bot API states it; its HTTP status equals its `error_code`.
#[derive(Clone, Debug)]
pub(super) struct ApiError {
    pub(super) code: u16,
    pub(super) description: String,
    parameters: Map<String, Value>,
}

impl ApiError {
    pub(super) fn new(code: u16, description: impl Into<String>) -> Self {
        Self { code, description: description.into(), parameters: Map::new() }
    }

    /// 400; the text is what follows `Bad Request: `.
    pub(super) fn bad_request(what: impl AsRef<str>) -> Self {
        Self::new(400, format!("Bad Request: {}", what.as_ref()))
    }

    /// 409; the text is what follows `Conflict: `.
    pub(super) fn conflict(what: impl AsRef<str>) -> Self {
        Self::new(409, format!("Conflict: {}", what.as_ref()))
    }

    /// 409 as the first of two pollers receives it.
    pub(super) fn other_poller() -> Self {
        Self::conflict(
            "terminated by other getUpdates request; make sure that only one bot instance is running",
        )
    }

    pub(super) fn with_parameter(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.parameters.insert(name.to_owned(), value.into());
        self
    }

    /// The JSON document that carries this refusal.
    pub(super) fn to_json(&self) -> Value {
        let mut document = json!({
            "ok": false,
            "error_code": self.code,
            "description": self.description,
        });
        if !self.parameters.is_empty() {
            document["parameters"] = Value::Object(self.parameters.clone());
        }
        document
    }

    /// The HTTP answer; like the real server it repeats `retry_after` as a header.
    pub(super) fn to_answer(&self) -> Answer {
        let answer = Answer::json(self.code, self.to_json().to_string());
        match self.parameters.get("retry_after") {
            Some(seconds) => answer.with_header("Retry-After", seconds.to_string()),
            None => answer,
        }
    }
}
