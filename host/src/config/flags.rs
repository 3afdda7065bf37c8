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
    /// What flags of keys say, by the variables before which they stand.
    pub variables: BTreeMap<String, String>,
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
        let mut laid_over = environment.clone();
        laid_over.extend(flags.variables.clone());
        let loaded = Self::load_layers(file, flags.workspace.as_deref(), &laid_over);
        let mut config = loaded.map_err(|error| match error {
            ConfigError::Environment(name, problem) if flags.variables.contains_key(&name) => {
                ConfigError::Invalid(format!("{}: {problem}", keys::flag(&name)))
            }
            other => other,
        })?;
        for setting in &mut config.settings {
            if flags.variables.contains_key(&keys::variable(setting.key)) {
                setting.origin = SettingOrigin::Flag;
            }
        }
        Ok(config)
    }
}
