//! The network for guests, composed: hosts that the operator names, and the secrets that profiles
//! may have sent.

use crate::config::{Config, SecretSource};
use cofferdam_agent::server::{SECRET_BYTES_MAX, read_secret};
use cofferdam_core::secret::Secret;
use cofferdam_core::web::Web;
use cofferdam_egress::GuestWeb;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A shorter text is no secret: taking it out of what comes back would leave no text whole.
const SECRET_BYTES_MIN: usize = 8;

/// Who sends what guests ask for. A secret that cannot be had is told in the log, and what would
/// need it is not sent.
pub(super) fn web(config: &Config) -> Arc<dyn Web> {
    let mut secrets = BTreeMap::new();
    for (name, source) in &config.network.secrets {
        match read(source) {
            Ok(secret) => drop(secrets.insert(name.clone(), secret)),
            Err(why) => {
                tracing::warn!("the secret {name} is missing, and nothing that needs it is sent: {why}")
            }
        }
    }
    Arc::new(GuestWeb::new(config.network.private_hosts.clone(), secrets))
}

fn read(source: &SecretSource) -> Result<Secret, String> {
    let text = match source {
        SecretSource::File(file) => read_secret(file).map_err(|e| e.to_string())?,
        SecretSource::Variable(name) => std::env::var(name).map_err(|e| format!("{name}: {e}"))?,
    };
    let text = text.trim_end_matches(['\r', '\n']);
    match text.len() {
        SECRET_BYTES_MIN..=SECRET_BYTES_MAX => Ok(Secret::new(text)),
        _ => Err(format!("it has not between {SECRET_BYTES_MIN} and {SECRET_BYTES_MAX} bytes")),
    }
}
