//! `[store]`: the engine that the store is in, and for PostgreSQL where it is. The URL is read here,
//! because a confined process reaches neither its file nor the authorities; and the bucket that the
//! nodes' blobs are in. `[cluster]`: what this
//! gateway is called among those that share it.

use super::places::KeyPositions;
use super::{ConfigError, network};
use cofferdam_agent::server::read_secret;
use cofferdam_agent::tools::read_bounded;
use cofferdam_core::limits::TimeSpan;
use cofferdam_core::secret::Secret;
use cofferdam_s3::S3Config;
use cofferdam_store::{
    DEFAULT_SCHEMA, LEASE, LEASE_LEAST, LEASE_MAX, NODE_NAME_MAX, PostgresConfig, PostgresConfigError,
    StoreLocation, host_name,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// `[store]` as it is written.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct StoreTable {
    engine: StoreEngine,
    url_env: Option<String>,
    url_file: Option<PathBuf>,
    schema: Option<String>,
    blobs: Option<String>,
}

/// `[cluster]` as it is written.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ClusterTable {
    node: Option<String>,
    lease: Option<TimeSpan>,
}

/// Where the store is.
#[derive(Clone, Debug)]
pub struct Config {
    /// The engine, and where it keeps it.
    pub location: StoreLocation,
    /// The file that holds the URL, if one does.
    pub url_file: Option<PathBuf>,
    /// Where the nodes hold the blobs of replies, if not in the folder that they share.
    pub bucket: Option<S3Config>,
    /// What this gateway is called among those that share the store.
    pub node: String,
    /// How long it may be silent until others take its work over.
    pub lease: Duration,
}

impl Config {
    /// Whether several `serve` may share the state.
    pub fn is_shared(&self) -> bool {
        matches!(self.location, StoreLocation::Postgres(_))
    }

    /// What a file of the state folder is called that each `serve` has for itself: nodes share the
    /// folder.
    pub fn own_name(&self, stem: &str, extension: &str) -> String {
        match self.location {
            StoreLocation::Sqlite(_) => format!("{stem}.{extension}"),
            StoreLocation::Postgres(_) => format!("{stem}-{}.{extension}", self.node),
        }
    }
}

/// The engines that there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum StoreEngine {
    /// The file cofferdam.db in the state folder
    #[default]
    Sqlite,
    /// The schema that the configuration names
    Postgres,
}

impl StoreTable {
    /// Where the store is, and who shares it.
    pub(super) fn check(
        self,
        cluster: ClusterTable,
        (state_dir, network, has_homes): (&Path, &network::Config, bool),
        read: (&BTreeMap<String, String>, &KeyPositions),
    ) -> Result<Config, ConfigError> {
        let mut location = self.location(state_dir, network, read)?;
        let bucket = self.blobs.as_deref().map(|url| S3Config::new(url, read.0)).transpose();
        let bucket = bucket.map_err(|error| read.1.refuse("store.blobs", format!("blobs: {error}")))?;
        let (node, lease) = cluster.check(self.engine, read.1)?;
        match &mut location {
            _ if !has_homes => {}
            StoreLocation::Postgres(config) => **config = config.as_ref().clone().with_home(&node),
            StoreLocation::Sqlite(_) => {
                let said = "affinity is of gateways that share a store in PostgreSQL; write engine = \"postgres\" in [store], or take it out";
                return Err(read.1.refuse("workspace.affinity", said));
            }
        }
        Ok(Config { location, url_file: self.url_file, bucket, node, lease })
    }

