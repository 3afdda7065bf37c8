//! Arguments: read strictly, completed, judged against the oracle, and redacted so that no content
//! shows.
//!
//! The bytes are a JSON text, or, where they begin with something else than `{`, words `key=value`,
//! one a line.

use crate::tree::Tree;
use crate::{assert_plain, oracle};
use cofferdam_core::arguments::from_pairs;
use cofferdam_core::id::TurnId;
use cofferdam_core::json::parse_strict;
use cofferdam_policy::{ARGUMENTS_BYTES_MAX, redact};
use cofferdam_policy::{GuestPath, JudgedCall, PolicySet, ToolPolicy, Verdict, judge};
use cofferdam_review::explain::explain;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::LazyLock;

const PROFILE: &str = "schema = 1\nprofile = \"p\"\nwhy = \"w\"\nmounts = [ { guest = \"/shared\", access = \"atomic-write\" }, { guest = \"/tmp\", access = \"read-only\" } ]\n";
const TOOL: &str = "schema = 1\ntool = \"t\"\nprofile = \"p\"\ncomponent = \"builtin\"\nsafety = \"side-effecting\"\nwhy = \"w\"\n\
                    [arguments]\npath = { path = \"write\", home = \"/shared\" }\nfrom = { path = \"read\", default = \"/tmp\" }\n\
                    dir = { path = \"write-below\" }\n\"paths[]\" = { path = \"read\" }\n\"moves[].to\" = { path = \"write\" }\n\
                    content = \"content\"\n\"edits[].new\" = \"content\"\nnote = \"value\"\n\"note.at[]\" = { path = \"write\" }\n";

static POLICY: LazyLock<ToolPolicy> = LazyLock::new(|| {
    let set =
        PolicySet::parse([("profiles/p.toml", PROFILE), ("tools/t.toml", TOOL)]).expect("sound policies");
    set.get("t").expect("there").clone()
});

/// What stands in for every text that the audit must not show.
const SECRET: &str = "s3cr3t";

/// Reads the bytes as the command line and a model's call do, and holds what follows to the rules.
pub fn arguments(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if !text.starts_with('{') {
        words(text);
        return;
    }
    if let Some(value) = read(text) {
        called(value);
    }
}

fn words(text: &str) {
    let schema = json!({ "properties": { "path": { "type": "string" }, "content": { "type": ["string", "null"] },
                                         "paths": { "type": "array" } } });
    let words: Vec<&str> = text.split('\n').collect();
    match from_pairs(&schema, &words) {
        Ok(value) => {
            let keys: BTreeSet<_> = words.iter().filter_map(|word| Some(word.split_once('=')?.0)).collect();
            assert_eq!(value.as_object().map(|fields| fields.len()), Some(words.len()));
            assert_eq!(keys.len(), words.len(), "no word is lost");
            for word in words {
                if let Some(text) = word.strip_prefix("path=") {
                    assert_eq!(value["path"], json!(text), "text is taken as it is");
                }
            }
            called(value);
        }
        Err(bad) => assert_plain(&bad.to_string()),
    }
}

/// The value of a text; exactly those that a lenient reader takes and that give no key twice.
fn read(text: &str) -> Option<Value> {
    let strict = parse_strict(text);
    match serde_json::from_str::<Tree>(text) {
        Ok(tree) => {
            assert_eq!(strict.is_ok(), !tree.doubles(), "{text:?}: {strict:?}");
            if let Ok(value) = &strict {
                assert_eq!(serde_json::from_str::<Value>(text).ok().as_ref(), Some(value));
            }
        }
        Err(error) => assert!(strict.is_err(), "{text:?} is read although {error}"),
    }
    if let Err(error) = &strict {
        assert_plain(&error.to_string());
    }
    strict.ok()
}

/// Completes, judges and redacts.
fn called(mut arguments: Value) {
    POLICY.complete(&mut arguments);
    let once = arguments.clone();
    POLICY.complete(&mut arguments);
    assert_eq!(arguments, once, "completing twice");
    judged(&arguments);
    for policy in [Some(&*POLICY), None] {
        let shown = redact(&arguments, policy).to_string();
        assert!(shown.len() <= ARGUMENTS_BYTES_MAX, "{} bytes", shown.len());
        let hidden = redact(&hide("", &arguments, policy), policy).to_string();
        assert!(!hidden.contains(SECRET), "the audit shows it: {hidden}");
    }
}

