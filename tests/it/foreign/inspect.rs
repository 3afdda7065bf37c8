//! `tool inspect` says which of the three a component could be, with policies that load as they
//! are; `tool adapt` makes a component of a module; `tool new` starts one in other languages.

use super::sha256;
use support::guests;
use support::home::Home;

/// The skeletons that are printed, each loaded as it is beside the component.
fn skeletons(guest: &str) -> Vec<String> {
    let home = Home::new();
    let file = guests::path(guest).display().to_string();
    let json = home.run(&["tool", "inspect", &file, "--json"]).json();
    let skeletons = json["skeletons"].as_array().expect("a list").clone();
    let text = home.run(&["tool", "inspect", &file]).stdout;
    for skeleton in &skeletons {
        let (tool, policy) =
            (skeleton["tool"].as_str().expect("text"), skeleton["text"].as_str().expect("text"));
        assert!(policy.starts_with("schema = 1\n") && policy.contains("\"…\""), "{policy}");
        assert!(text.contains(policy) && policy.contains(&sha256(guest)), "{text}");
        let nothing = "schema = 1\nprofile = \"nothing\"\nwhy = \"a test\"\nmounts = []\n";
        let home = Home::new().policy("profiles/nothing.toml", nothing);
        let home = home.policy(&format!("tools/{tool}.toml"), policy);
        let component =
            policy.split("{ file = \"").nth(1).and_then(|rest| rest.split('"').next()).expect("a file");
        std::fs::write(home.policies_dir().join("tools").join(component), guests::bytes(guest))
            .expect("writable");
        let checked = home.run(&["policy", "check"]);
        assert_eq!(checked.code, Some(0), "{policy}\n{checked:?}");
        assert!(checked.stdout.contains(&format!("{tool}: profile nothing: nothing")), "{checked:?}");
        // As a file of its own as well, with no profile beside it.
        let alone = home.file("skeleton.toml", policy.as_bytes());
        let inspected = home.run(&["tool", "inspect", &file, "--policy", &alone]);
        assert_eq!(inspected.code, Some(0), "{inspected:?}");
    }
    skeletons.iter().map(|skeleton| skeleton["text"].as_str().expect("text").to_owned()).collect()
}

#[test]
fn each_of_the_three_is_told_with_policies_that_load() {
    let tool = skeletons("minimal");
    assert!(tool.len() == 1 && tool[0].contains("name = \"value\""), "{tool:?}");
    let command = skeletons("commands");
    assert!(command.len() == 1 && command[0].contains("argv = [\"commands\"]"), "{command:?}");
    let both = skeletons("examples/both");
    assert!(both.len() == 2 && both[0].contains("argv = [\"both\"]"), "{both:?}");
    assert!(both[1].contains("export = \"add\""), "{both:?}");
    let functions = skeletons("examples/functions");
    assert_eq!(functions.len(), 8, "{functions:?}");
    assert!(functions.iter().any(|policy| policy.contains("export = \"acme:demo/math@1.2.0#echo\"")
        && policy.contains("\"all.pairs[][0]\" = \"value\"")));
}

#[test]
fn what_json_cannot_hold_is_listed_with_the_reason() {
    let home = Home::new();
    let file = guests::path("examples/functions").display().to_string();
    let ran = home.run(&["tool", "inspect", &file]);
    assert!(
        ran.stdout.contains("math@1.2.0#twice has a parameter doubt that is an option of an option"),
        "{ran:?}"
    );
    assert!(ran.stdout.contains("could be  11 functions, each by [function]"), "{ran:?}");
}

