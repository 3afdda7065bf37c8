//! The real program, as an operator starts it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The `cofferdam` binary of this build.
///
/// # Panics
/// When it was not built: `cargo xtask test` builds it first.
pub fn cofferdam() -> PathBuf {
    let this = std::env::current_exe().expect("a running program has a path");
    let profile = this.ancestors().find(|dir| dir.join("cofferdam").is_file());
    profile.expect("the gateway is not built; run: cargo build -p cofferdam").join("cofferdam")
}

/// A copy of it that can be started. Another process writes it: what a thread of another test
/// starts meanwhile would have the file open, and one that is open to write is not run (`ETXTBSY`).
///
/// # Panics
/// Where it cannot be written.
pub fn copy_cofferdam(to: &Path) {
    let copied = Command::new("cp").arg(cofferdam()).arg(to).status().expect("cp starts");
    assert!(copied.success(), "{}", to.display());
}
