//! Where the components of this gateway's tools come from: built in, beside the policies, or kept
//! in the state since they were fetched. Nothing is fetched here.

use super::{GatewayError, builtin_component, check_account, make_private};
use crate::config::Config;
use cofferdam_agent::tools::{RegistryError, Sources};
use cofferdam_oci::Store;
use cofferdam_policy::ToolPolicy;
use cofferdam_warden::sandbox::{Binary, COMPONENT_BYTES_MAX};
use std::path::Path;

/// The bytes of the component that a policy of this folder names, as pinned.
///
/// # Errors
/// Why they cannot be had.
pub fn component_bytes(
    config: &Config,
    policy: &ToolPolicy,
    policies_dir: Option<&Path>,
) -> Result<Binary, RegistryError> {
    cofferdam_agent::tools::component_bytes(policy, &sources(config, policies_dir))
}

pub(super) fn sources(config: &Config, policies_dir: Option<&Path>) -> Sources {
    let store = open_fetched(config);
    Sources {
        builtins: builtin_component,
        policies_dir: policies_dir.map(Path::to_owned),
        fetched: Box::new(move |oci, signer| store.component(oci, signer).map_err(|e| e.to_string())),
    }
}

/// The components that were fetched.
pub fn open_fetched(config: &Config) -> Store {
    Store::new(config.state_dir.join("components"), COMPONENT_BYTES_MAX as u64)
}

/// The same for anyone who adds one: the state is there, and this account's.
///
/// # Errors
/// [`GatewayError::OtherAccount`], [`GatewayError::State`].
pub fn open_fetched_for_writing(config: &Config) -> Result<Store, GatewayError> {
    check_account(config)?;
    make_private(&config.state_dir)?;
    Ok(open_fetched(config))
}
