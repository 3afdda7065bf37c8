//! The server's own tests, over plain sockets: what the gateway's tests rely on holds.

mod client;
mod gateway;
mod vertical;

use std::time::Duration;

/// Longer than anything takes that works.
const SOON: Duration = Duration::from_secs(20);
