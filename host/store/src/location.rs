//! Where a store is.

use super::postgres::{PostgresConfig, schema as postgres_schema};
use super::schema;
use std::path::{Path, PathBuf};

/// Where a store is.
#[derive(Clone, Debug, PartialEq)]
pub enum StoreLocation {
    /// SQLite, in a file of this state directory.
    Sqlite(PathBuf),
    /// A schema of PostgreSQL.
    Postgres(Box<PostgresConfig>),
}

impl StoreLocation {
    /// The version of the tables that this program writes there. Older ones are brought to it by
    /// the next program that writes.
    pub fn version_known(&self) -> i64 {
        match self {
            Self::Sqlite(_) => schema::VERSION,
            Self::Postgres(_) => postgres_schema::VERSION,
        }
    }
}

impl<P: AsRef<Path> + ?Sized> From<&P> for StoreLocation {
    fn from(dir: &P) -> Self {
        Self::Sqlite(dir.as_ref().to_owned())
    }
}

impl From<&StoreLocation> for StoreLocation {
    fn from(location: &StoreLocation) -> Self {
        location.clone()
    }
}
