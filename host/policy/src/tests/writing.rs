//! People who are written to: who is one, when the person whom the call is for is asked, and what
//! does not load.

use super::{READING, TOOL};
use crate::{Facts, JudgedCall, PendingPermit, PermittedCall, PolicySet, Verdict, judge};
use cofferdam_core::id::TurnId;
use cofferdam_core::tool::{ErrorCode, ToolName};
use serde_json::{Value, json};

const ARGUMENTS: &str = "to = \"recipient\"\n\"send.to\" = \"recipient\"\n\"many[]\" = \"recipient\"\nmany = \"recipient\"\n\
                         text = \"content\"\nread = { path = \"read\" }\n";

fn parse(approval: &str) -> Result<PolicySet, String> {
    let profile = format!("schema = 1\nprofile = \"p\"\nwhy = \"w\"\nmounts = [{READING}]\n");
    let tool = format!("{TOOL}[arguments]\n{ARGUMENTS}[approval]\n{approval}\n");
    PolicySet::parse([("profiles/p.toml", &*profile), ("tools/t.toml", &*tool)])
        .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
}

fn verdict(approval: &str, arguments: Value) -> Verdict {
    let set = parse(approval).expect(approval);
    let tool = ToolName::parse("t").expect("a name");
    judge(JudgedCall { id: TurnId::new("turn").call(0), tool, arguments }, set.get("t").expect("there"))
}

fn facts(asker: Option<&str>) -> Facts {
    Facts { asker: asker.map(str::to_owned), ..Facts::default() }
}

#[test]
fn who_is_nobody_is_not_written_to() {
    for to in ["", "ben", "telegram:", ":1", "Telegram:1", "telegram:1 2", "telegram:1\n", "telegram:../1"] {
        for arguments in [json!({ "to": to }), json!({ "send": { "to": to } }), json!({ "many": [to] })] {
            match verdict("", arguments) {
                Verdict::Deny(denial) => assert_eq!(denial.code, ErrorCode::RecipientDenied, "{to:?}"),
                other => panic!("{to:?}: {other:?}"),
            }
        }
    }
    for other in [json!({ "to": 1 }), json!({ "to": ["telegram:1"] }), json!({ "to": { "a": "telegram:1" } })]
    {
        assert!(matches!(verdict("", other.clone()), Verdict::Deny(_)), "{other}");
    }
}

#[test]
fn a_permit_names_everybody_who_is_written_to() {
    let arguments = json!({ "to": "telegram:1", "send": { "to": "discord:2" }, "many": ["telegram:3"] });
    let Verdict::Permit(permit) = verdict("", arguments) else { panic!("no rule asks") };
    for to in ["telegram:1", "discord:2", "telegram:3"] {
        assert!(permit.may_write_to(to), "{to}");
    }
    assert!(!permit.may_write_to("telegram:4") && !permit.may_write_to(""));
    assert!(
        matches!(verdict("", json!({ "to": null, "text": "x" })), Verdict::Permit(permit) if permit.recipients().is_empty())
    );
}

#[test]
fn others_are_asked_about_and_oneself_is_not() {
    let ask = |arguments: Value| -> PendingPermit {
        match verdict("to = \"others\"\n\"send.to\" = \"others\"\n\"many[]\" = \"others\"", arguments) {
            Verdict::Ask(pending) => pending,
            other => panic!("{other:?}"),
        }
    };
    let asks = |arguments: Value, asker: Option<&str>| {
        matches!(ask(arguments).decide(&facts(asker)), PermittedCall::Ask(_))
    };
    for one in [json!({ "to": "telegram:1" }), json!({ "send": { "to": "telegram:1" } })] {
        assert!(!asks(one.clone(), Some("telegram:1")));
        assert!(asks(one.clone(), Some("telegram:2")));
        assert!(asks(one.clone(), Some("discord:1")), "the same number elsewhere is somebody else");
        assert!(asks(one, None), "who is not known is nobody");
    }
    assert!(
        asks(json!({ "many": ["telegram:1", "telegram:2"] }), Some("telegram:1")),
        "one of them is enough"
    );
    assert!(!asks(json!({ "many": ["telegram:1"] }), Some("telegram:1")));
    // With a file it is no different.
    assert!(asks(json!({ "to": "telegram:2", "read": "/shared/a" }), Some("telegram:1")));
    let always = verdict("to = \"always\"", json!({ "to": "telegram:1" }));
    let Verdict::Ask(always) = always else { panic!("it asks") };
    assert!(matches!(always.decide(&facts(Some("telegram:1"))), PermittedCall::Ask(_)));
}

#[test]
fn a_rule_that_could_never_do_does_not_load() {
    for (rule, said) in [
        ("text = \"others\"", "is nobody who is written to"),
        ("read = \"others\"", "is nobody who is written to"),
        ("\"/shared\" = \"others\"", "a path is nobody who is written to"),
        ("\"*\" = \"others\"", "is every call"),
        ("to = \"on-overwrite\"", "write \"to\" = \"others\""),
        ("to = \"first-time-per-path\"", "write \"to\" = \"others\""),
        ("nobody = \"others\"", "no argument \"nobody\""),
        ("to = \"strangers\"", "others"),
    ] {
        let refused = parse(rule).expect_err(rule);
        assert!(refused.contains(said), "{rule}: {refused}");
    }
}
