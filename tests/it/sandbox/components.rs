//! Component files: pinned by their hash, read with care, swapped by somebody else.

use super::chat::Chat;
use super::finished;
use std::path::PathBuf;
use std::time::Instant;
use support::guests::{self, sha256};
use support::home::{Home, Ran, builtin_policies};

const POLICY: &str = "safety = \"read-only\"\n[arguments]\nname = \"value\"";

/// A gateway with the outside author's tool, and where its component lies.
fn hello() -> (Home, PathBuf) {
    let home = Home::new().tool("hello", "file-read-only", "minimal", POLICY);
    let file = home.policies_dir().join("tools/hello.wasm");
    (home, file)
}

fn greeted(home: &Home) -> Ran {
    let started = Instant::now();
    let ran = home.call(&["hello", "name=Ada"]);
    assert!(started.elapsed() < super::SOON, "took {:?}", started.elapsed());
    ran
}

/// The tool does not load and says this; the others do.
fn unavailable(home: &Home, says: &str) {
    let ran = greeted(home);
    assert_eq!((ran.code, ran.error().as_str()), (Some(1), "tool_unavailable"), "{ran:?}");
    assert!(ran.message().contains(says), "{says:?} in {ran:?}");
    let checked = home.run(&["policy", "check"]);
    assert_eq!(checked.code, Some(3), "{checked:?}");
    let problem = checked.stdout.lines().find(|line| line.starts_with("problem: tools/hello.toml: "));
    assert!(problem.is_some_and(|problem| problem.contains(says)), "{checked:?}");
    assert_eq!(home.call(&["file_read", "path=/shared/none"]).error(), "not_found", "the others work");
}

#[test]
fn a_component_from_outside_runs_by_file_and_hash() {
    let (home, file) = hello();
    let ran = greeted(&home);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "{\"greeting\":\"Hello, Ada!\"}\n"), "{ran:?}");
    let outcome = home.audit().pop().expect("an outcome");
    assert_eq!(outcome["component_sha256"], guests::sha256(&std::fs::read(file).expect("there")));
}

#[test]
fn another_component_than_the_pinned_one_does_not_load() {
    let (home, file) = hello();
    let mut bytes = std::fs::read(&file).expect("there");
    let pinned = guests::sha256(&bytes);
    bytes.push(0);
    std::fs::write(&file, &bytes).expect("ours");
    let says = format!("has sha256 {}, the policy pins {pinned}; review", guests::sha256(&bytes));
    unavailable(&home, &says);
}

#[test]
fn what_is_no_file_is_not_read() {
    let (home, file) = hello();
    std::fs::remove_file(&file).expect("ours");
    unavailable(&home, "cannot read component hello.wasm: No such file");
    rustix::fs::mknodat(rustix::fs::CWD, &file, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("ours");
    unavailable(&home, "cannot read component hello.wasm: it is not a regular file");
    std::fs::remove_file(&file).expect("ours");
    std::fs::create_dir(&file).expect("ours");
    unavailable(&home, "cannot read component hello.wasm: it is not a regular file");
    std::fs::remove_dir(&file).expect("ours");
    std::os::unix::fs::symlink("/dev/zero", &file).expect("ours");
    unavailable(&home, "cannot read component hello.wasm: it is not a regular file");
}

#[test]
fn a_file_over_the_limit_is_not_read_whole() {
    let (home, file) = hello();
    std::fs::File::create(&file).and_then(|file| file.set_len(1 << 40)).expect("sparse");
    unavailable(&home, "cannot read component hello.wasm: larger than 100663296 bytes");
}

/// Padded by a custom section, which holds what its maker likes.
#[test]
fn a_file_at_the_limit_loads() {
    const LIMIT: usize = 96 << 20;
    let sound = support::guests::bytes("minimal");
    let mut length = Vec::new();
    // Its length with that of its name, in five bytes of LEB128.
    let mut left = LIMIT - sound.len() - 6;
    for at in 0..5 {
        length.push((left & 0x7f) as u8 | if at < 4 { 0x80 } else { 0 });
        left >>= 7;
    }
    let padded = [&sound[..], &[0], &length, &[3], b"pad"].concat();
    let padded = [&padded[..], &vec![b'x'; LIMIT - padded.len()]].concat();
    let (home, file) = hello();
    std::fs::write(&file, &padded).expect("writable");
    let policy = home.policies_dir().join("tools/hello.toml");
    let text = std::fs::read_to_string(&policy).expect("there");
    let pinned = text.replace(&sha256(&sound), &sha256(&padded));
    assert_ne!(text, pinned);
    std::fs::write(&policy, pinned).expect("writable");
    let ran = home.call(&["hello", "name=Ada"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "{\"greeting\":\"Hello, Ada!\"}\n"), "{ran:?}");
}

#[test]
fn what_is_no_component_says_so_on_one_line() {
    let core_module = b"\0asm\x01\0\0\0".as_slice();
    let empty_component = b"\0asm\x0d\0\x01\0".as_slice();
    for (bytes, says) in [
        (b"".as_slice(), "the component does not compile: "),
        (b"#!/bin/sh\n", "the component does not compile: "),
        (core_module, "the component does not compile: "),
        (empty_component, "no exported instance named `cofferdam:tool/tool@0.1.0`"),
    ] {
        let (home, file) = hello();
        std::fs::write(&file, bytes).expect("ours");
        let policy = home.policies_dir().join("tools/hello.toml");
        let text = std::fs::read_to_string(&policy).expect("there");
        let pinned = guests::sha256(&guests::bytes("minimal"));
        std::fs::write(policy, text.replace(&pinned, &guests::sha256(bytes))).expect("ours");
        unavailable(&home, says);
        let lines = home.run(&["policy", "check"]).stdout.lines().count();
        assert_eq!(
            lines,
            builtin_policies().len() + 1 + 1,
            "the other tools, the problem, the number of problems"
        );
    }
}

#[test]
fn a_component_swapped_after_the_start_is_not_taken_up() {
    let (home, file) = hello();
    let mut chat = Chat::start(&home);
    assert_eq!(chat.say("/hello name=Ada"), r#"{"greeting":"Hello, Ada!"}"#);
    std::fs::write(&file, guests::bytes("hostile")).expect("ours");
    assert_eq!(chat.say("/hello name=Bob"), r#"{"greeting":"Hello, Bob!"}"#);
    chat.end();
    unavailable(&home, "the policy pins");
}

#[test]
fn a_policy_that_pins_nothing_is_no_policy() {
    let policy = |component: &str| {
        let head = "schema = 1\ntool = \"hello\"\nprofile = \"file-read-only\"\nwhy = \"a test\"\nsafety = \"read-only\"\n";
        format!("{head}component = {component}\n")
    };
    for component in [
        r#"{ file = "hello.wasm" }"#,
        r#"{ file = "hello.wasm", sha256 = "" }"#,
        r#"{ file = "hello.wasm", sha256 = "ABCD" }"#,
        r#""hello.wasm""#,
    ] {
        let (home, _) = hello();
        let home = home.policy("tools/hello.toml", &policy(component));
        let checked = home.run(&["policy", "check"]);
        assert_eq!(checked.code, Some(3), "{component}: {checked:?}");
        assert!(checked.stdout.contains("problem: tools/hello.toml:6: "), "{component}: {checked:?}");
        // Nothing runs under policies that were not understood whole.
        let ran = finished(&mut home.command(&["call", "file_read", "path=/shared/none"]));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{component}: {ran:?}");
        assert!(ran.stderr.contains("tools/hello.toml:6: "), "{component}: {ran:?}");
    }
}
