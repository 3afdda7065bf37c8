//! Providers: who decides what a turn does. `commands` needs no model and no key.

pub mod commands;

use serde::Deserialize;

/// `[provider]` of the configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Which provider answers.
    #[serde(default)]
    pub kind: Kind,
}

impl Default for Config {
    fn default() -> Self {
        Self { kind: Kind::Commands }
    }
}

/// The providers there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// `/tool key=value …` is one call; no model.
    #[default]
    Commands,
}
