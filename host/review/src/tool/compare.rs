//! What came of a call against what a case expects: each difference as a line for its author. Pure.

use super::case::{Case, CaseContent, ExpectedFile};
use cofferdam_core::text::one_line;
use cofferdam_core::tool::ToolError;
use serde_json::Value;
use std::collections::BTreeMap;

/// Differences told of one case; the rest are counted.
const DIFFERENCES_MAX: usize = 20;
/// A value in a difference, in bytes.
const SHOWN_BYTES_MAX: usize = 400;

/// The files of a workspace by virtual path.
pub type WorkspaceFiles = BTreeMap<String, Vec<u8>>;

/// Every difference between the case and what was seen; none when it passed.
pub fn differences(
    case: &Case,
    result: &Result<Value, ToolError>,
    after: &WorkspaceFiles,
    sent: &[ExpectedFile],
) -> Vec<String> {
    let mut told = Vec::new();
    let expect = &case.expect;
    match (result, &expect.result, &expect.result_includes, expect.error) {
        (Ok(got), Some(whole), _, _) => values("result", whole, got, ExtraFields::Told, &mut told),
        (Ok(got), _, Some(part), _) => values("result", part, got, ExtraFields::Allowed, &mut told),
        (Ok(got), _, _, Some(code)) => {
            told.push(format!("expected the error {code}, got the result {}", show_value(got)));
        }
        (Err(error), _, _, Some(code)) if error.code == code => {
            let words = expect.message_contains.as_deref().unwrap_or_default();
            if !error.message.contains(words) {
                told.push(format!("expected a message that contains {words:?}, got {:?}", error.message));
            }
        }
        (Err(error), _, _, expected) => {
            let expected = expected.map_or_else(|| "a result".into(), |code| format!("the error {code}"));
            told.push(format!("expected {expected}, got the error {error}"));
        }
        (Ok(_), None, None, None) => told.push("the case expects nothing".into()),
    }
    files(case, after, &mut told);
    reply(&expect.reply, sent, &mut told);
    let more = told.len().saturating_sub(DIFFERENCES_MAX);
    if more > 0 {
        told.truncate(DIFFERENCES_MAX);
        told.push(format!("and {more} more"));
    }
    told
}

/// What becomes of fields that were not expected.
#[derive(Clone, Copy, PartialEq)]
enum ExtraFields {
    Told,
    Allowed,
}

fn values(at: &str, expected: &Value, got: &Value, extra: ExtraFields, told: &mut Vec<String>) {
    match (expected, got) {
        (Value::Object(wanted), Value::Object(there)) => {
            for (name, wanted) in wanted {
                let at = format!("{at}.{}", one_line(name, 80));
                match there.get(name) {
                    Some(there) => values(&at, wanted, there, extra, told),
                    None => told.push(format!("{at}: expected {}, got nothing", show_value(wanted))),
                }
            }
            for (name, there) in there.iter().filter(|(name, _)| !wanted.contains_key(*name)) {
                if extra == ExtraFields::Told {
                    let at = format!("{at}.{}", one_line(name, 80));
                    told.push(format!("{at}: expected nothing, got {}", show_value(there)));
                }
            }
        }
        (Value::Array(wanted), Value::Array(there)) if wanted.len() == there.len() => {
            for (index, (wanted, there)) in wanted.iter().zip(there).enumerate() {
                values(&format!("{at}[{index}]"), wanted, there, extra, told);
            }
        }
        _ if expected == got => {}
        _ => told.push(format!("{at}: expected {}, got {}", show_value(expected), show_value(got))),
    }
}

