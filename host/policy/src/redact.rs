//! Arguments as the audit may hold them: by their class, bounded, and nothing that no policy
//! classifies.

use crate::{ArgumentClass, ToolPolicy};
use cofferdam_core::audit::sha256_hex;
use cofferdam_core::network::Address;
use serde_json::{Map, Value, json};

/// A string argument longer than this is audited as its length and hash.
pub const VALUE_BYTES_MAX: usize = 1024;

/// Longer redacted arguments are audited as their length and hash alone, so that a record fits its
/// line.
pub const ARGUMENTS_BYTES_MAX: usize = 16 * 1024;

/// Deeper arguments are audited as their length and hash alone.
const DEPTH_MAX: usize = 16;

/// Arguments as the audit may hold them: `content` as length and SHA-256, `value` bounded,
/// everything that no policy classifies treated as content.
pub fn redact(arguments: &Value, policy: Option<&ToolPolicy>) -> Value {
    let Value::Object(object) = arguments else { return digest_of(arguments) };
    if depth(arguments) > DEPTH_MAX {
        return digest_of(arguments);
    }
    let shown = redact_object(object, policy);
    if shown.to_string().len() > ARGUMENTS_BYTES_MAX { digest_of(arguments) } else { shown }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn redact_object(object: &Map<String, Value>, policy: Option<&ToolPolicy>) -> Value {
    let mut shown = Map::new();
    for (key, value) in object.iter().take(ARGUMENTS_MAX) {
        insert_apart(&mut shown, key, redact_at(key, value, policy));
    }
    if object.len() > ARGUMENTS_MAX {
        insert_apart(&mut shown, "…", json!(object.len() - ARGUMENTS_MAX));
    }
    Value::Object(shown)
}

/// Adds a value under its name, bounded. Of names that read alike then, each further one has a part
/// of its SHA-256 besides.
fn insert_apart(shown: &mut Map<String, Value>, key: &str, value: Value) {
    let mut name = cofferdam_core::text::one_line(key, 80);
    let mut sha256 = sha256_hex(key.as_bytes());
    while shown.contains_key(&name) {
        name = format!("{} {}", cofferdam_core::text::one_line(key, 80), &sha256[..16]);
        // For a name that was chosen to be that one.
        sha256 = sha256_hex(sha256.as_bytes());
    }
    shown.insert(name, value);
}

/// More arguments than this are counted, not listed.
const ARGUMENTS_MAX: usize = 64;

/// What lies at a longer place is told as length and hash: a policy names no such place, and each
/// place within it would repeat the name.
const PLACE_BYTES_MAX: usize = 1024;

fn redact_at(at: &str, value: &Value, policy: Option<&ToolPolicy>) -> Value {
    if at.len() > PLACE_BYTES_MAX {
        return digest_of(value);
    }
    match policy.and_then(|p| p.class(at)) {
        Some(ArgumentClass::Content) => digest_of(value),
        // One or a list of them: each in the list has a class of its own.
        Some(_) if value.is_array() && policy.is_some_and(|p| p.class(&format!("{at}[]")).is_some()) => {
            redact_items(at, value, policy)
        }
        Some(ArgumentClass::Value | ArgumentClass::Recipient | ArgumentClass::Path(_)) => {
            truncate_value(value)
        }
        Some(ArgumentClass::Url(_)) => address(value),
        None => match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
            Value::String(_) => digest_of(value),
            Value::Array(_) => redact_items(at, value, policy),
            Value::Object(fields) => {
                let mut shown = Map::new();
                for (key, value) in fields.iter().take(ARGUMENTS_MAX) {
                    insert_apart(&mut shown, key, redact_at(&format!("{at}.{key}"), value, policy));
                }
                Value::Object(shown)
            }
        },
    }
}

fn redact_items(at: &str, value: &Value, policy: Option<&ToolPolicy>) -> Value {
    let items = value.as_array().into_iter().flatten().take(ARGUMENTS_MAX);
    match policy.map(|policy| policy.item_places(at)) {
        Some(place) => items.enumerate().map(|(index, v)| redact_at(&place(index), v, policy)).collect(),
        None => items.map(|v| redact_at(&format!("{at}[]"), v, policy)).collect(),
    }
}

fn truncate_value(value: &Value) -> Value {
    match value {
        Value::String(text) if text.len() <= VALUE_BYTES_MAX => value.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        _ => digest_of(value),
    }
}

/// An address without its query, which may be somebody's key. What is no address is told by length
/// and hash.
fn address(value: &Value) -> Value {
    match value {
        Value::String(text) => match text.parse::<Address>() {
            Ok(address) => json!(address.redacted()),
            Err(_) => digest_of(value),
        },
        _ => truncate_value(value),
    }
}

