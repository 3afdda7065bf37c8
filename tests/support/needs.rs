//! Tests that need more than cargo: they say what is missing, are listed at the end, and CI skips
//! none.

use std::io::Write;
use std::process::{Command, Stdio};

/// Whether a test can have what it needs. In CI (`CI` is set) a missing thing is a failure.
pub fn available(test: &str, what: &str, there: bool) -> bool {
    if there {
        return true;
    }
    assert!(std::env::var_os("CI").is_none(), "{test} needs {what}, and CI skips no test");
    // The runner of all tests lists this file at its end; a passing test's own output is not shown.
    let list = crate::program::cofferdam().with_file_name("skipped-tests.txt");
    let file = std::fs::File::options().create(true).append(true).open(&list);
    writeln!(file.expect("the target folder can be written"), "{test}: needs {what}").expect("writable");
    false
}

/// Whether a program can be started.
pub fn program(name: &str) -> bool {
    let mut command = Command::new(name);
    command.arg("-V").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok()
}

/// Whether we are root, who alone may mount and make devices.
pub fn root() -> bool {
    rustix::process::geteuid().is_root()
}
