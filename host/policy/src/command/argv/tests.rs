//! What a command is run with, refusals first.

use super::*;
use serde_json::json;

fn literal(text: &str) -> Element {
    Element::Literal(text.into())
}

fn from(name: &str) -> Element {
    Element::From { from: name.into() }
}

fn each(name: &str) -> Element {
    Element::Each { each: name.into() }
}

fn option(option: &str, from: &str) -> Element {
    Element::Option { option: option.into(), from: from.into() }
}

fn run(elements: &[Element], arguments: Value) -> Result<Vec<String>, String> {
    let arguments = arguments.as_object().expect("an object").clone();
    argv(elements, &arguments).map_err(|denial| {
        assert_eq!(denial.code, ErrorCode::InvalidArguments);
        denial.reason
    })
}

#[track_caller]
fn refused(elements: &[Element], arguments: Value, says: &str) {
    let said = run(elements, arguments.clone()).expect_err("refused");
    assert!(said.contains(says), "{arguments}: {said}");
}

#[track_caller]
fn runs(elements: &[Element], arguments: Value, expected: &[&str]) {
    assert_eq!(run(elements, arguments).expect("runs"), expected);
}

#[test]
fn a_value_that_begins_with_a_dash_is_refused_where_it_could_be_an_option() {
    let dash = "begins with \"-\"";
    let name = literal("rg");
    for value in ["-", "--", "-x", "--pre=sh", "-\n"] {
        refused(&[name.clone(), from("a")], json!({ "a": value }), dash);
        refused(&[name.clone(), each("a")], json!({ "a": ["x", value] }), dash);
    }
    refused(&[name.clone(), from("a")], json!({ "a": -5 }), dash);
    // The command's own name is no option, also if it looks like one.
    for first in ["--", "-e"] {
        refused(&[literal(first), from("a")], json!({ "a": "-x" }), dash);
    }
    // Only the first item stands right after the literal.
    refused(&[name.clone(), literal("-e"), each("a")], json!({ "a": ["-x", "-y"] }), dash);
    // What is absent passes nothing on.
    for absent in [json!({ "b": "-x" }), json!({ "a": null, "b": "-x" })] {
        refused(&[name.clone(), literal("-e"), from("a"), from("b")], absent, dash);
    }
    let empty = json!({ "a": [], "b": "-x" });
    refused(&[name.clone(), literal("-e"), each("a"), from("b")], empty, dash);
    // An option without its value takes what comes next, so that ends no options and has no value.
    let lacking = |more: &[Element], arguments: Value| {
        for empty in [from("absent"), each("none")] {
            let mut all = vec![name.clone(), literal("-e"), empty];
            all.extend(more.iter().cloned());
            let mut arguments = arguments.clone();
            arguments["none"] = json!([]);
            refused(&all, arguments, dash);
        }
    };
    lacking(&[literal("--"), each("p")], json!({ "p": ["-x"] }));
    lacking(&[literal("-f"), from("b")], json!({ "b": "-x" }));
    lacking(&[option("-m", "b")], json!({ "b": "-x" }));
    lacking(&[from("more"), literal("--"), from("b")], json!({ "b": "-x" }));
    // Neither does a flag make room, nor a value that looks like the end of options.
    let flag = Element::Flag { flag: "--".into(), when: "f".into() };
    refused(&[name.clone(), flag, from("a")], json!({ "f": true, "a": "-x" }), dash);
    let dashes = json!({ "a": "--", "b": "-x" });
    refused(&[name.clone(), literal("-e"), from("a"), from("b")], dashes.clone(), dash);
    refused(&[name.clone(), option("-e", "a"), from("b")], dashes, dash);
    refused(&[name, literal("plain"), from("a")], json!({ "a": "-x" }), dash);
}

#[test]
fn nul_and_what_is_no_text_are_refused() {
    let all = [literal("c"), option("--o", "o"), option("-p", "p"), literal("--"), from("f"), each("e")];
    for name in ["o", "p", "f"] {
        refused(&all, json!({ name: "a\0b" }), "NUL");
        refused(&all, json!({ name: ["a"] }), "no text");
        refused(&all, json!({ name: {} }), "no text");
    }
    refused(&all, json!({ "e": ["a", "\0"] }), "NUL");
    refused(&all, json!({ "e": [["a"]] }), "no text");
    refused(&all, json!({ "e": "a" }), "no list");
}

#[test]
fn a_whole_number_is_its_digits_or_refused() {
    let name = literal("c");
    let read = |text: &str| cofferdam_core::json::parse_strict(text).expect("JSON");
    for (written, element) in [
        ("1e2", "100"),
        ("-0.0", "0"),
        ("7.0", "7"),
        ("9007199254740991.0", "9007199254740991"),
        ("18446744073709551615", "18446744073709551615"),
        ("1.5", "1.5"),
    ] {
        runs(&[name.clone(), from("a")], json!({ "a": read(written) }), &["c", element]);
        runs(&[name.clone(), each("a")], json!({ "a": [read(written)] }), &["c", element]);
    }
    for rounded in ["9007199254740993.0", "18446744073709551616", "1e300"] {
        refused(&[name.clone(), from("a")], json!({ "a": read(rounded) }), "may have been rounded");
        refused(&[name.clone(), option("--o", "a")], json!({ "a": read(rounded) }), "may have been rounded");
    }
}

#[test]
fn elements_are_whole() {
    let rg = [
        literal("rg"),
        literal("--json"),
        Element::Flag { flag: "-i".into(), when: "ignore_case".into() },
        option("--glob", "glob"),
        option("-m", "most"),
        literal("-e"),
        from("pattern"),
        literal("--"),
        each("paths"),
    ];
    let hostile = "a b; rm -rf / $(x) `y` * \"' \\ %s {}\n";
    runs(
        &rg,
        json!({ "pattern": hostile, "paths": [hostile], "ignore_case": true, "glob": "-x=y", "most": -3 }),
        &["rg", "--json", "-i", "--glob=-x=y", "-m", "-3", "-e", hostile, "--", hostile],
    );
    runs(
        &rg,
        json!({ "pattern": "-v", "paths": ["-a", "--b", "--"], "ignore_case": false }),
        &["rg", "--json", "-e", "-v", "--", "-a", "--b", "--"],
    );
    runs(&rg, json!({ "ignore_case": null, "glob": null }), &["rg", "--json", "-e", "--"]);
    runs(&rg, json!({ "pattern": "", "glob": "" }), &["rg", "--json", "--glob=", "-e", "", "--"]);
    runs(&[literal("c"), from("b"), from("n")], json!({ "b": true, "n": 1.5 }), &["c", "true", "1.5"]);
    runs(&[literal("c"), literal("-e"), each("a")], json!({ "a": ["-x", "y"] }), &["c", "-e", "-x", "y"]);
}
