//! The server's own tests, over plain sockets: what the gateway's tests rely on holds.

mod client;
mod faults;
mod files;
mod gates;
mod groups;
mod incoming;
mod messages;
mod polling;
mod protocol;
mod uploads;

use std::time::Duration;

/// Longer than anything takes that works.
const SOON: Duration = Duration::from_secs(20);
/// Long enough to see that something does not happen; only a broken server can fail by it.
const A_MOMENT: Duration = Duration::from_millis(50);
