//! Which process the system ends first when memory runs out: a worker, and not its gateway.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

/// A worker's score, of 1000.
const SCORE: &[u8] = b"800";

/// The own score of this process, open for writing: a confined gateway opens it no more.
static OWN: OnceLock<Option<(File, Vec<u8>)>> = OnceLock::new();

/// Opens what [`spawn_expendable`] needs. Legal before this process is confined; otherwise it is
/// opened then.
pub(super) fn prepare() {
    OWN.get_or_init(|| {
        let file = OpenOptions::new().read(true).write(true).open("/proc/self/oom_score_adj").ok()?;
        let mut usual = vec![0; 16];
        let read = file.read_at(&mut usual, 0).ok()?;
        usual.truncate(read);
        Some((file, usual))
    });
}

/// Starts a process which the system ends before this one when memory runs out: it inherits the
/// score that this process has for that moment. Where the system takes no score, the process is
/// started all the same.
pub fn spawn_expendable<T>(spawn: impl FnOnce() -> T) -> T {
    prepare();
    let Some((file, usual)) = OWN.get().and_then(Option::as_ref) else { return spawn() };
    let raised = file.write_at(SCORE, 0).is_ok();
    let spawned = spawn();
    if raised && let Err(error) = file.write_at(usual, 0) {
        // Allowed to all who could raise it; no reason is known why it should fail.
        debug_assert!(false, "the score stays raised: {error}");
    }
    spawned
}
