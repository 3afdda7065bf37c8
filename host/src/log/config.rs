//! `[log]` of the configuration: how the log is written, and how much of it.

use serde::Deserialize;

/// The section as written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// What a line looks like.
    pub format: Format,
    /// What is logged: a level, or levels of modules, such as `info` and `warn,cofferdam_agent::turn=debug`. Without it
    /// `serve` logs from `info` on and other commands from `warn` on.
    pub filter: Option<String>,
}

/// What a line of the log looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON object, for programs.
    Json,
}

impl Config {
    /// Refuses a filter that is not understood: what it names by mistake would silence the log.
    ///
    /// # Errors
    /// What to write instead.
    pub fn check(&self) -> Result<(), String> {
        self.filter.as_deref().map_or(Ok(()), |filter| check("filter", filter))
    }
}

/// Refuses a filter that is not understood, by the name of what it is the value of.
pub(super) fn check(name: &str, filter: &str) -> Result<(), String> {
    if is_filter(filter) {
        return Ok(());
    }
    Err(format!(
        "{name} = {filter:?} is not understood; write error, warn, info, debug or trace, or levels of modules such as \
         \"info,cofferdam_agent::turn=debug\""
    ))
}

const LEVELS: &[&str] = &["off", "error", "warn", "info", "debug", "trace"];

/// Whether it is a list of levels, and of modules with their levels.
fn is_filter(text: &str) -> bool {
    let is_level = |level: &str| LEVELS.contains(&level.to_ascii_lowercase().as_str());
    let is_module = |module: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
        !module.is_empty() && module.chars().all(plain)
    };
    text.split(',').map(str::trim).all(|part| match part.split_once('=') {
        None => is_level(part),
        Some((module, level)) => is_module(module) && is_level(level),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_that_would_silence_the_log_is_refused() {
        for (filter, expected) in [
            ("info", true),
            ("warn,cofferdam_agent::turn=debug, rustls=off", true),
            ("inof", false),
            ("", false),
            ("info,", false),
            ("cofferdam", false),
            ("cofferdam=loud", false),
            ("=info", false),
            ("[span]=info", false),
            ("3", false),
        ] {
            let config = Config { filter: Some(filter.into()), ..Config::default() };
            assert_eq!(config.check().is_ok(), expected, "{filter}");
        }
        assert_eq!(Config::default().check(), Ok(()));
    }
}