/// What the audit holds in place of a value: length and SHA-256 of a text, or of the JSON of
/// anything else.
pub fn digest_of(value: &Value) -> Value {
    match value {
        Value::String(text) => json!({ "bytes": text.len(), "sha256": sha256_hex(text.as_bytes()) }),
        other => {
            let text = other.to_string();
            json!({ "json_bytes": text.len(), "sha256": sha256_hex(text.as_bytes()) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PolicySet;

    fn policy() -> PolicySet {
        let profile = "schema = 1\nprofile = \"p\"\nwhy = \"w\"\nmounts = [ { guest = \"/shared\", access = \"atomic-write\" } ]";
        let tool = "schema = 1\ntool = \"t\"\nprofile = \"p\"\ncomponent = \"builtin\"\nsafety = \"side-effecting\"\nwhy = \"w\"\n\
                    [arguments]\npath = { path = \"write\" }\ncontent = \"content\"\n\"edits[].new\" = \"content\"\nnote = \"value\"";
        PolicySet::parse([("profiles/p.toml", profile), ("tools/t.toml", tool)]).expect("sound")
    }

    #[test]
    fn content_and_the_unclassified_never_appear() {
        let set = policy();
        let arguments = json!({ "path": "/shared/a", "content": "SECRET", "note": "seen", "edits": [{ "new": "SECRET", "n": 1 }],
                                "unknown": "SECRET", "nested": { "deep": ["SECRET"] }, "flag": true });
        let shown = redact(&arguments, set.get("t")).to_string();
        assert!(!shown.contains("SECRET"), "{shown}");
        assert!(
            shown.contains("\"path\":\"/shared/a\"")
                && shown.contains("\"note\":\"seen\"")
                && shown.contains("\"flag\":true")
        );
        assert!(shown.contains(&sha256_hex(b"SECRET")));
        assert!(!redact(&arguments, None).to_string().contains("seen"));
    }

    #[test]
    fn one_path_or_a_list_of_them_is_told_as_it_is() {
        let profile = "schema = 1\nprofile = \"p\"\nwhy = \"w\"\nmounts = [ { guest = \"/shared\", access = \"read-only\" } ]";
        let tool = "schema = 1\ntool = \"t\"\nprofile = \"p\"\ncomponent = \"builtin\"\nsafety = \"read-only\"\nwhy = \"w\"\n\
                    [arguments]\npaths = { path = \"read\" }\n\"paths[]\" = { path = \"read\" }\nlist = \"value\"";
        let set = PolicySet::parse([("profiles/p.toml", profile), ("tools/t.toml", tool)]).expect("sound");
        let told = |arguments: Value| redact(&arguments, set.get("t"));
        for arguments in [json!({ "paths": "/shared/a" }), json!({ "paths": ["/shared/a", "/shared/b"] })] {
            assert_eq!(told(arguments.clone()), arguments);
        }
        assert!(!told(json!({ "list": ["SECRET"] })).to_string().contains("SECRET"));
        assert!(!told(json!({ "paths": [{ "x": "SECRET" }] })).to_string().contains("SECRET"));
    }

    #[test]
    fn a_long_name_is_not_repeated_for_all_that_lies_below_it() {
        // 4 096 places with a name of a mebibyte each would be 4 GiB to write and to throw away.
        let inner: Map<_, _> = (0..64).map(|n| (n.to_string(), json!({ "x": n }))).collect();
        let outer: Map<_, _> = (0..64).map(|n| (n.to_string(), json!(inner))).collect();
        let shown = redact(&json!({ "k".repeat(1 << 20): outer }), None);
        let (name, told) = shown.as_object().and_then(|shown| shown.iter().next()).expect("one");
        assert!(name.len() <= 80 && told["sha256"].is_string(), "{shown}");
        let short = redact(&json!({ "k": { "n": 1 } }), None);
        assert_eq!(short, json!({ "k": { "n": 1 } }));
    }

    #[test]
    fn names_that_read_alike_are_each_kept() {
        let long = |end: &str| format!("{}{end}", "k".repeat(100));
        // The name that the second one gets is given, too.
        let shown = redact(&json!({ "a ": 1, "a\u{202e}": 2 }), None);
        let taken = shown.as_object().and_then(|shown| shown.keys().max()).expect("two").clone();
        let arguments = json!({ long("a"): 1, long("b"): 2, "a ": 3, "a\u{202e}": 4, taken: 5 });
        for (given, at) in [(arguments.clone(), ""), (json!({ "in": arguments }), "/in")] {
            let shown = redact(&given, None);
            let fields = shown.pointer(at).and_then(Value::as_object).expect("an object");
            let mut told: Vec<_> = fields.values().filter_map(Value::as_u64).collect();
            told.sort_unstable();
            assert_eq!(told, [1, 2, 3, 4, 5], "{shown}");
        }
    }

    #[test]
    fn whatever_is_given_the_record_stays_small_and_flat() {
        let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
        let wide: Value =
            (0..1000).map(|n| (format!("k{n}"), json!("v".repeat(1000)))).collect::<Map<_, _>>().into();
        let numbers = json!({ "n": vec![vec![1; 60]; 60], "m": vec![vec![vec![12345678; 60]; 60]; 60] });
        for arguments in [
            json!({ "a": deep }),
            wide,
            numbers,
            json!("x".repeat(100_000)),
            json!({ "note": "x".repeat(100_000) }),
        ] {
            let shown = redact(&arguments, policy().get("t"));
            assert!(shown.to_string().len() <= ARGUMENTS_BYTES_MAX && depth(&shown) <= DEPTH_MAX);
        }
    }
}
