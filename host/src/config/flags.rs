//! What the command line says of the configuration: it stands before the environment, and that
//! before the file.

use super::{Config, ConfigError, SettingOrigin, keys};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What the command line says, before environment and file.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// `--workspace`.
    pub workspace: Option<PathBuf>,
    /// Keys that have flags of their own, each with its value as a variable would have it.
    pub keys: Vec<(&'static str, String)>,
}

impl Config {
    /// The configuration from a file, the environment and every flag; see [`Config::load`].
    ///
    /// # Errors
    /// [`ConfigError`] for the first thing that is not understood.
    pub fn load_with(
        file: Option<&Path>,
        flags: &Flags,
        environment: &BTreeMap<String, String>,
    ) -> Result<Self, ConfigError> {
        let by_flag = |name: &str| flags.keys.iter().any(|(key, _)| keys::variable(key) == name);
        let mut laid_over = environment.clone();
        laid_over.extend(flags.keys.iter().map(|(key, value)| (keys::variable(key), value.clone())));
        let loaded = Self::load_layers(file, flags.workspace.as_deref(), &laid_over);
        let mut config = loaded.map_err(|error| match error {
            ConfigError::Environment(name, problem) if by_flag(&name) => {
                ConfigError::Invalid(format!("{}: {problem}", keys::flag(&name)))
            }
            other => other,
        })?;
        for setting in &mut config.settings {
            if flags.keys.iter().any(|(key, _)| *key == setting.key) {
                setting.origin = SettingOrigin::Flag;
            }
        }
        Ok(config)
    }
}
