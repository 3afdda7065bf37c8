//! A configuration that is read anew while the gateway runs: held against the one in force, and
//! made into another gateway over the same mechanisms. All of it holds, or nothing.
//!
//! What a start would refuse is refused here. So is all that needs a restart, by name: what is in
//! force is always what one configuration says, and never half of it.

use super::{Gateway, GatewayError, isolation, load_policies, sources};
use crate::config::{Config, SettingOrigin, is_reloadable};
use cofferdam_agent::tools::Registry;
use cofferdam_core::audit::sha256_hex;
use cofferdam_policy::PolicySet;
use std::sync::Arc;

/// Why a configuration does not come into force; the one before stays.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// It changes what was fixed when the process started.
    #[error("{} changed, which needs a restart; nothing of this configuration is in force until then", .0.join(", "))]
    NeedsRestart(Vec<&'static str>),
    /// A start would refuse it.
    #[error(transparent)]
    Refused(#[from] GatewayError),
    /// Tools that are served now would be gone.
    #[error("{}", .0.join("\n"))]
    ToolsGone(Vec<String>),
}

impl Gateway {
    /// The gateway under another configuration, and the SHA-256 of its policies; `started` is the
    /// one that the process was started under. What runs goes on. Loads tools, so it must not run
    /// on an async thread.
    ///
    /// # Errors
    /// [`ReloadError`]; nothing has changed then.
    pub fn renew(&self, started: &Config, new: &Config) -> Result<(Self, String), ReloadError> {
        let fixed = needs_restart(started, new);
        if !fixed.is_empty() {
            return Err(ReloadError::NeedsRestart(fixed));
        }
        let dir = new.policies_dir.as_deref();
        let policies = load_policies(dir).map_err(GatewayError::Policies)?;
        if !isolation::reaches_network(&policies) {
            return Err(ReloadError::NeedsRestart(vec!["a port that a profile's network names"]));
        }
        let registry = Registry::load(self.warden.sandbox(), &policies, &sources(new, dir));
        let gone = find_lost_tools(self.toolbox.registry(), &registry);
        if !gone.is_empty() {
            return Err(ReloadError::ToolsGone(gone));
        }
        let overridden = overridden(started, new);
        if !overridden.is_empty() {
            let keys = overridden.join(", ");
            tracing::warn!("{keys} changed in the file and not in force: a flag or a variable decides");
        }
        let outgoing = self.warden.outgoing().with_limits(new.replies);
        let warden = self.warden.renewed(outgoing, super::web::web(new, &registry), new.turns.written_bytes);
        let renewed = Self {
            toolbox: Arc::new(self.toolbox.with_registry(registry, warden.clone())),
            warden,
            blobs: self.blobs.clone(),
            threads: self.threads.clone(),
        };
        Ok((renewed, fingerprint(&policies)))
    }

    /// Has what all gateways over these mechanisms share follow this one and its configuration,
    /// which come into force.
    pub fn enforce(&self, config: &Config) {
        self.toolbox.enforce();
        self.warden.workspaces().set_max_bytes(config.workspace.max_bytes);
    }
}

/// Tools that load now and would not any more, with the reason.
fn find_lost_tools(now: &Registry, then: &Registry) -> Vec<String> {
    let loads = |name: &str| now.iter().any(|(known, tool)| known == name && tool.is_ok());
    // One that is new and does not load is as wrong; one that did not load before is known.
    let known = |name: &str| now.iter().any(|(known, _)| known == name);
    let why = |(name, tool): (&str, &cofferdam_agent::tools::Loaded)| match tool {
        Err(why) if loads(name) || !known(name) => Some(why.to_string()),
        _ => None,
    };
    then.iter().filter_map(why).collect()
}

/// The keys that differ and cannot come into force.
fn needs_restart(started: &Config, new: &Config) -> Vec<&'static str> {
    let changed = started.settings.iter().zip(&new.settings).filter(|(old, new)| old.value != new.value);
    let mut fixed: Vec<_> = changed.map(|(_, new)| new.key).filter(|key| !is_reloadable(key)).collect();
    // The confined process reaches the ports that it was started for.
    let reached = |port: &u16| isolation::ports(started).is_none_or(|ports| ports.contains(port));
    if isolation::ports(new).is_some_and(|ports| !ports.iter().all(reached)) {
        fixed.push("the port of provider.base_url");
    }
    fixed
}

/// The keys that the file has changed to no effect, now or after a restart.
fn overridden(started: &Config, new: &Config) -> Vec<&'static str> {
    let pairs = started.settings.iter().zip(&new.settings);
    let changed = pairs.filter(|(old, new)| old.in_file != new.in_file).map(|(_, new)| new);
    changed
        .filter(|setting| matches!(setting.origin, SettingOrigin::Environment | SettingOrigin::Flag))
        .map(|setting| setting.key)
        .collect()
}

/// SHA-256 over the policies: of one line a tool, its name and the SHA-256 of its policy.
fn fingerprint(policies: &PolicySet) -> String {
    let lines: String =
        policies.iter().map(|policy| format!("{} {}\n", policy.tool, policy.sha256)).collect();
    sha256_hex(lines.as_bytes())
}
