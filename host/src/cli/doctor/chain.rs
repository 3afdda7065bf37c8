//! The audit's chain, checked as by `audit verify`, beside everything else and no longer than is
//! bearable.

use super::super::audit;
use super::finding::DoctorFinding;
use crate::config::Config;
use cofferdam_warden::audit::ChainPlace;
use serde_json::{Value, json};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// A check that takes longer is left to `audit verify`: some gigabytes.
pub(super) const CHAIN_TIME_MAX: Duration = Duration::from_secs(20);

/// Begins a check: what will come is what `audit verify --json` says, and whether all is sound.
/// None where there is no audit yet.
pub(super) fn begin(config: &Config) -> Option<Receiver<anyhow::Result<(Value, bool)>>> {
    if ChainPlace::find_all(&config.state_dir).is_ok_and(|chains| chains.is_empty()) {
        return None;
    }
    let config = config.clone();
    let (give, given) = channel();
    // Not waited for: it reads, and ends with the process at the latest.
    std::thread::spawn(move || drop(give.send(audit::check(&config))));
    Some(given)
}

pub(super) fn end(
    checking: Option<Receiver<anyhow::Result<(Value, bool)>>>,
    limit: Duration,
    findings: &mut Vec<DoctorFinding>,
) -> Value {
    let Some(given) = checking else { return Value::Null };
    let mend = "cofferdam audit verify";
    let problem = |what: &str| DoctorFinding::problem("audit", what, mend);
    let (said, finding) = match given.recv_timeout(limit) {
        Ok(Ok((said, true))) => return said,
        Ok(Ok((said, false))) => (said, problem("the audit's chain is broken")),
        Ok(Err(error)) => (Value::Null, problem(&format!("the audit cannot be read: {error}"))),
        Err(RecvTimeoutError::Timeout) => {
            let seconds = limit.as_secs();
            let what = format!("the audit is too long to be checked within {seconds} s, so it was not");
            (json!({ "ok": null }), DoctorFinding::notice("audit", what, mend))
        }
        Err(RecvTimeoutError::Disconnected) => {
            (json!({ "ok": false }), problem("the check of the audit broke off"))
        }
    };
    findings.push(finding);
    said
}

#[cfg(test)]
mod tests {
    use super::super::finding::Severity;
    use super::*;

    #[test]
    fn a_check_that_takes_too_long_is_left_to_its_own_command() {
        let (_still_reading, given) = channel();
        let mut findings = Vec::new();
        let said = end(Some(given), Duration::ZERO, &mut findings);
        assert_eq!(said, json!({ "ok": null }));
        assert_eq!((findings[0].weight, &*findings[0].mend), (Severity::Notice, "cofferdam audit verify"));
    }
}
