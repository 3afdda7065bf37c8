//! Whether `serve` would come to its first poll: its own preparation, passed through without taking
//! anything.

use super::super::errors::{describe_error, error_with_place};
use super::super::serve::prepare::{self, PrepareStep};
use super::finding::{DoctorFinding, Severity, look_as};
use crate::config::Config;
use crate::gateway::GatewayError;
use cofferdam_agent::tools::Registry;
use cofferdam_warden::audit::AuditError;
use cofferdam_warden::audit::sign::KeyError;
use serde::Serialize;

/// What `serve` would come to.
#[derive(Serialize)]
pub(super) struct ServeReport {
    /// Whether it would come to its first poll.
    ready: bool,
    /// What it would say in place of that.
    reason: Option<String>,
}

pub(super) fn look(
    config: &Config,
    registry: Option<&Registry>,
    findings: &mut Vec<DoctorFinding>,
) -> ServeReport {
    let Err((step, error)) = prepare::look(config, registry) else {
        return ServeReport { ready: true, reason: None };
    };
    let exposed = |cause: &(dyn std::error::Error + 'static)| {
        matches!(cause.downcast_ref(), Some(GatewayError::Audit(AuditError::Key(KeyError::Exposed { .. }))))
    };
    // Told with the places, and how it is mended.
    let is_told = error.chain().any(exposed);
    // The state is not to be moved because of who looks.
    let others = error.chain().find_map(find_owner).map(|owner| look_as(config, owner));
    let reason = describe_error(&error_with_place(config, error));
    let found = finding(step, &reason, findings).filter(|_| !is_told);
    findings.extend(found.map(|found| DoctorFinding { mend: others.unwrap_or(found.mend), ..found }));
    ServeReport { ready: false, reason: Some(reason) }
}

/// The account that has the state, where that is another one.
fn find_owner(cause: &(dyn std::error::Error + 'static)) -> Option<u32> {
    match cause.downcast_ref() {
        Some(GatewayError::OtherAccount { owner, .. }) => Some(*owner),
        _ => None,
    }
}

/// None where nobody meant to serve, or another section has said the same, with more to mend it.
fn finding(step: PrepareStep, reason: &str, findings: &[DoctorFinding]) -> Option<DoctorFinding> {
    let mend = match step {
        PrepareStep::Channel => return None,
        PrepareStep::Token | PrepareStep::Provider => {
            "see the message; the configuration names what it is about"
        }
        PrepareStep::State => "[state] dir = \"…\", a folder that this account can write",
        PrepareStep::Monitor => "[metrics] listen = \"127.0.0.1:…\" with a port that is free",
        PrepareStep::Workflows => {
            "mend the file that the message names; `cofferdam workflow check FILE` tells more"
        }
        PrepareStep::Groups => "profiles = […] of that group or guild, of those that it names",
        PrepareStep::Gateway | PrepareStep::Database => "see the message; then cofferdam doctor again",
    };
    let said = |found: &DoctorFinding| {
        let damaged = step == PrepareStep::Database && found.section == "database";
        found.weight == Severity::Problem && (damaged || reason.ends_with(&found.what))
    };
    let finding = || DoctorFinding::problem("serve", format!("serve does not start: {reason}"), mend);
    (!findings.iter().any(said)).then(finding)
}

impl ServeReport {
    pub(super) fn tell(&self, line: &mut impl FnMut(String)) {
        line(match &self.reason {
            None => "serve: ready".to_owned(),
            Some(reason) => format!("serve: would not start: {reason}"),
        });
    }
}