fn files(case: &Case, after: &WorkspaceFiles, told: &mut Vec<String>) {
    let mut expected: BTreeMap<&str, Option<&CaseContent>> =
        case.workspace.iter().map(|(path, content)| (path.as_str(), Some(content))).collect();
    expected.extend(case.expect.files.iter().map(|(path, content)| (path.as_str(), content.as_ref())));
    let shown = |content: Option<&Vec<u8>>| content.map_or_else(|| "no file".to_owned(), |c| bytes(c));
    for (path, content) in &expected {
        let (wanted, there) = (content.map(|CaseContent(bytes)| bytes), after.get(*path));
        if wanted != there {
            told.push(format!("{path}: expected {}, got {}", shown(wanted), shown(there)));
        }
    }
    for (path, there) in after.iter().filter(|(path, _)| !expected.contains_key(path.as_str())) {
        told.push(format!("{}: not in expect.files, got {}", one_line(path, 200), bytes(there)));
    }
}

fn reply(expected: &[ExpectedFile], sent: &[ExpectedFile], told: &mut Vec<String>) {
    let file = |ExpectedFile { name, content }: &ExpectedFile| {
        format!("{:?} with {}", one_line(name, 120), bytes(&content.0))
    };
    for n in 0..expected.len().max(sent.len()) {
        let (wanted, there) = (expected.get(n), sent.get(n));
        let got = there.map_or_else(|| "no file".to_owned(), file);
        match wanted {
            _ if wanted == there => {}
            Some(wanted) => told.push(format!("reply[{n}]: expected {}, got {got}", file(wanted))),
            None => told.push(format!("reply[{n}]: not in expect.reply, got {got}")),
        }
    }
}

fn show_value(value: &Value) -> String {
    one_line(&value.to_string(), SHOWN_BYTES_MAX)
}

