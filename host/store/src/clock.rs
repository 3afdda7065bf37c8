//! What time it is. Nodes go by the clock of the server that they share, so that none whose machine
//! has another one takes what is good still for over, or the other way round.

use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What the server's clock is before the machine's time since it was started; none where no server
/// is followed.
static AHEAD: AtomicI64 = AtomicI64::new(NOBODY);
const NOBODY: i64 = i64::MIN;

/// Now, in milliseconds since 1970 UTC: of what is stored, and of what is compared with that. In
/// PostgreSQL by the server's clock, whatever happens to the machine's.
pub fn now_ms() -> i64 {
    match AHEAD.load(Ordering::Relaxed) {
        NOBODY => machine_now_ms(),
        ahead => running_ms().saturating_add(ahead),
    }
}

/// [`now_ms`] as a time, for who compares it with those of files.
pub fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(now_ms().unsigned_abs())
}

/// Whether [`now_ms`] is by the server's clock.
pub fn follows_server() -> bool {
    AHEAD.load(Ordering::Relaxed) != NOBODY
}

/// The same by the machine's clock, of what stays on it.
pub fn machine_now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Notes what the server's clock says, which was asked at `began`, by [`running_ms`].
pub(crate) fn follow(server_ms: i64, began: i64) {
    // It answered in between.
    let asked = began.midpoint(running_ms());
    AHEAD.store(server_ms.saturating_sub(asked), Ordering::Relaxed);
}

/// Milliseconds since the machine was started, sleep included: nobody sets that.
pub fn running_ms() -> i64 {
    let running = clock_gettime(ClockId::Boottime);
    running.tv_sec * 1000 + running.tv_nsec / 1_000_000
}
