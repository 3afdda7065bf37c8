//! `[log]` of the configuration: how the log is written, and how much of it.

use serde::{Deserialize, Serialize};

/// The section as written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// What a line looks like.
    pub format: LogFormat,
    /// What is logged: a level, or levels of modules, such as `info` and
    /// `warn,cofferdam_agent::turn=debug`. Without it `serve` logs from `info` on and other
    /// commands from `warn` on.
    pub filter: Option<String>,
}

/// What a line of the log looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
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
    let not_understood = || {
        format!(
            "{name} = {filter:?} is not understood; write error, warn, info, debug or trace, or levels of modules such as \
             \"info,cofferdam_agent::turn=debug\""
        )
    };
    for directive in filter.split(',').map(str::trim) {
        let (module, level) = match directive.split_once('=') {
            Some((module, level)) => (Some(module), level),
            None => (None, directive),
        };
        if !is_level(level) || module.is_some_and(|module| !is_module(module)) {
            return Err(not_understood());
        }
        if let Some(module) = module.filter(|module| is_missing(module)) {
            let own = own_modules().join(", ");
            return Err(format!(
                "{name} = {filter:?}: there is no {module}, so it logs nothing; there are {own}"
            ));
        }
    }
    Ok(())
}

const LEVELS: &[&str] = &["off", "error", "warn", "info", "debug", "trace"];

fn is_level(level: &str) -> bool {
    LEVELS.contains(&level.to_ascii_lowercase().as_str())
}

fn is_module(module: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    !module.is_empty() && module.chars().all(plain)
}

/// Whether it would be a module of ours and is in no crate of ours. What libraries have is not
/// known here.
fn is_missing(module: &str) -> bool {
    // The log takes it as the beginning of a module's path.
    let is_inside = |rest: &str| rest.is_empty() || rest.starts_with(':');
    let names =
        |own: &String| own.starts_with(module) || module.strip_prefix(own.as_str()).is_some_and(is_inside);
    module.starts_with("cofferdam") && !own_modules().iter().any(names)
}

/// The rooms of this crate and the other crates, as its root and its manifest name them.
fn own_modules() -> Vec<String> {
    let rooms = include_str!("../lib.rs").lines().filter_map(|line| line.strip_prefix("pub mod "));
    let rooms = rooms.map(|room| format!("cofferdam::{}", room.trim_end_matches(';')));
    // Not the tests, which are no part of the workspace's dependencies.
    let is_crate = |line: &&str| line.starts_with("cofferdam-") && line.contains("workspace = true");
    let crates = include_str!("../../Cargo.toml").lines().filter(is_crate);
    let name = |line: &str| line.split(['.', ' ']).next().unwrap_or_default().replace('-', "_");
    let mut modules: Vec<String> = rooms.chain(crates.map(name)).collect();
    modules.sort();
    modules.dedup();
    modules
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
            // The beginning of all of ours, of a crate, of a room; and of a library.
            ("cofferdam=debug", true),
            ("cofferdam_agent=debug", true),
            ("cofferdam::gateway::watch=debug", true),
            ("hyper_util=debug", true),
            // A room that is in another crate now, and names that are none.
            ("warn,cofferdam::turn=debug", false),
            ("cofferdam_agents=debug", false),
            ("cofferdam::gateways=debug", false),
        ] {
            let config = Config { filter: Some(filter.into()), ..Config::default() };
            assert_eq!(config.check().is_ok(), expected, "{filter}");
        }
        assert_eq!(Config::default().check(), Ok(()));
        let said = check("filter", "cofferdam::turn=debug").expect_err("it is in another crate");
        assert!(
            said.starts_with("filter = \"cofferdam::turn=debug\": there is no cofferdam::turn, "),
            "{said}"
        );
        assert!(said.contains(" cofferdam::gateway, ") && said.contains(", cofferdam_agent, "), "{said}");
    }
}
