//! A call of the audit as it can be made again: its arguments, as far as the record holds them, and
//! what came of it the second time against what is recorded. Pure.

use cofferdam_core::audit::{CallOutcome, Effect, EntryKind, VerdictKind, sha256_hex};
use cofferdam_core::json::parse_strict;
use cofferdam_core::text::one_line;
use cofferdam_policy::{digest_of, spell_word};
use serde_json::Value;
use std::collections::BTreeMap;

/// What the audit lists of one object or list; the rest is counted or left out.
const LISTED_MAX: usize = 64;
/// Differences in files that are told one by one.
const TOLD_MAX: usize = 20;

/// Why the arguments of a record cannot be made again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreplayable {
    /// The audit holds digests, and nobody gives the texts.
    #[error("the audit holds {} by digest alone; give {}", .0.join(", "), .0.iter().map(|at| format!("--argument {at}=@FILE")).collect::<Vec<_>>().join(" "))]
    Missing(Vec<String>),
    /// The audit holds all arguments by one digest, or not all of them.
    #[error("the audit does not list all arguments of this call; give them with --args @FILE")]
    Unlisted,
    /// The audit leaves out the query of an address.
    #[error("the audit holds the address {0} without its query; give all arguments with --args @FILE")]
    Query(String),
    /// A given text is not the one of the record.
    #[error("{at}: the file has {found}, the record says {recorded}; give the very content of that call")]
    Digest {
        /// The argument.
        at: String,
        /// Length and SHA-256 of what was given.
        found: String,
        /// Those of the record.
        recorded: String,
    },
    /// A text is given for what the audit holds, or for nothing.
    #[error("{0}: the record holds no digest there; leave that --argument out")]
    Unasked(String),
    /// A given text is no text, or no JSON where one is needed.
    #[error("{at}: the file is not {what}")]
    Malformed {
        /// The argument.
        at: String,
        /// What is needed.
        what: &'static str,
    },
}

/// The arguments of a record, with `given` in the places that the audit holds by digest: by place,
/// such as `content` or `edits[0].new_text`. And whether they are, byte for byte, the text that was
/// called with.
///
/// # Errors
/// [`Unreplayable`].
pub fn rebuild(
    recorded: &Value,
    arguments_sha256: &str,
    mut given: BTreeMap<String, Vec<u8>>,
) -> Result<(Value, bool), Unreplayable> {
    if is_digest(recorded) || !recorded.is_object() {
        return Err(Unreplayable::Unlisted);
    }
    let mut walk = ReplayWalk { given: &mut given, missing: Vec::new(), is_cut: false };
    let arguments = walk.fill("", recorded)?;
    let ReplayWalk { missing, is_cut, .. } = walk;
    if !missing.is_empty() {
        return Err(Unreplayable::Missing(missing));
    }
    if let Some(at) = given.into_keys().next() {
        return Err(Unreplayable::Unasked(one_line(&at, 200)));
    }
    let is_exact = sha256_hex(arguments.to_string().as_bytes()) == arguments_sha256;
    // Otherwise the spelling differs, or what the policy fills in: the same call all the same.
    if is_cut && !is_exact { Err(Unreplayable::Unlisted) } else { Ok((arguments, is_exact)) }
}

struct ReplayWalk<'a> {
    given: &'a mut BTreeMap<String, Vec<u8>>,
    missing: Vec<String>,
    /// Whether something may have been left out.
    is_cut: bool,
}

