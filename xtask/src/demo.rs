//! `cargo xtask demo`: set-up, builds, and the demo program, which runs one real turn.

use crate::setup;
use crate::steps::{cargo, step};

pub(crate) fn run() -> Result<(), String> {
    setup::guest_target()?;
    println!(
        "A first build compiles wasmtime and takes several minutes on two cores; cargo shows its progress."
    );
    // As the tests build them, so that these find everything built.
    let build = ["build", "--locked", "--workspace", "--bin", "cofferdam", "--bin", "demo"];
    step("build the gateway, the guests and the demo", &mut cargo(&build))?;
    step("one real turn", &mut cargo(&["run", "--quiet", "--locked", "--workspace", "--bin", "demo"]))
}
