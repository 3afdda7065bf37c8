//! Builds the worker's program and embeds it with its SHA-256. Where it lies is told to the build
//! script of the gateway, which has it compile the builtin guests.
//!
//! Plain cargo, in a target folder of its own: the outer cargo holds the lock of the other one.

#[path = "../nested.rs"]
mod nested;

use nested::{cargo, pack, profile_dir, sha256, target_dir, watch};
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let host = here.parent().expect("warden/ lies in host/").to_owned();
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    for watched in ["core", "confine", "ipc", "worker", "nested.rs"] {
        watch(&host.join(watched));
    }
    watch(&host.join("../wit"));
    let worker = build(&host.join("worker"), &target_dir(&out, "worker"), worker_profile(&out));
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
    let program = fs::read(worker).unwrap_or_else(|e| panic!("cannot read {}: {e}", worker.display()));
    let packed = out.join("worker.lz4");
    pack(&program, &packed);
    let (sha256, bytes, packed) = (sha256(&program), program.len(), packed.display().to_string());
    let code = format!(
        "/// The program that workers run.\nstatic WORKER: Packed = Packed(include_bytes!({packed:?}));\n\
         /// Its SHA-256, lower-case hex.\npub const WORKER_SHA256: &str = {sha256:?};\n\
         /// Its size.\npub const WORKER_BYTES: usize = {bytes};\n"
    );
    fs::write(out.join("worker.rs"), code).expect("OUT_DIR can be written");
}

/// cargo itself tells build scripts only whether a profile inherits `release`.
fn worker_profile(out: &Path) -> &'static str {
    let is_dist = profile_dir(out).and_then(Path::file_name).is_some_and(|profile| profile == "dist");
    if is_dist { "dist" } else { "release" }
}
