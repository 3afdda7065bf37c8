//! A system on which the gateway cannot do its work: it does not start, and says why.

use super::check::home;
use std::fs;
use support::home::Home;
use support::needs;

/// The program meets `rule` from its first system call on.
fn does_not_start(test: &str, rule: &str, told: &[&str]) {
    if !needs::available(&format!("files::start::{test}"), "strace", needs::program("strace")) {
        return;
    }
    let home = home();
    let file = home.file("sent", b"abc");
    let (log, call) = (
        home.dir().join("strace"),
        ["call", "attachment_save", "index=0", "path=/shared/a", "--attach", &file],
    );
    let wrapper = ["strace", "-f", "-o", log.to_str().expect("text"), "-e", rule];
    let ran: support::home::Ran = home.command_under(&wrapper, &call).output().expect("strace starts").into();
    assert!(fs::read_to_string(&log).expect("a log").contains("(INJECTED)"), "{rule} was never met");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    for part in told {
        assert!(ran.stderr.contains(part), "{part:?} is not told: {ran:?}");
    }
    assert!(!home.host("/shared/a").exists());
    runs(&home, &file);
}

fn runs(home: &Home, file: &str) {
    let ran = home.call(&["attachment_save", "index=0", "path=/shared/a", "--attach", file]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn without_openat2() {
    does_not_start("without_openat2", "inject=openat2:error=ENOSYS", &["Linux 5.9", "openat2"]);
    // As a container's filter answers that does not know it.
    does_not_start("without_openat2", "inject=openat2:error=EPERM", &["openat2", "seccomp"]);
}

#[test]
fn without_its_folders() {
    does_not_start("without_its_folders", "inject=mkdirat:error=EACCES", &["shared must be a directory"]);
    does_not_start(
        "without_its_folders",
        "inject=fsync:error=EIO:when=1",
        &["workspace", "Input/output error"],
    );
}

#[test]
fn without_locks() {
    does_not_start("without_locks", "inject=flock:error=ENOLCK", &["cannot lock", "local file system"]);
}
