//! `cargo xtask demo`: set-up, builds, and the demo program, which runs one real turn on each
//! channel. `test` begins with it, too.

use crate::setup;
use crate::steps::{cargo, step, target_dir};
use std::process::Command;

pub(crate) fn run() -> Result<(), String> {
    setup::guest_target()?;
    println!(
        "A first build compiles wasmtime and takes several minutes on two cores; cargo shows its progress."
    );
    // As the tests build them, so that these find everything built.
    let build = ["build", "--locked", "--workspace", "--bin", "cofferdam", "--bin", "demo"];
    step("build the gateway, the guests and the demo", &mut cargo(&build))?;
    // Not `cargo run`, which would build with the features of this one package.
    step("one real turn on each channel", &mut Command::new(target_dir().join("debug/demo")))
}
