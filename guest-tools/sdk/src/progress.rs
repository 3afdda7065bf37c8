//! What a long call is doing, for anyone who waits; and whether anybody still does.

use crate::bindings::cofferdam::tool::progress;

/// Tells what the call is doing now, e.g. `searched 20000 of 100000 files`. One line, cut at 200
/// bytes; the turn shows the newest while the call runs.
pub fn report(message: &str) {
    progress::report(message);
}

/// Whether the turn was cancelled. Return soon then: nothing that was sealed is published, whatever
/// the call answers, and a call that does not look is ended a moment later.
pub fn cancelled() -> bool {
    progress::cancelled()
}
