//! `policy check` and `policy diff` as SARIF 2.1.0: valid by the schema that OASIS publishes, with
//! what code-scanning services ask for besides, and with the exit codes of the text.

use super::help::compare;
use serde_json::{Value, json};
use std::fs;
use support::guests;
use support::home::{Home, Ran};

/// The schema as published: `sarif-schema-2.1.0.json` of the OASIS committee.
const SCHEMA: &str = include_str!("../../support/sarif-2.1.0.json");

/// The results of a run; panics unless the log is valid.
fn results(ran: &Ran) -> Vec<Value> {
    let log = ran.json();
    // As published, one pattern (of a field that we have not) has a bracket too many.
    let schema = SCHEMA.replace("[a-zA-Z]{2}]?$", "[a-zA-Z]{2}$");
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    let schema = jsonschema::validator_for(&schema).expect("a schema");
    let wrong: Vec<_> = schema.iter_errors(&log).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(wrong.is_empty(), "{wrong:?} in {log:#}");
    let [run] = log["runs"].as_array().expect("a list").as_slice() else { panic!("one run: {log:#}") };
    let rules = run["tool"]["driver"]["rules"].as_array().expect("rules");
    for rule in rules {
        for text in ["shortDescription", "fullDescription", "help"] {
            assert!(rule[text]["text"].as_str().is_some_and(|text| !text.is_empty()), "{rule}");
        }
    }
    let results = run["results"].as_array().expect("results").clone();
    for result in &results {
        services_take(result, rules);
    }
    results
}

/// What services show nothing without: a rule that is listed, a text, a file within the
/// repository, a line.
fn services_take(result: &Value, rules: &[Value]) {
    let index = result["ruleIndex"].as_u64().and_then(|at| usize::try_from(at).ok()).expect("an index");
    assert_eq!(rules[index]["id"], result["ruleId"], "{result}");
    assert!(result["message"]["text"].as_str().is_some_and(|text| !text.is_empty()), "{result}");
    let place = &result["locations"][0]["physicalLocation"];
    let uri = place["artifactLocation"]["uri"].as_str().expect("a URI");
    assert!(uri.starts_with("tools/") || uri.starts_with("profiles/"), "{uri}");
    assert!(place["region"]["startLine"].as_u64().is_some_and(|line| line > 0), "{result}");
}

/// Rule, level and line of each result.
fn told(results: &[Value]) -> Vec<Value> {
    let one = |result: &Value| {
        let place = &result["locations"][0]["physicalLocation"];
        json!([
            result["ruleId"],
            result["level"],
            place["artifactLocation"]["uri"],
            place["region"]["startLine"]
        ])
    };
    results.iter().map(one).collect()
}

fn change(home: &Home, file: &str, from: &str, to: &str) {
    let path = home.policies_dir().join(file);
    let text = fs::read_to_string(&path).expect("there");
    assert!(text.contains(from), "{from} in {file}: {text}");
    fs::write(path, text.replace(from, to)).expect("writable");
}

#[test]
fn what_does_not_load_is_an_error_and_what_is_doubtful_a_warning() {
    let home = Home::new().tool("sums", "file-read-only", "minimal", "safety = \"read-only\"\n");
    change(&home, "tools/sums.toml", &guests::sha256(&guests::bytes("minimal")), &"a".repeat(64));
    change(&home, "tools/file_read.toml", "path = { path = \"read\" }", "path = \"value\"");
    let text = home.run(&["policy", "check"]);
    let ran = home.run(&["policy", "check", "--format", "sarif"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(3), ""), "{ran:?}");
    assert_eq!(text.code, Some(3));
    let results = results(&ran);
    let told = told(&results);
    assert!(told.contains(&json!(["component-mismatch", "error", "tools/sums.toml", 5])), "{told:?}");
    let warned = told.iter().find(|told| told[0] == "argument-named-like-path").expect("one");
    assert_eq!((&warned[1], &warned[2]), (&json!("warning"), &json!("tools/file_read.toml")));
    assert!(told.contains(&json!(["tool-off", "note", "tools/web_fetch.toml", 1])), "{told:?}");
    let lines = |start: &str| text.stdout.lines().filter(|line| line.starts_with(start)).count();
    let of = |level: &str| told.iter().filter(|told| told[1] == level).count();
    assert_eq!((of("error"), of("warning")), (lines("problem: "), lines("warning: ")));
    // Braces in a message would be placeholders.
    let warning = results.iter().find(|result| result["ruleId"] == "argument-named-like-path").expect("one");
    assert!(warning["message"]["text"].as_str().expect("text").contains("{{ path = \"read\" }}"));
}

