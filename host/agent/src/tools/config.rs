//! `[approvals]` of the configuration: how long a call waits for a person.

use cofferdam_core::limits::TimeSpan;
use serde::{Deserialize, Serialize};

/// How long a person is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// An approval that nobody gave by then is denied; from 1 s to [`EXPIRES_MAX`].
    pub expires: TimeSpan,
}

/// The longest that an approval may wait.
pub const EXPIRES_MAX: TimeSpan = TimeSpan::seconds(24 * 60 * 60);

impl Default for Config {
    fn default() -> Self {
        Self { expires: TimeSpan::seconds(10 * 60) }
    }
}

impl Config {
    /// Whether it makes sense.
    ///
    /// # Errors
    /// What to write instead.
    pub fn check(&self) -> Result<(), String> {
        let fits = (TimeSpan::seconds(1)..=EXPIRES_MAX).contains(&self.expires);
        let said = || format!("expires = \"{}\" is not from 1s to 24h; write e.g. \"10m\"", self.expires);
        if fits { Ok(()) } else { Err(said()) }
    }
}
