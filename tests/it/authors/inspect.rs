//! `tool inspect`: files that are no component, what a component is and wants, and the verdict
//! under a policy with the line that would change it.

use super::{guest, hello_policy, refused, told};
use crate::cli::help::compare;
use serde_json::{Value, json};
use std::path::Path;
use support::guests;
use support::home::{Home, Ran};

fn inspect(home: &Home, arguments: &[&str]) -> Ran {
    home.run(&[&["tool", "inspect"], arguments].concat())
}

/// A profile file that grants this.
fn profile(mounts: &str, interfaces: &str) -> String {
    format!("schema = 1\nprofile = \"p\"\nwhy = \"w\"\nmounts = [{mounts}]\ninterfaces = [{interfaces}]\n")
}

#[test]
fn files_that_no_gateway_takes() {
    let home = Home::new();
    let minimal = guests::bytes("minimal");
    let module = b"\0asm\x01\0\0\0".to_vec();
    let mut broken = minimal.clone();
    broken[minimal.len() / 2] ^= 0xff;
    let many = [&b"\0asm\x0d\0\x01\0"[..], &[0xff; 4096]].concat();
    for (name, bytes, says) in [
        ("empty", Vec::new(), "the file is empty; build the tool with"),
        ("script", b"#!/bin/sh\nexit 0\n".to_vec(), "this is not WebAssembly"),
        ("garbage", vec![0x9d; 100_000], "this is not WebAssembly"),
        ("module", module, "this is a core WebAssembly module, not a component"),
        ("cut", minimal[..minimal.len() / 2].to_vec(), "is not WebAssembly: "),
        ("broken", broken, "the component does not compile: "),
        ("many", many, "is not WebAssembly: "),
        ("huge", vec![0; (96 << 20) + 1], "larger than 100663296 bytes"),
    ] {
        // What may be one is not said to be none.
        let is_none = !["broken", "huge"].contains(&name);
        let file = home.file(name, &bytes);
        for command in [&["inspect", &file][..], &["inspect", &file, "--json"], &["run", &file]] {
            let ran = home.run(&[&["tool"], command].concat());
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{name}: {ran:?}");
            told(
                &ran,
                &[&if is_none { format!("{file} is not a component: ") } else { format!("{file}: ") }, says],
            );
            assert_eq!(ran.stderr.contains("is not a component: "), is_none, "{name}: {ran:?}");
            assert_eq!(ran.stderr.matches(says).count(), 1, "{name}: {ran:?}");
            assert!(ran.stderr.lines().count() == 1 && ran.stderr.len() < 1000, "{name}: {ran:?}");
        }
    }
    refused(&inspect(&home, &["missing.wasm"]), &["cannot read missing.wasm", "cargo build --release"]);
    let dir = home.dir().to_str().expect("text").to_owned();
    refused(&inspect(&home, &[&dir]), &["cannot read", "not a regular file"]);
}

#[test]
fn a_fifo_is_not_waited_for() {
    let home = Home::new();
    let fifo = home.dir().join("fifo.wasm");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .expect("ours");
    let ran = inspect(&home, &[fifo.to_str().expect("text")]);
    refused(&ran, &["cannot read", "not a regular file"]);
}

