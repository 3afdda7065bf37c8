//! Where a store is.

use super::postgres::PostgresConfig;
use std::path::{Path, PathBuf};

/// Where a store is.
#[derive(Clone, Debug, PartialEq)]
pub enum StoreLocation {
    /// SQLite, in a file of this state directory.
    Sqlite(PathBuf),
    /// A schema of PostgreSQL.
    Postgres(Box<PostgresConfig>),
}

impl From<&Path> for StoreLocation {
    fn from(dir: &Path) -> Self {
        Self::Sqlite(dir.to_owned())
    }
}

impl From<&PathBuf> for StoreLocation {
    fn from(dir: &PathBuf) -> Self {
        Self::Sqlite(dir.clone())
    }
}

impl From<&StoreLocation> for StoreLocation {
    fn from(location: &StoreLocation) -> Self {
        location.clone()
    }
}
