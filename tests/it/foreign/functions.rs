//! Functions that a component exports, by policy file alone: their types make the schema, and
//! values go through JSON both ways.

use super::{answers, does_not_load, ran, ran_as, refused, sha256, tool};
use serde_json::{Value, json};
use support::home::Home;

const MOUNT: &str = r#"mounts = [ { guest = "/shared", access = "read-only" } ]"#;
const GUEST: &str = "examples/functions";

fn policy(export: &str, arguments: &str) -> String {
    format!(
        "safety = \"read-only\"\n[function]\nexport = {export:?}\nsummary = \"Does it.\"\n[arguments]\n{arguments}\n"
    )
}

fn function(export: &str, arguments: &str) -> Home {
    tool(GUEST, MOUNT, &policy(export, arguments))
}

fn of_math(name: &str, arguments: &str) -> Home {
    function(&format!("acme:demo/math@1.2.0#{name}"), arguments)
}

#[test]
fn what_json_cannot_hold_does_not_load() {
    does_not_load(
        &of_math("twice", ""),
        "acme:demo/math@1.2.0#twice has a parameter doubt that is an option of an option",
    );
    does_not_load(&of_math("hold", ""), "acme:demo/math@1.2.0#hold has a parameter thing that is a handle");
    does_not_load(&of_math("give", ""), "acme:demo/math@1.2.0#give has a result that is a handle");
    for absent in ["nothing", "acme:demo/math@1.2.0#nothing", "acme:demo/other@1.2.0#echo"] {
        does_not_load(&function(absent, ""), "it exports no function");
    }
    for unclear in ["", "#echo", "acme:demo/math@1.2.0#", "acme:demo/math@1.2.0"] {
        does_not_load(&function(unclear, ""), "export names no function");
    }
    does_not_load(&function("read-file", ""), "argument \"path\" can hold text and is not classified");
    let both =
        format!("{}[command]\nsummary = \"s\"\nargv = [\"c\"]\n", policy("read-file", "path = \"value\""));
    does_not_load(&tool(GUEST, MOUNT, &both), "keep the one that it is");
    let described = policy("read-file", "path = \"value\"")
        .replace("[arguments]", "[function.describe]\nother = \"x\"\n[arguments]");
    does_not_load(&tool(GUEST, MOUNT, &described), "there is no argument \"other\"");
}

#[test]
fn a_path_is_judged_and_an_error_is_a_failure() {
    let home = function("read-file", "path = { path = \"read\" }");
    std::fs::create_dir_all(home.host("/shared")).expect("writable");
    std::fs::write(home.host("/shared/a"), "there").expect("writable");
    answers(&home, json!({ "path": "/shared/a" }), json!({ "value": "there" }));
    refused(&home, json!({ "path": "/etc/passwd" }), "path_denied", "/etc/passwd");
    refused(&home, json!({ "path": "/shared/b" }), "failed", "/shared/b: ");
    refused(&home, json!({ "path": "/shared/a", "x": 1 }), "invalid_arguments", "x");
}

/// Every argument of `echo` that can hold text.
pub(crate) const ECHOED: &str = r#"
"all.where.label" = "value"
"all.shape.corner.label" = "value"
"all.color" = "value"
"all.styles[]" = "value"
"all.pairs[][0]" = { path = "read" }
"all.bytes" = "content"
"all.big" = "value"
"all.low" = "value"
"all.letter" = "value"
"all.maybe" = "value"
"all.outcome.ok" = "value"
"all.outcome.err" = "value"
"#;

fn all() -> Value {
    json!({ "where": { "x": -128, "y": 65535, "label": "l" }, "shape": { "corner": { "x": 1, "y": 2, "label": null } },
            "color": "dark_red", "styles": ["under_lined"], "pairs": [["/shared/a", 1], ["/shared/b", 2]],
            "bytes": "AP8=", "big": "18446744073709551615", "low": -5, "letter": "\u{1F600}", "ratio": 0.1,
            "maybe": null, "outcome": { "err": "blue" } })
}

#[test]
fn every_type_goes_both_ways() {
    let home = of_math("echo", ECHOED);
    answers(&home, json!({ "all": all() }), all());
    let with = |name: &str, value: Value| {
        let mut all = all();
        all[name] = value;
        json!({ "all": all })
    };
    refused(&home, with("pairs", json!([["/etc/passwd", 1]])), "path_denied", "/etc/passwd");
    for (name, value) in [
        ("where", json!({ "x": 128, "y": 0 })),
        ("where", json!({ "x": 0, "y": -1 })),
        ("shape", json!({ "circle": 1, "nothing": null })),
        ("shape", json!("nothing")),
        ("color", json!("dark-red")),
        ("styles", json!(["bold", "bold"])),
        ("bytes", json!("no base64!")),
        ("big", json!("18446744073709551616")),
        ("big", json!(-1)),
        ("letter", json!("ab")),
        ("ratio", json!(1e300)),
        ("outcome", json!({})),
    ] {
        refused(&home, with(name, value), "invalid_arguments", name);
    }
}

