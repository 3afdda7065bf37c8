//! This gateway among those that share its store.

use super::{GatewayError, make_private, unusable};
use crate::config::Config;
use cofferdam_store::{ClusterNode, StoreLocation, new_name};
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// Names the state folder, so that nodes know that they have the same one.
const FILE_NAME: &str = "state.id";

/// The node that this process is; with a store in PostgreSQL the name of its state folder is made
/// where it is missing.
///
/// # Errors
/// [`GatewayError::State`].
pub fn cluster_node(config: &Config) -> Result<ClusterNode, GatewayError> {
    let state = match config.store.location {
        StoreLocation::Sqlite(_) => String::new(),
        StoreLocation::Postgres(_) => {
            let file = config.state_dir.join(FILE_NAME);
            make_private(&config.state_dir)?;
            let named = read_or_make(&file, &config.state_dir);
            named.map_err(|cause| unusable(&file, cause))?
        }
    };
    Ok(this_node(config, state))
}

/// The same for who only looks: where the state folder has no name yet, none is made.
///
/// # Errors
/// When that cannot be read.
pub fn existing_node(config: &Config) -> io::Result<ClusterNode> {
    let state = read_name(&config.state_dir.join(FILE_NAME))?;
    Ok(this_node(config, state.unwrap_or_default()))
}

fn this_node(config: &Config, state: String) -> ClusterNode {
    ClusterNode { name: config.store.node.clone(), lease: config.store.lease, state }
}

fn read_name(file: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(|name| Some(name.trim().to_owned())),
    }
}

fn read_or_make(file: &Path, dir: &Path) -> io::Result<String> {
    if let Some(name) = read_name(file)? {
        return Ok(name);
    }
    let mut temp = tempfile::NamedTempFile::new_in(dir)?;
    writeln!(temp, "{}", new_name()?)?;
    temp.as_file().sync_all()?;
    match temp.persist_noclobber(file) {
        // Another node was quicker.
        Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => return Err(error.error),
        _ => fs::File::open(dir)?.sync_all()?,
    }
    fs::read_to_string(file).map(|name| name.trim().to_owned())
}
