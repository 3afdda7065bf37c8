//! The authorities of the operator's own that every client of this process trusts over TLS.

use crate::config::Config;
use cofferdam_egress::{Authorities, BadAuthorities};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Bytes of `[network] ca_file`: several times what the bundles of systems have.
pub const CA_FILE_BYTES_MAX: u64 = 1 << 20;

/// Why the authorities of `[network] ca_file` are not known. Nothing begins without them.
#[derive(Debug, thiserror::Error)]
pub enum CaFileError {
    /// It cannot be read.
    #[error("ca_file {}: {source}; name a file that this account can read", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It has more bytes than any such file.
    #[error("ca_file {} has more than {CA_FILE_BYTES_MAX} bytes; name one with your own authorities alone", .0.display())]
    TooLarge(PathBuf),
    /// What is in it is not what it must be.
    #[error("ca_file {}: {source}", file.display())]
    Bad {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        source: BadAuthorities,
    },
}

/// Has every client that this process makes trust the authorities that the operator names. Called
/// before the first one is made.
///
/// # Errors
/// [`CaFileError`]: then none of them is trusted.
pub fn trust(config: &Config) -> Result<(), CaFileError> {
    let Some(file) = &config.network.ca_file else { return Ok(()) };
    let pem = read(file)?;
    let authorities = Authorities::from_pem(&pem);
    authorities.map_err(|source| CaFileError::Bad { file: file.clone(), source })?.trust();
    Ok(())
}

fn read(file: &Path) -> Result<Vec<u8>, CaFileError> {
    let mut pem = Vec::new();
    let read = File::open(file).and_then(|opened| opened.take(CA_FILE_BYTES_MAX + 1).read_to_end(&mut pem));
    read.map_err(|source| CaFileError::Unreadable { file: file.to_owned(), source })?;
    if pem.len() as u64 > CA_FILE_BYTES_MAX {
        return Err(CaFileError::TooLarge(file.to_owned()));
    }
    Ok(pem)
}