impl ReplayWalk<'_> {
    fn fill(&mut self, at: &str, value: &Value) -> Result<Value, Unreplayable> {
        if is_digest(value) {
            let Some(bytes) = self.given.remove(at) else {
                self.missing.push(at.to_owned());
                return Ok(Value::Null);
            };
            return fill_digest(at, value, bytes);
        }
        match value {
            Value::Object(fields) => {
                self.is_cut |= fields.contains_key("…") || fields.keys().any(|key| key.len() >= 80);
                let mut whole = serde_json::Map::new();
                for (key, value) in fields {
                    let at = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
                    whole.insert(key.clone(), self.fill(&at, value)?);
                }
                Ok(whole.into())
            }
            Value::Array(items) => {
                self.is_cut |= items.len() >= LISTED_MAX;
                let fill = |(n, item)| self.fill(&format!("{at}[{n}]"), item);
                items.iter().enumerate().map(fill).collect()
            }
            Value::String(text) if text.ends_with("?[redacted]") => {
                Err(Unreplayable::Query(one_line(text, 200)))
            }
            other => Ok(other.clone()),
        }
    }
}

/// Whether the audit holds what stands here by length and SHA-256 alone.
fn is_digest(value: &Value) -> bool {
    let fields = value.as_object().filter(|fields| fields.len() == 2);
    fields.is_some_and(|fields| {
        let sha256 = fields.get("sha256").and_then(Value::as_str);
        let length = fields.get("bytes").or_else(|| fields.get("json_bytes"));
        sha256.is_some_and(|hex| hex.len() == 64) && length.is_some_and(Value::is_u64)
    })
}

/// The value of this digest that the bytes are.
fn fill_digest(at: &str, recorded: &Value, bytes: Vec<u8>) -> Result<Value, Unreplayable> {
    let malformed = |what| Unreplayable::Malformed { at: one_line(at, 200), what };
    let text = String::from_utf8(bytes).map_err(|_| malformed("UTF-8 text"))?;
    let value = match recorded.get("bytes") {
        Some(_) => Value::String(text),
        None => parse_strict(&text).map_err(|_| malformed("JSON"))?,
    };
    let found = digest_of(&value);
    if found == *recorded {
        return Ok(value);
    }
    let shown = |digest: &Value| {
        let length = digest.get("bytes").unwrap_or(&digest["json_bytes"]);
        format!("{length} bytes with sha256 {}", digest["sha256"].as_str().unwrap_or_default())
    };
    let (found, recorded) = (shown(&found), shown(recorded));
    Err(Unreplayable::Digest { at: one_line(at, 200), found, recorded })
}

/// Each difference between what was recorded and what came of it now, on a line; none when both are
/// the same as far as the audit tells.
pub fn differences(recorded: &CallOutcome, now: &CallOutcome) -> Vec<String> {
    let mut told = Vec::new();
    let (before, after) = (outcome_word(recorded), outcome_word(now));
    if before != after {
        let why = now.reason.as_ref().map_or_else(String::new, |why| format!(" ({})", one_line(why, 400)));
        told.push(format!("outcome: recorded {before}, now {after}{why}"));
    }
    let mut files = Vec::new();
    for at in 0..recorded.files.len().max(now.files.len()) {
        let shown = |files: &[Effect]| files.get(at).map_or_else(|| "nothing".to_owned(), effect);
        let (before, after) = (shown(&recorded.files), shown(&now.files));
        if before != after {
            files.push(format!("file {at}: recorded {before}, now {after}"));
        }
    }
    let more = files.len().saturating_sub(TOLD_MAX);
    files.truncate(TOLD_MAX);
    told.extend(files);
    if more > 0 {
        told.push(format!("and {more} more files"));
    }
    told
}

/// What an outcome came to, in a word.
pub fn outcome_word(outcome: &CallOutcome) -> String {
    match (outcome.verdict, outcome.code) {
        (VerdictKind::Permit, None) => "done".to_owned(),
        (VerdictKind::Permit, Some(code)) => format!("failed {code}"),
        (VerdictKind::Deny, Some(code)) => format!("denied {code}"),
        (VerdictKind::Deny, None) => "denied".to_owned(),
    }
}

