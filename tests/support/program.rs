//! The real program, as an operator starts it.

use std::path::PathBuf;

/// The `cofferdam` binary of this build.
///
/// # Panics
/// When it was not built: `cargo xtask test` builds it first.
pub fn cofferdam() -> PathBuf {
    let this = std::env::current_exe().expect("a running program has a path");
    let profile = this.ancestors().find(|dir| dir.join("cofferdam").is_file());
    profile.expect("the gateway is not built; run: cargo build -p cofferdam").join("cofferdam")
}
