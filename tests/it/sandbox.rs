//! The sandbox under attack: guests that misbehave in every way, run by the real program.
//!
//! Whatever a guest does, the call ends in time with one line that says what happened, nothing is
//! changed or left behind, the audit has the outcome, and the next call works.

mod ambient;
mod arguments;
mod attachments;
mod cache;
mod channel;
pub(crate) mod chat;
mod compiling;
mod components;
mod described;
mod direct;
mod discarded;
mod embedded;
mod endings;
mod fresh;
mod imports;
mod many_files;
mod messages;
mod named;
mod odd;
mod output;
mod parts;
mod quotas;
mod reading;
mod recovery;
mod resources;
mod results;
mod schemas;
mod staging;
mod streams;
mod time;
mod worker_ends;
mod workers;

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use support::home::{Home, Ran};

/// Far longer than any call here takes, on a busy machine too: what takes longer hangs.
pub(crate) const SOON: Duration = Duration::from_secs(30);

/// The attacker under limits that nothing reaches which does not want to. Its `path` is judged for
/// writing.
fn hostile() -> Home {
    Home::new().hostile("memory = \"16 MiB\"\ndeadline = \"20s\"")
}

/// The attacker where no policy knows its `path`: what it names there reaches it unjudged.
fn unjudged() -> Home {
    let policy = "safety = \"side-effecting\"\n[arguments]\nbehaviour = \"value\"\npath = \"value\"\nbytes = \"value\"";
    Home::new().tool("hostile", "file-read-write", "hostile", policy)
}

/// Runs one call of the attacker and holds it against what is true of every call.
fn attack(home: &Home, arguments: &[&str]) -> Ran {
    let started = Instant::now();
    let ran = home.call(&[&["hostile"], arguments].concat());
    assert!(started.elapsed() < SOON, "{arguments:?} took {:?}", started.elapsed());
    assert_eq!(ran.stdout.matches('\n').count(), 1, "{arguments:?}: not one line: {ran:?}");
    assert!(!ran.stderr.contains("panicked"), "{arguments:?}: {ran:?}");
    assert_eq!(home.leftovers(), Vec::<std::path::PathBuf>::new(), "{arguments:?}");
    let outcome = home.audit().pop().expect("the audit has records");
    assert_eq!((&outcome["event"], &outcome["tool"]), (&"outcome".into(), &"hostile".into()), "{outcome}");
    assert_eq!(outcome["code"].as_str().unwrap_or_default(), ran.error(), "{arguments:?}: {outcome}");
    ran
}

/// A call that has begun, and its log.
pub(crate) fn begun(mut call: Command) -> (Child, impl Iterator<Item = String>) {
    call.env("COFFERDAM_LOG", "cofferdam=debug").stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = call.spawn().expect("the program starts");
    let log = BufReader::new(child.stderr.take().expect("piped")).lines().map_while(Result::ok);
    (child, log)
}

/// A call that fails with this code and says this; returns the message.
fn refused(home: &Home, arguments: &[&str], code: &str, says: &str) -> String {
    let ran = attack(home, arguments);
    let message = ran.message();
    assert_eq!((ran.code, ran.error().as_str()), (Some(1), code), "{arguments:?}: {ran:?}");
    assert!(message.contains(says), "{arguments:?} does not say {says:?}: {message}");
    assert!(message.len() <= 2048 && !message.contains(char::is_control), "{arguments:?}: {message:?}");
    message
}

/// A call that succeeds; returns its result.
fn answered(home: &Home, arguments: &[&str]) -> Value {
    let ran = attack(home, arguments);
    assert_eq!((ran.code, ran.error().as_str()), (Some(0), ""), "{arguments:?}: {ran:?}");
    ran.json()
}

/// A call that succeeds with the program's log at `debug`; returns the log.
fn logged(home: &Home, arguments: &[&str]) -> String {
    let mut command = home.command(&[&["call", "hostile"], arguments].concat());
    let ran = finished(command.env("COFFERDAM_LOG", "cofferdam=debug"));
    assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
    ran.stderr
}

fn finished(command: &mut Command) -> Ran {
    command.output().expect("the program starts").into()
}

/// Every path in the workspace, relative to it, sorted, with what a file holds or a link names.
fn contents(home: &Home) -> Vec<(String, Vec<u8>)> {
    let (mut found, mut dirs) = (Vec::new(), vec![home.workspace()]);
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let (path, kind) = (entry.path(), entry.file_type().expect("it is there"));
            let name = path.strip_prefix(home.workspace()).expect("below it").to_string_lossy().into_owned();
            let target = |link: &Path| std::fs::read_link(link).expect("a link").into_os_string();
            let holds = match kind {
                kind if kind.is_symlink() => target(&path).into_encoded_bytes(),
                kind if kind.is_file() => std::fs::read(&path).expect("ours"),
                _ => Vec::new(),
            };
            if kind.is_dir() {
                dirs.push(path);
            }
            found.push((name, holds));
        }
    }
    found.sort();
    found
}

/// Writes a file of the workspace.
fn put(home: &Home, guest: &str, bytes: &[u8]) {
    let path = home.host(guest);
    std::fs::create_dir_all(path.parent().expect("below the workspace")).expect("writable");
    std::fs::write(path, bytes).expect("writable");
}
