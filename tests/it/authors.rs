//! What people who write tools do with the program: start a crate, look at a component, call it,
//! test it; and the guide that takes them from an empty folder to a bot command.

mod cases;
mod errors;
mod guide;
mod inspect;
mod new;
mod run;
mod wit;

use std::path::Path;
use std::process::{Command, Stdio};
use support::home::{Home, Ran};
use support::{guests, program};

/// The program in this folder, with the home's configuration.
fn within(home: &Home, dir: &Path, arguments: &[&str]) -> Ran {
    home.command(arguments).current_dir(dir).output().expect("the program starts").into()
}

/// A test guest's file, as an argument.
fn guest(name: &str) -> String {
    guests::path(name).to_str().expect("a test's path is text").to_owned()
}

/// Exit code 2, nothing on stdout, and every one of `said` on stderr.
fn refused(ran: &Ran, said: &[&str]) {
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{said:?}: {ran:?}");
    told(ran, said);
}

/// Every one of `said` on stderr, and no panic.
fn told(ran: &Ran, said: &[&str]) {
    for said in said {
        assert!(ran.stderr.contains(said), "{said:?} in {ran:?}");
    }
    assert!(!ran.stderr.contains("panicked"), "{ran:?}");
}

/// A policy file of the test guest `minimal`, whose name is `hello`, with what follows its head.
fn hello_policy(profile: &str, rest: &str) -> String {
    format!(
        "schema = 1\ntool = \"hello\"\nprofile = {profile:?}\nwhy = \"a test\"\nsafety = \"read-only\"\n\
         component = {{ file = \"hello.wasm\", sha256 = \"{}\" }}\n{rest}",
        guests::sha256(&guests::bytes("minimal"))
    )
}

/// The attacker's policy under a profile of the embedded ones, and where it lies.
fn hostile_policy(home: &Home, limits: &str) -> String {
    let text = format!(
        "schema = 1\ntool = \"hostile\"\nprofile = \"file-read-write\"\nwhy = \"a test\"\nsafety = \"side-effecting\"\n\
         component = {{ file = \"hostile.wasm\", sha256 = \"{}\" }}\n[arguments]\nbehaviour = \"value\"\n\
         path = {{ path = \"write\" }}\nbytes = \"value\"\n[limits]\n{limits}\n",
        "0".repeat(64)
    );
    home.file("hostile.toml", text.as_bytes())
}

/// A cargo or shell command in `dir`, with the built program on PATH, dependencies and intermediate
/// files shared by all tests, and none of the test's own settings.
pub(crate) fn author(dir: &Path, program: &str, arguments: &[&str]) -> Command {
    let built = program::cofferdam();
    let bin = built.parent().expect("in a folder");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([bin.to_owned()].into_iter().chain(std::env::split_paths(&path)));
    let mut command = Command::new(program);
    command.env_clear().current_dir(dir).args(arguments).stdin(Stdio::null());
    // Rust's own folders, wherever this machine has them.
    for name in [
        "HOME",
        "CARGO_HOME",
        "RUSTUP_HOME",
        "RUSTUP_TOOLCHAIN",
        "HTTPS_PROXY",
        "https_proxy",
        "CARGO_HTTP_CAINFO",
        "SSL_CERT_FILE",
    ] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.env("PATH", path.expect("no colon in it"));
    command.env("CARGO_BUILD_BUILD_DIR", bin.with_file_name("authors"));
    command.env("XDG_STATE_HOME", dir.join(".state")).env("XDG_CONFIG_HOME", dir.join(".config"));
    command.env("CARGO_TERM_COLOR", "never");
    command
}
