//! Arguments of commands: what a call says becomes whole elements of `argv`, as many as its policy
//! has room for, and none that the command would take for an option unless the policy says so.
//!
//! The bytes are elements by one letter each, a NUL, and the arguments as JSON.

use crate::assert_plain;
use cofferdam_core::entry::EntryCall;
use cofferdam_core::id::TurnId;
use cofferdam_core::json::parse_strict;
use cofferdam_core::tool::ErrorCode;
use cofferdam_policy::{JudgedCall, PolicySet, Verdict, judge};
use serde_json::Value;

/// Elements after the command's own name.
const ELEMENTS_MAX: usize = 24;
const PROFILE: &str = "schema = 1\nprofile = \"p\"\nwhy = \"w\"\nmounts = []\n";

/// An element as the policy writes it, by its letter.
#[derive(Clone, Copy, PartialEq)]
enum Spec {
    Word,
    Dash,
    End,
    Flag,
    Long,
    Short,
    From,
    Number,
    Each,
}

/// Judges a call of a command; holds what it would be run with to what is promised.
pub fn argv(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Some((letters, text)) = text.split_once('\0') else { return };
    let Ok(arguments @ Value::Object(_)) = parse_strict(text) else { return };
    let specs: Vec<_> = letters.bytes().filter_map(spec).take(ELEMENTS_MAX).collect();
    let tool = tool(&specs);
    let set = PolicySet::parse([("profiles/p.toml", PROFILE), ("tools/t.toml", &*tool)])
        .unwrap_or_else(|problems| panic!("{problems:?} in {tool}"));
    let policy = set.get("t").expect("there");
    let call = JudgedCall {
        id: TurnId::new("fuzz").call(0),
        tool: policy.tool.clone(),
        arguments: arguments.clone(),
    };
    match judge(call, policy) {
        Verdict::Permit(permit) => {
            let EntryCall::Command(run) = permit.entry() else {
                panic!("{:?} is no command", permit.entry())
            };
            assert_eq!(Some(&run.argv), expected(&specs, &arguments).as_ref(), "{arguments}");
            assert!(run.argv.iter().all(|element| !element.contains('\0')), "{:?}", run.argv);
            assert_eq!(run.stdin, text_of(&arguments["text"]));
        }
        Verdict::Deny(denial) => {
            assert_eq!(denial.code, ErrorCode::InvalidArguments, "{denial:?}");
            assert_plain(&denial.reason);
            // Else it was denied for a text that the policy does not know.
            if is_classified(&arguments) {
                assert_eq!(expected(&specs, &arguments), None, "{arguments}: {denial:?}");
            }
        }
        Verdict::Ask(pending) => panic!("nothing asks: {pending:?}"),
    }
}

fn spec(letter: u8) -> Option<Spec> {
    Some(match letter {
        b'w' => Spec::Word,
        b'-' => Spec::Dash,
        b'=' => Spec::End,
        b'f' => Spec::Flag,
        b'l' => Spec::Long,
        b's' => Spec::Short,
        b't' => Spec::From,
        b'n' => Spec::Number,
        b'e' => Spec::Each,
        _ => return None,
    })
}

fn tool(specs: &[Spec]) -> String {
    let spelled = |spec: &Spec| match spec {
        Spec::Word => r#", "word""#,
        Spec::Dash => r#", "-x""#,
        Spec::End => r#", "--""#,
        Spec::Flag => r#", { flag = "-f", if = "yes" }"#,
        Spec::Long => r#", { option = "--long", from = "text" }"#,
        Spec::Short => r#", { option = "-s", from = "text" }"#,
        Spec::From => r#", { from = "text" }"#,
        Spec::Number => r#", { from = "number" }"#,
        Spec::Each => r#", { each = "items" }"#,
    };
    let elements: String = specs.iter().map(spelled).collect();
    let argument = |name: &str, of: &str| format!("[command.schema.{name}]\n{of}\noptional = true\n");
    let schema = [
        argument("text", "type = \"string\""),
        argument("number", "type = \"number\""),
        argument("yes", "type = \"boolean\""),
        argument("items", "type = \"array\"\nitems = { type = \"string\" }"),
    ];
    format!(
        "schema = 1\ntool = \"t\"\nprofile = \"p\"\ncomponent = {{ file = \"c.wasm\", sha256 = \"{}\" }}\n\
         safety = \"read-only\"\nwhy = \"w\"\n[command]\nsummary = \"S.\"\nargv = [\"own\"{elements}]\n\
         stdin = {{ from = \"text\" }}\n{}[arguments]\ntext = \"value\"\nnumber = \"value\"\nyes = \"value\"\n\"items[]\" = \"value\"\n",
        "0".repeat(64),
        schema.concat()
    )
}

