//! When a person is asked: each rule in a table, what does not load, and what facts and approvals
//! bring out.

use super::{TOOL, WRITING};
use crate::{
    ExpectedEntry, Facts, GuestPath, JudgedCall, PathSnapshot, PendingPermit, PermittedCall, PolicySet,
    ToolPolicy, Verdict, judge,
};
use cofferdam_core::audit::EntryKind;
use cofferdam_core::id::TurnId;
use cofferdam_core::tool::{ErrorCode, ToolName};
use serde_json::{Value, json};

const ARGUMENTS: &str = "read = { path = \"read\" }\nwrite = { path = \"write\" }\nbelow = { path = \"write-below\" }\n\
                         \"many[]\" = { path = \"write\" }\nlist = { path = \"read\" }\n\"list[]\" = { path = \"read\" }\nflag = \"value\"\nbody = \"content\"\n";

fn parse(approval: &str) -> Result<PolicySet, String> {
    let profile = format!("schema = 1\nprofile = \"p\"\nwhy = \"w\"\nmounts = [{WRITING}]\n");
    let tool = format!("{TOOL}[arguments]\n{ARGUMENTS}[approval]\n{approval}\n");
    PolicySet::parse([("profiles/p.toml", &*profile), ("tools/t.toml", &*tool)])
        .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
}

fn policy(approval: &str) -> ToolPolicy {
    parse(approval).expect(approval).get("t").expect("there").clone()
}

fn verdict(policy: &ToolPolicy, arguments: &Value) -> Verdict {
    let tool = ToolName::parse("t").expect("a name");
    judge(JudgedCall { id: TurnId::new("turn").call(0), tool, arguments: arguments.clone() }, policy)
}

fn path(text: &str) -> GuestPath {
    GuestPath::parse(text).expect(text)
}

fn ask(policy: &ToolPolicy, arguments: &Value) -> PendingPermit {
    match verdict(policy, arguments) {
        Verdict::Ask(pending) => pending,
        other => panic!("{arguments}: {other:?}"),
    }
}

/// `permit`, or each rule that asks with when and for which path.
fn said(approval: &str, arguments: &str) -> String {
    match verdict(&policy(approval), &serde_json::from_str(arguments).expect("JSON")) {
        Verdict::Permit(_) => "permit".to_owned(),
        Verdict::Deny(denial) => format!("deny: {}", denial.reason),
        Verdict::Ask(pending) => {
            let reasons = pending.reasons().iter().map(|reason| {
                let path = reason.path.as_ref().map_or("-", GuestPath::as_str);
                format!("{} {:?} {path}", reason.about, reason.when)
            });
            reasons.collect::<Vec<_>>().join("; ")
        }
    }
}

