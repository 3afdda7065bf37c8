//! What the build scripts of the gateway share: another cargo in a target folder of its own, and
//! what is looked at to tell whether it is needed again.

use lz4::liblz4::ContentChecksum;
use lz4::{BlockMode, BlockSize, EncoderBuilder};
use sha2::{Digest, Sha256};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Every file below, because cargo watches folders by their own time alone.
pub(crate) fn watch(path: &Path) {
    println!("cargo::rerun-if-changed={}", path.display());
    let Ok(entries) = fs::read_dir(path) else { return };
    for entry in entries.flatten() {
        if entry.file_name() != "target" {
            watch(&entry.path());
        }
    }
}

/// The level that takes the longest.
const BEST: u32 = 12;

/// Writes bytes that are embedded, which `EmbeddedBytes` of the warden reads: in what people install
/// as an LZ4 frame, since worker and guests would be more than half of the program; elsewhere as
/// they are, since to unpack them takes time at each start.
pub(crate) fn embed(bytes: &[u8], file: &Path, out: &Path) {
    let written = if is_dist(out) { fs::write(file, pack(bytes)) } else { fs::write(file, bytes) };
    written.unwrap_or_else(|e| panic!("cannot write {}: {e}", file.display()));
}

fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut packing = EncoderBuilder::new();
    packing.level(BEST).checksum(ContentChecksum::NoChecksum);
    packing.block_size(BlockSize::Max256KB).block_mode(BlockMode::Linked);
    let mut packed = packing.build(Vec::new()).expect("memory");
    packed.write_all(bytes).expect("memory");
    let (packed, ended) = packed.finish();
    ended.expect("memory");
    packed
}

/// Whether this is what people install. cargo itself tells build scripts only whether a profile
/// inherits `release`.
pub(crate) fn is_dist(out: &Path) -> bool {
    profile_dir(out).and_then(Path::file_name).is_some_and(|profile| profile == "dist")
}

/// In lower-case hex.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}

/// `target/<profile>` or `target/<triple>/<profile>`, above `build/<crate>/out`.
pub(crate) fn profile_dir(out: &Path) -> Option<&Path> {
    out.ancestors().find(|dir| dir.file_name().is_some_and(|n| n == "build")).and_then(Path::parent)
}

/// A folder of the target folder, shared by all profiles and targets.
pub(crate) fn target_dir(out: &Path, name: &str) -> PathBuf {
    let mut target = profile_dir(out).and_then(Path::parent).unwrap_or(out);
    if target.file_name().is_some_and(|folder| folder == env::var_os("TARGET").expect("cargo sets it")) {
        target = target.parent().unwrap_or(target);
    }
    target.join(name)
}

/// What the outer build was told (flags, wrappers, its own target folder) is not for another one.
/// Nor are its jobserver's tokens: the test guests' build script holds one while it waits for this
/// one, and a processor would lie idle.
pub(crate) fn cargo(dir: &Path) -> Command {
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
        let outer = ["CARGO_FEATURE_", "CARGO_CFG_", "DEP_"].iter().any(|start| name.starts_with(start));
        if outer || flags.contains(&name.as_str()) {
            cargo.env_remove(&name);
        }
    }
    cargo.current_dir(dir);
    cargo
}