/// An effect without what no second run can have, such as an inode.
fn effect(effect: &Effect) -> String {
    let kind = |kind: EntryKind| spell_word(&kind);
    let shown = |path: &str| one_line(path, 4096);
    match effect {
        Effect::Written(file) => format!("{} {} bytes sha256 {}", shown(&file.path), file.bytes, file.sha256),
        Effect::Moved { path, moved_from, kind: moved, .. } => {
            format!("{} {} moved to {}", kind(*moved), shown(moved_from), shown(path))
        }
        Effect::Removed { path, removed, entries } => {
            format!("{} {} removed, {entries} entries", kind(*removed), shown(path))
        }
        Effect::Attached { attached, bytes, sha256, .. } => {
            format!("attached {} {bytes} bytes sha256 {sha256}", shown(attached))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn text_digest(text: &str) -> Value {
        json!({ "bytes": text.len(), "sha256": sha256_hex(text.as_bytes()) })
    }

    fn rebuilt(
        recorded: &Value,
        called: &Value,
        given: &[(&str, &str)],
    ) -> Result<(Value, bool), Unreplayable> {
        let given = given.iter().map(|(at, text)| ((*at).to_owned(), text.as_bytes().to_vec())).collect();
        rebuild(recorded, &sha256_hex(called.to_string().as_bytes()), given)
    }

    #[test]
    fn what_the_audit_holds_by_digest_is_asked_for_and_checked() {
        let called = json!({ "path": "/shared/a", "edits": [{ "new": "x" }], "content": "hello" });
        let edits = json!([{ "new": text_digest("x") }]);
        let recorded = json!({ "path": "/shared/a", "edits": edits, "content": text_digest("hello") });
        let missing = rebuilt(&recorded, &called, &[]).expect_err("digests");
        assert_eq!(missing, Unreplayable::Missing(vec!["edits[0].new".into(), "content".into()]));
        let wrong = rebuilt(&recorded, &called, &[("edits[0].new", "x"), ("content", "hullo")]);
        assert!(matches!(wrong, Err(Unreplayable::Digest { at, .. }) if at == "content"));
        let all = [("edits[0].new", "x"), ("content", "hello")];
        let whole = rebuilt(&recorded, &called, &all).expect("all of it");
        assert_eq!(whole, (called.clone(), true));
        let more = [all[0], all[1], ("path", "/shared/b")];
        assert_eq!(rebuilt(&recorded, &called, &more), Err(Unreplayable::Unasked("path".into())));
    }

    #[test]
    fn what_is_no_string_is_given_as_json() {
        let called = json!({ "value": [1, { "a": 2 }] });
        let text = called["value"].to_string();
        let held = json!({ "json_bytes": text.len(), "sha256": sha256_hex(text.as_bytes()) });
        let recorded = json!({ "value": held });
        let spaced = rebuilt(&recorded, &called, &[("value", "[1, { \"a\": 2 }]")]).expect("the same");
        assert_eq!(spaced, (called.clone(), true));
        let refused = rebuilt(&recorded, &called, &[("value", "[1")]);
        assert!(matches!(refused, Err(Unreplayable::Malformed { what: "JSON", .. })));
    }

    #[test]
    fn what_the_audit_does_not_list_is_never_guessed() {
        let many: Vec<u32> = (0..70).collect();
        let called = json!({ "numbers": many });
        for recorded in [
            text_digest("all of it"),
            json!(null),
            json!({ "numbers": many[..64] }),
            json!({ "a": 1, "…": 3 }),
        ] {
            assert_eq!(rebuilt(&recorded, &called, &[]), Err(Unreplayable::Unlisted), "{recorded}");
        }
        let exact = json!({ "numbers": many[..64] });
        assert!(rebuilt(&exact, &exact, &[]).expect("all of it is there").1);
        let spelled = rebuilt(&json!({ "a": 1 }), &json!({ "b": 1 }), &[]).expect("another text");
        assert!(!spelled.1);
        let address = json!({ "url": "https://example.com/a?[redacted]" });
        assert!(matches!(rebuilt(&address, &address, &[]), Err(Unreplayable::Query(_))));
    }
}
