//! What earlier runs have left: staged files and folders that nobody works on, and files that wait
//! with replies.

use super::finding::DoctorFinding;
use crate::config::Config;
use crate::gateway;
use cofferdam_core::audit::sha256_hex;
use cofferdam_core::text::{one_line, with_causes};
use cofferdam_warden::attachments::outgoing::BLOBS_LISTED_MAX;
use cofferdam_warden::publish;
use serde::Serialize;
use std::fmt;
use std::fs;
use std::io::{self, Seek, SeekFrom, Write};
use std::time::{Duration, SystemTime};

/// What was touched later may be in use: longer than any call.
const AGE_MIN: Duration = Duration::from_secs(3600);

#[derive(Default, Serialize)]
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

/// Counts them, and tries the bucket unless `offline`.
pub(super) fn look(config: &Config, offline: bool, findings: &mut Vec<DoctorFinding>) -> Leftovers {
    let before = SystemTime::now() - AGE_MIN;
    let staged = publish::count_left_behind(&config.workspace.root, before);
    let mut found = Leftovers { staged, ..Leftovers::default() };
    for entry in fs::read_dir(gateway::outgoing_dir(config)).into_iter().flatten().flatten() {
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
    let tried = if offline { Ok(()) } else { try_bucket(config) };
    findings.extend(tried.err().map(|error| {
        let what =
            format!("the bucket of [store] blobs cannot be used: {}", one_line(&with_causes(&error), 400));
        DoctorFinding::problem(
            "leftovers",
            what,
            "correct [store] blobs and the AWS_ variables, or start the server",
        )
    }));
    let left = found.staged + found.beside;
    if left > 0 {
        let what =
            format!("{left} temporary files or folders were left by a crash; the next call removes them");
        findings.push(DoctorFinding::notice("leftovers", what, "cofferdam call file_list path=/tmp"));
    }
    found
}

/// Does in the bucket what a node does there, with a few bytes.
fn try_bucket(config: &Config) -> io::Result<()> {
    let Some(bucket) = gateway::bucket(config)? else { return Ok(()) };
    let (mut temp, bytes) = (tempfile::tempfile()?, b"cofferdam doctor");
    temp.write_all(bytes)?;
    temp.seek(SeekFrom::Start(0))?;
    let sha256 = sha256_hex(bytes);
    bucket.put(&sha256, temp)?;
    let listed = bucket.list(BLOBS_LISTED_MAX)?;
    let listed = listed.len() == BLOBS_LISTED_MAX || listed.iter().any(|blob| blob.sha256 == sha256);
    bucket.get(&sha256, bytes.len() as u64, tempfile::tempfile()?)?;
    bucket.remove(&sha256)?;
    if listed { Ok(()) } else { Err(io::Error::other("what was put there is not listed")) }
}

impl fmt::Display for Leftovers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { staged, beside, outgoing_files, outgoing_bytes } = self;
        write!(f, "left by crashes: {}; waiting with replies: {outgoing_files} files, ", staged + beside)?;
        write!(f, "{} KiB", outgoing_bytes.div_ceil(1024))
    }
}
