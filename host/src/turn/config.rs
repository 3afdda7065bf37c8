//! `[turns]` of the configuration: what one turn may do in all.

use cofferdam_core::limits::ByteSize;
use serde::Deserialize;

/// Limits of one turn, over all its calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Bytes that the calls which published something have staged.
    pub written_bytes: ByteSize,
}

/// As much as the largest call that a policy can allow, so that what single calls may do is not cut.
impl Default for Config {
    fn default() -> Self {
        Self { written_bytes: ByteSize(4 << 30) }
    }
}
