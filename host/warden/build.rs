//! Builds the worker's program and embeds it with its SHA-256. Where it lies is told to the build
//! script of the gateway, which has it compile the builtin guests.
//!
//! Plain cargo, in a target folder of its own: the outer cargo holds the lock of the other one.

use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let host = here.parent().expect("warden/ lies in host/").to_owned();
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    for watched in ["core", "confine", "ipc", "worker"] {
        watch(&host.join(watched));
    }
    watch(&host.join("../wit"));
    let worker = build(&host.join("worker"), &target_dir(&out), worker_profile(&out));
    println!("cargo::metadata=program={}", worker.display());
    embed(&worker, &out);
}

/// Optimized under every profile of the gateway, and for the machine that the gateway is built for:
/// one worker for debug and release, a smaller one for `dist`. Linkers and C compilers of another
/// target come from the environment.
fn build(worker: &Path, target_dir: &Path, profile: &str) -> PathBuf {
    let triple = |which: &str| env::var(which).expect("cargo sets it");
    let target = triple("TARGET");
    let mut build = cargo(worker);
    build.args(["build", "--profile", profile, "--locked", "--target-dir"]).arg(target_dir);
    let mut built = target_dir.to_owned();
    if target != triple("HOST") {
        build.args(["--target", &target]);
        built.push(&target);
    }
    if !build.status().is_ok_and(|status| status.success()) {
        println!("cargo::error=the worker in {} does not build; see the messages above", worker.display());
        std::process::exit(1);
    }
    built.join(profile).join("cofferdam-worker")
}

fn embed(worker: &Path, out: &Path) {
    let copy = out.join("worker");
    fs::copy(worker, &copy).unwrap_or_else(|e| panic!("cannot copy {}: {e}", worker.display()));
    let digest = Sha256::digest(fs::read(&copy).expect("it was written"));
    let sha256 = digest.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
    let file = copy.display().to_string();
    let code = format!(
        "/// The program that workers run.\nstatic WORKER: &[u8] = include_bytes!({file:?});\n\
         /// Its SHA-256, lower-case hex.\npub const WORKER_SHA256: &str = {sha256:?};\n"
    );
    fs::write(out.join("worker.rs"), code).expect("OUT_DIR can be written");
}

/// Every file below, because cargo watches folders by their own time alone.
fn watch(path: &Path) {
    println!("cargo::rerun-if-changed={}", path.display());
    let Ok(entries) = fs::read_dir(path) else { return };
    for entry in entries.flatten() {
        if entry.file_name() != "target" {
            watch(&entry.path());
        }
    }
}

/// cargo itself tells build scripts only whether a profile inherits `release`.
fn worker_profile(out: &Path) -> &'static str {
    let is_dist = profile_dir(out).and_then(Path::file_name).is_some_and(|profile| profile == "dist");
    if is_dist { "dist" } else { "release" }
}

/// `target/<profile>` or `target/<triple>/<profile>`, above `build/<crate>/out`.
fn profile_dir(out: &Path) -> Option<&Path> {
    out.ancestors().find(|dir| dir.file_name().is_some_and(|n| n == "build")).and_then(Path::parent)
}

/// `target/worker`: shared by all profiles and targets.
fn target_dir(out: &Path) -> PathBuf {
    let mut target = profile_dir(out).and_then(Path::parent).unwrap_or(out);
    if target.file_name().is_some_and(|folder| folder == env::var_os("TARGET").expect("cargo sets it")) {
        target = target.parent().unwrap_or(target);
    }
    target.join("worker")
}

/// What the outer build was told (flags, wrappers, its own target folder, its jobserver) is not for
/// another one.
fn cargo(dir: &Path) -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").expect("cargo sets it"));
    let flags = [
        "CARGO_ENCODED_RUSTFLAGS",
        "RUSTFLAGS",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "CARGO_BUILD_TARGET",
        "RUSTC",
        "CARGO_MAKEFLAGS",
        "MAKEFLAGS",
        "MFLAGS",
    ];
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let outer =
            name.starts_with("CARGO_FEATURE_") || name.starts_with("CARGO_CFG_") || name.starts_with("DEP_");
        if outer || flags.contains(&name.as_str()) {
            cargo.env_remove(&name);
        }
    }
    cargo.current_dir(dir);
    cargo
}
