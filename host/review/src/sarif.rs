//! Findings of reviews as SARIF 2.1.0, the format that code-scanning services read: one run, its
//! rules, its results. Only the fields that we fill are here.
//!
//! <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>

mod rule;

pub use rule::Rule;

use serde::Serialize;
use serde_json::{Value, json};

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The command exits with a problem because of it.
    Error,
    /// Sound, and perhaps a mistake.
    Warning,
    /// Told alone.
    Note,
}

/// One thing that a review found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SarifFinding {
    /// What kind of thing.
    pub rule: Rule,
    /// How much it matters.
    pub level: Level,
    /// What was found and what to do.
    pub message: String,
    /// The file, relative to the folder of policies.
    pub file: String,
    /// The line, from 1; none where it is about the whole file.
    pub line: Option<usize>,
}

/// The log of one run that found these, in their order.
pub fn log(findings: &[SarifFinding]) -> Value {
    let rules: Vec<Value> = Rule::ALL.iter().map(|rule| describe_rule(*rule)).collect();
    let results: Vec<Value> = findings.iter().map(result).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "cofferdam",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn describe_rule(rule: Rule) -> Value {
    let (short, help) = rule.describe();
    json!({
        "id": rule.id(),
        "shortDescription": { "text": text(short) },
        "fullDescription": { "text": text(help) },
        "help": { "text": text(help) },
        "defaultConfiguration": { "level": rule.level() },
    })
}

fn result(finding: &SarifFinding) -> Value {
    json!({
        "ruleId": finding.rule.id(),
        "ruleIndex": Rule::ALL.iter().position(|rule| *rule == finding.rule),
        "level": finding.level,
        "message": { "text": text(&finding.message) },
        "locations": [{ "physicalLocation": {
            "artifactLocation": { "uri": uri(&finding.file) },
            // Services show nothing without a line: the first stands for the whole file.
            "region": { "startLine": finding.line.unwrap_or(1) },
        } }],
    })
}

/// A text as messages have it: braces would be placeholders (§3.11.5), and `[…](…)` a link
/// (§3.11.6).
fn text(plain: &str) -> String {
    plain.replace('{', "{{").replace('}', "}}").replace("](", "] (")
}

/// A path as a relative reference: percent-encoded, and never read as one with a scheme.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_paths_are_spelled_as_the_format_has_them() {
        assert_eq!(text("write { path = \"read\" }"), "write {{ path = \"read\" }}");
        assert_eq!(text("[a](b) [c]"), "[a] (b) [c]");
        assert_eq!(uri("tools/a b#?:%é.toml"), "tools/a%20b%23%3F%3A%25%C3%A9.toml");
    }

    #[test]
    fn rules_have_stable_names_and_each_its_place() {
        for (at, rule) in Rule::ALL.iter().enumerate() {
            let id = rule.id();
            assert!(id.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{id}");
            assert!(!Rule::ALL[..at].iter().any(|before| before.id() == id), "{id} twice");
            let (short, help) = rule.describe();
            assert!(short.ends_with('.') && help.ends_with('.') && short.len() < 255, "{id}");
        }
    }

    #[test]
    fn a_finding_without_a_line_is_at_the_first() {
        let found = SarifFinding {
            rule: Rule::ComponentMismatch,
            level: Level::Error,
            message: "other bytes".into(),
            file: "tools/a.toml".into(),
            line: None,
        };
        let log = log(&[found]);
        let result = &log["runs"][0]["results"][0];
        assert_eq!(result["locations"][0]["physicalLocation"]["region"]["startLine"], 1);
        let index = result["ruleIndex"].as_u64().and_then(|at| usize::try_from(at).ok()).expect("one");
        assert_eq!(log["runs"][0]["tool"]["driver"]["rules"][index]["id"], result["ruleId"]);
    }
}
