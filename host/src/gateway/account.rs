//! Whose the state is. What another account leaves in it, the `serve` of that one cannot open.

use super::{GatewayError, audit_file};
use crate::config::Config;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Refuses another account than the state's: that of the files in it, or of the folder where none
/// are there yet. A folder of root's may be begun by every account that may write there, as the
/// volume of a pod is. For commands that leave files for a `serve`.
///
/// # Errors
/// [`GatewayError::OtherAccount`].
pub fn check_account(config: &Config) -> Result<(), GatewayError> {
    if !check_begun_state(config)? && !is_of_root(&config.state_dir) {
        check_owner("the state folder", &config.state_dir)?;
    }
    Ok(())
}

/// The same for commands that may be the first ones: a folder without files may be another
/// account's, as the fresh volume of a container is. Returns whether files are there.
pub(super) fn check_begun_state(config: &Config) -> Result<bool, GatewayError> {
    if is_state_closed(config) {
        check_owner("the state folder", &config.state_dir)?;
    }
    let mut is_begun = false;
    for file in [audit_file(config), config.state_dir.join(cofferdam_store::FILE_NAME)] {
        is_begun |= check_owner(&file.display().to_string(), &file)?;
    }
    Ok(is_begun)
}

/// Whether this account may not look into the state folder, and so sees neither its files nor who
/// serves.
pub fn is_state_closed(config: &Config) -> bool {
    let looked = std::fs::metadata(config.state_dir.join(cofferdam_store::FILE_NAME));
    looked.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
}

/// Refuses what belongs to another account. Returns whether it is there.
fn check_owner(what: &str, path: &Path) -> Result<bool, GatewayError> {
    let us = rustix::process::geteuid().as_raw();
    match std::fs::metadata(path).map(|meta| meta.uid()) {
        Ok(owner) if owner != us => Err(GatewayError::OtherAccount { what: what.to_owned(), owner }),
        found => Ok(found.is_ok()),
    }
}

fn is_of_root(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| meta.uid() == 0)
}
