//! strace, joined to a program that runs.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// Starts strace, which `command` is, and returns once it has joined.
///
/// # Panics
/// When it does not start, or may not join.
pub fn joined(command: &mut Command) -> Child {
    let mut tracer = command.stderr(Stdio::piped()).spawn().expect("strace starts");
    let mut said = BufReader::new(tracer.stderr.take().expect("piped"));
    let mut line = String::new();
    while !line.contains(" attached") {
        line.clear();
        assert_ne!(said.read_line(&mut line).expect("text"), 0, "strace did not join");
    }
    // It goes on talking, and must not find its pipe closed.
    std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
    tracer
}
