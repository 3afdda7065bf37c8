//! What people are told of an error: each cause once, and the line of the configuration that it
//! comes from.

use crate::config::Config;
use crate::gateway::GatewayError;
use cofferdam_agent::server::UnusableKey;
use cofferdam_core::text::with_causes;
use cofferdam_store::StoreError;
use cofferdam_warden::audit::AuditError;
use std::error::Error;
use std::path::Path;

pub(super) fn describe_error(error: &anyhow::Error) -> String {
    let error: &(dyn Error + 'static) = error.as_ref();
    with_causes(error)
}

/// An error with the place of the configuration that it comes from, where that is known.
pub(super) fn error_with_place(config: &Config, error: anyhow::Error) -> anyhow::Error {
    let key = error.chain().find_map(|cause| key(config, cause));
    match key.and_then(|key| config.place(&key)) {
        Some(place) => anyhow::Error::msg(format!("{place}: {}", describe_error(&error))),
        None => error,
    }
}

/// The key that an error is about.
fn key(config: &Config, error: &(dyn Error + 'static)) -> Option<String> {
    if let Some(UnusableKey { key, .. }) = error.downcast_ref() {
        return Some(key.clone());
    }
    if let Some(StoreError::Open { .. } | StoreError::NotAFile(_)) = error.downcast_ref() {
        return Some("state.dir".to_owned());
    }
    let root = || format!("the workspace {}", config.workspace.root.display());
    let key = match error.downcast_ref()? {
        GatewayError::Workspace(_) => "workspace.root",
        GatewayError::State(what, _) if *what == root() => "workspace.root",
        GatewayError::State(what, _) if Path::new(what).starts_with(&config.state_dir) => "state.dir",
        GatewayError::Locked(_) => "state.dir",
        GatewayError::Audit(AuditError::Key(_)) => "audit.sign_key_file",
        // Not a policy, but their folder.
        GatewayError::Policies(problems) if problems.iter().all(|problem| problem.line.is_none()) => {
            "policies.dir"
        }
        _ => return None,
    };
    Some(key.to_owned())
}
