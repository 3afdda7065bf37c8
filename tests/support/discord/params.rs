//! Parameters of a request: of its path, its query and its body, which is JSON alone or beside
//! files.

use serde_json::{Map, Value};

use super::error::RestError;
use crate::exchange::multipart::{self, Uploads};
use crate::http::Request;

/// Adds the body's fields to those of path and query; a body that is a list becomes `body`.
pub(super) fn read_body(request: &Request, params: &mut Map<String, Value>) -> Result<Uploads, RestError> {
    if request.body.is_empty() {
        return Ok(Uploads::new());
    }
    let given = request.header("content-type").unwrap_or_default();
    let kind = given.to_ascii_lowercase();
    let invalid = || RestError::new(400, 50109, "The request body contains invalid JSON.");
    if kind.starts_with("application/json") {
        add(serde_json::from_slice(&request.body).map_err(|_| invalid())?, params)?;
        return Ok(Uploads::new());
    }
    if !kind.starts_with("multipart/form-data") {
        let allowed =
            "Expected \"Content-Type\" header to be one of {'application/json', 'multipart/form-data'}.";
        return Err(RestError::new(400, 50035, allowed));
    }
    let mut fields = Map::new();
    let uploads = multipart::boundary(given)
        .and_then(|boundary| multipart::decode(&request.body, boundary, &mut fields))
        .ok_or_else(|| RestError::plain(400, "Bad Request"))?;
    match fields.remove("payload_json") {
        Some(Value::String(json)) => add(serde_json::from_str(&json).map_err(|_| invalid())?, params)?,
        _ => params.extend(fields),
    }
    Ok(uploads)
}

fn add(body: Value, params: &mut Map<String, Value>) -> Result<(), RestError> {
    match body {
        // What the path says stands: no body may name another channel.
        Value::Object(fields) => {
            for (name, value) in fields {
                params.entry(name).or_insert(value);
            }
            Ok(())
        }
        Value::Array(list) => {
            params.insert("body".to_owned(), Value::Array(list));
            Ok(())
        }
        _ => Err(RestError::new(400, 50035, "Invalid Form Body")),
    }
}

/// An id, as text or as a number.
pub(super) fn id_of(value: &Value) -> Option<u64> {
    match value {
        Value::String(digits) => digits.parse().ok(),
        other => other.as_u64(),
    }
}

/// An id among the parameters; 50035 for what is none.
pub(super) fn id(params: &Map<String, Value>, name: &str) -> Result<Option<u64>, RestError> {
    match params.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => id_of(value).map(Some).ok_or_else(|| {
            let message = format!("Value \"{value}\" is not snowflake.");
            RestError::field(name, "NUMBER_TYPE_COERCE", &message)
        }),
    }
}

/// An id that must be there.
pub(super) fn required_id(params: &Map<String, Value>, name: &str) -> Result<u64, RestError> {
    id(params, name)?.ok_or_else(|| RestError::field(name, "BASE_TYPE_REQUIRED", "This field is required"))
}

/// A text, empty where there is none.
pub(super) fn text<'p>(params: &'p Map<String, Value>, name: &str) -> &'p str {
    params.get(name).and_then(Value::as_str).unwrap_or_default()
}
