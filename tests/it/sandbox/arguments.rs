//! Limits of the arguments, wherever they come from, before a guest sees them.

use super::{answered, attack, refused};
use std::io::Write;
use std::process::Stdio;
use support::home::{Home, Ran};

/// The attacker with arguments of at most 1 KiB.
fn narrow() -> Home {
    Home::new().hostile("arguments = \"1 KiB\"")
}

/// Arguments of exactly so many bytes.
fn text(bytes: usize) -> String {
    let (before, after) = (r#"{"behaviour":"ok","path":"/shared/"#, r#""}"#);
    format!("{before}{}{after}", "x".repeat(bytes - before.len() - after.len()))
}

fn too_large(home: &Home, arguments: &[&str], bytes: usize) {
    let says = format!("the arguments have {bytes} bytes; hostile takes at most 1 KiB");
    refused(home, arguments, "too_large", &says);
    let record = home.audit().pop().expect("a record");
    assert_eq!(record["verdict"], "deny");
    assert!(record.to_string().len() < 2000, "what was given is not in the audit: {record}");
}

#[test]
fn arguments_are_taken_up_to_the_limit() {
    let home = narrow();
    // Names are at most 255 bytes, so the path is refused, but not for the size of it all.
    refused(&home, &["--args", &text(1024)], "path_denied", "at most 255");
    too_large(&home, &["--args", &text(1025)], 1025);
    let file = home.file("arguments.json", text(100_000).as_bytes());
    too_large(&home, &["--args", &format!("@{file}")], 100_000);
    let pair = format!("path=/shared/{}", "x".repeat(2000));
    refused(&home, &["behaviour=ok", &pair], "too_large", "at most 1 KiB");
}

#[test]
fn standard_input_is_no_way_around() {
    let home = narrow();
    let fed = |text: &str| -> Ran {
        let mut command = home.command(&["call", "hostile", "--args", "-"]);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        // It may end without reading all of it.
        let _ = child.stdin.take().expect("piped").write_all(text.as_bytes());
        child.wait_with_output().expect("it ends").into()
    };
    assert_eq!(fed(r#"{"behaviour":"ok"}"#).stdout, "{\"ok\":true}\n");
    let over = fed(&text(2000));
    assert_eq!((over.code, over.error().as_str()), (Some(1), "too_large"), "{over:?}");
}

#[test]
fn a_million_bytes_reach_a_guest_that_takes_them() {
    let home = Home::new().hostile("memory = \"64 MiB\"\narguments = \"2 MiB\"");
    let whole = format!(r#"{{"behaviour":"huge_args_echo:{}"}}"#, "x".repeat(1_000_000));
    let file = home.file("arguments.json", whole.as_bytes());
    let ran = attack(&home, &["--args", &format!("@{file}")]);
    assert_eq!((ran.code, ran.stdout.trim_end()), (Some(0), whole.as_str()));
}

#[test]
fn ambiguous_and_deep_arguments_never_reach_a_guest() {
    let home = narrow();
    let twice = r#"{"behaviour":"ok","behaviour":"spin"}"#;
    refused(&home, &["--args", twice], "invalid_arguments", "duplicate key \"behaviour\"");
    let escaped = r#"{"behaviour":"ok","b\u0065haviour":"spin"}"#;
    refused(&home, &["--args", escaped], "invalid_arguments", "duplicate key \"behaviour\"");
    let deep = format!(r#"{{"behaviour":{}1{}}}"#, "[".repeat(200), "]".repeat(200));
    refused(&home, &["--args", &deep], "invalid_arguments", "recursion limit exceeded");
    for (text, says) in [
        ("", "not JSON"),
        ("{", "not JSON"),
        (r#"{"behaviour":"ok"} {}"#, "trailing characters"),
        (r#"["ok"]"#, "the arguments must be an object, like {…}"),
        (r#"{"behaviour":["ok"]}"#, "behaviour must be text"),
        (r#"{"behaviour":"ok","bytes":-1}"#, "bytes must be 0 or more"),
        (r#"{"behaviour":"ok","bytes":1e400}"#, "not JSON"),
        (r#"{"behaviour":"ok","more":1}"#, "more is unknown; there is behaviour, "),
    ] {
        refused(&home, &["--args", text], "invalid_arguments", says);
    }
    answered(&home, &["--args", r#" {"bytes":1,"behaviour":"ok"} "#]);
}
