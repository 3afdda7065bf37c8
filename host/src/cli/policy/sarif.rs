//! Findings on stdout as SARIF.

use cofferdam_review::sarif::{SarifFinding, log};
use std::io::Write;

/// Prints one log, indented: people look into it when a service refuses it.
pub(super) fn print(findings: &[SarifFinding], out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "{:#}", log(findings))
}