/// Each case of what may be one of several.
#[test]
fn every_case_goes_both_ways() {
    let home = of_math("echo", ECHOED);
    for (name, value) in [
        ("where", json!({ "x": 127, "y": 0, "label": null })),
        ("shape", json!({ "circle": -0.5 })),
        ("shape", json!({ "nothing": null })),
        ("shape", json!({ "corner": { "x": -1, "y": 1, "label": "" } })),
        ("styles", json!([])),
        ("styles", json!(["bold", "under_lined"])),
        ("pairs", json!([])),
        ("bytes", json!("")),
        ("big", json!(0)),
        ("low", json!("-9223372036854775808")),
        ("letter", json!("\u{10FFFF}")),
        ("ratio", json!(-1.5)),
        ("maybe", json!("")),
        ("maybe", json!("some")),
        ("outcome", json!({ "ok": "fine" })),
    ] {
        let mut given = all();
        given[name] = value;
        answers(&home, json!({ "all": given }), given);
    }
}

#[test]
fn results_are_objects_or_failures() {
    let divide = of_math("divide", "");
    answers(&divide, json!({ "a": 1, "b": 4 }), json!({ "value": 0.25 }));
    for (a, b) in [(0, 0), (1, 0)] {
        refused(&divide, json!({ "a": a, "b": b }), "failed", "NaN or an infinite number");
    }
    let check = of_math("check", "");
    answers(&check, json!({ "number": 1 }), json!({}));
    refused(&check, json!({ "number": 7 }), "failed", r#"{"x":7,"y":7,"label":"seven"}"#);
    answers(&of_math("rest", ""), json!({}), json!({}));
    refused(&of_math("crash", ""), json!({}), "trapped", "a bug in the function");
    let paint = of_math("paint", "color = \"value\"\n\"shape.corner.label\" = \"value\"");
    let given = json!({ "shape": { "circle": 2 }, "color": "blue" });
    answers(&paint, given, json!({ "value": "Shape::Circle(2.0) Color::Blue" }));
}

#[test]
fn what_the_policy_says_of_a_function_is_what_is_told_of_it() {
    let described = policy("acme:demo/math@1.2.0#echo", ECHOED)
        .replace("[arguments]", "[function.describe]\nall = \"Comes back.\"\n[arguments]");
    let home = tool(GUEST, MOUNT, &described);
    let tools = home.run(&["tools", "--json"]).json();
    let told =
        tools.as_array().expect("a list").iter().find(|tool| tool["name"] == "foreign").expect("there");
    assert_eq!(told["summary"], "Does it.", "{told}");
    assert_eq!(told["arguments"]["properties"]["all"]["description"], "Comes back.", "{told}");
}

#[test]
fn a_long_list_of_bytes_is_taken() {
    let home = of_math("echo-bytes", "bytes = \"content\"");
    let bytes = "AAAA".repeat(100_000);
    let ran = ran(&home, &json!({ "bytes": bytes }));
    assert_eq!(
        ran.json()["value"].as_str().map(str::len),
        Some(bytes.len()),
        "{:?}",
        &ran.stdout[..200.min(ran.stdout.len())]
    );
}

#[test]
fn one_component_backs_many_tools() {
    let component = format!("component = {{ file = \"foreign.wasm\", sha256 = \"{}\" }}", sha256(GUEST));
    let second = format!(
        "schema = 1\ntool = \"divider\"\nprofile = \"foreign\"\nwhy = \"a test\"\n{component}\n{}",
        policy("acme:demo/math@1.2.0#divide", "")
    );
    let home = function("read-file", "path = { path = \"read\" }").policy("tools/divider.toml", &second);
    assert_eq!(ran_as(&home, "divider", &json!({ "a": 1, "b": 2 })).json(), json!({ "value": 0.5 }));
    refused(&home, json!({ "path": "/shared/none" }), "failed", "/shared/none");
    let cached = std::fs::read_dir(home.state().join("cache")).expect("there").flatten();
    let compiled = cached.filter(|entry| {
        entry.file_name().to_string_lossy().starts_with(&sha256(GUEST))
            && entry.path().extension().is_some_and(|e| e == "cwasm")
    });
    assert_eq!(compiled.count(), 1, "compiled once");
}
