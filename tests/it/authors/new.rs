//! `tool new`: what it refuses, and that what it writes builds without a warning, from its own SDK
//! and from a checkout's, with the versions that its lock file names.

use super::{author, refused, within};
use std::path::Path;
use std::process::Command;
use support::home::{Home, Ran};

fn finished(command: &mut Command) -> Ran {
    command.output().expect("the program starts").into()
}

fn done(command: &mut Command) -> Ran {
    let ran = finished(command);
    assert_eq!(ran.code, Some(0), "{command:?}: {}\n{}", ran.stdout, ran.stderr);
    ran
}

#[test]
fn names_that_are_none() {
    let home = Home::new();
    let long = "a".repeat(65);
    for name in
        ["", "Hello", "1st", "_x", "my-tool", "my tool", "../up", "/tmp/x", "a.b", "ünï", "a\nb", &long]
    {
        refused(&home.run(&["tool", "new", name]), &["is not a tool name; use lower-case letters"]);
    }
    for name in ["fn", "self", "std", "core", "test", "cofferdam_sdk", "serde", "wit_bindgen", "a__b"] {
        refused(&home.run(&["tool", "new", name]), &["no good name for a Rust crate; write e.g. my_tool"]);
    }
    for name in ["help", "start", "voice"] {
        refused(&home.run(&["tool", "new", name]), &["is a word to the gateway itself; choose another name"]);
    }
    let left: Vec<_> =
        std::fs::read_dir(home.dir()).expect("there").flatten().map(|e| e.file_name()).collect();
    assert!(left.iter().all(|name| name == "cofferdam.toml" || name == "state"), "{left:?}");
}

#[test]
fn nothing_is_overwritten() {
    let home = Home::new();
    home.file("hello", b"mine");
    std::os::unix::fs::symlink("nowhere", home.dir().join("link")).expect("ours");
    std::fs::create_dir(home.dir().join("folder")).expect("ours");
    for arguments in [&["hello"][..], &["hello", "--dir", "link"], &["hello", "--dir", "folder"]] {
        refused(&home.run(&[&["tool", "new"], arguments].concat()), &["is there already", "--dir"]);
    }
    assert_eq!(std::fs::read(home.dir().join("hello")).expect("there"), b"mine");
    assert!(!home.dir().join("nowhere").exists());
    assert_eq!(std::fs::read_dir(home.dir().join("folder")).expect("there").count(), 0);
}

#[test]
fn places_that_cannot_be_written() {
    let home = Home::new();
    home.file("file", b"");
    for dir in ["file/hello", "/proc/hello", "/dev/null/hello"] {
        refused(
            &home.run(&["tool", "new", "hello", "--dir", dir]),
            &["cannot create", "choose another place"],
        );
    }
}

#[test]
fn an_sdk_that_is_none() {
    let home = Home::new();
    for path in ["missing", ".", "/"] {
        refused(&home.run(&["tool", "new", "hello", "--sdk", path]), &["is not the SDK", "guest-tools/sdk"]);
    }
    for version in ["", "x", "1.2.3.4", "*", "1\"", "0.1 ", "1..2"] {
        let ran = home.run(&["tool", "new", "hello", &format!("--sdk-version={version}")]);
        refused(&ran, &["is not a version"]);
    }
    let both = home.run(&["tool", "new", "hello", "--sdk", ".", "--sdk-version", "0.1.0"]);
    refused(&both, &["cannot be used with"]);
    assert!(!home.dir().join("hello").exists());
}

#[test]
fn a_version_is_written_as_a_registrys() {
    let home = Home::new();
    let ran = home.run(&["tool", "new", "hello", "--sdk-version", "0.1"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let manifest = std::fs::read_to_string(home.dir().join("hello/Cargo.toml")).expect("written");
    assert!(manifest.contains("\ncofferdam-sdk = \"0.1\"\n"), "{manifest}");
    assert!(!home.dir().join("hello/cofferdam-sdk").exists());
}

#[test]
fn before_it_is_pinned_nothing_loads() {
    let home = Home::new();
    assert_eq!(home.run(&["tool", "new", "hello"]).code, Some(0));
    let ran = home.run(&["policy", "check", "hello/policies"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(
        ran.stdout.contains("problem: tools/hello.toml: hello: cannot read component hello.wasm"),
        "{ran:?}"
    );
    std::fs::copy(support::guests::path("minimal"), home.dir().join("hello/policies/tools/hello.wasm"))
        .expect("ours");
    let ran = home.run(&["policy", "check", "hello/policies"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let line = format!("sha256 = \"{}\"", support::guests::sha256(&support::guests::bytes("minimal")));
    assert!(ran.stdout.contains("the policy pins 00000000") && ran.stdout.contains(&line), "{ran:?}");
    let profile = std::fs::read_to_string(home.dir().join("hello/policies/profiles/nothing.toml"));
    assert!(profile.expect("written").contains("mounts = []"));
}

#[test]
fn what_is_written_builds_without_a_warning() {
    let home = Home::new();
    let sdk = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository").join("guest-tools/sdk");
    for (name, dir, more) in [
        ("hello", "it's \"quoted\"/hello", &[][..]),
        ("a_report_of_2026", "of the checkout", &["--sdk", sdk.to_str().expect("text")]),
    ] {
        let ran = within(&home, home.dir(), &[&["tool", "new", name, "--dir", dir], more].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stdout.contains("Next:\n"), "{ran:?}");
        let dir = home.dir().join(dir);
        let lock = std::fs::read_to_string(dir.join("Cargo.lock")).expect("written");
        let target = ["--release", "--target", "wasm32-wasip2"];
        // The lock file holds: the versions are those that the SDK was tested with.
        done(&mut author(&dir, "cargo", &[&["build", "--locked"], &target[..]].concat()));
        assert_eq!(std::fs::read_to_string(dir.join("Cargo.lock")).expect("there"), lock);
        // Everything is there now.
        let offline = [&["clippy", "--offline", "--locked"], &target[..], &["--", "-D", "warnings"]].concat();
        done(&mut author(&dir, "cargo", &offline));
        done(&mut author(&dir, "cargo", &["fmt", "--check"]));
        let tests = done(&mut author(&dir, "cargo", &["test", "--offline", "--locked"]));
        assert!(tests.stdout.contains("2 passed"), "{tests:?}");
        let ran = within(&home, &dir, &["tool", "test"]);
        assert_eq!(
            ran.stdout, "ok    greets by name\nok    refuses an empty name\n2 passed, 0 failed\n",
            "{ran:?}"
        );
        // A component that is older than its sources is not what the cases are about.
        let now = std::fs::File::options().append(true).open(dir.join("src/lib.rs")).expect("there");
        now.set_modified(std::time::SystemTime::now()).expect("ours");
        refused(
            &within(&home, &dir, &["tool", "test"]),
            &["is older than ./src/lib.rs", "build the tool again"],
        );
    }
}
