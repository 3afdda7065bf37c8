//! `[replies]` of the configuration: how much goes out with one reply, and how much waits to.

use cofferdam_core::limits::ByteSize;
use serde::{Deserialize, Serialize};

/// Limits on what tools add to replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// One file.
    pub max_bytes: ByteSize,
    /// All files that one call adds together.
    pub max_call_bytes: ByteSize,
    /// All files of one reply together.
    pub max_turn_bytes: ByteSize,
    /// Files of one reply.
    pub max_count: u32,
    /// Everything that is held until it is sent.
    pub max_held_bytes: ByteSize,
}

/// Below what every platform takes of a bot, and room for a day on which none is reached.
impl Default for Config {
    fn default() -> Self {
        Self {
            max_bytes: ByteSize::mib(20),
            max_call_bytes: ByteSize::mib(40),
            max_turn_bytes: ByteSize::mib(50),
            max_count: 10,
            max_held_bytes: ByteSize(1 << 30),
        }
    }
}