#[test]
fn policies_that_are_not_understood_are_told_with_their_lines() {
    let home = Home::new().own_policies();
    change(&home, "tools/file_read.toml", "schema = 1", "schema = 2");
    let ran = home.run(&["policy", "check", "--format", "sarif"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert_eq!(told(&results(&ran)), [json!(["policy-invalid", "error", "tools/file_read.toml", 1])]);
    let ran = home.run(&["policy", "diff", "policies", "policies", "--format", "sarif"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert_eq!(told(&results(&ran)).len(), 2, "of either side: {ran:?}");
}

#[test]
fn sound_policies_are_a_log_without_errors() {
    let home = Home::new();
    let ran = home.run(&["policy", "check", "--format", "sarif"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert!(results(&ran).iter().all(|result| result["level"] == "note"), "{ran:?}");
}

#[test]
fn a_difference_is_an_error_where_it_widens_and_else_a_note() {
    let home = Home::new().own_policies();
    let old = home.dir().join("old");
    copy(&home.policies_dir(), &old);
    change(&home, "profiles/web-fetch.toml", "hosts = []", "hosts = [\"example.com\"]");
    change(&home, "tools/attachment_save.toml", "memory = \"32 MiB\"", "memory = \"31 MiB\"");
    change(&home, "tools/attachment_save.toml", "path = \"write\"", "path = \"write-below\"");
    fs::remove_file(home.policies_dir().join("tools/file_read.toml")).expect("ours");
    let old = old.to_str().expect("text");
    let ran = home.run(&["policy", "diff", old, "policies", "--format", "sarif"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(3), ""), "{ran:?}");
    let found = told(&results(&ran));
    let at = |file: &str, text: &str| {
        let all = fs::read_to_string(home.policies_dir().join(file)).expect("there");
        all.lines().position(|line| line.contains(text)).expect("there") + 1
    };
    let save = "tools/attachment_save.toml";
    for expected in [
        json!([
            "host-changed",
            "error",
            "profiles/web-fetch.toml",
            at("profiles/web-fetch.toml", "hosts = [")
        ]),
        json!(["limit-changed", "note", save, at(save, "memory")]),
        json!(["argument-changed", "error", save, at(save, "write-below")]),
        json!(["tool-changed", "note", "tools/file_read.toml", 1]),
    ] {
        assert!(found.contains(&expected), "{expected} in {found:?}");
    }
    compare("policy-diff-sarif", &ran.stdout);
    let same = home.run(&["policy", "diff", "policies", "policies", "--format", "sarif"]);
    assert_eq!((same.code, results(&same).len()), (Some(0), 0));
    assert_eq!(home.run(&["policy", "diff", old, "policies", "--format", "json", "--json"]).code, Some(2));
    let json = home.run(&["policy", "diff", old, "policies", "--format", "json"]);
    assert_eq!(json.stdout, home.run(&["policy", "diff", old, "policies", "--json"]).stdout);
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    for folder in ["profiles", "tools"] {
        fs::create_dir_all(to.join(folder)).expect("writable");
        for entry in fs::read_dir(from.join(folder)).expect("there").flatten() {
            fs::copy(entry.path(), to.join(folder).join(entry.file_name())).expect("writable");
        }
    }
}
