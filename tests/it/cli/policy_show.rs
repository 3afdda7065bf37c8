//! `policy show`: the effective policy with the line behind each part; the lines are checked
//! against the files.

use super::help::compare;
use super::{line, refused};
use serde_json::{Value, json};
use support::home::Home;

#[test]
fn a_tool_without_a_policy_is_a_mistake() {
    let home = Home::new();
    refused(
        &home.run(&["policy", "show", "nope"]),
        &["no tool \"nope\" has a policy; there is attachment_add, attachment_download, "],
    );
    refused(&home.run(&["policy", "show", "--policies", "missing"]), &["missing/profiles"]);
}

#[test]
fn the_effective_policy_reads_as_reviewed() {
    let home = Home::new().own_policies();
    // The component's hash changes with the compiler.
    let text: String = home
        .run(&["policy", "show"])
        .stdout
        .split_inclusive('\n')
        .map(|row| match row.split_once("builtin sha256 ") {
            Some((before, after)) => format!("{before}builtin sha256 …{}", &after[64..]),
            None => row.to_owned(),
        })
        .collect();
    compare("policy-show", &text);
}

/// The text that stands where `at` points.
fn written<'a>(home: &Home, at: &Value, text: &'a mut String) -> &'a str {
    *text =
        std::fs::read_to_string(home.policies_dir().join(at["file"].as_str().expect("text"))).expect("there");
    let line = usize::try_from(at["line"].as_u64().expect("a number")).expect("small");
    text.lines().nth(line - 1).expect("so many lines")
}

#[test]
fn every_part_stands_where_it_is_said_to() {
    let profile = "schema = 1\nprofile = \"p\"\nwhy = \"of p\"\nmounts = [ { guest = \"/shared\", access = \"read-only\" },\n\
                   { guest = \"/tmp\",  access = \"read-only\" } ]\ninterfaces = [\n\"turn-attachments\" ]\n[limits]\n\
                   memory = \"8 MiB\"\ndeadline = \"2m\"\nresult = \"1 MiB\"\n";
    let tool = "schema = 1\ntool = \"file_read\"\nprofile = \"p\"\ncomponent = \"builtin\"\nsafety = \"read-only\"\nwhy = \"of t\"\n\
                [arguments]\npath = { path = \"read\" }\n[limits]\nresult = \"1 KiB\"\n";
    let home = Home::new().policy("profiles/p.toml", profile).policy("tools/file_read.toml", tool);
    let shown = line(&home.run(&["policy", "show", "file_read", "--json"]));
    let tool = &shown["tools"][0];
    assert_eq!(shown["tools"].as_array().map(Vec::len), Some(1), "{shown}");
    let mut text = String::new();
    for (at, expected) in [
        (&tool["why"]["at"], "why = \"of t\""),
        (&tool["safety"]["at"], "safety = \"read-only\""),
        (&tool["component"]["at"], "component = \"builtin\""),
        (&tool["profile"]["at"], "profile = \"p\""),
        (&tool["profile"]["why"]["at"], "why = \"of p\""),
        (&tool["mounts"][1]["at"], "{ guest = \"/tmp\",  access = \"read-only\" } ]"),
        (&tool["interfaces"][0]["at"], "\"turn-attachments\" ]"),
        (&tool["arguments"][0]["at"], "path = { path = \"read\" }"),
    ] {
        assert_eq!(written(&home, at, &mut text), expected, "{at}");
    }
    let limits: Vec<_> = tool["limits"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|limit| {
            let line = if limit["at"].is_null() { "" } else { written(&home, &limit["at"], &mut text) };
            json!([limit["name"], limit["value"], limit["from"], line])
        })
        .collect();
    assert_eq!(
        limits,
        [
            json!(["memory", "8 MiB", "profile", "memory = \"8 MiB\""]),
            // The profile allows more than the default, and hands out no more unasked.
            json!(["deadline", "30s", "default", ""]),
            json!(["written_bytes", "50 MiB", "default", ""]),
            json!(["changes", "16", "default", ""]),
            json!(["arguments", "1 MiB", "default", ""]),
            json!(["result", "1 KiB", "tool", "result = \"1 KiB\""]),
        ]
    );
    assert_eq!(tool["component"]["sha256"].as_str().map(str::len), Some(64));
    let tools = home.run(&["tools", "--json"]).json();
    let served = tools.as_array().expect("a list").iter().find(|t| t["name"] == "file_read").expect("there");
    assert_eq!(tool["component"]["sha256"], served["component_sha256"], "what is shown is what is served");
    assert_eq!(tool["policy_sha256"], served["policy_sha256"]);
}

#[test]
fn what_a_foreign_component_is_run_with_is_shown() {
    let profile = "schema = 1\nprofile = \"p\"\nwhy = \"w\"\nmounts = [ { guest = \"/shared\", access = \"atomic-write\" } ]\n\
                   scratch = { guest = \"/scratch\", bytes = \"2 MiB\", files = 100 }\n";
    let tool = format!(
        "schema = 1\ntool = \"t\"\nprofile = \"p\"\ncomponent = {{ file = \"t.wasm\", sha256 = \"{}\" }}\n\
         imports = \"strict\"\nsafety = \"side-effecting\"\nwhy = \"w\"\n\
         [arguments]\npath = {{ path = \"write\", default = \"/shared/a\" }}\n\
         [command]\nsummary = \"a\\u202Eb\"\nargv = [\"t\", \"--all\"]\n[command.schema.path]\ntype = \"string\"\noptional = true\n\
         [outputs]\n\"out.txt\" = {{ to = \"path\" }}\n",
        "a".repeat(64)
    );
    let home = Home::new().policy("profiles/p.toml", profile).policy("tools/t.toml", &tool);
    let shown = home.run(&["policy", "show", "t"]).stdout;
    let row = |start: &str| shown.lines().find(|row| row.starts_with(start)).expect(start);
    let entry = row("  entry {\"command\":{");
    for part in
        [r#""argv":["t","--all"]"#, r#""summary":"a\u202eb""#, r#""name":"out.txt""#, r#""to":"path""#]
    {
        assert!(entry.contains(part), "{part}: {entry}");
    }
    assert!(entry.ends_with("  tools/t.toml:4"), "{entry}");
    assert!(row("  imports strict ").ends_with(" tools/t.toml:4"));
    assert!(row("  scratch /scratch 2 MiB, 100 files ").ends_with(" profiles/p.toml"));
    let json = line(&home.run(&["policy", "show", "t", "--json"]));
    let tool = &json["tools"][0];
    assert_eq!((&tool["imports"], &tool["scratch"]["guest"]), (&json!("strict"), &json!("/scratch")));
    assert_eq!(tool["entry"]["command"]["outputs"][0]["name"], "out.txt");
    assert_eq!(tool["arguments"][0]["completion"], json!({ "default": "/shared/a" }));
}

#[test]
fn the_hash_of_all_files_is_what_sha256sum_gives() {
    let home = Home::new().own_policies();
    let shown = line(&home.run(&["policy", "show", "--json"]));
    let sums = "LC_ALL=C; export LC_ALL; sha256sum profiles/*.toml tools/*.toml | sha256sum | cut -d' ' -f1";
    let summed = std::process::Command::new("sh")
        .args(["-c", sums])
        .current_dir(home.policies_dir())
        .output()
        .expect("runs");
    assert_eq!(shown["policies_sha256"], String::from_utf8_lossy(&summed.stdout).trim());
}
