//! What earlier runs have left: staged files and folders that nobody works on, and files that wait
//! with replies.

use super::finding::DoctorFinding;
use crate::config::Config;
use crate::gateway;
use cofferdam_warden::publish;
use serde::Serialize;
use std::fmt;
use std::fs;
use std::time::{Duration, SystemTime};

/// What was touched later may be in use: longer than any call.
const AGE_MIN: Duration = Duration::from_secs(3600);

#[derive(Serialize)]
pub(super) struct Leftovers {
    /// Temporary names in the usual mounts, of calls that a crash cut off.
    staged: usize,
    /// Folders of processes beside `serve`, which hold them locked, and take them along when they
    /// end.
    beside: usize,
    /// Files that wait to be sent with replies.
    outgoing_files: usize,
    outgoing_bytes: u64,
}

pub(super) fn look(config: &Config, findings: &mut Vec<DoctorFinding>) -> Leftovers {
    let before = SystemTime::now() - AGE_MIN;
    let mut found = Leftovers {
        staged: publish::count_left_behind(&config.workspace.root, before),
        beside: 0,
        outgoing_files: 0,
        outgoing_bytes: 0,
    };
    for entry in fs::read_dir(config.state_dir.join("outgoing")).into_iter().flatten().flatten() {
        let Ok(meta) = entry.metadata() else { continue };
        if meta.is_file() {
            found.outgoing_files += 1;
            found.outgoing_bytes = found.outgoing_bytes.saturating_add(meta.len());
        } else if meta.modified().is_ok_and(|changed| changed < before)
            && gateway::holder(&entry.path()).is_none()
        {
            found.beside += 1;
        }
    }
    let left = found.staged + found.beside;
    if left > 0 {
        let what =
            format!("{left} temporary files or folders were left by a crash; the next call removes them");
        findings.push(DoctorFinding::notice("leftovers", what, "cofferdam call file_list path=/tmp"));
    }
    found
}

impl fmt::Display for Leftovers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { staged, beside, outgoing_files, outgoing_bytes } = self;
        write!(f, "left by crashes: {}; waiting with replies: {outgoing_files} files, ", staged + beside)?;
        write!(f, "{} KiB", outgoing_bytes.div_ceil(1024))
    }
}
