//! What `doctor` finds, and how it writes the commands that mend it.

use crate::config::Config;
pub(in crate::cli) use cofferdam_warden::shell::quote_path as shell;
use serde::Serialize;

/// Something that should be otherwise.
#[derive(Debug, Serialize)]
pub(super) struct DoctorFinding {
    pub(super) section: &'static str,
    pub(super) weight: Severity,
    pub(super) what: String,
    /// The command that mends it, or the line of the configuration: `[section] key = value`.
    pub(super) mend: String,
}

/// Whether a finding counts for the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Severity {
    /// It does: exit 3.
    Problem,
    /// It does not: the operator has accepted it, or nothing is lost by it.
    Notice,
}

impl DoctorFinding {
    pub(super) fn problem(section: &'static str, what: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { section, weight: Severity::Problem, what: what.into(), mend: mend.into() }
    }

    pub(super) fn notice(section: &'static str, what: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { weight: Severity::Notice, ..Self::problem(section, what, mend) }
    }
}

/// The command that looks as this account.
pub(super) fn look_as(config: &Config, account: u32) -> String {
    let named = config.file.as_ref().map(|file| format!(" --config {}", shell(file))).unwrap_or_default();
    format!("sudo -u '#{account}' cofferdam doctor{named}")
}
