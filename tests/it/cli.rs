//! The command line as scripts, operators and reviewers use it: the real program, its exit codes,
//! its one line of JSON, and what it says when it refuses.

mod accounts;
mod allow;
mod approvals;
mod attach;
mod audit;
mod audit_files;
mod audit_signed;
mod call;
mod chat;
mod config;
mod conversation;
mod doctor;
mod doctor_discord;
mod doctor_serve;
mod environment;
mod exit_codes;
mod fetch;
mod fetch_signed;
mod first_bot;
pub(crate) mod help;
mod init;
mod init_asked;
mod logs;
mod policies;
mod policy_check;
mod policy_diff;
mod policy_explain;
mod policy_export;
mod policy_report;
mod policy_sarif;
mod policy_show;
mod reading;
mod recorded;
mod reload;
mod replay;
mod secrecy;
mod service;
mod status;
mod streams;
mod telegram;
mod tools;

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::home::{Home, Ran};
use support::program;

/// The program without `--config`, started in `dir`, with nothing of the test's environment but
/// PATH and this HOME.
fn bare(home: &Home, dir: &Path, arguments: &[&str]) -> Command {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut command = Command::new(program::cofferdam());
    command.env_clear().env("PATH", path).env("HOME", home.dir()).current_dir(dir);
    command.args(arguments).stdin(Stdio::null());
    command
}

fn run(command: &mut Command) -> Ran {
    command.output().expect("the program starts").into()
}

/// Standard output as the one line of JSON that `call` promises, whatever became of the call.
fn line(ran: &Ran) -> Value {
    assert_eq!(ran.stdout.matches('\n').count(), 1, "one line: {ran:?}");
    assert!(ran.stdout.ends_with('\n'), "{ran:?}");
    ran.json()
}

/// Asserts exit code 2, nothing on stdout, and every one of `said` in one message on stderr.
fn refused(ran: &Ran, said: &[&str]) {
    assert_eq!(ran.code, Some(2), "{said:?}: {ran:?}");
    assert_eq!(ran.stdout, "", "{ran:?}");
    for said in said {
        assert!(ran.stderr.contains(said), "{said:?} in {ran:?}");
    }
    assert!(!ran.stderr.contains("panicked"), "{ran:?}");
}

/// Writes a file of the workspace.
fn put(home: &Home, guest: &str, bytes: &[u8]) {
    let path = home.host(guest);
    std::fs::create_dir_all(path.parent().expect("below the workspace")).expect("writable");
    std::fs::write(path, bytes).expect("writable");
}

/// Waits until the program of this id has staged a file: its tool is then at work.
fn until_staged(home: &Home, pid: u32) {
    let started = Instant::now();
    // What is staged has no name yet: it is an open file of the program's, already "deleted".
    let staged = || {
        let fds = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let mut links = fds.flat_map(|fd| std::fs::read_link(fd.path()));
        links.any(|to| to.starts_with(home.workspace()) && to.to_string_lossy().ends_with(" (deleted)"))
    };
    while !staged() && home.leftovers().is_empty() {
        assert!(started.elapsed() < Duration::from_secs(20), "nothing is staged");
        std::thread::sleep(Duration::from_millis(2));
    }
}