fn bytes(content: &[u8]) -> String {
    match std::str::from_utf8(content) {
        // As it would stand in the case's file.
        Ok(text) => show_value(&Value::from(text)),
        Err(_) => {
            format!("{} bytes with sha256 {}", content.len(), cofferdam_core::audit::sha256_hex(content))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_core::tool::ErrorCode;
    use serde_json::json;

    /// What is told of a call with this result and these files, under this `workspace` and
    /// `expect`.
    fn told(
        workspace: Value,
        expect: Value,
        result: Result<Value, ToolError>,
        after: &[(&str, &str)],
    ) -> Vec<String> {
        let case = json!({ "workspace": workspace, "expect": expect });
        let case = serde_json::from_value(case).expect("a case");
        let after = after.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()));
        differences(&case, &result, &after.collect(), &[])
    }

    #[test]
    fn files_of_the_reply_are_compared_in_order() {
        let check = |expected: Value, expected_told: &[&str]| {
            let case = json!({ "expect": { "result": {}, "reply": expected } });
            let case = serde_json::from_value(case).expect("a case");
            let file = |name: &str| ExpectedFile { name: name.into(), content: CaseContent(b"x".to_vec()) };
            let told = differences(&case, &Ok(json!({})), &WorkspaceFiles::new(), &[file("a"), file("b")]);
            assert_eq!(told, expected_told, "{expected}");
        };
        let (a, b) = (json!({ "name": "a", "content": "x" }), json!({ "name": "b", "content": "x" }));
        check(json!([a, b]), &[]);
        check(json!([a]), &["reply[1]: not in expect.reply, got \"b\" with \"x\""]);
        check(json!([b, b]), &["reply[0]: expected \"b\" with \"x\", got \"a\" with \"x\""]);
        check(
            json!([a, { "name": "b", "content": { "base64": "AA==" } }, b]),
            &[
                "reply[1]: expected \"b\" with \"\\u0000\", got \"b\" with \"x\"",
                "reply[2]: expected \"b\" with \"x\", got no file",
            ],
        );
    }

    #[test]
    fn results_are_compared_field_by_field() {
        let got = || Ok(json!({ "a": 1, "list": [1, { "b": "x" }] }));
        let check = |expect: Value, expected: &[&str]| {
            assert_eq!(told(json!({}), expect.clone(), got(), &[]), expected, "{expect}");
        };
        check(json!({ "result": { "a": 1, "list": [1, { "b": "x" }] } }), &[]);
        check(json!({ "result": { "a": 1 } }), &["result.list: expected nothing, got [1,{\"b\":\"x\"}]"]);
        check(json!({ "result_includes": { "a": 1 } }), &[]);
        check(json!({ "result_includes": { "list": [1, {}] } }), &[]);
        check(
            json!({ "result_includes": { "list": [1] } }),
            &["result.list: expected [1], got [1,{\"b\":\"x\"}]"],
        );
        check(
            json!({ "result_includes": { "list": [1, { "b": "y" }] } }),
            &["result.list[1].b: expected \"y\", got \"x\""],
        );
        check(json!({ "result_includes": { "c": null } }), &["result.c: expected null, got nothing"]);
        check(
            json!({ "error": "not_found" }),
            &["expected the error not_found, got the result {\"a\":1,\"list\":[1,{\"b\":\"x\"}]}"],
        );
    }

    #[test]
    fn errors_are_compared_by_code_and_words() {
        let failed = || Err(ToolError::new(ErrorCode::NotFound, "There is nothing at /shared/a"));
        let check = |expect: Value, expected: &[&str]| {
            assert_eq!(told(json!({}), expect.clone(), failed(), &[]), expected, "{expect}");
        };
        check(json!({ "error": "not_found" }), &[]);
        check(json!({ "error": "not_found", "message_contains": "/shared/a" }), &[]);
        check(
            json!({ "error": "not_found", "message_contains": "/tmp" }),
            &["expected a message that contains \"/tmp\", got \"There is nothing at /shared/a\""],
        );
        check(
            json!({ "error": "path_denied" }),
            &["expected the error path_denied, got the error not_found: There is nothing at /shared/a"],
        );
        check(
            json!({ "result": {} }),
            &["expected a result, got the error not_found: There is nothing at /shared/a"],
        );
    }

    #[test]
    fn every_file_that_differs_is_told() {
        let ok = || Ok(json!({}));
        let before = json!({ "/shared/a": "old" });
        let check = |files: Value, after: &[(&str, &str)], expected: &[&str]| {
            let expect = json!({ "result": {}, "files": files });
            assert_eq!(told(before.clone(), expect, ok(), after), expected, "{files}");
        };
        check(json!({}), &[("/shared/a", "old")], &[]);
        check(json!({}), &[("/shared/a", "new")], &["/shared/a: expected \"old\", got \"new\""]);
        check(json!({ "/shared/a": "new" }), &[("/shared/a", "new")], &[]);
        check(json!({ "/shared/a": null }), &[], &[]);
        check(
            json!({ "/shared/a": null }),
            &[("/shared/a", "old")],
            &["/shared/a: expected no file, got \"old\""],
        );
        check(json!({}), &[], &["/shared/a: expected \"old\", got no file"]);
        check(
            json!({}),
            &[("/shared/a", "old"), ("/tmp/b", "x")],
            &["/tmp/b: not in expect.files, got \"x\""],
        );
        check(
            json!({ "/shared/b": { "base64": "AP8=" } }),
            &[("/shared/a", "old")],
            &[
                "/shared/b: expected 2 bytes with sha256 06eb7d6a69ee19e5fbdf749018d3d2abfa04bcbd1365db312eb86dc7169389b8, got no file",
            ],
        );
    }

    #[test]
    fn what_is_told_is_bounded_and_plain() {
        let many: serde_json::Map<_, _> =
            (0..50).map(|n| (format!("n{n}"), json!("x".repeat(2000)))).collect();
        let told =
            told(json!({}), json!({ "result": {} }), Ok(Value::Object(many)), &[("/tmp/\u{202e}", "\u{1b}")]);
        assert_eq!(told.len(), DIFFERENCES_MAX + 1);
        assert_eq!(told.last().map(String::as_str), Some("and 31 more"));
        assert!(
            told.iter().all(|line| line.len() < 600 && !line.contains(['\u{1b}', '\u{202e}'])),
            "{told:?}"
        );
    }
}
