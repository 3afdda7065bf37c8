//! The authorities of the operator's own that every client of this process trusts over TLS.

use crate::config::{CA_FILE_BYTES_MAX, Config};
use cofferdam_agent::server::UnusableKey;
use cofferdam_egress::trust_authorities;
use cofferdam_warden::files::open_regular;
use std::io::Read;

/// Has every client that this process makes trust the authorities that the operator names. Called
/// before the first one is made.
///
/// # Errors
/// [`UnusableKey`]: then none of them is trusted, and nothing begins.
pub fn trust(config: &Config) -> Result<(), UnusableKey> {
    let Some(file) = &config.network.ca_file else { return Ok(()) };
    let refused =
        |what: String| UnusableKey::new("network", "ca_file", format!("ca_file {}{what}", file.display()));
    let mut pem = Vec::new();
    let read = open_regular(file).and_then(|opened| opened.take(CA_FILE_BYTES_MAX + 1).read_to_end(&mut pem));
    read.map_err(|error| refused(format!(": {error}; name a file that this account can read")))?;
    if pem.len() as u64 > CA_FILE_BYTES_MAX {
        return Err(refused(format!(
            " has more than {CA_FILE_BYTES_MAX} bytes; name one with your own authorities alone"
        )));
    }
    trust_authorities(&pem).map_err(|error| refused(format!(": {error}")))
}