    fn location(
        &self,
        state_dir: &Path,
        network: &network::Config,
        (environment, places): (&BTreeMap<String, String>, &KeyPositions),
    ) -> Result<StoreLocation, ConfigError> {
        if self.engine == StoreEngine::Sqlite {
            let written = [
                ("url_env", self.url_env.is_some()),
                ("url_file", self.url_file.is_some()),
                ("schema", self.schema.is_some()),
                ("blobs", self.blobs.is_some()),
            ];
            let Some((name, _)) = written.iter().find(|(_, is_written)| *is_written) else {
                return Ok(StoreLocation::Sqlite(state_dir.to_owned()));
            };
            let said = format!("{name} is of PostgreSQL; write engine = \"postgres\", or take it out");
            return Err(places.refuse(&format!("store.{name}"), said));
        }
        let (key, url) = self.url(environment, places)?;
        let authorities = match &network.ca_file {
            None => Vec::new(),
            Some(file) => read_bounded(file, network::CA_FILE_BYTES_MAX)
                .map_err(|error| places.refuse("network.ca_file", format!("{}: {error}", file.display())))?,
        };
        let schema = self.schema.as_deref().unwrap_or(DEFAULT_SCHEMA);
        let config = PostgresConfig::new(&url, schema, &authorities).map_err(|error| {
            let key = match error {
                PostgresConfigError::Schema(_) => "store.schema",
                PostgresConfigError::Tls(_) => "network.ca_file",
                PostgresConfigError::Url(_) | PostgresConfigError::Readable(_) => key,
            };
            places.refuse(key, error)
        })?;
        Ok(StoreLocation::Postgres(Box::new(config)))
    }

    /// The URL, and the key that it comes from.
    fn url(
        &self,
        environment: &BTreeMap<String, String>,
        places: &KeyPositions,
    ) -> Result<(&'static str, Secret), ConfigError> {
        match (&self.url_env, &self.url_file) {
            (Some(_), Some(_)) => Err(places
                .refuse("store.url_file", "url_env and url_file are both written; take one of them out")),
            (None, None) => {
                let said = "engine = \"postgres\" needs url_env = \"DATABASE_URL\", the variable that holds postgres://USER:PASSWORD@HOST/DATABASE, or url_file = \"PATH\"";
                Err(places.refuse("store.engine", said))
            }
            (Some(variable), None) => {
                let key = "store.url_env";
                let is_name = variable.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
                // Perhaps the URL itself, so it is not repeated.
                let no_name = "url_env is not the name of an environment variable; write a name there, such as DATABASE_URL, and put the URL into that variable";
                if !is_name {
                    return Err(places.refuse(key, no_name));
                }
                let url = environment.get(variable).filter(|url| !url.is_empty());
                let missing = format!(
                    "the environment variable {variable} is not set; put the URL of the database into it, or name another variable in url_env"
                );
                let url = url.ok_or_else(|| places.refuse(key, missing))?;
                Ok((key, Secret::new(url.trim())))
            }
            (None, Some(file)) => {
                let key = "store.url_file";
                // The URL itself, which has the password, so it is not repeated.
                let no_path = "url_file is a URL and not the path of a file; put the URL into a file that only its owner can read, and write its path there";
                if file.to_string_lossy().contains("://") {
                    return Err(places.refuse(key, no_path));
                }
                let url =
                    read_secret(file).map_err(|error| places.refuse(key, format!("url_file: {error}")))?;
                Ok((key, Secret::new(url.trim())))
            }
        }
    }
}

impl ClusterTable {
    /// Name and lease of this node.
    fn check(self, engine: StoreEngine, places: &KeyPositions) -> Result<(String, Duration), ConfigError> {
        let written = [("cluster.node", self.node.is_some()), ("cluster.lease", self.lease.is_some())];
        if let Some((key, _)) = written.iter().find(|(_, is_written)| *is_written)
            && engine == StoreEngine::Sqlite
        {
            let said = "[cluster] is of gateways that share a store in PostgreSQL; write engine = \"postgres\" in [store], or take it out";
            return Err(places.refuse(key, said));
        }
        let node = self.node.unwrap_or_else(host_name);
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        if engine == StoreEngine::Postgres
            && (node.is_empty() || node.len() > NODE_NAME_MAX || !node.chars().all(is_plain))
        {
            let said = format!(
                "node = {node:?} is no name of a node; write 1 to {NODE_NAME_MAX} of the letters a-z, A-Z, 0-9, - _ and ., such as node = \"a\""
            );
            return Err(places.refuse("cluster.node", said));
        }
        let lease = self.lease.map_or(LEASE, |lease| lease.0);
        if !(LEASE_LEAST..=LEASE_MAX).contains(&lease) {
            let (lease, least, most) = (TimeSpan(lease), TimeSpan(LEASE_LEAST), TimeSpan(LEASE_MAX));
            return Err(
                places.refuse("cluster.lease", format!("lease = \"{lease}\" is not from {least} to {most}"))
            );
        }
        Ok((node, lease))
    }
}