#[test]
fn a_component_is_shown_with_everything_that_a_policy_needs() {
    let home = Home::new();
    let ran = inspect(&home, &[&guest("minimal")]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let bytes = guests::bytes("minimal");
    let text = ran
        .stdout
        .replace(&guest("minimal"), "FILE")
        .replace(&guests::sha256(&bytes), "SHA256")
        .replace(&format!("{} bytes", bytes.len()), "SIZE bytes");
    compare("tool-inspect", &text);
    let json = inspect(&home, &[&guest("minimal"), "--json"]).json();
    assert_eq!((&json["sha256"], &json["bytes"]), (&json!(guests::sha256(&bytes)), &json!(bytes.len())));
    assert_eq!((&json["name"], &json["loads"]), (&json!("hello"), &json!(true)));
    assert_eq!(json["imports_beyond_baseline"], json!([]));
    assert_eq!(json["exports"], json!(["cofferdam:tool/tool@0.1.0"]));
    assert_eq!(json["texts"], json!([{ "argument": "name", "class": null }]));
}

#[test]
fn the_policy_that_it_prints_is_one() {
    let home = Home::new();
    let ran = inspect(&home, &[&guest("minimal")]);
    let (_, policy) = ran.stdout.split_once("for tools/hello.toml:\n\n").expect("a policy is printed");
    let file = home.file("hello.toml", policy.as_bytes());
    // Its profile is none of the embedded ones, and known all the same.
    let ran = inspect(&home, &[&guest("minimal"), "--policy", &file]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    // One that nobody knows is not.
    let other = home.file("other.toml", policy.replace("\"nothing\"", "\"nobodys\"").as_bytes());
    let ran = inspect(&home, &[&guest("minimal"), "--policy", &other]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stdout.contains("no profile \"nobodys\""), "{ran:?}");
    for folder in ["p/profiles", "p/tools"] {
        std::fs::create_dir_all(home.dir().join(folder)).expect("ours");
    }
    home.file("p/profiles/nothing.toml", b"schema = 1\nprofile = \"nothing\"\nwhy = \"w\"\nmounts = []\n");
    let file = home.file("p/tools/hello.toml", policy.as_bytes());
    for under in [file.as_str(), "p"] {
        let ran = inspect(&home, &[&guest("minimal"), "--policy", under]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stdout.contains(&format!("verdict   loads under {under}\n")), "{ran:?}");
    }
}

#[test]
fn the_verdict_names_tool_rule_and_line() {
    let home = Home::new().own_policies();
    let dir = home.policies_dir();
    let dir = dir.to_str().expect("text");
    let check = |file: &str, name: &str, text: &str, said: &[&str]| {
        std::fs::write(home.policies_dir().join(format!("tools/{name}.toml")), text).expect("ours");
        let ran = inspect(&home, &[&guest(file), "--policy", dir]);
        assert_eq!(ran.code, Some(3), "{said:?}: {ran:?}");
        let json = inspect(&home, &[&guest(file), "--policy", dir, "--json"]).json();
        assert_eq!(json["loads"], json!(false));
        let problems = json["problems"].to_string();
        for said in said {
            assert!(ran.stdout.contains(said), "{said:?} in {}", ran.stdout);
            assert!(problems.contains(json!(said).to_string().trim_matches('"')), "{said:?} in {problems}");
        }
        std::fs::remove_file(home.policies_dir().join(format!("tools/{name}.toml"))).expect("ours");
    };
    check(
        "minimal",
        "other",
        &hello_policy("file-read-only", "[arguments]\nname = \"value\"\n").replace("\"hello\"", "\"other\""),
        &["hello: ", "has no policy for it; add tools/hello.toml"],
    );
    check(
        "minimal",
        "hello",
        &hello_policy("file-read-only", ""),
        &[
            "tools/hello.toml:1: hello: argument \"name\" can hold text and is not classified",
            "add to [arguments]: name = \"value\"",
        ],
    );
    check(
        "minimal",
        "hello",
        &hello_policy("file-read-only", "[arguments]\nname = \"value\"\nage = \"value\"\n"),
        &["tools/hello.toml:9: hello has no argument \"age\"; remove the line"],
    );
    let unpinned = hello_policy("file-read-only", "[arguments]\nname = \"value\"\n");
    let sha256 = guests::sha256(&guests::bytes("minimal"));
    check(
        "minimal",
        "hello",
        &unpinned.replace(&sha256, &"0".repeat(64)),
        &[
            "tools/hello.toml: hello: component hello.wasm has sha256",
            &format!("then write: component = {{ file = \"hello.wasm\", sha256 = \"{sha256}\" }}"),
        ],
    );
    let hostile = hello_policy("p", "[arguments]\nbehaviour = \"value\"\nbytes = \"value\"\n")
        .replace("\"hello\"", "\"hostile\"")
        .replace("[arguments]", "imports = \"strict\"\n[arguments]");
    std::fs::write(home.policies_dir().join("profiles/p.toml"), profile("", "")).expect("ours");
    // Everything in one round, each with its line.
    check(
        "hostile",
        "hostile",
        &hostile,
        &[
            "tools/hostile.toml: hostile: the component does not load: it imports `cofferdam:tool/turn-attachments@0.1.0`",
            "grant the interface in the profile p: interfaces = [\"turn-attachments\"]",
            "it imports `cofferdam:tool/workspace-write@0.1.0`",
            "mounts = [ { guest = \"/shared\", access = \"atomic-write\" } ]",
            "argument \"path\" can hold text and is not classified",
        ],
    );
    check(
        "examples/unknown_import",
        "x",
        &hello_policy("p", ""),
        &["it called run of `backdoor:host/shell@0.1.0`, which is not granted"],
    );
}

/// Of a builtin's policy: the very file that is embedded is as good, and no other one.
#[test]
fn a_policy_that_takes_the_builtin_takes_no_other_file() {
    let home = Home::new();
    let builtin = guests::bytes("file_read");
    // A custom section at the end: another file that does the same.
    let other = [&builtin[..], &[0, 2, 1, b'x']].concat();
    let policy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policies/tools/file_read.toml");
    let policy = policy.to_str().expect("text");
    for (bytes, problems) in [
        (&builtin, vec![]),
        (
            &other,
            vec![json!(format!(
                "tools/file_read.toml: file_read: the policy takes the builtin component, not this file; write: \
                 component = {{ file = \"file_read.wasm\", sha256 = \"{}\" }}",
                guests::sha256(&other)
            ))],
        ),
    ] {
        let file = home.file("file_read.wasm", bytes);
        let ran = inspect(&home, &[&file, "--policy", policy, "--json"]);
        assert_eq!(ran.code, Some(if problems.is_empty() { 0 } else { 3 }), "{ran:?}");
        assert_eq!(ran.json()["problems"], Value::from(problems));
    }
}

#[test]
fn with_nothing_granted_it_describes_itself_all_the_same() {
    let home = Home::new();
    let json = inspect(&home, &[&guest("hostile"), "--json"]).json();
    assert_eq!((&json["name"], &json["loads"]), (&json!("hostile"), &json!(true)));
    let names: Vec<_> = json["imports_beyond_baseline"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|i| i["name"].clone())
        .collect();
    assert!(names.contains(&json!("cofferdam:tool/turn-attachments@0.1.0")), "{names:?}");
    assert!(names.contains(&json!("cofferdam:tool/workspace-write@0.1.0")), "{names:?}");
    assert!(!home.workspace().exists(), "looking makes no workspace");
    assert_eq!(home.audit(), Vec::<Value>::new());
}

#[test]
fn odd_descriptions_are_told_and_not_followed() {
    let home = Home::new();
    for (name, says) in [
        ("describe_spins", "did not finish within 10s"),
        ("describe_traps", "the tool crashed"),
        ("not_json", "schema is not JSON"),
        ("bad_name", "is not a tool name"),
        ("huge_schema", "longer than 65536 bytes"),
        ("remote_ref", "$ref"),
        ("open_arguments", "unnamed properties"),
    ] {
        let ran = inspect(&home, &[&guest(&format!("examples/{name}"))]);
        assert_eq!(ran.code, Some(0), "{name}: {ran:?}");
        assert!(
            ran.stdout.contains("does not load under nothing granted:") && ran.stdout.contains(says),
            "{name}: {ran:?}"
        );
    }
}

/// The component with other words of the same length in it.
fn reworded(mut bytes: Vec<u8>, words: &[(&str, &str)]) -> Vec<u8> {
    for (was, is) in words {
        assert_eq!(was.len(), is.len(), "{was:?}");
        let at = bytes.windows(was.len()).position(|window| window == was.as_bytes()).expect(was);
        bytes[at..at + was.len()].copy_from_slice(is.as_bytes());
    }
    bytes
}

#[test]
fn what_a_stranger_says_of_a_tool_is_spelled_out() {
    let words = [
        ("Greets somebody by name.", "Greets somebody \u{202e}name."),
        ("Who is greeted.", "Who\u{2066} greeted."),
    ];
    let bytes = reworded(guests::bytes("minimal"), &words);
    let policy = hello_policy("file-read-only", "[arguments]\nname = \"value\"\n")
        .replace(&guests::sha256(&guests::bytes("minimal")), &guests::sha256(&bytes));
    let home = Home::new().policy("tools/hello.toml", &policy);
    std::fs::write(home.policies_dir().join("tools/hello.wasm"), &bytes).expect("writable");
    let file = home.file("hello.wasm", &bytes);
    for (ran, summary, described) in [
        (inspect(&home, &[&file]), r"Greets somebody \u{202e}name.", r"Who\u2066 greeted."),
        (inspect(&home, &[&file, "--json"]), r"Greets somebody \\u{202e}name.", r"Who\u2066 greeted."),
        (home.run(&["tools"]), r"Greets somebody \u{202e}name.", ""),
        (home.run(&["tools", "--json"]), r"Greets somebody \\u{202e}name.", r"Who\u2066 greeted."),
    ] {
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stdout.contains(summary) && ran.stdout.contains(described), "{ran:?}");
        assert!(!ran.stdout.contains(['\u{202e}', '\u{2066}']), "{ran:?}");
    }
    // A program reads the same words in a schema.
    let inspected = inspect(&home, &[&file, "--json"]).json();
    assert_eq!(inspected["arguments"]["properties"]["name"]["description"], words[1].1);
}

#[test]
fn pinning_writes_the_hash_and_the_component_and_nothing_else() {
    let home = Home::new();
    assert_eq!(home.run(&["tool", "new", "hello"]).code, Some(0));
    let policy = home.dir().join("hello/policies/tools/hello.toml");
    let before = std::fs::read_to_string(&policy).expect("written");
    let pin =
        |guest_name: &str| inspect(&home, &[&guest(guest_name), "--pin", "hello/policies/tools/hello.toml"]);
    // What would not load is not pinned.
    let ran = pin("hostile");
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stdout.contains("the component calls itself hostile"), "{ran:?}");
    assert_eq!(std::fs::read_to_string(&policy).expect("there"), before);
    assert!(!policy.with_file_name("hello.wasm").exists());

    for _ in 0..2 {
        let ran = pin("minimal");
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stdout.contains("verdict   loads under hello/policies/tools/hello.toml\n"), "{ran:?}");
        told(&ran, &["pinned "]);
        let sha256 = guests::sha256(&guests::bytes("minimal"));
        assert_eq!(
            std::fs::read_to_string(&policy).expect("there"),
            before.replace(&"0".repeat(64), &sha256)
        );
        assert_eq!(
            std::fs::read(policy.with_file_name("hello.wasm")).expect("there"),
            guests::bytes("minimal")
        );
    }
    assert_eq!(home.run(&["policy", "check", "hello/policies"]).code, Some(0));
    refused(&inspect(&home, &[&guest("minimal"), "--pin", "none.toml"]), &["cannot read none.toml"]);
}