#[test]
fn what_is_no_module_is_not_adapted() {
    let home = Home::new();
    let out = home.dir().join("out.wasm");
    let out = out.to_str().expect("text");
    let adapt = |file: &str| home.run(&["tool", "adapt", file, out]);
    let component = guests::path("minimal").display().to_string();
    let ran = adapt(&component);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("is a component already"), "{ran:?}");
    let (no_module, no_component) =
        ("is no module; give one that was built for wasm32-wasip1", "no component");
    for (bytes, code, said) in
        [(&b""[..], 2, no_module), (b"#!/bin/sh", 2, no_module), (b"\0asm\x01\0\0\0\xff", 1, no_component)]
    {
        let file = home.dir().join("odd.wasm");
        std::fs::write(&file, bytes).expect("writable");
        let ran = adapt(file.to_str().expect("text"));
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(ran.stderr.contains(said), "{ran:?}");
    }
    assert!(!std::path::Path::new(out).exists());
}

/// A module that exports `_start`, which returns at once.
const MODULE: &[u8] = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x03\x02\x01\0\x05\x03\x01\0\x01\x07\x13\x02\x06memory\x02\0\x06_start\0\0\x0a\x04\x01\x02\0\x0b";

#[test]
fn a_module_becomes_a_command() {
    let home = Home::new();
    let (module, out) = (home.dir().join("module.wasm"), home.dir().join("quiet.wasm"));
    std::fs::write(&module, MODULE).expect("writable");
    let ran = home.run(&["tool", "adapt", module.to_str().expect("text"), out.to_str().expect("text")]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let ran = home.run(&["tool", "adapt", "module.wasm", "a b.wasm"]);
    assert!(ran.stderr.contains("next: cofferdam tool inspect 'a b.wasm'"), "{ran:?}");
    let ran = home.run(&["tool", "inspect", out.to_str().expect("text")]);
    assert!(ran.stdout.contains("a WASI command") && ran.stdout.contains("argv = [\"quiet\"]"), "{ran:?}");
    let ran = home.run(&["tool", "run", out.to_str().expect("text")]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "{\"stdout\":\"\"}\n"), "{ran:?}");
}

#[test]
fn a_component_is_not_put_in_the_place_of_a_device() {
    let home = Home::new();
    std::fs::write(home.dir().join("module.wasm"), MODULE).expect("writable");
    // /dev/stdout is a link to a regular file where standard output is one.
    let out = home.dir().join("out");
    for device in ["/dev/null", "module.wasm"] {
        std::os::unix::fs::symlink(device, &out).expect("writable");
        let ran = home.run(&["tool", "adapt", "module.wasm", "out"]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("cannot write out: it is not a regular file"), "{ran:?}");
        assert_eq!(std::fs::read_link(&out).expect("still a link"), std::path::Path::new(device));
        std::fs::remove_file(&out).expect("ours");
    }
}

#[test]
fn a_tool_is_started_in_each_language() {
    let home = Home::new();
    let dir = home.dir().join("rust");
    let dir = dir.to_str().expect("text");
    let ran = home.run(&["tool", "new", "greeter", "--lang", "rust", "--dir", dir]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for file in ["Cargo.toml", "src/lib.rs", "policies/tools/greeter.toml"] {
        assert!(std::path::Path::new(dir).join(file).is_file(), "rust: {file}");
    }
    for (language, source) in [("python", "app.py"), ("js", "tool.js"), ("c", "tool.c")] {
        let dir = home.dir().join(language);
        let dir = dir.to_str().expect("text");
        let ran = home.run(&["tool", "new", "greeter", "--lang", language, "--dir", dir]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        for file in [source, "build.sh", "wit/tool.wit", "policies/tools/greeter.toml", "cases/greets.json"] {
            assert!(std::path::Path::new(dir).join(file).is_file(), "{language}: {file}");
        }
        let again = home.run(&["tool", "new", "greeter", "--lang", language, "--dir", dir]);
        assert_eq!(again.code, Some(2), "{again:?}");
    }
    let sdk = home.run(&["tool", "new", "greeter", "--lang", "c", "--sdk-version", "0.1.0"]);
    assert_eq!(sdk.code, Some(2), "{sdk:?}");
}
