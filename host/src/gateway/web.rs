//! The network for guests, composed: hosts that the operator names, and the secrets that profiles
//! may have sent.

use crate::config::{Config, SecretSource};
use cofferdam_agent::server::{SECRET_BYTES_MAX, UnusableKey, read_secret};
use cofferdam_agent::tools::Registry;
use cofferdam_core::secret::Secret;
use cofferdam_core::web::Web;
use cofferdam_egress::GuestWeb;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A shorter text is no secret: taking it out of what comes back would leave no text whole.
const SECRET_BYTES_MIN: usize = 8;

/// The section that says where secrets are.
const SECTION: &str = "secrets";

/// What to do about a policy that came with its tool and wants a secret.
const READ_FIRST: &str = "the policy came with the tool: read it, then give it with --policy FILE";

/// Who sends what guests ask for. A secret that cannot be had is told in the log, and what would
/// need it is not sent.
pub(super) fn web(config: &Config, registry: &Registry) -> Arc<dyn Web> {
    let named = &config.network.secrets;
    let secrets = named.iter().map(|(name, source)| {
        let secret = read(name, source).inspect_err(|why| {
            tracing::warn!("the secret {name} is missing, and nothing that needs it is sent: {why}");
        });
        let mend = match source {
            SecretSource::File(_) | SecretSource::Variable(_) => "`cofferdam doctor` says why",
            SecretSource::Withheld => READ_FIRST,
        };
        (name.clone(), secret.map_err(|_| mend.to_owned()))
    });
    let secrets = secrets.collect();
    for (name, tool) in sent_secrets(registry).into_iter().filter(|(name, _)| !named.contains_key(*name)) {
        tracing::warn!("{tool} sends nothing: {}", not_named(name));
    }
    Arc::new(GuestWeb::new(config.network.private_hosts.clone(), secrets))
}

/// The secrets that tools which loaded send, and that are not there, so that every request of the
/// tool is refused: the name that its profile has for each, the tool, and why.
pub fn find_unusable_secrets<'r>(
    config: &Config,
    registry: &'r Registry,
) -> Vec<(&'r str, &'r str, UnusableKey)> {
    let unusable = |(name, tool): (&'r str, &'r str)| {
        let error = match config.network.secrets.get(name) {
            Some(source) => read(name, source).err()?,
            None => not_named(name),
        };
        Some((name, tool, error))
    };
    sent_secrets(registry).into_iter().filter_map(unusable).collect()
}

/// Each secret that the profile of a tool which loaded names, with one such tool.
fn sent_secrets(registry: &Registry) -> BTreeMap<&str, &str> {
    let loaded = registry.iter().filter_map(|(tool, loaded)| Some((tool, loaded.as_ref().ok()?)));
    let named = loaded.flat_map(|(tool, loaded)| {
        let headers = loaded.policy.grants.network.iter().flat_map(|network| network.headers.values());
        headers.map(move |name| (name.as_str(), tool))
    });
    named.collect()
}

fn not_named(name: &str) -> UnusableKey {
    let said = format!("{name}: the profile names this secret, and the configuration does not");
    UnusableKey::new(SECTION, name, said)
}

fn read(name: &str, source: &SecretSource) -> Result<Secret, UnusableKey> {
    let text = match source {
        SecretSource::File(file) => {
            read_secret(file).map_err(|error| UnusableKey::of_file(SECTION, name, error))?
        }
        // What a variable holds that is no text is not repeated.
        SecretSource::Variable(variable) => std::env::var(variable).map_err(|_| {
            let said = format!("{name}: the environment variable {variable} is not set, or no text");
            UnusableKey::of_variable(SECTION, name, variable, said)
        })?,
        SecretSource::Withheld => {
            return Err(UnusableKey::new(SECTION, name, format!("{name}: {READ_FIRST}")));
        }
    };
    let text = text.trim_end_matches(['\r', '\n']);
    match text.len() {
        SECRET_BYTES_MIN..=SECRET_BYTES_MAX => Ok(Secret::new(text)),
        _ => {
            let said = format!("{name}: it has not between {SECRET_BYTES_MIN} and {SECRET_BYTES_MAX} bytes");
            Err(UnusableKey::new(SECTION, name, said))
        }
    }
}