#[test]
fn a_folder_of_policies_is_not_pinned_in() {
    let home = Home::new();
    assert_eq!(home.run(&["tool", "new", "hello"]).code, Some(0));
    let pin = |policy: &str| inspect(&home, &[&guest("minimal"), "--pin", policy]);
    let said = ["cannot pin in hello/policies: it is not a file", "name the tool's policy file"];
    refused(&pin("hello/policies"), &said);
    assert_eq!(pin("hello/policies/tools/hello.toml").code, Some(0));
    // Its policy pins these very bytes now, and there is a place beside the folder.
    home.file("hello/hello.wasm", b"mine");
    refused(&pin("hello/policies"), &said);
    assert_eq!(std::fs::read(home.dir().join("hello/hello.wasm")).expect("there"), b"mine");
}

#[test]
fn a_component_is_copied_beside_its_policy_and_nowhere_else() {
    let home = Home::new();
    assert_eq!(home.run(&["tool", "new", "hello"]).code, Some(0));
    let policy = home.dir().join("hello/policies/tools/hello.toml");
    let text = std::fs::read_to_string(&policy).expect("written");
    let mine = home.file("mine", b"mine");
    let pin = || inspect(&home, &[&guest("minimal"), "--pin", "hello/policies/tools/hello.toml"]);
    for elsewhere in [mine.as_str(), "/dev/zero", "../../../mine"] {
        let written = text.replace("\"hello.wasm\"", &format!("{elsewhere:?}"));
        std::fs::write(&policy, &written).expect("ours");
        refused(&pin(), &["--pin copies a component only beside the policy file", "copy it there by hand"]);
        assert_eq!(std::fs::read(&mine).expect("there"), b"mine");
        assert_eq!(std::fs::read_to_string(&policy).expect("there"), written);
    }
    // One that lies there already is pinned.
    std::fs::write(&mine, guests::bytes("minimal")).expect("ours");
    assert_eq!(pin().code, Some(0));
    let sha256 = guests::sha256(&guests::bytes("minimal"));
    assert!(std::fs::read_to_string(&policy).expect("there").contains(&sha256));
}