#[test]
fn the_most_specific_rule_decides() {
    let all = "\"*\" = \"always\"\n\"/tmp\" = \"never\"\n\"/tmp/keep\" = \"on-overwrite\"\nread = \"never\"";
    for (approval, arguments, expected) in [
        ("", r#"{"write":"/shared/a","flag":true}"#, "permit"),
        (all, "{}", "* Always -"),
        (all, r#"{"flag":true}"#, "* Always -"),
        (all, r#"{"write":"/shared/a"}"#, "* Always /shared/a"),
        (all, r#"{"read":"/shared/a"}"#, "permit"),
        (all, r#"{"write":"/tmp/a"}"#, "permit"),
        (all, r#"{"write":"/tmp/keep"}"#, "/tmp/keep OnOverwrite /tmp/keep"),
        (all, r#"{"write":"/tmp/keep/a/b"}"#, "/tmp/keep OnOverwrite /tmp/keep/a/b"),
        (all, r#"{"write":"/tmp/store_retry"}"#, "permit"),
        (all, r#"{"many":["/tmp/a","/shared/b","/shared/c"]}"#, "* Always /shared/b; * Always /shared/c"),
        (all, r#"{"write":"/tmp/a","read":"/shared/b"}"#, "permit"),
        // What is denied is not asked about.
        (
            all,
            r#"{"write":"/vault/a"}"#,
            "deny: /vault/a is not in a mount of profile p; use /shared/… or /tmp/…",
        ),
    ] {
        assert_eq!(said(approval, arguments), expected, "{approval}: {arguments}");
    }
}

#[test]
fn each_rule_asks_where_it_says() {
    for (approval, arguments, expected) in [
        ("write = \"always\"", r#"{"write":"/shared/a"}"#, "write Always /shared/a"),
        ("write = \"always\"", r#"{"read":"/shared/a","below":"/shared"}"#, "permit"),
        ("write = \"on-overwrite\"", r#"{"write":"/shared/a"}"#, "write OnOverwrite /shared/a"),
        ("read = \"first-time-per-path\"", r#"{"read":"/shared/a"}"#, "read FirstTimePerPath /shared/a"),
        ("\"many[]\" = \"always\"", r#"{"many":["/tmp/a"]}"#, "many[] Always /tmp/a"),
        ("\"many[]\" = \"always\"", r#"{"many":[]}"#, "permit"),
        // One path or a list of them: a rule about the argument is about each.
        ("list = \"always\"", r#"{"list":"/tmp/a"}"#, "list Always /tmp/a"),
        ("list = \"always\"", r#"{"list":["/tmp/a","/tmp/b"]}"#, "list Always /tmp/a; list Always /tmp/b"),
        ("\"list[]\" = \"always\"", r#"{"list":["/tmp/a"]}"#, "list[] Always /tmp/a"),
        ("\"list[]\" = \"always\"", r#"{"list":"/tmp/a"}"#, "permit"),
        ("list = \"always\"\n\"list[]\" = \"never\"", r#"{"list":["/tmp/a"]}"#, "permit"),
        // An argument that is no path asks when it is given; null and false are as good as not
        // given.
        ("flag = \"always\"", r#"{"flag":true}"#, "flag Always -"),
        ("flag = \"always\"", r#"{"flag":"false"}"#, "flag Always -"),
        ("flag = \"always\"", r#"{"flag":0}"#, "flag Always -"),
        ("flag = \"always\"", r#"{"flag":false}"#, "permit"),
        ("flag = \"always\"", r#"{"flag":null}"#, "permit"),
        ("flag = \"always\"", "{}", "permit"),
        ("body = \"always\"", r#"{"body":""}"#, "body Always -"),
        // Reading overwrites nothing; of a folder nobody knows beforehand.
        ("\"/shared\" = \"on-overwrite\"", r#"{"read":"/shared/a"}"#, "permit"),
        ("\"/shared\" = \"on-overwrite\"", r#"{"below":"/shared/a"}"#, "/shared Always /shared/a"),
        // Who moves or removes a folder does so with all that it holds.
        (
            "\"/shared/a/b\" = \"first-time-per-path\"",
            r#"{"write":"/shared/a"}"#,
            "/shared/a/b Always /shared/a",
        ),
        ("\"/shared/a/b\" = \"always\"", r#"{"read":"/shared"}"#, "/shared/a/b Always /shared"),
        ("\"/shared/a/b\" = \"never\"", r#"{"write":"/shared/a"}"#, "permit"),
        ("\"*\" = \"always\"\n\"/shared/a/b\" = \"never\"", r#"{"write":"/shared/a"}"#, "* Always /shared/a"),
        ("\"/shared/a\" = \"always\"", r#"{"write":"/shared/ab"}"#, "permit"),
    ] {
        assert_eq!(said(approval, arguments), expected, "{approval}: {arguments}");
    }
}

#[test]
fn what_could_never_be_meant_does_not_load() {
    for (approval, expected) in [
        (
            "path = \"always\"",
            "tools/t.toml:17: t: [approval] no argument \"path\" is classified; write one of",
        ),
        ("\"*\" = \"on-overwrite\"", "write \"*\" = \"always\" or \"never\", or name an argument"),
        ("\"*\" = \"first-time-per-path\"", "\"*\" is every call, not a path"),
        (
            "read = \"on-overwrite\"",
            "\"read\" is no path that is written itself; write \"read\" = \"always\"",
        ),
        ("below = \"on-overwrite\"", "\"below\" is no path that is written itself"),
        ("flag = \"first-time-per-path\"", "\"flag\" is no path; write \"flag\" = \"always\", or remove"),
        ("flag = \"on-overwrite\"", "\"flag\" is no path"),
        ("body = \"never\"", "\"body\" is no path; write \"body\" = \"always\", or remove the line"),
        ("\"/vault\" = \"always\"", "\"/vault\" is in no mount of the profile"),
        ("\"/shared/../x\" = \"always\"", "has a . or .. component"),
        ("\"/shared/\" = \"always\"", "has an empty component"),
        ("write = \"sometimes\"", "tools/t.toml:17: unknown variant `sometimes`, expected one of `never`, "),
        ("write = true", "tools/t.toml:17: "),
        ("write = { ask = \"always\" }", "tools/t.toml:17: "),
    ] {
        let said = parse(approval).map(|_| ()).expect_err(approval);
        assert!(said.contains(expected), "{approval}: {said}");
    }
    let nothing_written = "schema = 1\ntool = \"t\"\nprofile = \"p\"\ncomponent = \"builtin\"\nsafety = \"read-only\"\nwhy = \"w\"\n\
        [arguments]\nread = { path = \"read\" }\n[approval]\n\"/shared\" = \"on-overwrite\"\n";
    let profile = "schema = 1\nprofile = \"p\"\nwhy = \"w\"\nmounts = [ { guest = \"/shared\", access = \"read-only\" } ]\n";
    let set = PolicySet::parse([("profiles/p.toml", profile), ("tools/t.toml", nothing_written)]);
    let said = set.map(|_| ()).expect_err("nothing is written")[0].to_string();
    assert!(said.contains("no argument is a path that is written itself"), "{said}");
}

fn file(inode: u64) -> PathSnapshot {
    PathSnapshot { kind: EntryKind::File, bytes: 3, number: (1, inode), modified: (0, 0), changed: (0, 0) }
}

fn facts(there: &[(&str, Option<PathSnapshot>)], approved: &[&str]) -> Facts {
    Facts {
        asker: None,
        there: there.iter().map(|(text, seen)| (path(text), seen.clone())).collect(),
        approved: approved.iter().map(|text| path(text)).collect(),
        ..Facts::default()
    }
}

#[test]
fn facts_settle_what_they_can_and_their_absence_asks() {
    let rules = policy("write = \"on-overwrite\"\nread = \"first-time-per-path\"\nbelow = \"always\"");
    let asks = |arguments: Value, facts: Facts| match ask(&rules, &arguments).decide(&facts) {
        PermittedCall::Permit(_) => 0,
        PermittedCall::Ask(pending) => pending.reasons().len(),
    };
    let write = json!({ "write": "/shared/a" });
    assert_eq!(asks(write.clone(), facts(&[], &[])), 1, "nobody looked");
    assert_eq!(asks(write.clone(), facts(&[("/shared/a", Some(file(1)))], &["/shared/a"])), 1);
    assert_eq!(asks(write.clone(), facts(&[("/shared/b", None)], &[])), 1, "somebody looked elsewhere");
    assert_eq!(asks(write, facts(&[("/shared/a", None)], &[])), 0);
    let read = json!({ "read": "/shared/a" });
    assert_eq!(asks(read.clone(), facts(&[("/shared/a", None)], &[])), 1);
    assert_eq!(asks(read.clone(), facts(&[], &["/shared", "/shared/a/b"])), 1, "that very path");
    assert_eq!(asks(read, facts(&[], &["/shared/a"])), 0);
    let below = json!({ "below": "/shared/a" });
    assert_eq!(asks(below, facts(&[("/shared/a", None)], &["/shared/a"])), 1);
    let both = json!({ "write": "/shared/a", "read": "/shared/b" });
    assert_eq!(asks(both.clone(), facts(&[("/shared/a", None)], &[])), 1);
    assert_eq!(asks(both, facts(&[("/shared/a", None)], &["/shared/b"])), 0);
}

#[test]
fn a_permit_holds_for_what_was_seen_and_no_more() {
    let rules = policy("write = \"on-overwrite\"");
    let write = json!({ "write": "/shared/a" });
    let PermittedCall::Permit(permit) = ask(&rules, &write).decide(&facts(&[("/shared/a", None)], &[]))
    else {
        panic!("nothing is there")
    };
    assert_eq!(permit.expected(&path("/shared/a")), ExpectedEntry::Nothing);
    assert_eq!(permit.expected(&path("/shared/b")), ExpectedEntry::Anything);
    let seen = file(7);
    let there = facts(&[("/shared/a", Some(seen.clone()))], &[]);
    let PermittedCall::Ask(asked) = ask(&rules, &write).decide(&there) else { panic!("it is there") };
    let sha256 = asked.sha256("shown");
    let permit = asked.grant("shown", &sha256).expect("this very call");
    assert_eq!(permit.expected(&path("/shared/a")), ExpectedEntry::This(&seen));
}

#[test]
fn an_approval_is_good_for_exactly_what_was_shown() {
    let rules = policy("write = \"always\"");
    let there = |inode| facts(&[("/shared/a", Some(file(inode)))], &[]);
    let asked =
        |policy: &ToolPolicy, arguments: Value, facts: Facts| match ask(policy, &arguments).decide(&facts) {
            PermittedCall::Ask(pending) => pending,
            permitted => panic!("{permitted:?}"),
        };
    let call = json!({ "write": "/shared/a", "body": "x" });
    let sha256 = asked(&rules, call.clone(), there(1)).sha256("shown");
    assert!(asked(&rules, call.clone(), there(1)).grant("shown", &sha256).is_ok());
    let other_policy = policy("write = \"always\"\nflag = \"always\"");
    for (why, pending, shown) in [
        ("other words", asked(&rules, call.clone(), there(1)), "other"),
        ("another file", asked(&rules, call.clone(), there(2)), "shown"),
        ("nobody looked", asked(&rules, call.clone(), facts(&[], &[])), "shown"),
        ("another content", asked(&rules, json!({ "write": "/shared/a", "body": "y" }), there(1)), "shown"),
        ("another path", asked(&rules, json!({ "write": "/shared/b", "body": "x" }), there(1)), "shown"),
        ("another policy", asked(&other_policy, call.clone(), there(1)), "shown"),
    ] {
        let denial = pending.grant(shown, &sha256).map(|_| ()).expect_err(why);
        assert_eq!(denial.code, ErrorCode::ApprovalDenied, "{why}");
    }
    let again = JudgedCall {
        id: TurnId::new("turn").call(1),
        tool: ToolName::parse("t").expect("a name"),
        arguments: call,
    };
    let Verdict::Ask(again) = judge(again, &rules) else { panic!("it asks") };
    let PermittedCall::Ask(again) = again.decide(&there(1)) else { panic!("it asks") };
    assert!(again.grant("shown", &sha256).is_err(), "another call");
    assert!(asked(&rules, json!({ "write": "/shared/a" }), there(1)).grant("shown", "").is_err());
}

#[test]
fn what_is_read_is_what_was_approved() {
    let rules = policy("read = \"always\"");
    let found =
        |seen: Option<PathSnapshot>| Facts { found: [(path("/shared/a"), seen)].into(), ..Facts::default() };
    let asked = |facts: &Facts| match ask(&rules, &json!({ "read": "/shared/a" })).decide(facts) {
        PermittedCall::Ask(pending) => pending,
        permitted => panic!("{permitted:?}"),
    };
    let sha256 = asked(&found(Some(file(1)))).sha256("shown");
    let permit = asked(&found(Some(file(1)))).grant("shown", &sha256).expect("as it was");
    assert_eq!(permit.expected_to_read(&path("/shared/a")), ExpectedEntry::This(&file(1)));
    assert_eq!(permit.expected_to_read(&path("/shared/b")), ExpectedEntry::Anything);
    assert_eq!(permit.expected(&path("/shared/a")), ExpectedEntry::Anything, "it writes nothing");
    for (why, facts) in
        [("another file", found(Some(file(2)))), ("none", found(None)), ("nobody looked", Facts::default())]
    {
        let denial = asked(&facts).grant("shown", &sha256).map(|_| ()).expect_err(why);
        assert_eq!(denial.code, ErrorCode::ApprovalDenied, "{why}");
    }
    let none = asked(&found(None)).sha256("shown");
    let permit = asked(&found(None)).grant("shown", &none).expect("as it was");
    assert_eq!(permit.expected_to_read(&path("/shared/a")), ExpectedEntry::Nothing);
}