fn judged(arguments: &Value) {
    let mut reasons = Vec::new();
    let mut writes = Vec::new();
    if arguments.is_object() {
        walk("", arguments, &mut reasons, &mut writes);
    } else {
        reasons.push("no object".into());
    }
    let call = JudgedCall {
        id: TurnId::new("fuzz").call(0),
        tool: POLICY.tool.clone(),
        arguments: arguments.clone(),
    };
    let explained = explain(&POLICY, arguments);
    let denied = explained.iter().any(|place| !place.denials.is_empty());
    match judge(call, &POLICY) {
        Verdict::Permit(permit) => {
            assert_eq!(reasons, Vec::<String>::new(), "permitted: {arguments}");
            assert!(!denied, "explained as a denial: {arguments}");
            for (path, may) in &writes {
                let path = GuestPath::parse(path).expect("judged");
                assert_eq!(permit.may_stage(&path), *may || staged(&writes, path.as_str()), "{path}");
            }
        }
        Verdict::Ask(_) => panic!("this policy asks nobody"),
        Verdict::Deny(denial) => {
            assert!(!reasons.is_empty(), "denied: {}: {arguments}", denial.reason);
            assert!(denied, "explained as a permit: {arguments}");
            assert_plain(&denial.reason);
        }
    }
}

/// Whether one of the arguments' paths was judged for writing, or lies below one that was.
fn staged(paths: &[(String, bool)], wanted: &str) -> bool {
    paths.iter().any(|(path, write)| if *write { path == wanted } else { oracle::is_below(wanted, path) })
}

/// Why the rules deny this value, if they do, and the paths for writing (`true`) or writing below.
fn walk(at: &str, value: &Value, reasons: &mut Vec<String>, writes: &mut Vec<(String, bool)>) {
    let (how, optional) = match at {
        "content" | "edits[].new" => return,
        "note" => {
            // Only what has a class of its own within it is judged.
            for (name, value) in value.as_object().into_iter().flatten() {
                match (name.as_str(), value) {
                    ("at[]", item) => walk("note.at[]", item, reasons, writes),
                    ("at", Value::Array(items)) => {
                        items.iter().for_each(|item| walk("note.at[]", item, reasons, writes));
                    }
                    _ => {}
                }
            }
            return;
        }
        "path" | "moves[].to" | "note.at[]" => ("write", true),
        "from" | "paths[]" => ("read", true),
        "dir" => ("below", true),
        _ => ("", false),
    };
    match value {
        Value::String(text) if how.is_empty() => reasons.push(format!("{at}: {text:?} is not classified")),
        Value::String(text) => {
            let mount = oracle::components(text).first().copied().unwrap_or_default().to_owned();
            let granted = mount == "shared" || (mount == "tmp" && how == "read");
            let file = how != "write" || text.matches('/').count() > 1;
            if !(oracle::is_guest_path(text) && granted && file) {
                reasons.push(format!("{at}: {text:?}"));
            }
            if how != "read" {
                writes.push((text.clone(), how == "write"));
            }
        }
        Value::Null if optional => {}
        other if optional => reasons.push(format!("{at}: {other} is no path")),
        Value::Array(items) => {
            items.iter().for_each(|item| walk(&format!("{at}[]"), item, reasons, writes));
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                let at = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
                // A name may be empty, and then what is below it is no root.
                let at = if at.is_empty() { "?".to_owned() } else { at };
                walk(&at, value, reasons, writes);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The arguments with every text that must not show replaced by one that can be found again.
fn hide(at: &str, value: &Value, policy: Option<&ToolPolicy>) -> Value {
    let shown = policy.is_some()
        && ["path", "moves[].to", "from", "paths[]", "dir", "note", "note.at[]"].contains(&at);
    match value {
        Value::String(_) if !shown => json!(SECRET),
        // What is no text at such a place is a digest as a whole.
        Value::Array(items) => {
            let at = format!("{at}[]");
            items.iter().map(|item| hide(&at, item, policy)).collect()
        }
        Value::Object(fields) => {
            let place = |name: &String| if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
            // Names are shown, and a text could be in one by chance.
            let name = |name: &String| name.replace(SECRET, "name");
            let hidden = fields.iter().map(|(key, value)| (name(key), hide(&place(key), value, policy)));
            Value::Object(hidden.collect())
        }
        Value::String(text) => json!(text.replace(SECRET, "text")),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}
