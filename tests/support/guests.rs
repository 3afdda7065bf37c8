//! Components that are not part of the product: attackers, oddities, and an outside author's first
//! tool.

use sha2::{Digest, Sha256};
use std::path::PathBuf;

/// A built test guest by file name without `.wasm`, e.g. `hostile` or `examples/bad_name`.
pub fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("TEST_GUESTS")).join(format!("{name}.wasm"))
}

/// The bytes of a test guest.
pub fn bytes(name: &str) -> Vec<u8> {
    let path = path(name);
    std::fs::read(&path).unwrap_or_else(|e| panic!("no test guest {}: {e}", path.display()))
}

/// SHA-256 as lower-case hex.
pub fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}
