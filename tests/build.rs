//! Builds the guests that attack the host, for `wasm32-wasip2`, into the same folder as the builtin
//! ones.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let root = here.parent().expect("tests/ lies in the repository");
    for watched in [here.join("guests"), root.join("guest-tools/sdk"), root.join("wit")] {
        watch(&watched);
    }
    let profile =
        out.ancestors().find(|dir| dir.file_name().is_some_and(|n| n == "build")).and_then(Path::parent);
    let target_dir = profile.and_then(Path::parent).unwrap_or(&out).join("guests");
    let mut cargo = Command::new(env::var_os("CARGO").expect("cargo sets it"));
    for name in ["CARGO_ENCODED_RUSTFLAGS", "RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTC"]
    {
        cargo.env_remove(name);
    }
    let status = cargo
        .current_dir(here.join("guests"))
        .args([
            "build",
            "--release",
            "--locked",
            "--all",
            "--examples",
            "--lib",
            "--bins",
            "--target",
            "wasm32-wasip2",
            "--target-dir",
        ])
        .arg(&target_dir)
        .status();
    assert!(
        status.is_ok_and(|s| s.success()),
        "the test guests do not build; if the target is missing, run: rustup target add wasm32-wasip2"
    );
    println!("cargo::rustc-env=TEST_GUESTS={}", target_dir.join("wasm32-wasip2/release").display());
}

/// Every file below, because cargo watches folders by their own time alone.
fn watch(path: &Path) {
    println!("cargo::rerun-if-changed={}", path.display());
    let Ok(entries) = std::fs::read_dir(path) else { return };
    for entry in entries.flatten() {
        if entry.file_name() != "target" {
            watch(&entry.path());
        }
    }
}
