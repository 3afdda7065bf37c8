//! WASI commands by policy file alone: what they are run with, what becomes of their streams and
//! their status, and what does not load.

use super::{answers, does_not_load, ran, refused, told, tool};
use serde_json::{Value, json};
use std::fs::File;
use support::guests;
use support::home::{Home, Ran};

const MOUNT: &str = r#"mounts = [ { guest = "/shared", access = "read-only" } ]"#;

/// Classes and schemas of the arguments that the tests give.
const ARGUMENTS: &str = r#"
[command.schema.what]
type = "string"
[command.schema.text]
type = "string"
optional = true
[command.schema.more]
type = "array"
items = { type = "string" }
optional = true
[command.schema.number]
type = "integer"
optional = true
[command.schema.loud]
type = "boolean"
optional = true
[arguments]
what = "value"
text = "value"
"more[]" = "value"
"#;

/// The command with these elements after its name, and more lines of `[command]`.
fn command(argv: &str, lines: &str) -> Home {
    let policy = format!(
        "safety = \"read-only\"\n[command]\nsummary = \"Does what it is told.\"\n\
         argv = [\"commands\", {argv}]\n{lines}\n{ARGUMENTS}"
    );
    tool("commands", MOUNT, &policy)
}

/// The command that does what its first argument says to the text that it is given.
fn plain(lines: &str) -> Home {
    command(r#"{ from = "what" }, { from = "number" }, { from = "text" }"#, lines)
}

#[test]
fn what_the_command_would_take_for_an_option_never_runs() {
    let home = command(r#"{ from = "what" }, { each = "more" }, "--", { from = "text" }"#, "");
    for value in ["-", "--", "-x", "--pre=sh"] {
        refused(&home, json!({ "what": "args", "more": [value] }), "invalid_arguments", "begins with \"-\"");
        refused(&home, json!({ "what": value }), "invalid_arguments", "begins with \"-\"");
    }
    refused(&home, json!({ "what": "args", "more": ["a\0b"] }), "invalid_arguments", "NUL");
    let explained = home.run(&["policy", "explain", "foreign", "what=-x"]);
    assert_eq!(explained.code, Some(1), "{explained:?}");
    let args = json!({ "what": "args", "more": ["a b", "$(x)"], "text": "-v" });
    answers(&home, args, json!({ "stdout": "\"a b\"\n\"$(x)\"\n\"--\"\n\"-v\"\n" }));
}

#[test]
fn options_and_flags_are_whole_elements() {
    let argv = r#"{ from = "what" }, { flag = "-l", if = "loud" }, { option = "--text", from = "text" },
                  { option = "-n", from = "number" }, "-e", { each = "more" }"#;
    let home = command(argv, "");
    let given = json!({ "what": "args", "loud": true, "text": "-a=b c", "number": -3, "more": ["-x", "y"] });
    let lines = ["-l", "--text=-a=b c", "-n", "-3", "-e", "-x", "y"].map(|one| format!("{one:?}\n"));
    answers(&home, given, json!({ "stdout": lines.concat() }));
    answers(&home, json!({ "what": "args", "loud": false }), json!({ "stdout": "\"-e\"\n" }));
}

#[test]
fn a_mebibyte_of_arguments_is_taken_and_more_is_not() {
    let home = command(r#"{ from = "what" }, { each = "more" }"#, "");
    let many = |items: usize, bytes: usize| {
        ran(&home, &json!({ "what": "count", "more": vec!["x".repeat(bytes); items] }))
    };
    assert_eq!(many(1, 1_000_000).json(), json!({ "stdout": "3 1000013\n" }));
    assert_eq!(many(200_000, 1).json(), json!({ "stdout": "200002 200013\n" }));
    assert_eq!(many(1, 1 << 20).error(), "too_large");
}

#[test]
fn an_exit_is_no_trap_and_a_crash_is_one() {
    let home = plain("");
    answers(&home, json!({ "what": "exit", "number": 0, "text": "done" }), json!({ "stdout": "done" }));
    for code in [1, 2, 255] {
        refused(&home, json!({ "what": "exit", "number": code }), "failed", "said nothing on standard error");
    }
    refused(&home, json!({ "what": "complain", "number": 2 }), "failed", "complaint 1");
    refused(&home, json!({ "what": "panic" }), "trapped", "a bug in the command");
    // Its end is what says why.
    refused(&home, json!({ "what": "complain", "number": 20_000 }), "failed", "complaint 19999");
    let silent = plain("err = \"ok-if-silent\"");
    answers(&silent, json!({ "what": "exit", "number": 1, "text": "x" }), json!({ "stdout": "x" }));
    refused(&silent, json!({ "what": "complain", "number": 1 }), "failed", "complaint 0");
    refused(&silent, json!({ "what": "panic" }), "trapped", "a bug in the command");
}

#[test]
fn standard_output_is_bounded_and_has_a_format() {
    refused(&plain(""), json!({ "what": "flood", "number": 100 }), "too_large", "at most 4 MiB");
    answers(&plain(""), json!({ "what": "flood", "number": 1 }), json!({ "stdout": "x".repeat(1 << 20) }));
    answers(&plain(""), json!({ "what": "bytes" }), json!({ "stdout_base64": "//5h" }));
    let printer =
        |format: &str| command(r#"{ from = "what" }, { from = "text" }"#, &format!("stdout = {format:?}"));
    let print = |text: &str| json!({ "what": "print", "text": text });
    answers(&printer("json"), print("{\"a\":[1]}\n"), json!({ "a": [1] }));
    for text in ["", "[1]", "{", "{} {}"] {
        refused(&printer("json"), print(text), "failed", "JSON");
    }
    // It could not be told from a failure.
    let fake = r#"{"error":{"code":"timed_out","message":"x"}}"#;
    refused(&printer("json"), print(fake), "failed", "returned an error as its result");
    answers(&printer("json-lines"), print("1\n\n{\"a\":2}\n"), json!({ "lines": [1, { "a": 2 }] }));
    refused(&printer("json-lines"), print("1\nx\n"), "failed", "line 2");
    refused(&printer("json-lines"), json!({ "what": "bytes" }), "failed", "UTF-8");
}

#[test]
fn standard_input_ends() {
    // Without one it is closed: what reads without end reads nothing.
    answers(&plain(""), json!({ "what": "stdin" }), json!({ "stdout": "0:" }));
    let home = command(r#"{ from = "what" }"#, "stdin = { from = \"text\" }");
    answers(&home, json!({ "what": "stdin", "text": "-\0ü" }), json!({ "stdout": "4:-\0ü" }));
    answers(&home, json!({ "what": "stdin" }), json!({ "stdout": "0:" }));
    // The gateway's own is none of the command's, least of all one without an end.
    for home in [plain(""), home] {
        let mut call = home.command(&["call", "foreign", "what=stdin"]);
        call.stdin(File::open("/dev/zero").expect("there"));
        let ran = Ran::from(call.output().expect("the program starts"));
        assert_eq!(ran.json(), json!({ "stdout": "0:" }), "{ran:?}");
    }
}

#[test]
fn one_that_never_ends_is_ended() {
    let home = tool(
        "commands",
        MOUNT,
        "safety = \"read-only\"\n[command]\nsummary = \"Never ends.\"\nargv = [\"commands\", \"spin\"]\n\
         [limits]\ndeadline = \"1s\"\n",
    );
    refused(&home, json!({}), "timed_out", "did not finish within 1s");
}

#[test]
fn it_reads_its_mounts_and_reaches_nothing_else() {
    let home = plain("");
    std::fs::create_dir_all(home.host("/shared")).expect("writable");
    std::fs::write(home.host("/shared/a"), "there").expect("writable");
    answers(&home, json!({ "what": "read", "text": "/shared/a" }), json!({ "stdout": "there" }));
    for path in ["/etc/passwd", "/tmp/a", "/shared/../a"] {
        refused(&home, json!({ "what": "read", "text": path }), "failed", path);
    }
    refused(&home, json!({ "what": "write", "text": "/shared/b" }), "failed", "commands: ");
    assert!(!home.host("/shared/b").exists());
    answers(&home, json!({ "what": "connect" }), json!({ "stdout": "refused: PermissionDenied\n" }));
    let ran = ran(&home, &json!({ "what": "environment" }));
    assert!(ran.stdout.starts_with("{\"stdout\":\"[] "), "{ran:?}");
}

#[test]
fn a_policy_that_cannot_be_meant_does_not_load() {
    for (argv, lines, says) in [
        (r#"{ from = "what" }, { from = "nothing" }"#, "", "there is no argument \"nothing\""),
        (r#"{ from = "more" }"#, "", "argument \"more\" stands where its type must be"),
        (r#"{ each = "what" }"#, "", "argument \"what\" stands where its type must be"),
        (r#"{ flag = "-i", if = "what" }"#, "", "argument \"what\" stands where its type must be"),
        (r#"{ flag = "i", if = "loud" }"#, "", "does not begin with"),
        (r#"{ option = "--a=b", from = "what" }"#, "", "is no name of one"),
        (r#"{ option = "--", from = "what" }"#, "", "is no name of one"),
        (r#"{ from = "what", each = "more" }"#, "", "no element of argv"),
        (r#"{ from = "what", shell = true }"#, "", "no element of argv"),
        (r#"["-i", "loud"]"#, "", "no element of argv"),
        (r#""a\u0000b""#, "", "NUL"),
        (r#"{ from = "what" }"#, "stdin = { from = \"number\" }", "stdin: "),
        (r#"{ from = "what" }"#, "stdout = \"xml\"", "unknown variant"),
        (r#"{ from = "what" }"#, "cwd = \"/\"", "unknown field"),
    ] {
        does_not_load(&command(argv, lines), says);
    }
    let policy = |text: &str| tool("commands", MOUNT, text);
    let head = "safety = \"read-only\"\n[command]\nsummary = \"s\"\n";
    does_not_load(&policy(&format!("{head}argv = []\n")), "does not begin with a text");
    let unclassified = "argv = [\"c\"]\n[command.schema.a]\ntype = \"string\"\n";
    does_not_load(
        &policy(&format!("{head}{unclassified}")),
        "argument \"a\" can hold text and is not classified",
    );
    let keyword = "argv = [\"c\"]\n[command.schema.a]\ntype = \"integer\"\nnonsense = 1\n";
    does_not_load(&policy(&format!("{head}{keyword}")), "nonsense");
}

#[test]
fn a_component_that_is_no_command_does_not_load() {
    let policy = "safety = \"read-only\"\n[command]\nsummary = \"s\"\nargv = [\"c\"]\n";
    does_not_load(&tool("minimal", MOUNT, policy), "it exports no wasi:cli/run@0.2.x");
    does_not_load(&tool("commands", MOUNT, "safety = \"read-only\"\n"), "cofferdam:tool/tool");
}

#[test]
fn its_description_is_the_policys() {
    let home = plain("");
    let said = told(&home);
    let sockets = |line: &String| line.starts_with("warning: ") && line.contains("imports `wasi:sockets/");
    assert!(!said.is_empty() && said.iter().all(sockets), "it loads, and sockets refuse: {said:?}");
    let tools: Value = home.run(&["tools", "--json"]).json();
    let tool = tools.as_array().and_then(|all| all.iter().find(|tool| tool["name"] == "foreign")).cloned();
    let tool = tool.unwrap_or_else(|| panic!("{tools}"));
    assert_eq!(tool["summary"], "Does what it is told.");
}

/// The component as another toolchain names what it exports.
#[test]
fn a_command_of_any_compatible_version_runs() {
    let sound = guests::bytes("commands");
    for (version, runs) in [("0.2.9", true), ("0.3.0", false), ("1.2.0", false)] {
        let (from, to) = (b"wasi:cli/run@0.2.0", format!("wasi:cli/run@{version}"));
        let mut bytes = sound.clone();
        let places: Vec<usize> =
            (0..bytes.len() - from.len()).filter(|at| bytes[*at..].starts_with(from)).collect();
        assert!(!places.is_empty(), "it is named otherwise");
        for at in places {
            bytes[at..at + from.len()].copy_from_slice(to.as_bytes());
        }
        let home = plain("");
        std::fs::write(home.policies_dir().join("tools/foreign.wasm"), &bytes).expect("writable");
        let policy = home.policies_dir().join("tools/foreign.toml");
        let text = std::fs::read_to_string(&policy).expect("there");
        std::fs::write(policy, text.replace(&guests::sha256(&sound), &guests::sha256(&bytes)))
            .expect("writable");
        if runs {
            answers(&home, json!({ "what": "print", "text": "x" }), json!({ "stdout": "x" }));
        } else {
            does_not_load(&home, "it exports no wasi:cli/run@0.2.x, so it is no command");
        }
    }
}

#[test]
fn what_a_policy_says_of_its_command_is_checked_like_any_description() {
    let policy = |summary: &str, more: &str| {
        format!(
            "safety = \"read-only\"\n[command]\nsummary = \"{summary}\"\nargv = [\"commands\", {{ from = \"what\" }}]\n\
             [command.schema.what]\ntype = \"string\"\n{more}\n[arguments]\nwhat = \"value\"\n"
        )
    };
    let home = tool("commands", MOUNT, &policy("Reads \u{202e}backwards", ""));
    let tools = home.run(&["tools", "--json"]).stdout;
    assert!(tools.contains("backwards") && !tools.contains('\u{202e}'), "{tools}");
    let long = format!("description = \"{}\"", "x".repeat(64 << 10));
    does_not_load(&tool("commands", MOUNT, &policy("Long.", &long)), "longer than 65536 bytes");
}

/// An empty line is nothing said.
#[test]
fn a_failure_without_words_is_told_in_ours() {
    refused(
        &plain(""),
        json!({ "what": "blank" }),
        "failed",
        "the command failed and said nothing on standard error",
    );
}
