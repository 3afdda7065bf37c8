//! `tool run`: one call with everything that a call goes through, and nothing of a gateway's
//! touched.

use super::{guest, hello_policy, hostile_policy, refused, told};
use serde_json::{Value, json};
use support::guests;
use support::home::{Home, Ran};

fn run(home: &Home, arguments: &[&str]) -> Ran {
    home.run(&[&["tool", "run"], arguments].concat())
}

#[test]
fn with_nothing_granted_a_tool_that_computes_runs() {
    let home = Home::new();
    let ran = run(&home, &[&guest("minimal"), "name=Ada"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "{\"greeting\":\"Hello, Ada!\"}\n"), "{ran:?}");
    told(
        &ran,
        &["policy: nothing is granted", "workspace: a temporary folder", " outcome  cli:", " hello done "],
    );
    assert_eq!(ran.stderr.lines().count(), 3, "{ran:?}");
    let ran = run(&home, &[&guest("minimal"), "name=A\u{202e}d"]);
    assert_eq!(ran.stdout, "{\"greeting\":\"Hello, A\\u202ed!\"}\n", "{ran:?}");
    // A gateway's own files are not touched.
    assert_eq!(home.audit(), Vec::<Value>::new());
    assert!(!home.workspace().exists());
    let json = run(&home, &[&guest("minimal"), "--args", "{\"name\":\"Ada\"}", "--json"]);
    let record: Value = serde_json::from_str(json.stderr.lines().last().expect("a record")).expect("JSON");
    assert_eq!((&record["tool"], &record["arguments"]), (&json!("hello"), &json!({ "name": "Ada" })));
    assert_eq!(record["component_sha256"], json!(guests::sha256(&guests::bytes("minimal"))));
}

#[test]
fn what_is_not_granted_refuses_when_it_is_called() {
    let home = Home::new();
    let ran = run(&home, &[&guest("hostile"), "behaviour=ok"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "{\"ok\":true}\n"), "{ran:?}");
    let ran = run(&home, &[&guest("hostile"), "behaviour=stage_create", "path=/shared/x"]);
    assert_eq!((ran.code, ran.error().as_str()), (Some(1), "path_denied"), "{ran:?}");
    assert!(ran.message().contains("stage of `cofferdam:tool/workspace-write@0.1.0`"), "{ran:?}");
    for (guest_name, said) in [
        ("examples/unknown_import", "`backdoor:host/shell@0.1.0`"),
        ("examples/describe_spins", "within 10s"),
    ] {
        let ran = run(&home, &[&guest(guest_name)]);
        assert_eq!((ran.code, ran.error().as_str()), (Some(1), "tool_unavailable"), "{ran:?}");
        assert!(ran.message().contains(said), "{ran:?}");
    }
}

#[test]
fn arguments_are_refused_as_call_refuses_them() {
    let home = Home::new();
    for (arguments, said) in [
        (&[][..], "name is missing; give name=…"),
        (&["name"], "is not key=value"),
        (&["name=Ada", "age=3"], "age is unknown; there is name"),
        (&["name=Ada", "name=Bob"], "given twice"),
        (&["--args", "{\"name\":\"a\",\"name\":\"b\"}"], "JSON"),
        (&["--args", "["], "JSON"),
    ] {
        let ran = run(&home, &[&[&*guest("minimal")], arguments].concat());
        assert_eq!(
            (ran.code, ran.error().as_str()),
            (Some(1), "invalid_arguments"),
            "{arguments:?}: {ran:?}"
        );
        assert!(ran.message().contains(said), "{arguments:?}: {ran:?}");
    }
    refused(&run(&home, &[&guest("minimal"), "name=Ada", "--attach", "missing"]), &["cannot attach missing"]);
    refused(&run(&home, &["missing.wasm"]), &["cannot read missing.wasm"]);
}

