//! `[turns]` of the configuration: what one turn may do in all, what is kept of earlier ones, and
//! what one person may use in a day.

use crate::open_requests::CallScope;
use cofferdam_core::limits::{ByteSize, TimeSpan};
use serde::{Deserialize, Serialize};

/// Turns of one channel at once, at most.
const AT_ONCE_MAX: usize = 256;

/// Limits of one turn over all its steps, of one person over all turns of a day of UTC, and of all
/// turns together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Turns of one channel that are worked on at once by this process.
    pub at_once: usize,
    /// Bytes that the calls which published something have staged.
    pub written_bytes: ByteSize,
    /// Steps that a provider may take.
    pub rounds: usize,
    /// Tool calls.
    pub calls: usize,
    /// Wall-clock time from the start of a turn to its answer.
    pub deadline: TimeSpan,
    /// Tokens of all steps together, read and written.
    pub tokens: u64,
    /// Tokens of the conversation, estimated; what is older than the half of it is summarized
    /// beyond.
    pub history_tokens: u64,
    /// Tokens of one person in a day.
    pub user_tokens_per_day: u64,
    /// Bytes that the calls of one person publish in a day.
    pub user_written_bytes_per_day: ByteSize,
    /// To whose replies a call may add files.
    pub reach: CallScope,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            at_once: 8,
            // As much as the largest call that a policy can allow, so that what single calls may do
            // is not cut.
            written_bytes: ByteSize(4 << 30),
            rounds: 16,
            calls: 64,
            deadline: TimeSpan::seconds(900),
            tokens: 1_000_000,
            history_tokens: 32_000,
            user_tokens_per_day: 5_000_000,
            user_written_bytes_per_day: ByteSize(20 << 30),
            reach: CallScope::Own,
        }
    }
}

impl Config {
    /// Refuses what no turn could be answered under.
    ///
    /// # Errors
    /// The key, and what to write.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        let at_least_one = [
            ("at_once", self.at_once as u64),
            ("rounds", self.rounds as u64),
            ("calls", self.calls as u64),
            ("tokens", self.tokens),
            ("history_tokens", self.history_tokens),
            ("user_tokens_per_day", self.user_tokens_per_day),
        ];
        if let Some((key, _)) = at_least_one.iter().find(|(_, value)| *value == 0) {
            return Err((key, format!("{key} = 0 lets no turn be answered; write at least 1")));
        }
        if self.at_once > AT_ONCE_MAX {
            return Err(("at_once", format!("at_once = {} is not from 1 to {AT_ONCE_MAX}", self.at_once)));
        }
        if self.deadline.0 < TimeSpan::seconds(1).0 {
            let said =
                format!("deadline = \"{}\" lets no turn be answered; write at least \"1s\"", self.deadline);
            return Err(("deadline", said));
        }
        Ok(())
    }
}
