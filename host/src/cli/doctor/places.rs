//! The folders and files that the gateway trusts: whose they are, who else can write them, and what room is
//! left.

use super::{Finding, Weight};
use crate::config::Config;
use cofferdam_core::limits::Span;
use serde::Serialize;
use std::fmt;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Less free space than this is a problem: a start compiles, and the audit must always have room.
const FREE_BYTES_MIN: u64 = 100 << 20;

#[derive(Serialize)]
pub(super) struct Place {
    what: &'static str,
    path: String,
    /// None when it is not there yet.
    found: Option<Found>,
}

#[derive(Serialize)]
struct Found {
    owner: u32,
    /// Octal, e.g. `0700`.
    mode: String,
    free_bytes: Option<u64>,
}

/// Who besides the owner may do what, at most.
#[derive(Clone, Copy)]
struct Allowed {
    /// Bits that must not be set.
    forbidden: u32,
    /// What takes them away.
    chmod: &'static str,
}

const PRIVATE: Allowed = Allowed { forbidden: 0o077, chmod: "go=" };
const UNWRITABLE: Allowed = Allowed { forbidden: 0o022, chmod: "go-w" };

pub(super) fn look(config: &Config, findings: &mut Vec<Finding>) -> Vec<Place> {
    let places = [
        ("workspace", Some(config.workspace.root.as_path()), UNWRITABLE),
        ("state", Some(config.state_dir.as_path()), PRIVATE),
        ("policies", config.policies_dir.as_deref(), UNWRITABLE),
        ("configuration", config.file.as_deref(), UNWRITABLE),
    ];
    let there = places.into_iter().filter_map(|(what, path, allowed)| Some((what, path?, allowed)));
    there.map(|(what, path, allowed)| place(what, path, allowed, findings)).collect()
}

fn place(what: &'static str, path: &Path, allowed: Allowed, findings: &mut Vec<Finding>) -> Place {
    let shown = path.display().to_string();
    let mut problem = |what: String, mend: String| {
        findings.push(Finding { section: "places", weight: Weight::Problem, what, mend });
    };
    let Ok(meta) = std::fs::metadata(path) else { return Place { what, path: shown, found: None } };
    let us = rustix::process::geteuid().as_raw();
    if meta.uid() != us && meta.uid() != 0 {
        let owner = meta.uid();
        problem(
            format!("{what} {shown} belongs to user {owner}, who can change it"),
            format!("chown {us} {shown}"),
        );
    }
    if meta.mode() & allowed.forbidden != 0 {
        let mode = octal(&meta);
        problem(
            format!("{what} {shown} is open to others (mode {mode})"),
            format!("chmod {} {shown}", allowed.chmod),
        );
    }
    let free_bytes = free(path);
    if meta.is_dir() && free_bytes.is_some_and(|free| free < FREE_BYTES_MIN) {
        let (free, least) = (free_bytes.unwrap_or(0) >> 20, FREE_BYTES_MIN >> 20);
        problem(
            format!("{what} {shown} has {free} MiB of free space"),
            format!("make room: at least {least} MiB"),
        );
    }
    let found = Some(Found { owner: meta.uid(), mode: octal(&meta), free_bytes });
    Place { what, path: shown, found }
}

/// Who has folders of their own in the workspace.
#[derive(Serialize)]
pub(super) struct Tenants {
    /// Sessions with a `/tmp`.
    sessions: usize,
    /// Users with a workspace.
    users: usize,
    /// How long an unused session's is kept.
    session_tmp_age: Span,
}

/// Counts the folders, of users that are not configured any more too.
pub(super) fn tenants(config: &Config) -> Tenants {
    let root = &config.workspace.root;
    let names = |dir: &Path| {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        let hidden = |path: &PathBuf| path.file_name().is_some_and(|name| name.as_encoded_bytes()[0] == b'.');
        paths.filter(|path| !hidden(path)).collect::<Vec<_>>()
    };
    let users = names(&root.join("users"));
    let sessions = users.iter().chain([root]).map(|base| names(&base.join("sessions")).len()).sum();
    Tenants { sessions, users: users.len(), session_tmp_age: config.workspace.session_tmp_age }
}

impl fmt::Display for Tenants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sessions, users, session_tmp_age } = self;
        write!(
            f,
            "in the workspace: {sessions} sessions with a /tmp (unused it goes after {session_tmp_age}), "
        )?;
        write!(f, "{users} users with a workspace of their own")
    }
}

fn octal(meta: &Metadata) -> String {
    format!("{:04o}", meta.mode() & 0o7777)
}

/// Bytes that this user may still write there.
fn free(path: &Path) -> Option<u64> {
    let space = rustix::fs::statvfs(path).ok()?;
    Some(space.f_bavail.saturating_mul(space.f_frsize))
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: ", self.what, self.path)?;
        match &self.found {
            None => f.write_str("not there yet"),
            Some(Found { owner, mode, free_bytes }) => {
                write!(f, "user {owner}, mode {mode}")?;
                free_bytes.map_or(Ok(()), |free| write!(f, ", {} MiB free", free >> 20))
            }
        }
    }
}
