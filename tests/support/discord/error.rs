//! The refusals of Discord's REST API: a status, a code that clients match on, a message, and
//! sometimes the fields that are wrong.

use serde_json::{Value, json};

use crate::exchange::Answer;

/// A refusal as the API states it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RestError {
    status: u16,
    code: u32,
    message: String,
    /// Which fields are wrong and how, of code 50035.
    errors: Option<Value>,
}

impl RestError {
    pub(super) fn new(status: u16, code: u32, message: &str) -> Self {
        Self { status, code, message: message.to_owned(), errors: None }
    }

    /// A refusal without a code of its own, such as `404: Not Found`.
    pub(super) fn plain(status: u16, message: &str) -> Self {
        Self::new(status, 0, &format!("{status}: {message}"))
    }

    /// 50035: a field (`components.0.custom_id`) is wrong in this way.
    pub(super) fn field(path: &str, code: &str, message: &str) -> Self {
        let mut errors = json!({ "_errors": [{ "code": code, "message": message }] });
        for step in path.rsplit('.') {
            errors = json!({ step: errors });
        }
        Self { errors: Some(errors), ..Self::new(400, 50035, "Invalid Form Body") }
    }

    /// 50035: a text is too long.
    pub(super) fn too_long(path: &str, most: usize) -> Self {
        Self::field(path, "BASE_TYPE_MAX_LENGTH", &format!("Must be {most} or fewer in length."))
    }

    pub(super) fn unknown_channel() -> Self {
        Self::new(404, 10003, "Unknown Channel")
    }

    pub(super) fn unknown_message() -> Self {
        Self::new(404, 10008, "Unknown Message")
    }

    pub(super) fn unknown_interaction() -> Self {
        Self::new(404, 10062, "Unknown interaction")
    }

    pub(super) fn missing_permissions() -> Self {
        Self::new(403, 50013, "Missing Permissions")
    }

    /// The JSON document that carries this refusal.
    pub(super) fn to_json(&self) -> Value {
        let mut document = json!({ "message": self.message, "code": self.code });
        if let Some(errors) = &self.errors {
            document["errors"] = errors.clone();
        }
        document
    }

    pub(super) fn to_answer(&self) -> Answer {
        answer(self.status, &self.to_json())
    }
}

/// An answer of the API itself: those of the proxy in front of it lack `Via`.
pub(super) fn answer(status: u16, body: &Value) -> Answer {
    Answer::json(status, body.to_string()).with_header("Via", "1.1 google".to_owned())
}
