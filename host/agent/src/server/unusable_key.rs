//! A key of the configuration that cannot be used, in words.

use super::MissingSecret;

/// Why a key of the configuration is refused. No message repeats a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{said}")]
pub struct UnusableKey {
    /// The section that it is in.
    pub section: &'static str,
    /// The key, with its sections.
    pub key: String,
    /// What is wrong, and what to write instead.
    pub said: String,
    /// Why there is no secret, if that is what is wrong.
    pub missing: Option<MissingSecret>,
}

impl UnusableKey {
    /// Of the key of a section, what is wrong.
    pub fn new(section: &'static str, key: &str, said: impl Into<String>) -> Self {
        Self { section, key: format!("{section}.{key}"), said: said.into(), missing: None }
    }

    /// The same of a key that names a file from which no secret is taken.
    pub fn of_file(section: &'static str, key: &str, error: MissingSecret) -> Self {
        let refused = Self::new(section, key, format!("{key}: {error}"));
        Self { missing: Some(error), ..refused }
    }

    /// The same of a key that names a variable which is not set.
    pub fn of_variable(section: &'static str, key: &str, variable: &str, said: String) -> Self {
        let missing = Some(MissingSecret::Variable(variable.to_owned()));
        Self { missing, ..Self::new(section, key, said) }
    }
}
