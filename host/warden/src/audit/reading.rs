//! What one line is: a record, a line torn by a crash, or something this version does not write.
//!
//! The distinction is exact: a record is one JSON object, and a cut object is never complete JSON.
//! So only incomplete JSON counts as torn; complete JSON that is no record is never explained by a
//! crash.

use super::LINE_BYTES_MAX;
use cofferdam_core::audit::{Record, sha256_hex};
use cofferdam_core::json::parse_strict;
use cofferdam_core::text::one_line;
use serde::Deserialize;
use serde_json::Value;
use serde_json::error::Category;

/// The version of the record layout that this code reads and writes.
pub(super) const VERSION: u32 = 1;

/// What a line is.
#[derive(Debug)]
pub(super) enum LineKind {
    /// A record of this version, with exactly its fields.
    Record(Box<Record>),
    /// Not complete JSON, and why.
    Torn(String),
    /// Complete JSON, but no record of this version, and why.
    Foreign(String),
}

/// What the bytes of a line are (without its newline).
pub(super) fn read(line: &[u8]) -> LineKind {
    if line.len() > LINE_BYTES_MAX {
        return LineKind::Torn(format!("it is longer than {LINE_BYTES_MAX} bytes"));
    }
    let Ok(text) = std::str::from_utf8(line) else {
        return LineKind::Torn("it is not UTF-8".to_owned());
    };
    match parse_strict(text) {
        Ok(value) => record(text, &value),
        Err(e) if e.classify() == Category::Data => LineKind::Foreign(one_line(&e.to_string(), 200)),
        Err(e) => LineKind::Torn(one_line(&format!("it is not JSON: {e}"), 200)),
    }
}

/// Whether a line is the record at this position, with this hash.
pub(super) fn is_record(line: &[u8], seq: u64, sha256: &str) -> bool {
    sha256_hex(line) == sha256 && matches!(read(line), LineKind::Record(record) if record.seq == seq)
}

fn record(text: &str, value: &Value) -> LineKind {
    if !(text.starts_with('{') && text.ends_with('}')) {
        return LineKind::Foreign("it is not a JSON object alone on its line".to_owned());
    }
    match value.get("v").and_then(Value::as_u64) {
        Some(v) if v == u64::from(VERSION) => {}
        Some(v) => return LineKind::Foreign(format!("version {v} of the format is not known")),
        None => return LineKind::Foreign("it has no version `v`".to_owned()),
    }
    let record = match Record::deserialize(value) {
        Ok(record) => record,
        Err(e) => return LineKind::Foreign(one_line(&e.to_string(), 200)),
    };
    // Nothing could follow it, and no log comes so far.
    if record.seq == u64::MAX {
        return LineKind::Foreign(format!("no record has seq {}", u64::MAX));
    }
    // Flattened structs cannot deny unknown fields; a record written back shows what was not read.
    match serde_json::to_value(&record) {
        Ok(written) if written == *value => LineKind::Record(Box::new(record)),
        _ => LineKind::Foreign("it has fields or values that a record does not have".to_owned()),
    }
}
