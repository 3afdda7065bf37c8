//! Explanations against the judge: what is told of each place is what the judge rules there.

use super::{MIXED, policies};
use crate::explain::explain;
use cofferdam_core::id::TurnId;
use cofferdam_core::tool::ToolName;
use cofferdam_policy::rulings::rulings;
use cofferdam_policy::{Cause, JudgedCall, PathUse, ToolPolicy, Verdict, judge};
use proptest::prelude::*;
use serde_json::{Value, json};

fn policy() -> ToolPolicy {
    let arguments = "read = { path = \"read\" }\nwrite = { path = \"write\" }\n\"paths[]\" = { path = \"write\" }\ntext = \"value\"";
    policies(MIXED, arguments).get("t").expect("there").clone()
}

fn verdict(arguments: &Value) -> Verdict {
    let tool = ToolName::parse("t").expect("a name");
    judge(JudgedCall { id: TurnId::new("turn").call(0), tool, arguments: arguments.clone() }, &policy())
}

#[test]
fn every_denial_carries_the_rule_that_decided() {
    let not_granted = |mount: &str, how| Cause::NotGranted { mount: mount.into(), how };
    for (arguments, expected) in [
        (json!([]), Cause::NotAnObject),
        (json!({ "other": "x" }), Cause::Unclassified),
        (json!({ "read": 1 }), Cause::Unclassified),
        (json!({ "read": "/vault/key" }), not_granted("/vault", PathUse::Read)),
        (json!({ "write": "/etc/passwd" }), not_granted("/etc", PathUse::Write)),
        (json!({ "write": "/tmp/a" }), Cause::ReadOnlyMount { mount: "/tmp".into() }),
        (json!({ "write": "/shared" }), Cause::MountItself),
    ] {
        match verdict(&arguments) {
            Verdict::Deny(denial) => assert_eq!(denial.cause, expected, "{arguments}"),
            other => panic!("{arguments}: {other:?}"),
        }
    }
    for path in ["/shared/../x", "a", "/shared/.cofferdam-1", "/shared//a"] {
        match verdict(&json!({ "read": path })) {
            Verdict::Deny(denial) => assert!(matches!(denial.cause, Cause::BadPath(_)), "{path}: {denial:?}"),
            other => panic!("{path}: {other:?}"),
        }
    }
}

#[test]
fn each_place_is_told_once_with_its_line_and_its_mounts() {
    let arguments = json!({ "read": "/tmp/a", "text": "x", "n": 1, "paths": ["/shared/a", "/shared/b", "/tmp/c", "/tmp/d"] });
    let places = explain(&policy(), &arguments);
    let told: Vec<_> = places.iter().map(|p| (p.at.as_str(), p.line, p.values)).collect();
    // Six lines say what every tool of these tests says; the seventh is `[arguments]`.
    assert_eq!(told, [("read", Some(8), 1), ("text", Some(11), 1), ("n", None, 1), ("paths[]", Some(10), 4)]);
    let mounts: Vec<_> =
        places[0].mounts.iter().map(|(guest, (_, at))| (guest.as_str(), at.to_string())).collect();
    assert_eq!(mounts, [("/tmp", "profiles/p.toml:4".to_owned())]);
    let paths = &places[3];
    assert_eq!(paths.mounts.keys().collect::<Vec<_>>(), ["/shared"]);
    let reasons: Vec<_> = paths.denials.iter().map(|told| told.denial.reason.as_str()).collect();
    assert_eq!(reasons, ["/tmp is read-only under profile p; write to /shared/…"], "told once");
    let decided = |arguments: &Value| {
        let places = explain(&policy(), arguments);
        places[0].denials[0].decided_at.as_ref().map(ToString::to_string)
    };
    assert_eq!(decided(&json!({ "write": "/tmp/a" })).as_deref(), Some("profiles/p.toml:4"));
    assert_eq!(decided(&json!({ "read": "/vault/a" })).as_deref(), Some("profiles/p.toml:4"));
    assert_eq!(decided(&json!({ "read": "/shared/../a" })), None, "no line of a policy decides");
}

#[test]
fn what_is_told_of_one_place_is_bounded() {
    let paths: Vec<_> = (0..1000).map(|n| format!("/m{n}/a")).collect();
    let places = explain(&policy(), &json!({ "paths": paths }));
    assert_eq!((places.len(), places[0].values, places[0].denials.len()), (1, 1000, 8));
}

fn value() -> impl Strategy<Value = Value> {
    let texts = ["/shared/a", "/tmp/a", "/vault/a", "/shared", "/shared/../a", "x", ""];
    let leaf = prop_oneof![
        prop::sample::select(texts.to_vec()).prop_map(|t| json!(t)),
        Just(json!(1)),
        Just(json!(null))
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            prop::collection::btree_map("read|x", inner, 0..2).prop_map(|m| json!(m)),
        ]
    })
}

proptest! {
    #[test]
    fn the_judge_denies_exactly_what_has_a_denial(
        arguments in prop::collection::btree_map("read|write|paths|text|other", value(), 0..4),
    ) {
        let arguments = json!(arguments);
        let mut first = None;
        let listened = rulings(&arguments, &policy(), |_, ruled| {
            first = first.take().or(ruled.err());
            Ok(())
        });
        prop_assert_eq!(listened, Ok(()));
        let told = explain(&policy(), &arguments).into_iter().find_map(|place| place.denials.into_iter().next());
        match verdict(&arguments) {
            Verdict::Permit(_) | Verdict::Ask(_) => prop_assert_eq!((first, told), (None, None)),
            Verdict::Deny(denial) => {
                prop_assert_eq!(first.as_ref(), Some(&denial));
                prop_assert!(told.is_some());
            }
        }
    }
}
