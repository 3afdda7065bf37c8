//! That whatever a changed rule about approvals no longer asks is told as a widening.

use super::{TOOL, WRITING};
use crate::diff::{diff, widens};
use cofferdam_core::id::TurnId;
use cofferdam_core::tool::ToolName;
use cofferdam_policy::{
    Facts, GuestPath, JudgedCall, PathSnapshot, PermittedCall, PolicySet, ToolPolicy, Verdict, judge,
};
use proptest::prelude::*;
use serde_json::{Value, json};

const ARGUMENTS: &str = "read = { path = \"read\" }\nwrite = { path = \"write\" }\nbelow = { path = \"write-below\" }\n\
                         \"many[]\" = { path = \"write\" }\nlist = { path = \"read\" }\n\"list[]\" = { path = \"read\" }\nflag = \"value\"\nbody = \"content\"\nto = \"recipient\"\n";

fn parse(approval: &str) -> Result<PolicySet, String> {
    let profile = format!("schema = 1\nprofile = \"p\"\nwhy = \"w\"\nmounts = [{WRITING}]\n");
    let tool = format!("{TOOL}[arguments]\n{ARGUMENTS}[approval]\n{approval}\n");
    PolicySet::parse([("profiles/p.toml", &*profile), ("tools/t.toml", &*tool)])
        .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
}

fn verdict(policy: &ToolPolicy, arguments: &Value) -> Verdict {
    let tool = ToolName::parse("t").expect("a name");
    judge(JudgedCall { id: TurnId::new("turn").call(0), tool, arguments: arguments.clone() }, policy)
}

fn path(text: &str) -> GuestPath {
    GuestPath::parse(text).expect(text)
}

fn facts(there: &[(&str, Option<PathSnapshot>)], approved: &[&str]) -> Facts {
    Facts {
        there: there.iter().map(|(text, seen)| (path(text), seen.clone())).collect(),
        approved: approved.iter().map(|text| path(text)).collect(),
        ..Facts::default()
    }
}

#[test]
fn a_changed_rule_is_told_with_its_direction() {
    for (old, new, expected) in [
        ("", "write = \"always\"", "narrows: t: approval write: none → always"),
        ("write = \"always\"", "", "widens: t: approval write: always → none"),
        ("to = \"others\"", "", "widens: t: approval to: others → none"),
        ("to = \"always\"", "to = \"others\"", "widens: t: approval to: always → others"),
        ("to = \"others\"", "to = \"always\"", "narrows: t: approval to: others → always"),
        (
            "write = \"always\"",
            "write = \"on-overwrite\"",
            "widens: t: approval write: always → on-overwrite",
        ),
        (
            "write = \"on-overwrite\"",
            "write = \"always\"",
            "narrows: t: approval write: on-overwrite → always",
        ),
        (
            "write = \"on-overwrite\"",
            "write = \"first-time-per-path\"",
            "widens: t: approval write: on-overwrite → first-time-per-path",
        ),
        // A rule that is more specific can ask less than the one that it takes the place of.
        (
            "\"*\" = \"always\"",
            "\"*\" = \"always\"\nwrite = \"on-overwrite\"",
            "widens: t: approval write: none → on-overwrite",
        ),
        (
            "\"*\" = \"always\"",
            "\"*\" = \"always\"\n\"/tmp\" = \"never\"",
            "widens: t: approval /tmp: none → never",
        ),
        (
            "\"*\" = \"always\"\n\"/tmp\" = \"never\"",
            "\"*\" = \"always\"",
            "narrows: t: approval /tmp: never → none",
        ),
        ("", "\"/tmp\" = \"never\"", "neutral: t: approval /tmp: none → never"),
        (
            "\"*\" = \"always\"",
            "\"*\" = \"always\"\n\"/tmp\" = \"always\"",
            "neutral: t: approval /tmp: none → always",
        ),
        ("\"/tmp\" = \"always\"", "", "widens: t: approval /tmp: always → none"),
    ] {
        let (old, new) = (parse(old).expect(old), parse(new).expect(new));
        let told: Vec<_> = diff(&old, &new).iter().map(ToString::to_string).collect();
        assert_eq!(told, [expected]);
    }
}

/// Sets of rules from few choices.
fn rules() -> impl Strategy<Value = String> {
    let when = prop::sample::select(vec!["", "never", "first-time-per-path", "on-overwrite", "always"]);
    let keys = ["*", "read", "write", "below", "flag", "/shared", "/shared/a", "/shared/a/b", "/tmp"];
    prop::collection::vec(when, keys.len()).prop_map(move |whens| {
        let rule = |(key, when): (&str, &str)| {
            let when = match (key, when) {
                (_, "") => return None,
                ("flag", _) => "always",
                ("*", "never") => "never",
                ("*", _) => "always",
                ("read" | "below", "on-overwrite") => "always",
                (_, when) => when,
            };
            Some(format!("{key:?} = {when:?}\n"))
        };
        keys.into_iter().zip(whens).filter_map(rule).collect()
    })
}

/// Slow and obvious: whether a call runs without anybody being asked, under these facts.
fn runs(set: &PolicySet, arguments: &Value, facts: &Facts) -> bool {
    match verdict(set.get("t").expect("there"), arguments) {
        Verdict::Permit(_) => true,
        Verdict::Deny(_) => false,
        Verdict::Ask(pending) => matches!(pending.decide(facts), PermittedCall::Permit(_)),
    }
}

proptest! {
    #[test]
    fn whatever_is_no_longer_asked_is_told_as_a_widening(old in rules(), new in rules()) {
        let (old, new) = (parse(&old).expect("sound"), parse(&new).expect("sound"));
        let paths = ["/shared", "/shared/x", "/shared/a", "/shared/a/x", "/shared/a/b", "/shared/a/b/c", "/tmp", "/tmp/x"];
        let calls = paths.iter().flat_map(|path| {
            [json!({ "read": path }), json!({ "write": path }), json!({ "below": path }), json!({ "many": [path] })]
        });
        let calls: Vec<_> = calls.chain([json!({}), json!({ "flag": true }), json!({ "flag": true, "read": "/tmp/x" })]).collect();
        let nothing: Vec<_> = paths.iter().map(|path| (*path, None)).collect();
        for facts in [facts(&[], &[]), facts(&nothing, &[]), facts(&[], &paths), facts(&nothing, &paths)] {
            for call in &calls {
                if runs(&new, call, &facts) && !runs(&old, call, &facts) {
                    prop_assert!(widens(&diff(&old, &new)), "{call} {facts:?}: {:?}", diff(&old, &new));
                }
            }
        }
        prop_assert_eq!(diff(&old, &new).len(), diff(&new, &old).len());
        prop_assert_eq!(diff(&old, &old), []);
    }
}
