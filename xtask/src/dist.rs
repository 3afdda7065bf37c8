//! `cargo xtask dist`: what people install, in `target/dist`. Static programs, which need nothing
//! of the machine that they run on; `xtask/dist` packs them.

use crate::steps::{cargo, output_of, root, step, target_dir};
use crate::{debian, setup};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Those that there are builds for.
const ARCHITECTURES: [&str; 2] = ["x86_64", "aarch64"];
/// The program with the worker and the guests in it, stripped.
const PROGRAM_BYTES_MAX: u64 = 40_000_000;

/// The folder of what is made.
pub(crate) fn dir() -> PathBuf {
    target_dir().join("dist")
}

/// The architectures that are named, or all.
pub(crate) fn architectures<'a>(named: &[&'a str]) -> Result<Vec<&'a str>, String> {
    match named.iter().find(|name| !ARCHITECTURES.contains(name)) {
        Some(other) => {
            Err(format!("there is no build for {other}; there are {}", ARCHITECTURES.join(" and ")))
        }
        None if named.is_empty() => Ok(ARCHITECTURES.to_vec()),
        None => Ok(named.to_vec()),
    }
}

pub(crate) fn run(named: &[&str]) -> Result<(), String> {
    let architectures = architectures(named)?;
    setup::guest_target()?;
    let mut pack = cargo(&["run", "--quiet", "--locked", "--release", "-p", "cofferdam-dist", "--"]);
    pack.arg(dir()).arg(seconds()?);
    for arch in architectures {
        let parts = build(arch)?;
        pack.arg(format!("{arch}={}", parts.display()));
    }
    // Nothing of an earlier run is taken for this one's.
    if dir().exists() {
        std::fs::remove_dir_all(dir()).map_err(|e| format!("cannot empty {}: {e}", dir().display()))?;
    }
    std::fs::create_dir_all(dir()).map_err(|e| format!("cannot make {}: {e}", dir().display()))?;
    step("pack", &mut pack)?;
    println!("\nMade in {}; `cargo xtask dist check` tries it.", dir().display());
    Ok(())
}

/// The time of all that is packed: what was asked for, else the commit's.
fn seconds() -> Result<String, String> {
    let asked = std::env::var("SOURCE_DATE_EPOCH").ok();
    let root = root().display().to_string();
    asked
        .or_else(|| output_of("git", &["-C", &root, "log", "-1", "--format=%ct"]))
        .map(|seconds| seconds.trim().to_owned())
        .ok_or_else(|| "not a git checkout; set SOURCE_DATE_EPOCH to the time of the release".to_owned())
}

/// Builds the program; the folder that has it, stripped, and its debug information.
fn build(arch: &str) -> Result<PathBuf, String> {
    let target = format!("{arch}-unknown-linux-musl");
    setup::target(&target)?;
    let package =
        ["--locked", "--profile", "dist", "--target", &target, "-p", "cofferdam", "--bin", "cofferdam"];
    let mut build = cargo(&["build"]);
    build.args(package);
    fit(&mut build, arch)?;
    step(&format!("build for {arch} (wasmtime first: many minutes)"), &mut build)?;
    let parts = target_dir().join(&target).join("dist-parts");
    let built = target_dir().join(&target).join("dist/cofferdam");
    split(&built, &parts)?;
    let bytes = std::fs::metadata(parts.join("cofferdam")).map_err(|e| e.to_string())?.len();
    println!("    cofferdam for {arch}, with its worker: {bytes} bytes of at most {PROGRAM_BYTES_MAX}");
    if bytes > PROGRAM_BYTES_MAX { Err(format!("the program for {arch} is too large")) } else { Ok(parts) }
}

/// The C compiler and the linker, and for a foreign architecture what runs its programs here. The
/// variables reach the worker's build, too, which `host/build.rs` starts.
fn fit(build: &mut Command, arch: &str) -> Result<(), String> {
    let (lower, upper) =
        (format!("{arch}_unknown_linux_musl"), format!("{}_UNKNOWN_LINUX_MUSL", arch.to_uppercase()));
    // No folder of this machine is in the program.
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let outside = Some(target_dir()).filter(|target| !target.starts_with(root()));
    let folders = [(home, "/cargo"), (Some(root()), "/cofferdam"), (outside, "/target")];
    let renamed = |(folder, name): (Option<PathBuf>, &str)| {
        Some(format!("--remap-path-prefix={}={name}", folder?.display()))
    };
    let flags: Vec<String> = folders.into_iter().filter_map(renamed).collect();
    build.env(format!("CARGO_TARGET_{upper}_RUSTFLAGS"), flags.join(" "));
    if arch == std::env::consts::ARCH {
        return setup::program("musl-gcc", "musl-tools");
    }
    let (compiler, archiver) = setup::zig(arch)?;
    build.env(format!("CC_{lower}"), compiler).env(format!("AR_{lower}"), archiver);
    build.env(format!("CARGO_TARGET_{upper}_LINKER"), "rust-lld");
    build.env("COFFERDAM_EMBED_RUNNER", debian::emulator(arch)?);
    Ok(())
}

/// Moves the debug information into a file of its own, which debuggers look for beside the program.
fn split(built: &Path, parts: &Path) -> Result<(), String> {
    std::fs::create_dir_all(parts).map_err(|e| format!("cannot make {}: {e}", parts.display()))?;
    let objcopy = objcopy()?;
    let run = |arguments: &[&str], to: &str| {
        // The link to the debug information is by file name, looked for here.
        let mut command = Command::new(&objcopy);
        step(&format!("objcopy: {to}"), command.current_dir(parts).args(arguments).arg(built).arg(to))
    };
    run(&["--only-keep-debug"], "cofferdam.debug")?;
    run(&["--strip-all", "--add-gnu-debuglink=cofferdam.debug"], "cofferdam")
}

/// rustup's own, which knows every architecture.
fn objcopy() -> Result<PathBuf, String> {
    let libdir = output_of("rustc", &["--print", "target-libdir"]).ok_or("rustc does not answer")?;
    let bin = Path::new(libdir.trim()).with_file_name("bin");
    Ok(bin.join("rust-objcopy"))
}
