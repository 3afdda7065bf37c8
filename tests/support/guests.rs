//! Components that are not part of the product: attackers, oddities, and an outside author's first
//! tool.

use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

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

/// A tool's policy as `docs/writing-a-tool.md` has it, for the component at hand.
///
/// # Panics
/// When the guide does not have it.
pub fn policy_of_the_guide(tool: &str, sha256: &str) -> String {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/writing-a-tool.md");
    let guide = std::fs::read_to_string(guide).expect("there");
    let policies = guide.split("```toml\n").skip(1).filter_map(|rest| rest.split("\n```").next());
    let named = format!("tool = {tool:?}");
    let policy = policies.into_iter().find(|text| text.contains(&named)).expect("the guide has it");
    assert!(policy.contains("sha256 = \"…\""), "{policy}");
    policy.replace("sha256 = \"…\"", &format!("sha256 = {sha256:?}"))
}
