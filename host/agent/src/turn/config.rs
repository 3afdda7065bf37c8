//! `[turns]` of the configuration: what one turn may do in all, what is kept of earlier ones, and
//! what one person may use in a day.

use crate::open_requests::CallScope;
use cofferdam_core::limits::{ByteSize, TimeSpan};
use serde::{Deserialize, Serialize};

/// Limits of one turn over all its steps, and of one person over all turns of a day of UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
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
            ("rounds", self.rounds as u64),
            ("calls", self.calls as u64),
            ("tokens", self.tokens),
            ("history_tokens", self.history_tokens),
            ("user_tokens_per_day", self.user_tokens_per_day),
        ];
        if let Some((key, _)) = at_least_one.iter().find(|(_, value)| *value == 0) {
            return Err((key, format!("{key} = 0 lets no turn be answered; write at least 1")));
        }
        if self.deadline.0 < TimeSpan::seconds(1).0 {
            let said =
                format!("deadline = \"{}\" lets no turn be answered; write at least \"1s\"", self.deadline);
            return Err(("deadline", said));
        }
        Ok(())
    }
}
