//! The database as it lies there: whether it opens, is whole, and is of a version that this program
//! knows.

use super::finding::{DoctorFinding, shell};
use crate::config::Config;
use cofferdam_store::{DatabaseView, FILE_NAME, StoreError, WaitingCounts};
use serde::Serialize;
use std::fmt;

#[derive(Serialize)]
pub(super) struct Database {
    /// None when it does not open.
    version: Option<i64>,
    /// What this program writes.
    known: i64,
    sound: bool,
    /// None when its version is another.
    waiting: Option<WaitingCounts>,
}

/// None when there is none yet.
pub(super) fn look(config: &Config, findings: &mut Vec<DoctorFinding>) -> Option<Database> {
    let known = DatabaseView::version_known();
    let look = match DatabaseView::open(&config.state_dir) {
        Ok(look) => look?,
        Err(error) => {
            findings.push(closed(config, &error));
            return Some(Database { version: None, known, sound: false, waiting: None });
        }
    };
    let version = look.version();
    if version > known {
        let what = format!("the database has version {version}, and this program knows {known}");
        findings.push(DoctorFinding::problem("database", what, "run the newer release, or restore a backup"));
    }
    let damage = look.damage().unwrap_or_else(|error| Some(error.to_string()));
    let (sound, waiting) = (damage.is_none(), look.count_waiting().ok().filter(|_| version == known));
    findings.extend(damage.map(|said| damaged(config, &said)));
    Some(Database { version: Some(version), known, sound, waiting })
}

fn closed(config: &Config, error: &StoreError) -> DoctorFinding {
    match error {
        StoreError::Open { .. } => {
            let mend = format!("chown -R $(id -u) {}", shell(&config.state_dir));
            DoctorFinding::problem("database", error.to_string(), mend)
        }
        _ => damaged(config, &error.to_string()),
    }
}

fn damaged(config: &Config, said: &str) -> DoctorFinding {
    let dir = &config.state_dir;
    let (aside, all) = (shell(&dir.join("damaged")), format!("{}*", shell(&dir.join(FILE_NAME))));
    let what = format!(
        "the database is damaged: {said}; stop serve and restore a backup, or begin anew: what waits is lost"
    );
    // Its companion files go with it: with them another database would be damaged as well.
    DoctorFinding::problem("database", what, format!("mkdir {aside} && mv {all} {aside}"))
}

impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(version) = self.version else { return f.write_str("DOES NOT OPEN") };
        write!(f, "version {version}, {}", if self.sound { "sound" } else { "DAMAGED" })?;
        match &self.waiting {
            Some(WaitingCounts { messages, turns, replies, approvals, .. }) => write!(
                f,
                "; {messages} messages wait, {turns} turns have begun, {replies} replies and {approvals} approvals are open"
            ),
            None => write!(f, "; this program writes version {}", self.known),
        }
    }
}
