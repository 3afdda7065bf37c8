//! Parameters of a method: decoded from query, form or JSON body into one map, and read leniently,
//! since the Bot API takes numbers as strings and objects as JSON text.

use serde_json::{Map, Value};

use super::error::ApiError;
use crate::exchange::form;
use crate::exchange::multipart::{self, Uploads};
use crate::http::Request;

/// All parameters of a request, and its files; the body's win over the query's.
pub(super) fn decode(query: &str, request: &Request) -> Result<(Map<String, Value>, Uploads), ApiError> {
    let mut params = Map::new();
    form::decode(query, &mut params);
    if request.body.is_empty() {
        return Ok((params, Uploads::new()));
    }
    let given = request.header("content-type").unwrap_or_default();
    let kind = given.to_ascii_lowercase();
    if kind.starts_with("multipart/form-data") {
        let boundary = multipart::boundary(given);
        let uploads = boundary.and_then(|boundary| multipart::decode(&request.body, boundary, &mut params));
        let uploads = uploads.ok_or_else(|| ApiError::bad_request("can't parse multipart form"))?;
        return Ok((params, uploads));
    }
    if kind.starts_with("application/json") {
        let body = serde_json::from_slice(&request.body)
            .map_err(|_| ApiError::bad_request("can't parse JSON object"))?;
        let Value::Object(object) = body else {
            return Err(ApiError::bad_request("object expected"));
        };
        params.extend(object);
    } else if kind.starts_with("application/x-www-form-urlencoded") {
        form::decode(&String::from_utf8_lossy(&request.body), &mut params);
    } else {
        let known = "JSON and form bodies only, this server reads no other";
        return Err(ApiError::bad_request(format!("{known}: {kind:?}")));
    }
    Ok((params, Uploads::new()))
}

/// An integer parameter, given as a number or as its digits.
pub(super) fn integer(params: &Map<String, Value>, name: &str) -> Result<Option<i64>, ApiError> {
    let value = match params.get(name) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(digits)) if digits.is_empty() => return Ok(None),
        Some(Value::String(digits)) => digits.trim().parse().ok(),
        Some(other) => other.as_i64(),
    };
    let invalid = || ApiError::bad_request(format!("parameter \"{name}\" must be an Integer"));
    value.map(Some).ok_or_else(invalid)
}

/// A string parameter; a number counts as its digits.
pub(super) fn string(params: &Map<String, Value>, name: &str) -> Option<String> {
    match params.get(name)? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// An object or array, given as such or as JSON text.
pub(super) fn structured(params: &Map<String, Value>, name: &str) -> Result<Option<Value>, ApiError> {
    let value = match params.get(name) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) if text.is_empty() => return Ok(None),
        Some(Value::String(text)) => serde_json::from_str(text)
            .map_err(|_| ApiError::bad_request(format!("can't parse {name} JSON object")))?,
        Some(other) => other.clone(),
    };
    Ok(Some(value))
}

/// A Boolean parameter; absent means false.
pub(super) fn flag(params: &Map<String, Value>, name: &str) -> bool {
    match params.get(name) {
        Some(Value::Bool(set)) => *set,
        Some(Value::String(text)) => matches!(text.to_ascii_lowercase().as_str(), "true" | "yes" | "1"),
        Some(Value::Number(number)) => number.as_i64() == Some(1),
        _ => false,
    }
}
