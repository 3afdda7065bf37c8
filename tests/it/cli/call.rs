//! `call`: how arguments are given, and the one line that comes back.

use super::{bare, line, put, refused, run, until_staged};
use rustix::process::{Pid, Signal, kill_process};
use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};
use support::home::{Home, Ran, builtin_tools};

/// Runs a call with this on its standard input.
fn fed(home: &Home, arguments: &[&str], stdin: &[u8]) -> Ran {
    let mut command = home.command(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    // It may end without reading all of it.
    let _ = child.stdin.take().expect("piped").write_all(stdin);
    child.wait_with_output().expect("it ends").into()
}

/// A call that the tool's schema or an earlier reader refuses.
fn invalid(home: &Home, arguments: &[&str], said: &str) {
    let ran = home.call(arguments);
    assert_eq!((ran.code, ran.error().as_str()), (Some(1), "invalid_arguments"), "{arguments:?}: {ran:?}");
    assert!(ran.message().contains(said), "{said:?} in {ran:?}");
    line(&ran);
}

#[test]
fn what_the_schema_does_not_take_is_refused_by_name() {
    let home = Home::new();
    put(&home, "/shared/a", b"x");
    invalid(&home, &["file_read"], "path is missing; give path=/shared/…");
    for offset in ["1.5", "two", "", "\"1\""] {
        let given = format!("offset={offset}");
        invalid(&home, &["file_read", "path=/shared/a", &given], "offset must be a whole number, like 0");
    }
    invalid(&home, &["file_read", "path=/shared/a", "offset=-1"], "offset must be 0 or more");
    invalid(&home, &["file_read", "path=/shared/a", "length=0"], "length must be 1 to 1048576");
    invalid(&home, &["file_read", "path=/shared/a", "length=1048577"], "length must be 1 to 1048576");
    invalid(&home, &["file_read", "path=/shared/a", "file=/shared/a"], "file is unknown; there is path, ");
    invalid(&home, &["file_read", "Path=/shared/a"], "Path is unknown; write path; path is missing; ");
    invalid(
        &home,
        &["file_write_bytes", "path=/shared/b", "content_base64=eA==", "overwrite=yes"],
        "overwrite must be true or false",
    );
    for text in ["[]", "\"x\"", "1", "null", "true"] {
        invalid(&home, &["file_read", "--args", text], "the arguments must be an object, like {…}");
    }
    assert!(!home.host("/shared/b").exists());
}

/// On a terminal the line shows all that a file or a tool puts there.
#[test]
fn a_result_spells_out_what_hides_or_reorders_text() {
    let home = Home::new();
    let text = "a\u{202e}b\u{200b}c\u{e0041}é❤";
    put(&home, "/shared/a", text.as_bytes());
    let ran = home.call(&["file_read", "path=/shared/a"]);
    assert_eq!((ran.code, &line(&ran)["content"]), (Some(0), &text.into()), "{ran:?}");
    let spelled = r#""a\u202eb\u200bc\udb40\udc41é❤""#;
    assert!(ran.stdout.contains(spelled), "{ran:?}");
}

#[test]
fn what_two_readers_would_read_differently_is_refused() {
    let home = Home::new();
    invalid(&home, &["file_read", "path=/shared/a", "path=/shared/b"], "\"path\" is given twice");
    invalid(&home, &["file_read", "path=/shared/a", "path=/shared/a"], "\"path\" is given twice");
    invalid(
        &home,
        &["file_read", "--args", r#"{"path":"/shared/a","path":"/shared/b"}"#],
        "duplicate key \"path\"",
    );
    invalid(
        &home,
        &["file_read", "--args", r#"{"path":"/shared/a","p\u0061th":"/vault/b"}"#],
        "duplicate key \"path\"",
    );
    invalid(&home, &["file_read", "--args", r#"{"x":[{"y":1,"y":2}]}"#], "duplicate key \"y\"");
    for text in ["", " ", "{", "{} {}", "{'path':'/shared/a'}", "path=/shared/a", "{\"a\":1e999}"] {
        invalid(&home, &["file_read", "--args", text], "not JSON");
    }
    invalid(&home, &["file_read", "path"], "\"path\" is not key=value; write e.g. path=");
    invalid(&home, &["file_read", "=/shared/a"], "not key=value");
    refused(&home.call(&["file_read", "path=/shared/a", "--args", "{}"]), &["cannot be used with", "--args"]);
}

#[test]
fn words_are_typed_by_the_schema() {
    let home = Home::new();
    // Where the schema takes text, the text is taken as it is, however much it looks like something
    // else.
    for name in ["007", "true", "null", "a=b", "{}", "\"quoted\"", "[1]", " blank ", "ü…", "-x", "a\\nb"] {
        let guest = format!("/shared/{name}");
        put(&home, &guest, name.as_bytes());
        let ran = home.call(&["file_read", &format!("path={guest}"), "offset=0"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!((&line(&ran)["path"], &ran.json()["content"]), (&guest.into(), &name.into()));
    }
    put(&home, "/shared/digits", b"0123456789");
    let ran = home.call(&["file_read", "path=/shared/digits", "offset= 3 ", "length=4"]);
    assert_eq!(line(&ran)["content"], "3456");
    let write =
        |overwrite| home.call(&["file_write_bytes", "path=/shared/w", "content_base64=eA==", overwrite]);
    assert_eq!(write("overwrite=false").code, Some(0));
    assert_eq!(write("overwrite=false").error(), "already_exists");
    assert_eq!(write("overwrite=true").code, Some(0));
}

#[test]
fn all_arguments_come_as_one_json_text_as_well() {
    let home = Home::new();
    put(&home, "/shared/a", b"0123");
    let text = "{ \"path\": \"/shared/a\",\n  \"length\": 2 }\n";
    let file = home.file("arguments.json", text.as_bytes());
    for ran in [
        home.call(&["file_read", "--args", text]),
        home.call(&["--args", text, "file_read"]),
        home.call(&["file_read", &format!("--args={text}")]),
        home.call(&["file_read", "--args", &format!("@{file}")]),
        home.call(&["file_read", "--args", "@arguments.json"]),
        fed(&home, &["call", "file_read", "--args", "-"], text.as_bytes()),
        // A pipe, as the `<(…)` of a shell is.
        fed(&home, &["call", "file_read", "--args", "@/dev/stdin"], text.as_bytes()),
    ] {
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(line(&ran)["content"], "01", "{ran:?}");
    }
    // Standard input is read only where it is asked for.
    assert_eq!(fed(&home, &["call", "file_read", "path=/shared/a"], b"{").code, Some(0));
    refused(&home.call(&["file_read", "--args", "@missing.json"]), &["missing.json"]);
    refused(&home.call(&["file_read", "--args", "@"]), &["cannot read"]);
    let binary = home.file("binary", b"\xff\xfe{}");
    refused(&home.call(&["file_read", "--args", &format!("@{binary}")]), &["cannot read", "UTF-8"]);
    refused(&fed(&home, &["call", "file_read", "--args", "-"], b"\xff"), &["stdin", "UTF-8"]);
    let attached = ["call", "attachment_save", "index=0", "path=/shared/b", "--attach", "/dev/stdin"];
    refused(&fed(&home, &attached, b"x"), &["cannot attach /dev/stdin", "not a regular file"]);
}

#[test]
fn an_unknown_tool_is_answered_with_those_there_are() {
    let home = Home::new();
    for name in
        ["nope", "FILE_READ", "file_read ", "file-read", "../file_read", "attachment..save", "", "a\nb"]
    {
        for arguments in
            [&[name][..], &[name, "path=/shared/a"], &[name, "--args", "{\"path\":\"/shared/a\"}"]]
        {
            let ran = home.call(arguments);
            assert_eq!((ran.code, ran.error().as_str()), (Some(1), "unknown_tool"), "{arguments:?}: {ran:?}");
            let those = builtin_tools().join(", ");
            assert!(ran.message().ends_with(&format!("; there is {those}")), "{ran:?}");
            line(&ran);
        }
    }
}

#[test]
fn arguments_over_their_limit_are_too_large() {
    let home = Home::new();
    let long = format!(r#"{{"path":"/shared/{}"}}"#, "a".repeat(1 << 20));
    let file = home.file("long.json", long.as_bytes());
    let ran = home.call(&["file_read", "--args", &format!("@{file}")]);
    assert_eq!((ran.code, ran.error().as_str()), (Some(1), "too_large"), "{}", ran.stderr);
    assert!(ran.message().contains("1 MiB") && ran.stdout.len() < 400, "{}", ran.message());
}

#[test]
fn messages_name_virtual_paths_only() {
    let home = Home::new();
    std::fs::create_dir_all(home.host("/shared/dir")).expect("writable");
    let host = home.dir().to_str().expect("text").to_owned();
    for (arguments, code) in [
        (&["file_read", "path=/shared/missing"][..], "not_found"),
        (&["file_read", "path=/shared/dir"], "is_a_directory"),
        (&["file_read", "path=/shared"], "is_a_directory"),
        (&["file_read", "path=/shared/missing/a"], "not_found"),
        (&["file_read", "path=/vault/a"], "path_denied"),
        (
            &["file_write_bytes", "path=/shared/dir", "content_base64=eA==", "overwrite=true"],
            "is_a_directory",
        ),
        (&["file_write_bytes", "path=/shared", "content_base64=eA=="], "path_denied"),
    ] {
        let ran = home.call(arguments);
        assert_eq!(ran.error(), code, "{arguments:?}: {ran:?}");
        assert!(!ran.stdout.contains(&host) && !ran.stdout.contains("os error"), "{ran:?}");
    }
}

#[test]
fn the_log_is_on_stderr_and_quiet_unless_asked_for() {
    let home = Home::new().hostile("");
    put(&home, "/shared/a", b"x");
    let quiet = home.call(&["file_read", "path=/shared/a"]);
    assert_eq!((quiet.code, quiet.stderr.as_str()), (Some(0), ""), "{quiet:?}");
    let failed = home.call(&["file_read", "path=/shared/missing"]);
    assert_eq!(
        (failed.code, failed.stderr.as_str()),
        (Some(1), ""),
        "the message is in the JSON: {failed:?}"
    );
    // What a guest prints may be what it reads, so it is not at the usual level.
    for (level, is_told) in [("debug", true), ("trace", true), ("info", false)] {
        let loud = run(home
            .command(&["call", "hostile", "behaviour=stdout_flood", "bytes=200"])
            .env("COFFERDAM_LOG", level));
        line(&loud);
        assert_eq!(loud.code, Some(0), "{loud:?}");
        assert_eq!(loud.stderr.contains("guest: "), is_told, "{level}: {loud:?}");
    }
}

#[test]
fn flags_stand_before_and_after_the_command() {
    let (home, other) = (Home::new(), Home::new());
    put(&home, "/shared/who", b"configured");
    put(&other, "/shared/who", b"other");
    let (file, folder) = (home.config_file(), other.workspace());
    let (file, folder) = (file.to_str().expect("text"), folder.to_str().expect("text"));
    let call = ["call", "file_read", "path=/shared/who"];
    let content = |flags: [&[&str]; 3]| {
        let [before, between, after] = flags;
        let words = [before, &call[..1], between, &call[1..], after].concat();
        let ran = run(&mut bare(&other, other.dir(), &words));
        assert_eq!(ran.code, Some(0), "{words:?}: {ran:?}");
        line(&ran)["content"].as_str().expect("text").to_owned()
    };
    let (config, workspace) = (&["--config", file][..], &["--workspace", folder][..]);
    for flags in [[config, &[], &[]], [&[], config, &[]], [&[], &[], config]] {
        assert_eq!(content(flags), "configured", "{flags:?}");
    }
    for flags in
        [[config, workspace, &[]], [workspace, &[], config], [&[], &[], &[config, workspace].concat()]]
    {
        assert_eq!(content(flags), "other", "{flags:?}");
    }
    let equals = (format!("--config={file}"), format!("--workspace={folder}"));
    assert_eq!(content([&[&equals.0], &[], &[&equals.1]]), "other");
}

#[test]
fn a_signal_cancels_the_call_and_nothing_is_changed() {
    let home = Home::new().hostile("deadline = \"60s\"");
    put(&home, "/shared/half", b"before");
    for signal in [Signal::INT, Signal::TERM] {
        let mut command =
            home.command(&["call", "hostile", "behaviour=stage_then_spin", "path=/shared/half"]);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        until_staged(&home, child.id());
        kill_process(Pid::from_child(&child), signal).expect("ours");
        let started = Instant::now();
        while child.try_wait().expect("ours").is_none() {
            if started.elapsed() > Duration::from_secs(10) {
                child.kill().expect("ours");
                panic!("{signal:?} does not end it");
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let ran: Ran = child.wait_with_output().expect("it ended").into();
        assert_eq!((ran.code, ran.error().as_str()), (Some(1), "cancelled"), "{ran:?}");
        line(&ran);
        let record = home.audit().pop().expect("recorded");
        assert_eq!((&record["tool"], &record["code"]), (&"hostile".into(), &"cancelled".into()), "{record}");
    }
    assert_eq!(std::fs::read(home.host("/shared/half")).expect("there"), b"before");
    assert!(home.leftovers().is_empty());
}
