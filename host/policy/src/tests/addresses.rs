//! Addresses, alone and in lists: what is said of an argument is said of each in its list.

use super::{READING, TOOL};
use crate::{JudgedCall, PolicySet, ToolPolicy, Verdict, judge};
use cofferdam_core::id::TurnId;
use cofferdam_core::tool::ToolName;
use serde_json::{Value, json};

/// An item of a list may have a class of its own.
const ITEM: &str = "\n\"url[0]\" = { url = \"read\" }\n\"url[0][]\" = { url = \"read\" }";

/// A tool that asks two hosts, with these lines after `[arguments]`.
fn policy(lines: &str) -> ToolPolicy {
    let network = r#"network = { hosts = ["a.example", "b.example"], methods = ["GET"], bytes = "1 MiB" }"#;
    let profile = format!("schema = 1\nprofile = \"p\"\nwhy = \"w\"\nmounts = [{READING}]\n{network}\n");
    let tool = format!("{TOOL}[arguments]\n{lines}\n");
    let set = PolicySet::parse([("profiles/p.toml", &*profile), ("tools/t.toml", &*tool)]).expect("sound");
    set.get("t").expect("there").clone()
}

fn said(policy: &ToolPolicy, arguments: Value) -> String {
    let tool = ToolName::parse("t").expect("a name");
    match judge(JudgedCall { id: TurnId::new("turn").call(0), tool, arguments }, policy) {
        Verdict::Permit(_) => "permit".to_owned(),
        Verdict::Deny(denial) => format!("deny: {}", denial.reason),
        Verdict::Ask(pending) => {
            let about: Vec<_> = pending.reasons().iter().map(|reason| reason.about.as_str()).collect();
            format!("ask: {}", about.join(" "))
        }
    }
}

const ONE_OR_SOME: &str = "url = { url = \"read\" }\n\"url[]\" = { url = \"read\" }\n\
                           \"url[][]\" = { url = \"read\" }";

#[test]
fn a_rule_about_an_address_is_about_each_of_a_list_of_them() {
    let asks = policy(&format!("{ONE_OR_SOME}\n[approval]\nurl = \"always\""));
    for (given, expected) in [
        (json!("https://a.example/x"), "ask: url"),
        (json!(["https://a.example/x"]), "ask: url"),
        (json!(["https://a.example/x", ["https://b.example/y"]]), "ask: url url"),
        (json!([]), "permit"),
        (json!([null]), "permit"),
    ] {
        assert_eq!(said(&asks, json!({ "url": given })), expected, "{given}");
    }
    let inner = policy(&format!("{ONE_OR_SOME}\n[approval]\nurl = \"always\"\n\"url[][]\" = \"always\""));
    assert_eq!(said(&inner, json!({ "url": [["https://a.example/x"]] })), "ask: url[][]");
    for (rule, expected) in [("url", "ask: url"), ("\"url[]\"", "ask: url[]"), ("\"url[0]\"", "ask: url[0]")]
    {
        let asks = policy(&format!("{ONE_OR_SOME}{ITEM}\n[approval]\n{rule} = \"always\""));
        assert_eq!(said(&asks, json!({ "url": ["https://a.example/x"] })), expected, "{rule}");
    }
}

#[test]
fn a_rule_about_any_such_item_asks_about_one_with_a_class_of_its_own() {
    let classes = ["pairs[].path", "pairs[0].path", "lists[][]", "lists[0]", "lists[0][]"]
        .map(|at| format!("{at:?} = {{ path = \"read\" }}\n"))
        .concat();
    let pairs = json!({ "pairs": [{ "path": "/shared/a" }] });
    let lists = json!({ "lists": [["/shared/a"]] });
    for (rules, arguments, expected) in [
        ("\"pairs[].path\" = \"always\"", &pairs, "ask: pairs[].path"),
        ("\"pairs[].path\" = \"always\"\n\"pairs[0].path\" = \"never\"", &pairs, "permit"),
        ("\"pairs[].path\" = \"never\"\n\"*\" = \"always\"", &pairs, "ask: *"),
        ("\"lists[][]\" = \"always\"", &lists, "ask: lists[][]"),
        ("\"lists[][]\" = \"always\"\n\"lists[0]\" = \"never\"", &lists, "ask: lists[][]"),
        ("\"lists[][]\" = \"never\"\n\"lists[0]\" = \"always\"", &lists, "ask: lists[0]"),
        ("\"lists[][]\" = \"always\"\n\"lists[0][]\" = \"never\"", &lists, "permit"),
    ] {
        let asks = policy(&format!("{classes}[approval]\n{rules}"));
        assert_eq!(said(&asks, arguments.clone()), expected, "{rules}");
    }
    let inner = policy(&format!("{ONE_OR_SOME}{ITEM}\n[approval]\n\"url[][]\" = \"always\""));
    assert_eq!(said(&inner, json!({ "url": [["https://a.example/x"]] })), "ask: url[][]");
}

#[test]
fn an_address_that_the_policy_gives_is_the_only_one_in_a_list_too() {
    let given = ONE_OR_SOME.replacen(
        "{ url = \"read\" }",
        "{ url = \"read\", default = \"https://a.example/x\" }",
        1,
    );
    for gives in [policy(&given), policy(&format!("{given}{ITEM}"))] {
        for (url, permitted) in [
            (json!(null), true),
            (json!("https://a.example/x"), true),
            (json!(["https://a.example/x"]), true),
            (json!("https://b.example/y"), false),
            (json!(["https://b.example/y"]), false),
            (json!([["https://a.example/z"]]), false),
        ] {
            let expected = if permitted {
                "permit"
            } else {
                "deny: the policy of t gives the address of url; leave url out"
            };
            assert_eq!(said(&gives, json!({ "url": url })), expected, "{url}");
        }
    }
}
