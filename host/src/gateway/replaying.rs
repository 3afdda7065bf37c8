//! A gateway for one call that is made again: the policies and components as they are now, a
//! workspace and a state of its own.

use super::{Gateway, GatewayError, Role, cache_dir, component_bytes};
use crate::config::Config;
use cofferdam_agent::tools::Registry;
use cofferdam_policy::{PolicySet, ToolPolicy};
use cofferdam_warden::sandbox::Sandbox;

impl Gateway {
    /// A gateway with this one tool of the gateway that serves, in the workspace and state of
    /// `scratch`. What it compiles is kept there as well: nothing of the other is written.
    ///
    /// # Errors
    /// [`GatewayError`], and a component that cannot be had.
    pub fn to_replay(scratch: &Config, policy: &ToolPolicy, serving: &Config) -> anyhow::Result<Self> {
        let binary = component_bytes(serving, policy, serving.policies_dir.as_deref())?;
        let load = |sandbox: &Sandbox| Registry::from_component(sandbox, policy, binary);
        let first = Some(policy.tool.as_str());
        Ok(Self::open_with(scratch, Role::Beside, &cache_dir(scratch), (load, first))?)
    }
}

/// The policy of a tool, as the gateway of this configuration has it now.
///
/// # Errors
/// [`GatewayError::Policies`].
pub fn policy_now(config: &Config, tool: &str) -> Result<Option<ToolPolicy>, GatewayError> {
    let load = super::load_policies(config.policies_dir.as_deref());
    let set: PolicySet = load.map_err(GatewayError::Policies)?;
    Ok(set.get(tool).cloned())
}
