//! `[network]` and `[secrets]`: whom guests may reach besides public hosts, whom every client
//! trusts over TLS, and where the secrets are that profiles name. None of these files is read here.

use super::ConfigError;
use super::places::KeyPositions;
use cofferdam_agent::server::is_variable_name;
use cofferdam_core::text::one_line;
use cofferdam_egress::HostPort;
use cofferdam_policy::grant::is_secret_name;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Secrets that can be named: the process keeps so many more out of its log.
const SECRETS_MAX: usize = 32;

/// Bytes of `[network] ca_file`: several times what the bundles of systems have.
pub const CA_FILE_BYTES_MAX: u64 = 1 << 20;

/// `[network]` as it is written.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct NetworkSection {
    allowed_private_hosts: Vec<String>,
    ca_file: Option<PathBuf>,
}

/// `[secrets.NAME]` as it is written.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SecretTable {
    file: Option<PathBuf>,
    env: Option<String>,
}

/// What guests may reach and be given, besides what their profiles say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Hosts that may be private, and asked over plain http, where a profile names them as well.
    pub private_hosts: Vec<HostPort>,
    /// Whose certificates are trusted besides those of the public authorities, by every client.
    pub ca_file: Option<PathBuf>,
    /// Where each secret is.
    pub secrets: BTreeMap<String, SecretSource>,
}

/// Where a secret is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretSource {
    /// In a file, alone.
    File(PathBuf),
    /// In a variable of the environment.
    Variable(String),
    /// Nowhere for this run: the policy that names it came with its tool. No file says so.
    Withheld,
}

impl Config {
    /// The files that hold secrets.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.secrets.values().filter_map(|source| match source {
            SecretSource::File(file) => Some(file),
            SecretSource::Variable(_) | SecretSource::Withheld => None,
        })
    }

    /// Of both sections; paths are relative to the folder of the configuration's file.
    pub(super) fn new(
        network: NetworkSection,
        secrets: BTreeMap<String, SecretTable>,
        file: Option<&Path>,
        places: &KeyPositions,
    ) -> Result<Self, ConfigError> {
        let hosts: Result<Vec<HostPort>, _> =
            network.allowed_private_hosts.iter().map(|host| host.parse()).collect();
        let private_hosts = hosts.map_err(|e| {
            places.refuse("network.allowed_private_hosts", format!("allowed_private_hosts: {e}"))
        })?;
        let base = file.and_then(|file| std::path::absolute(file).ok()?.parent().map(Path::to_owned));
        if secrets.len() > SECRETS_MAX {
            let said = format!("{} secrets are named; at most {SECRETS_MAX} are taken", secrets.len());
            return Err(places.refuse("secrets", said));
        }
        let mut sources = BTreeMap::new();
        for (name, SecretTable { file, env }) in secrets {
            let shown = one_line(&name, 80);
            let refuse = |said: String| Err(places.refuse(&format!("secrets.{name}"), said));
            if !is_secret_name(&name) {
                return refuse(format!("{shown:?} is no name of a secret; write letters, digits and _"));
            }
            let source = match (file, env) {
                (Some(file), None) => {
                    SecretSource::File(base.iter().fold(file, |file, base| base.join(file)))
                }
                (None, Some(variable)) if is_variable_name(&variable) => SecretSource::Variable(variable),
                (None, Some(_)) => {
                    // Perhaps the secret itself, so it is not repeated.
                    return refuse(format!(
                        "{shown}: env is not the name of an environment variable in capital letters; write a name \
                         there, such as WEATHER_KEY, and put the secret into that variable"
                    ));
                }
                _ => return refuse(format!("{shown} needs one of file = \"PATH\" and env = \"VARIABLE\"")),
            };
            sources.insert(name, source);
        }
        Ok(Self { private_hosts, ca_file: network.ca_file, secrets: sources })
    }
}
