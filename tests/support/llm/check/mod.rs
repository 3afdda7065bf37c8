//! Whether the real API would take a request. Stricter where they differ: what one of them refuses,
//! no client of this project may send.

mod anthropic;
mod chat;
mod responses;

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::dialect::Dialect;
use super::journal::RequestRecord;

/// The key, or what was sent in its place.
pub(super) fn key(dialect: Dialect, record: &RequestRecord, key: &str) -> Result<(), String> {
    let sent = match dialect {
        Dialect::Anthropic => record.header("x-api-key").unwrap_or_default(),
        Dialect::Chat | Dialect::Responses => {
            record.header("authorization").and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default()
        }
    };
    if sent == key { Ok(()) } else { Err(sent.to_owned()) }
}

/// The request, or what is wrong with it.
pub(super) fn request(dialect: Dialect, record: &RequestRecord) -> Result<(), String> {
    let kind = record.header("content-type").unwrap_or_default();
    ensure(kind.starts_with("application/json"), || format!("Content-Type is {kind:?}"))?;
    ensure(record.header("referer").is_none(), || "it has a Referer".into())?;
    let body = record.body.as_object().ok_or("the body is no JSON object")?;
    ensure(body.get("stream") == Some(&Value::Bool(true)), || "it does not ask for a stream".into())?;
    ensure(body.get("model").and_then(Value::as_str).is_some_and(|m| !m.is_empty()), || "no model".into())?;
    match dialect {
        Dialect::Chat => chat::check(body),
        Dialect::Anthropic => anthropic::check(body, record.header("anthropic-version")),
        Dialect::Responses => responses::check(body),
    }
}

fn ensure(holds: bool, problem: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(problem()) }
}

/// No other fields than these.
fn known(object: &Map<String, Value>, fields: &[&str]) -> Result<(), String> {
    match object.keys().find(|key| !fields.contains(&key.as_str())) {
        Some(key) => Err(format!("unknown parameter {key:?} among {fields:?}")),
        None => Ok(()),
    }
}

fn object(value: &Value) -> Result<&Map<String, Value>, String> {
    value.as_object().ok_or_else(|| format!("{value} is no object"))
}

fn list<'v>(value: Option<&'v Value>, what: &str) -> Result<&'v [Value], String> {
    let list = value.and_then(Value::as_array).map(Vec::as_slice);
    list.filter(|list| !list.is_empty()).ok_or_else(|| format!("{what} is no list with something in it"))
}

/// Text that is not blank.
fn text<'v>(value: &'v Value, what: &str) -> Result<&'v str, String> {
    value.as_str().filter(|text| !text.trim().is_empty()).ok_or_else(|| format!("{what} is no text: {value}"))
}

fn positive(value: &Value, what: &str) -> Result<(), String> {
    ensure(value.as_u64().is_some_and(|n| n > 0), || format!("{what} is {value}"))
}

/// `^[a-zA-Z0-9_-]{1,64}$`
fn name(value: &Value) -> Result<&str, String> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    let name = value.as_str().unwrap_or_default();
    let sound = (1..=64).contains(&name.len()) && name.bytes().all(plain);
    if sound { Ok(name) } else { Err(format!("{value} does not match ^[a-zA-Z0-9_-]{{1,64}}$")) }
}

/// A tool's schema of arguments, and a name that no other tool has.
fn tool<'v>(names: &mut BTreeSet<&'v str>, named: &'v Value, schema: &Value) -> Result<(), String> {
    let name = name(named)?;
    ensure(names.insert(name), || format!("two tools are called {name}"))?;
    let schema = object(schema)?;
    ensure(schema.get("type") == Some(&"object".into()), || format!("the schema of {name} is of no object"))?;
    ensure(schema.get("properties").is_some_and(Value::is_object), || format!("{name}: no properties"))?;
    ensure(!schema.contains_key("$schema"), || format!("the schema of {name} has a $schema"))
}

/// An image: `data:TYPE;base64,BYTES`, or its address, which servers fetch themselves.
fn image_url(value: &Value) -> Result<(), String> {
    if value.as_str().is_some_and(|url| url.starts_with("https://")) { Ok(()) } else { data_url(value) }
}

/// `data:TYPE;base64,BYTES`
fn data_url(value: &Value) -> Result<(), String> {
    let url = value.as_str().unwrap_or_default();
    let (kind, data) =
        url.strip_prefix("data:").and_then(|url| url.split_once(";base64,")).ok_or("no data URL")?;
    base64(kind, data)
}

fn base64(kind: &str, data: &str) -> Result<(), String> {
    ensure(kind == "application/pdf" || kind.starts_with("image/"), || format!("{kind} cannot be shown"))?;
    let bytes = STANDARD.decode(data).map_err(|error| format!("base64: {error}"))?;
    ensure(!bytes.is_empty(), || "it is empty".into())
}

/// Arguments of an earlier call, as text.
fn arguments(value: &Value) -> Result<(), String> {
    let parsed = serde_json::from_str::<Value>(value.as_str().unwrap_or_default());
    ensure(parsed.is_ok_and(|parsed| parsed.is_object()), || format!("arguments are no object: {value}"))
}