#[test]
fn a_policy_file_is_enough_and_its_pin_does_not_matter() {
    let home = Home::new();
    let policy = hostile_policy(&home, "memory = \"16 MiB\"\ndeadline = \"20s\"");
    let keep = home.dir().join("keep");
    let keep = keep.to_str().expect("text");
    let under = ["--policy", &policy, "--workspace", keep];
    let write = run(
        &home,
        &[&[&*guest("hostile"), "behaviour=write_bytes", "path=/shared/a", "bytes=5"], &under[..]].concat(),
    );
    assert_eq!(write.code, Some(0), "{write:?}");
    told(&write, &[&format!("workspace: {keep}"), " intent   ", "/shared/a ", " outcome  "]);
    assert!(home.dir().join("keep/shared/a").is_file());
    let ran = run(&home, &[&[&*guest("hostile"), "behaviour=ok", "path=/vault/a"], &under[..]].concat());
    assert_eq!((ran.code, ran.error().as_str()), (Some(1), "path_denied"), "{ran:?}");
    assert!(ran.message().contains("profile file-read-write"), "{ran:?}");
    // A folder, too; and a broken one is refused before anything runs.
    let home = Home::new().own_policies();
    let dir = home.policies_dir();
    let dir = dir.to_str().expect("text");
    let none = run(&home, &[&guest("minimal"), "name=Ada", "--policy", dir]);
    assert_eq!((none.code, none.error().as_str()), (Some(1), "tool_unavailable"), "{none:?}");
    assert!(
        none.message().contains("hello: ") && none.message().contains("add tools/hello.toml"),
        "{none:?}"
    );
    // The command that prints one takes any path.
    let file = home.file("my tool.wasm", &guests::bytes("minimal"));
    let none = run(&home, &[&file, "name=Ada", "--policy", dir]);
    assert!(none.message().contains(&format!("`cofferdam tool inspect '{file}'` prints")), "{none:?}");
    let text = hello_policy("file-read-only", "[arguments]\nname = \"content\"\n");
    std::fs::write(home.policies_dir().join("tools/hello.toml"), &text).expect("ours");
    let ran = run(&home, &[&guest("minimal"), "name=Ada", "--policy", dir, "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!ran.stderr.contains("Ada"), "classified as content: {ran:?}");
    std::fs::write(home.policies_dir().join("tools/hello.toml"), text + "more = 1\n").expect("ours");
    let ran = run(&home, &[&guest("minimal"), "name=Ada", "--policy", dir]);
    assert_eq!(ran.error(), "tool_unavailable", "{ran:?}");
    assert!(ran.message().contains("tools/hello.toml:9: "), "{ran:?}");
}

#[test]
fn state_that_is_named_is_kept_and_only_this_calls_records_are_shown() {
    let home = Home::new();
    for calls in 1..=2 {
        let ran = run(&home, &[&guest("minimal"), "name=Ada", "--state", "mine"]);
        assert_eq!(ran.stderr.matches(" outcome ").count(), 1, "{ran:?}");
        let kept = std::fs::read_to_string(home.dir().join("mine/audit.jsonl")).expect("kept");
        assert_eq!(kept.lines().count(), calls);
    }
    assert_eq!(home.audit(), Vec::<Value>::new());
    // Not where the tool could write it.
    let ran = run(&home, &[&guest("minimal"), "name=Ada", "--workspace", "w", "--state", "w/shared/state"]);
    refused(&ran, &["[state] dir", "lies in /shared, where tools read and write"]);
}

#[test]
fn attachments_come_with_the_call_where_they_are_granted() {
    let home = Home::new();
    let policy = hostile_policy(&home, "");
    let file = home.file("a.txt", b"attached");
    let under = ["--policy", &policy, "--attach", &file];
    let ran = run(&home, &[&[&*guest("hostile"), "behaviour=attachments"], &under[..]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains(&guests::sha256(b"attached")), "{ran:?}");
}

#[test]
fn an_operators_workspace_is_not_an_experiments() {
    let home = Home::new();
    let policy = hostile_policy(&home, "");
    let arguments = [
        "tool",
        "run",
        &guest("hostile"),
        "behaviour=write_bytes",
        "path=/shared/a",
        "bytes=5",
        "--policy",
        &policy,
    ];
    let mut command = home.command(&arguments);
    command.env("COFFERDAM_WORKSPACE", home.dir().join("operators"));
    let ran: Ran = command.output().expect("the program starts").into();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    told(&ran, &["workspace: a temporary folder"]);
    assert!(!home.dir().join("operators").exists() && !home.workspace().exists());
}

#[test]
fn a_tool_that_crashes_is_told_with_what_it_printed_last() {
    let home = Home::new();
    let policy = hostile_policy(&home, "memory = \"16 MiB\"\ndeadline = \"20s\"");
    let ran = run(&home, &[&guest("hostile"), "behaviour=panic", "--policy", &policy]);
    assert_eq!((ran.code, ran.error().as_str()), (Some(1), "trapped"), "{ran:?}");
    assert!(ran.message().ends_with("it aborted, saying: hostile  [31mpanic [0m"), "{ran:?}");
    for said in [
        "cofferdam: it printed last:\n    thread '",
        " panicked at ",
        "\n    hostile  [31mpanic [0m\n    note: ",
    ] {
        assert!(ran.stderr.contains(said), "{said:?} in {ran:?}");
    }
    assert!(!ran.stderr.contains("write in its profile"), "a crash says nothing of mounts: {ran:?}");

    // So much of it, and nothing where the tool says itself what is wrong.
    let ran =
        run(&home, &[&guest("hostile"), "behaviour=lines_then_panic", "bytes=6000", "--policy", &policy]);
    let shown = ran.stderr.split("it printed last:\n").nth(1).expect("something was printed");
    let shown: Vec<_> = shown.lines().take_while(|line| line.starts_with("    ")).map(str::trim).collect();
    let bytes: usize = shown.iter().map(|line| line.len() + 1).sum();
    assert!((1900..=2048).contains(&bytes) && shown.contains(&"after many lines"), "{bytes}: {ran:?}");
    let ran =
        run(&home, &[&guest("hostile"), "behaviour=stage_then_error", "path=/shared/a", "--policy", &policy]);
    assert!(!ran.stderr.contains("it printed last"), "{ran:?}");
}

#[test]
fn of_a_tool_that_prints_too_much_it_is_told_what_was_cut() {
    let home = Home::new();
    let policy = hostile_policy(&home, "memory = \"16 MiB\"");
    let crash = |bytes: &str| {
        let ran = run(&home, &[&guest("hostile"), "--policy", &policy, "behaviour=lines_then_panic", bytes]);
        assert_eq!((ran.code, ran.error().as_str()), (Some(1), "trapped"), "{ran:?}");
        assert!(ran.message().contains("after many lines"), "its last words, cut or not: {ran:?}");
        ran
    };
    let cut = "output over the cap was dropped (";
    let ran = crash("bytes=1000000");
    // The guest's own words have a panic in them.
    let printed = |ran: &Ran, parts: &[&str]| {
        for part in parts {
            assert!(ran.stderr.contains(part), "{part:?} in {ran:?}");
        }
    };
    let over = [cut, "; the lines before are not its last\n"];
    printed(&ran, &[&["it printed last:\n", "    a line of some length"][..], &over].concat());
    // As many bytes as did not go to the log, of a little over a million.
    let dropped = ran.stderr.split(cut).nth(1).and_then(|rest| rest.split(' ').next()).expect("told");
    let dropped: u64 = dropped.parse().expect("a number");
    assert!((900_000..1_000_500).contains(&dropped), "{dropped}");
    let ran = crash("bytes=1000");
    printed(&ran, &["it printed last:", "    a line of some length", "after many lines"]);
    assert!(!ran.stderr.contains(cut), "{ran:?}");
}
