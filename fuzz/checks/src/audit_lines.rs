//! Lines of the audit: whatever is in one, reading it ends; what is a record stays one when it is
//! written again.

use cofferdam_core::audit::{AuditEvent, Record};
use cofferdam_core::json::parse_strict;
use serde::Deserialize;
use serde_json::Value;

/// Reads every line, and writes again what is a record.
pub fn audit_lines(data: &[u8]) {
    for line in data.split(|b| *b == b'\n').take(64) {
        let Ok(text) = std::str::from_utf8(line) else { continue };
        let Ok(value) = parse_strict(text) else { continue };
        let Ok(record) = Record::deserialize(&value) else { continue };
        let written = serde_json::to_string(&record).expect("a record can be written");
        assert!(!written.contains('\n'), "{written}");
        // The reader of JSON is exact for fractions only with a feature that nothing here needs: a
        // record is compared by its bytes on disk.
        if has_fraction(&value) {
            continue;
        }
        let value = parse_strict(&written).expect("what was written is JSON, each key once");
        let again = Record::deserialize(&value).expect("what was written is a record");
        assert_eq!(again, record, "{written}");
        assert_eq!(serde_json::to_string(&again).expect("again"), written);
        if let AuditEvent::Intent(intent) = &record.event {
            for path in intent.files.iter().filter_map(|effect| effect.path()) {
                assert!(written.contains(&Value::from(path).to_string()), "{written}");
            }
        }
    }
}

fn has_fraction(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64(),
        Value::Array(items) => items.iter().any(has_fraction),
        Value::Object(fields) => fields.values().any(has_fraction),
        _ => false,
    }
}
