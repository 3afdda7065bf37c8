//! Where a channel's token is: a variable of the environment, or a file that its owner alone can read. No message
//! repeats any of it.

use cofferdam_agent::server::{SecretFileError, read_secret};
use std::path::Path;

/// The keys that say where a token is.
#[derive(Clone, Copy, Debug)]
pub struct TokenAt<'a> {
    /// `token_env`.
    pub variable: &'a str,
    /// What it is when nobody says: then a file stands for it.
    pub usual: &'a str,
    /// `token_file`.
    pub file: Option<&'a Path>,
}

/// Why there is no token.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// It is not a variable's name: perhaps the token itself, so it is not repeated.
    #[error("token_env is not the name of an environment variable")]
    Variable,
    /// The variable is missing or empty.
    #[error("the environment variable {0} is not set")]
    Missing(String),
    /// The token is in two places.
    #[error("token_env and token_file are both written; take one of them out")]
    Twice,
    /// The file did not open or read, or others may read it.
    #[error("token_file: {0}")]
    File(#[from] SecretFileError),
}

impl TokenAt<'_> {
    /// Whether the keys make sense.
    ///
    /// # Errors
    /// [`TokenError::Variable`] and [`TokenError::Twice`].
    pub fn check(&self) -> Result<(), TokenError> {
        if !is_variable_name(self.variable) {
            return Err(TokenError::Variable);
        }
        if self.file.is_some() && self.variable != self.usual { Err(TokenError::Twice) } else { Ok(()) }
    }

    /// What is there. `env` looks up a variable.
    ///
    /// # Errors
    /// [`TokenError`].
    pub fn read(&self, env: impl Fn(&str) -> Option<String>) -> Result<String, TokenError> {
        if let Some(file) = self.file {
            return Ok(read_secret(file)?);
        }
        self.check()?;
        let value = env(self.variable).filter(|value| !value.trim().is_empty());
        value.ok_or_else(|| TokenError::Missing(self.variable.to_owned()))
    }

    /// In words: the file or the variable.
    pub fn place(&self) -> String {
        self.file.map_or_else(|| self.variable.to_owned(), |file| file.display().to_string())
    }
}

fn is_variable_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.chars().all(plain) && !name.starts_with(|c: char| c.is_ascii_digit())
}
