//! What a request says about a message, checked as the real server checks it.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::error::RestError;
use super::params::{self, id_of};
use crate::exchange::multipart::Uploads;

/// Longest content, in characters.
const MAX_CONTENT: usize = 2000;
/// Longest nonce, in characters.
const MAX_NONCE: usize = 25;
/// Most rows of components, and most buttons of a row.
const MAX_IN_A_ROW: usize = 5;
/// Most files of a message.
const MAX_FILES: usize = 10;
/// Largest file, in bytes.
const MAX_FILE_BYTES: usize = 10 * 1024 * 1024;
/// Largest files of a message together, in bytes.
const MAX_FILES_BYTES: usize = 25 * 1024 * 1024;

/// What a message replies to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reference {
    pub(super) channel: Option<u64>,
    pub(super) message: u64,
    pub(super) fail_if_not_exists: bool,
}

/// A message to be, or changes of one.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    /// `None` where it is not mentioned: an edit leaves it.
    pub(super) content: Option<String>,
    pub(super) nonce: Option<Value>,
    pub(super) enforce_nonce: bool,
    pub(super) reference: Option<Reference>,
    pub(super) allowed_mentions: Option<Value>,
    pub(super) components: Option<Value>,
    pub(super) embeds: Option<Value>,
    pub(super) flags: u64,
    /// The list of attachments: those that stay, and those that come with the request.
    pub(super) attachments: Option<Vec<Value>>,
    /// What was asked for, as it was.
    pub(super) request: Value,
}

impl Draft {
    /// Reads and checks the fields of a message.
    pub(super) fn read(fields: &Map<String, Value>, uploads: &Uploads) -> Result<Self, RestError> {
        let given = |name: &str| fields.get(name).filter(|value| !value.is_null()).cloned();
        let content = match fields.get("content") {
            None => None,
            Some(Value::Null) => Some(String::new()),
            Some(Value::String(text)) => Some(text.clone()),
            Some(other) => Some(other.to_string()),
        };
        let draft = Self {
            content,
            nonce: given("nonce"),
            enforce_nonce: fields.get("enforce_nonce").and_then(Value::as_bool).unwrap_or_default(),
            reference: reference(fields)?,
            allowed_mentions: given("allowed_mentions"),
            components: fields.get("components").cloned(),
            embeds: fields.get("embeds").cloned(),
            flags: fields.get("flags").and_then(Value::as_u64).unwrap_or_default(),
            attachments: given("attachments").and_then(|list| list.as_array().cloned()),
            request: Value::Object(fields.clone()),
        };
        draft.check(uploads)?;
        Ok(draft)
    }

    /// Whether there is nothing to see in it.
    pub(super) fn is_empty(&self, uploads: &Uploads) -> bool {
        let none = |list: &Option<Value>| list.as_ref().and_then(Value::as_array).is_none_or(Vec::is_empty);
        self.content.as_deref().unwrap_or_default().trim().is_empty()
            && uploads.is_empty()
            && none(&self.embeds)
            && none(&self.components)
    }

    /// The nonce as text.
    pub(super) fn nonce_text(&self) -> Option<String> {
        self.nonce.as_ref().map(|nonce| nonce.as_str().map_or_else(|| nonce.to_string(), str::to_owned))
    }

    fn check(&self, uploads: &Uploads) -> Result<(), RestError> {
        if self.content.as_deref().unwrap_or_default().chars().count() > MAX_CONTENT {
            return Err(RestError::too_long("content", MAX_CONTENT));
        }
        if self.nonce_text().unwrap_or_default().chars().count() > MAX_NONCE {
            return Err(RestError::too_long("nonce", MAX_NONCE));
        }
        check_mentions(self.allowed_mentions.as_ref())?;
        check_components(self.components.as_ref())?;
        check_files(uploads)?;
        self.check_attachments(uploads)
    }

    /// Each listed attachment is there already, or came with the request under its number.
    fn check_attachments(&self, uploads: &Uploads) -> Result<(), RestError> {
        for (index, listed) in self.attachments.iter().flatten().enumerate() {
            let at = format!("attachments.{index}");
            let Some(id) = id_of(&listed["id"]) else {
                return Err(RestError::field(
                    &format!("{at}.id"),
                    "BASE_TYPE_REQUIRED",
                    "This field is required",
                ));
            };
            // Small numbers are places in the request, ids are not small.
            if id < 1000 && !uploads.contains_key(&format!("files[{id}]")) {
                let message = "Referenced attachment not found in request";
                return Err(RestError::field(&at, "ATTACHMENT_NOT_FOUND", message));
            }
        }
        Ok(())
    }
}

