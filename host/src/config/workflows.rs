//! `[workflows]`: what `serve` offers, and what templates may name.

use super::ConfigError;
use super::places::KeyPositions;
use cofferdam_core::limits::TimeSpan;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// `[workflows]` of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The folder of the files that `serve` offers.
    pub dir: Option<PathBuf>,
    /// Variables that templates may name.
    pub env: Vec<String>,
    /// Runs that are open at once.
    pub max_open: u32,
    /// From the beginning of a run to its end.
    pub run_deadline: TimeSpan,
}

impl Default for Config {
    fn default() -> Self {
        Self { dir: None, env: Vec::new(), max_open: 100, run_deadline: TimeSpan::seconds(7 * 24 * 3600) }
    }
}

/// No more runs are open than this, and none lasts longer than a year.
const OPEN_CEILING: u32 = 10_000;
const DEADLINE_CEILING: TimeSpan = TimeSpan::seconds(366 * 24 * 3600);

/// Ends of names that hold secrets.
pub(crate) const SECRET_ENDS: [&str; 4] = ["_TOKEN", "_KEY", "_SECRET", "_PASSWORD"];

impl Config {
    pub(super) fn check(&self, places: &KeyPositions) -> Result<(), ConfigError> {
        if !(1..=OPEN_CEILING).contains(&self.max_open) {
            let said = format!("max_open = {} is not from 1 to {OPEN_CEILING}", self.max_open);
            return Err(places.refuse("workflows.max_open", said));
        }
        if self.run_deadline < TimeSpan::seconds(1) || self.run_deadline > DEADLINE_CEILING {
            let said =
                format!("run_deadline = \"{}\" is not from 1s to {DEADLINE_CEILING}", self.run_deadline);
            return Err(places.refuse("workflows.run_deadline", said));
        }
        for name in &self.env {
            let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
            if name.is_empty() || !name.bytes().all(plain) || name.starts_with(|c: char| c.is_ascii_digit()) {
                let said =
                    format!("env: {name:?} is not the name of a variable; write e.g. env = [\"TEAM\"]");
                return Err(places.refuse("workflows.env", said));
            }
            let upper = name.to_ascii_uppercase();
            if let Some(end) = SECRET_ENDS.into_iter().find(|end| upper.ends_with(end)) {
                let said = format!(
                    "env: {name} ends in {end}, as secrets do, and what templates name is shown to models; take it out"
                );
                return Err(places.refuse("workflows.env", said));
            }
        }
        Ok(())
    }
}
