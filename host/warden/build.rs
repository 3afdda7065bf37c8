//! Builds the worker's program and embeds it with its SHA-256. Where it lies is told to the build
//! script of the gateway, which has it compile the builtin guests.
//!
//! Plain cargo, in a target folder of its own: the outer cargo holds the lock of the other one.

#[path = "../nested.rs"]
mod nested;

use nested::{cargo, is_dist, sha256, target_dir, watch};
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
    let profile = if is_dist(&out) { "dist" } else { "release" };
    let worker = build(&host.join("worker"), &target_dir(&out, "worker"), profile);
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
    let embedded = out.join("worker.embedded");
    nested::embed(&program, &embedded, out);
    let (sha256, bytes, embedded) = (sha256(&program), program.len(), embedded.display().to_string());
    let code = format!(
        "/// The program that workers run.\nstatic WORKER: EmbeddedBytes = EmbeddedBytes(include_bytes!({embedded:?}));\n\
         /// Its SHA-256, lower-case hex.\npub const WORKER_SHA256: &str = {sha256:?};\n\
         /// Its size.\npub const WORKER_BYTES: usize = {bytes};\n"
    );
    fs::write(out.join("worker.rs"), code).expect("OUT_DIR can be written");
}