fn reference(fields: &Map<String, Value>) -> Result<Option<Reference>, RestError> {
    let Some(given) = fields.get("message_reference").filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    let id = |name: &str| id_of(&given[name]);
    let message = id("message_id").ok_or_else(|| {
        RestError::field("message_reference.message_id", "BASE_TYPE_REQUIRED", "This field is required")
    })?;
    let fail_if_not_exists = given["fail_if_not_exists"].as_bool().unwrap_or(true);
    Ok(Some(Reference { channel: id("channel_id"), message, fail_if_not_exists }))
}

fn check_mentions(allowed: Option<&Value>) -> Result<(), RestError> {
    let Some(allowed) = allowed else { return Ok(()) };
    let list = |name: &str| allowed[name].as_array().map_or(&[][..], Vec::as_slice);
    for (index, kind) in list("parse").iter().enumerate() {
        let named = kind.as_str().unwrap_or_default();
        if !["roles", "users", "everyone"].contains(&named) {
            let at = format!("allowed_mentions.parse.{index}");
            let message = "Value must be one of ('users', 'roles', 'everyone').";
            return Err(RestError::field(&at, "BASE_TYPE_CHOICES", message));
        }
        if !list(named).is_empty() {
            let message = format!("parse:[\"{named}\"] and {named}: [ids...] are mutually exclusive.");
            let code = "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE";
            return Err(RestError::field("allowed_mentions", code, &message));
        }
    }
    Ok(())
}

fn check_components(components: Option<&Value>) -> Result<(), RestError> {
    let rows = components.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let bad_length = |at: &str, most: usize| {
        RestError::field(at, "BASE_TYPE_BAD_LENGTH", &format!("Must be between 1 and {most} in length."))
    };
    if rows.len() > MAX_IN_A_ROW {
        return Err(bad_length("components", MAX_IN_A_ROW));
    }
    let mut ids = BTreeSet::new();
    for (row, in_row) in rows.iter().enumerate() {
        let buttons = in_row["components"].as_array().map_or(&[][..], Vec::as_slice);
        if in_row["type"] != 1 || !(1..=MAX_IN_A_ROW).contains(&buttons.len()) {
            return Err(bad_length(&format!("components.{row}.components"), MAX_IN_A_ROW));
        }
        for (column, button) in buttons.iter().enumerate() {
            let at = format!("components.{row}.components.{column}");
            let length = |name: &str| button[name].as_str().unwrap_or_default().chars().count();
            if !(1..=100).contains(&length("custom_id")) {
                return Err(bad_length(&format!("{at}.custom_id"), 100));
            }
            if length("label") > 80 {
                return Err(RestError::too_long(&format!("{at}.label"), 80));
            }
            if !(1..=4).contains(&button["style"].as_u64().unwrap_or_default()) {
                return Err(RestError::field(
                    &format!("{at}.style"),
                    "BASE_TYPE_CHOICES",
                    "Value must be one of (1, 2, 3, 4).",
                ));
            }
            if !ids.insert(button["custom_id"].to_string()) {
                let message = "Component custom id cannot be duplicated";
                return Err(RestError::field(
                    &format!("{at}.custom_id"),
                    "COMPONENT_CUSTOM_ID_DUPLICATED",
                    message,
                ));
            }
        }
    }
    Ok(())
}

fn check_files(uploads: &Uploads) -> Result<(), RestError> {
    let too_large = || RestError::new(413, 40005, "Request entity too large");
    if uploads.len() > MAX_FILES {
        return Err(RestError::new(400, 30015, "Maximum number of attachments in a message reached (10)"));
    }
    let largest = uploads.values().map(|file| file.bytes.len()).max().unwrap_or_default();
    let all: usize = uploads.values().map(|file| file.bytes.len()).sum();
    if largest > MAX_FILE_BYTES || all > MAX_FILES_BYTES {
        return Err(too_large());
    }
    match uploads.keys().find(|field| upload_number(field).is_none()) {
        Some(_) => Err(RestError::plain(400, "Bad Request")),
        None => Ok(()),
    }
}

/// The number of a field `files[n]`.
pub(super) fn upload_number(field: &str) -> Option<u64> {
    field.strip_prefix("files[")?.strip_suffix(']')?.parse().ok()
}

/// The message fields of an interaction's response.
pub(super) fn data_of(call: &Map<String, Value>) -> Map<String, Value> {
    call.get("data").and_then(Value::as_object).cloned().unwrap_or_default()
}

/// A path's id, for messages.
pub(super) fn channel_and_message(call: &Map<String, Value>) -> Result<(u64, u64), RestError> {
    Ok((params::required_id(call, "channel_id")?, params::required_id(call, "message_id")?))
}
