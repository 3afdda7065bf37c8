//! Builds the builtin guests for `wasm32-wasip2` and embeds of each its SHA-256, its machine code
//! and what it says of itself, made by the very worker program that the gateway has: nothing needs
//! the component itself any more. Besides, the default policies, and the SDK's sources for
//! `cofferdam tool new`.
//!
//! To make machine code the worker must run here: where it is built for another kind of machine,
//! `COFFERDAM_EMBED_RUNNER` names the program that runs it, such as `qemu-aarch64`.
//!
//! Plain cargo, in a target folder of its own: the outer cargo holds the lock of the other one.

#[path = "nested.rs"]
mod nested;
#[path = "runner.rs"]
mod runner;

use nested::{cargo, embed, sha256, target_dir, watch};
use runner::{RUNNER, runnable};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const GUESTS: &str = "wasm32-wasip2";

fn main() {
    let host = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let root = host.parent().expect("host/ lies in the repository").to_owned();
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    // The rules by which attachments are sniffed are compiled into a guest, too.
    for watched in ["guest-tools", "wit", "policies", "host/warden/src/attachments"] {
        watch(&root.join(watched));
    }
    let worker =
        PathBuf::from(env::var_os("DEP_COFFERDAM_WORKER_PROGRAM").expect("the warden's build tells it"));
    let tools = policy_names(&root.join("policies/tools"));
    let built = build_guests(&root, &target_dir(&out, "guests"));
    let mut code = String::from(
        "/// Builtin components by tool.\npub(super) static COMPONENTS: &[(&str, cofferdam_warden::sandbox::Embedded)] = &[\n",
    );
    let tools: Vec<&String> =
        tools.iter().filter(|tool| built.join(format!("{tool}.wasm")).exists()).collect();
    let copies: Vec<PathBuf> = tools.iter().map(|tool| out.join(format!("{tool}.wasm"))).collect();
    for (tool, copy) in tools.iter().zip(&copies) {
        let file = built.join(format!("{tool}.wasm"));
        fs::copy(&file, copy).unwrap_or_else(|e| panic!("cannot copy {}: {e}", file.display()));
    }
    println!("cargo::rerun-if-env-changed={RUNNER}");
    // A debug build has 300 000 relocations: at a fixed address each start takes 2.5 ms in place of
    // 6.4 ms, and the tests start thousands.
    if env::var("PROFILE").as_deref() == Ok("debug")
        && env::var("CARGO_CFG_TARGET_ENV").as_deref() == Ok("gnu")
    {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
    for shared in ["runner.rs", "nested.rs"] {
        watch(&host.join(shared));
    }
    let made = runnable(&worker, env::var_os(RUNNER)).arg("embed").args(&copies).status();
    assert!(made.is_ok_and(|made| made.success()), "the guests do not compile; see the message above");
    for (tool, copy) in tools.iter().zip(&copies) {
        let bytes = fs::read(copy).expect("it was written");
        let (sha256, size) = (sha256(&bytes), bytes.len());
        let machine_code = copy.with_extension("embedded");
        embed(&fs::read(copy.with_extension("cwasm")).expect("it was written"), &machine_code, &out);
        let (machine_code, told) = (shown(&machine_code), shown(&copy.with_extension("json")));
        writeln!(
            code,
            "    ({tool:?}, cofferdam_warden::sandbox::Embedded {{ sha256: {sha256:?}, size: {size}, \
             code: cofferdam_warden::sandbox::workers::EmbeddedBytes(include_bytes!({machine_code:?})), told: include_str!({told:?}) }}),"
        )
        .expect("a String grows");
    }
    code.push_str(
        "];\n\n/// Default policies: (name, text).\npub(super) static POLICIES: &[(&str, &str)] = &[\n",
    );
    for folder in ["profiles", "tools"] {
        for name in policy_names(&root.join("policies").join(folder)) {
            let file = root.join("policies").join(folder).join(format!("{name}.toml"));
            let entry = format!("{folder}/{name}.toml");
            writeln!(code, "    ({entry:?}, include_str!({:?})),", file.display().to_string())
                .expect("a String grows");
        }
    }
    code.push_str("];\n");
    fs::write(out.join("builtin.rs"), code).expect("OUT_DIR can be written");
    embed_sdk(&root, &out);
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Everything that an author's crate needs of the SDK: its sources with the contract, and the
/// versions it was built with.
fn embed_sdk(root: &Path, out: &Path) {
    let sdk = root.join("guest-tools/sdk");
    let mut files = Vec::new();
    for part in ["Cargo.toml", "src", "wit"] {
        collect(&sdk.join(part), part, &mut files);
    }
    files.sort();
    let mut code =
        String::from("/// The SDK's files: (path, text).\npub(super) static SDK: &[(&str, &str)] = &[\n");
    for (name, file) in files {
        writeln!(code, "    ({name:?}, include_str!({:?})),", file.display().to_string())
            .expect("a String grows");
    }
    let lock = root.join("guest-tools/Cargo.lock").display().to_string();
    writeln!(code, "];\n\n/// The versions that the guests are built with.\npub(super) static LOCK: &str = include_str!({lock:?});")
        .expect("a String grows");
    fs::write(out.join("sdk.rs"), code).expect("OUT_DIR can be written");
}

/// The files at or below a path, with their names from `name` on.
fn collect(path: &Path, name: &str, files: &mut Vec<(String, PathBuf)>) {
    let Ok(entries) = fs::read_dir(path) else {
        files.push((name.to_owned(), path.to_owned()));
        return;
    };
    for entry in entries.flatten() {
        let inner = entry.file_name().into_string().expect("the SDK's names are text");
        collect(&entry.path(), &format!("{name}/{inner}"), files);
    }
}

fn policy_names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap_or_else(|e| panic!("cannot list {}: {e}", dir.display()));
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|e| e.file_name().to_str().and_then(|n| n.strip_suffix(".toml")).map(str::to_owned))
        .collect();
    names.sort();
    names
}

fn build_guests(root: &Path, target_dir: &Path) -> PathBuf {
    if !target_installed() {
        println!("cargo::error=the guests need the {GUESTS} target; run: rustup target add {GUESTS}");
        std::process::exit(1);
    }
    let workspace = root.join("guest-tools");
    let status = cargo(&workspace)
        .args(["build", "--release", "--locked", "--target", GUESTS, "--target-dir"])
        .arg(target_dir)
        .status();
    if !status.is_ok_and(|status| status.success()) {
        println!("cargo::error=the guests in {} do not build; see the messages above", workspace.display());
        std::process::exit(1);
    }
    target_dir.join(GUESTS).join("release")
}

fn target_installed() -> bool {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let libdir = Command::new(rustc).args(["--print", "target-libdir", "--target", GUESTS]).output();
    libdir.is_ok_and(|out| Path::new(String::from_utf8_lossy(&out.stdout).trim()).exists())
}
