//! How an entry of the log looks.

use super::{name, row};
use cofferdam_core::text::one_line;
use cofferdam_warden::audit::LogEntry;
use serde_json::json;

/// An entry on one line.
pub fn entry_text(entry: &LogEntry) -> String {
    match entry {
        LogEntry::Record { record, .. } => row(record),
        LogEntry::Unreadable { file, offset, bytes, why } => {
            let (file, why) = (name(file), one_line(why, 200));
            format!("unreadable: {bytes} bytes at offset {offset} of {file}: {why}")
        }
    }
}

/// An entry as one line of JSON: a record byte for byte as it is in the file.
pub fn entry_json(entry: &LogEntry) -> String {
    match entry {
        LogEntry::Record { line, .. } => line.clone(),
        LogEntry::Unreadable { file, offset, bytes, why } => {
            let file = name(file);
            json!({ "unreadable": { "file": file, "offset": offset, "bytes": bytes, "why": why } })
                .to_string()
        }
    }
}
