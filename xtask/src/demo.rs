//! `cargo xtask demo`: set-up, builds, and the demo program, which runs one real turn.

use crate::setup;
use crate::steps::{cargo, step};

pub(crate) fn run() -> Result<(), String> {
    setup::guest_target()?;
    println!(
        "A first build compiles wasmtime and takes several minutes on two cores; cargo shows its progress."
    );
    step("build the gateway and the guests", &mut cargo(&["build", "--locked", "-p", "cofferdam"]))?;
    step("build the demo", &mut cargo(&["build", "--locked", "-p", "cofferdam-tests", "--bin", "demo"]))?;
    step(
        "one real turn",
        &mut cargo(&["run", "--quiet", "--locked", "-p", "cofferdam-tests", "--bin", "demo"]),
    )
}