/// What the contract says of one argument: its text, none where it is no text, number or boolean,
/// and of a whole number that a double may have rounded.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) if number.is_i64() || number.is_u64() => Some(number.to_string()),
        Value::Number(number) => match number.as_f64()? {
            float if float.fract() != 0.0 => Some(number.to_string()),
            float if float.abs() < 2f64.powi(53) => Some((float as i64).to_string()),
            _ => None,
        },
        Value::Bool(true) => Some("true".into()),
        Value::Bool(false) => Some("false".into()),
        _ => None,
    }
}

fn plain(value: &Value) -> Option<String> {
    text_of(value).filter(|text| !text.bytes().any(|byte| byte == 0))
}

/// Whether the policy has a rule for each text.
fn is_classified(arguments: &Value) -> bool {
    let known = |name: &String| ["text", "number", "yes", "items"].contains(&name.as_str());
    let items = match &arguments["items"] {
        Value::Array(items) => items.iter().all(|item| !item.is_array() && !item.is_object()),
        Value::String(_) | Value::Object(_) => false,
        _ => true,
    };
    items && arguments.as_object().is_some_and(|all| all.keys().all(known))
}

/// What the command is run with, said plainly; none where that is refused.
fn expected(specs: &[Spec], arguments: &Value) -> Option<Vec<String>> {
    // It is the standard input as well.
    if arguments["text"].is_number() {
        text_of(&arguments["text"])?;
    }
    let mut argv = vec!["own".to_owned()];
    // Options have ended; and what the command takes next for a value, whatever it looks like.
    let mut ended = false;
    let mut eaten_next = false;
    let mut dash_was_eaten = false;
    for (at, spec) in specs.iter().enumerate() {
        let given = |name: &str| Some(&arguments[name]).filter(|value| !value.is_null());
        let passes = match spec {
            Spec::Word | Spec::Dash | Spec::End => true,
            Spec::Flag => arguments["yes"] == Value::Bool(true),
            Spec::Long | Spec::Short | Spec::From => given("text").is_some(),
            Spec::Number => given("number").is_some(),
            Spec::Each => {
                given("items").is_some_and(|items| items.as_array().is_none_or(|items| !items.is_empty()))
            }
        };
        // A literal that begins with `-` stands right before, and is no value itself.
        let after_dash = at > 0 && matches!(specs[at - 1], Spec::Dash | Spec::End) && !dash_was_eaten;
        let eaten = eaten_next;
        dash_was_eaten = eaten;
        ended |= *spec == Spec::End && !eaten;
        eaten_next =
            !passes && (eaten || after_dash && matches!(spec, Spec::From | Spec::Number | Spec::Each));
        let value =
            |value: &Value, may_begin: bool| plain(value).filter(|text| may_begin || !text.starts_with('-'));
        match spec {
            Spec::Word => argv.push("word".into()),
            Spec::Dash => argv.push("-x".into()),
            Spec::End => argv.push("--".into()),
            Spec::Flag if arguments["yes"] == Value::Bool(true) => argv.push("-f".into()),
            Spec::Flag => {}
            Spec::Long | Spec::Short => {
                let Some(given) = given("text") else { continue };
                match spec {
                    Spec::Long => argv.push(format!("--long={}", plain(given)?)),
                    _ => argv.extend(["-s".to_owned(), value(given, ended || !eaten)?]),
                }
            }
            Spec::From | Spec::Number => {
                let name = if *spec == Spec::From { "text" } else { "number" };
                let Some(given) = given(name) else { continue };
                argv.push(value(given, ended || after_dash)?);
            }
            Spec::Each => {
                let Some(given) = given("items") else { continue };
                for (n, item) in given.as_array()?.iter().enumerate() {
                    argv.push(value(item, ended || (after_dash && n == 0))?);
                }
            }
        }
    }
    Some(argv)
}
