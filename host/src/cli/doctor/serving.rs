//! Whether `serve` would come to its first poll: its own preparation, passed through without taking
//! anything.

use super::super::serve::prepare::{self, Refused, Step};
use super::super::told::{placed, told};
use super::finding::{Finding, Weight};
use crate::config::Config;
use crate::gateway::GatewayError;
use cofferdam_agent::tools::Registry;
use cofferdam_warden::audit::AuditError;
use cofferdam_warden::audit::sign::KeyError;
use serde::Serialize;

/// What `serve` would come to.
#[derive(Serialize)]
pub(super) struct Serve {
    /// Whether it would come to its first poll.
    ready: bool,
    /// What it would say in place of that.
    reason: Option<String>,
}

pub(super) fn look(config: &Config, registry: Option<&Registry>, findings: &mut Vec<Finding>) -> Serve {
    let Err(Refused { step, error }) = prepare::look(config, registry) else {
        return Serve { ready: true, reason: None };
    };
    let exposed = |cause: &(dyn std::error::Error + 'static)| {
        matches!(cause.downcast_ref(), Some(GatewayError::Audit(AuditError::Key(KeyError::Exposed { .. }))))
    };
    // Told with the places, and how it is mended.
    let is_told = error.chain().any(exposed);
    let reason = told(&placed(config, error));
    findings.extend(finding(step, &reason, findings).filter(|_| !is_told));
    Serve { ready: false, reason: Some(reason) }
}

/// None where nobody meant to serve, or another section has said the same, with more to mend it.
fn finding(step: Step, reason: &str, findings: &[Finding]) -> Option<Finding> {
    let mend = match step {
        Step::Channel => return None,
        Step::Token | Step::Provider => "see the message; the configuration names what it is about",
        Step::State => "[state] dir = \"…\", a folder that this account can write",
        Step::Monitor => "[metrics] listen = \"127.0.0.1:…\" with a port that is free",
        Step::Workflows => "mend the file that the message names; `cofferdam workflow check FILE` tells more",
        Step::Groups => "profiles = […] of that group or guild, of those that it names",
        Step::Gateway | Step::Database => "see the message; then cofferdam doctor again",
    };
    let said = |found: &Finding| {
        let damaged = step == Step::Database && found.section == "database";
        found.weight == Weight::Problem && (damaged || reason.ends_with(&found.what))
    };
    let finding = || Finding::problem("serve", format!("serve does not start: {reason}"), mend);
    (!findings.iter().any(said)).then(finding)
}

impl Serve {
    pub(super) fn tell(&self, line: &mut impl FnMut(String)) {
        line(match &self.reason {
            None => "serve: ready".to_owned(),
            Some(reason) => format!("serve: would not start: {reason}"),
        });
    }
}
