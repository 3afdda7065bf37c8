//! Recipients: any text is somebody who is written to, or nobody, by one simple rule; whom the
//! judge lets a call write to is the very person who was named, and workflows read the same one.

use crate::assert_plain;
use cofferdam_core::id::{Caller, TurnId};
use cofferdam_core::tool::ErrorCode;
use cofferdam_policy::{JudgedCall, PolicySet, Verdict, judge};
use serde_json::{Value, json};

const PROFILE: &str = "schema = 1\nprofile = \"p\"\nwhy = \"w\"\nmounts = []\n";
const TOOL: &str = "schema = 1\ntool = \"t\"\nprofile = \"p\"\ncomponent = \"builtin\"\nsafety = \"side-effecting\"\n\
    why = \"w\"\n[arguments]\nto = \"recipient\"\n\"to[]\" = \"recipient\"\n";
/// Somebody who is there, beside whoever the bytes name.
const OTHER: &str = "telegram:1002";

/// Judges a call that writes to whoever the bytes name.
pub fn recipients(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let set = PolicySet::parse([("profiles/p.toml", PROFILE), ("tools/t.toml", TOOL)]).expect("sound");
    let policy = set.get("t").expect("there");
    let named = is_named(text);
    for arguments in [json!({ "to": text }), json!({ "to": [OTHER, text] })] {
        let alone = arguments["to"].is_string();
        let call = JudgedCall { id: TurnId::new("fuzz").call(0), tool: policy.tool.clone(), arguments };
        match judge(call, policy) {
            Verdict::Permit(permit) => {
                assert!(named, "{text:?} is nobody");
                let expected: &[&str] = if alone { &[text] } else { &[OTHER, text] };
                assert_eq!(permit.recipients(), expected);
                assert!(permit.may_write_to(text));
                assert!(!permit.may_write_to(&format!("{text}0")));
                assert!(!alone || !permit.may_write_to(&text[1..]));
                assert_eq!(permit.may_write_to(OTHER), !alone || text == OTHER);
            }
            Verdict::Deny(denial) => {
                assert!(!named, "{text:?}: {denial:?}");
                assert_eq!(denial.code, ErrorCode::RecipientDenied);
                assert_plain(&denial.reason);
            }
            Verdict::Ask(pending) => panic!("nothing asks: {pending:?}"),
        }
    }
    // A workflow's person comes apart and together again, and is whom the judge knows.
    match Caller::parse(text) {
        Some(person) => assert_eq!(person.to_string(), text),
        None => assert!(!named, "{text:?} is somebody to the judge alone"),
    }
    nobody_else(policy, text);
}

/// What is no text is nobody, and is told so.
fn nobody_else(policy: &cofferdam_policy::ToolPolicy, text: &str) {
    for odd in [json!({ "name": text }), json!([[text]]), json!(1), json!(true)] {
        let arguments: Value = json!({ "to": odd });
        let call = JudgedCall { id: TurnId::new("fuzz").call(0), tool: policy.tool.clone(), arguments };
        assert!(matches!(judge(call, policy), Verdict::Deny(_)), "{odd}");
    }
}

/// One colon: a channel of lower-case letters before it, an id after it.
fn is_named(text: &str) -> bool {
    let parts: Vec<&str> = text.split(':').collect();
    let [channel, user] = parts[..] else { return false };
    let id = |c: char| matches!(c, 'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-');
    (1..=32).contains(&channel.chars().count())
        && channel.chars().all(|c| c.is_ascii_lowercase())
        && (1..=64).contains(&user.chars().count())
        && user.chars().all(id)
}
