//! The folders and files that the gateway trusts: whose they are, who else can write them, and what
//! room is left.

use super::filesystem;
use super::finding::{DoctorFinding, shell};
use crate::config::Config;
use cofferdam_core::limits::{ByteSize, TimeSpan};
use cofferdam_warden::publish;
use serde::Serialize;
use std::fmt;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Less free space than this is a problem: a start compiles, and the audit must always have room.
const FREE_BYTES_MIN: u64 = 100 << 20;
/// Fewer names than this can soon not be made any more.
const FREE_INODES_MIN: u64 = 1000;
/// A workspace that takes longer to measure is not measured.
pub(super) const MEASURING_MAX: Duration = Duration::from_secs(5);

#[derive(Serialize)]
pub(super) struct FolderReport {
    what: &'static str,
    path: String,
    /// None when it is not there yet.
    found: Option<FolderFacts>,
}

#[derive(Serialize)]
struct FolderFacts {
    owner: u32,
    /// Octal, e.g. `0700`.
    mode: String,
    free_bytes: Option<u64>,
    /// None where there is no number of them.
    free_inodes: Option<u64>,
    /// What its filesystem cannot do, of a folder that the gateway writes in.
    cannot: Vec<&'static str>,
}

/// Bits that must not be set for others than the owner, and what takes them away.
const PRIVATE: (u32, &str) = (0o077, "go=");
const UNWRITABLE: (u32, &str) = (0o022, "go-w");

pub(super) fn look(config: &Config, findings: &mut Vec<DoctorFinding>) -> Vec<FolderReport> {
    let vault = config.workspace.root.join("vault");
    let places = [
        ("workspace", Some(config.workspace.root.as_path()), UNWRITABLE),
        ("vault", Some(vault.as_path()), PRIVATE),
        ("state", Some(config.state_dir.as_path()), PRIVATE),
        ("policies", config.policies_dir.as_deref(), UNWRITABLE),
        ("configuration", config.file.as_deref(), UNWRITABLE),
        ("workflows", config.workflows.dir.as_deref(), UNWRITABLE),
        ("instructions", config.provider.instructions_file.as_deref(), UNWRITABLE),
        ("certificates", config.network.ca_file.as_deref(), UNWRITABLE),
        ("signing key", config.audit.sign_key_file.as_deref(), PRIVATE),
    ];
    let there = places.into_iter().filter_map(|(what, path, allowed)| Some((what, path?, allowed)));
    let places: Vec<_> = there.map(|(what, path, allowed)| place(what, path, allowed, findings)).collect();
    findings.extend(filesystem::judge_database(config));
    let (root, state) = (&config.workspace.root, &config.state_dir);
    if std::path::absolute(root)
        .is_ok_and(|root| std::path::absolute(state).is_ok_and(|s| root.starts_with(s)))
    {
        let beside = state.with_file_name("workspace");
        findings.push(DoctorFinding::notice(
            "places",
            format!("the workspace {} lies in the state {}", root.display(), state.display()),
            format!("[workspace] root = {:?}, after moving it there", beside.display().to_string()),
        ));
    }
    findings.extend(spool(config));
    places
}

/// The state must hold the attachments of a message while its turn runs.
fn spool(config: &Config) -> Option<DoctorFinding> {
    let (free, wanted) = (free(&config.state_dir)?, config.attachments.max_turn_bytes);
    let room = free.saturating_sub(FREE_BYTES_MIN);
    // With less than that something else is to be mended.
    (room > 1 << 20 && wanted.0 > room).then(|| {
        let what = format!("attachments of one message may have {wanted}, and the state has room for less");
        let fits = ByteSize((room >> 20) / 2 * (1 << 20)).max(ByteSize::mib(1));
        DoctorFinding::notice("places", what, format!("[attachments] max_turn_bytes = \"{fits}\""))
    })
}

fn place(
    what: &'static str,
    path: &Path,
    (forbidden, chmod): (u32, &str),
    findings: &mut Vec<DoctorFinding>,
) -> FolderReport {
    let (shown, word) = (path.display().to_string(), shell(path));
    let mut problem =
        |what: String, mend: String| findings.push(DoctorFinding::problem("places", what, mend));
    let Ok(meta) = std::fs::metadata(path) else { return FolderReport { what, path: shown, found: None } };
    let is_own = match what {
        "configuration" | "instructions" | "certificates" | "signing key" => meta.is_file(),
        _ => is_own_folder(path),
    };
    // A command would take from others what is not the gateway's alone.
    let mend = |command: String| if is_own { command } else { name_other_place(what).to_owned() };
    let us = rustix::process::geteuid().as_raw();
    if meta.uid() != us && meta.uid() != 0 {
        let owner = meta.uid();
        problem(
            format!("{what} {shown} belongs to user {owner}, who can change it"),
            mend(format!("chown {us} {word}")),
        );
    }
    if meta.mode() & forbidden != 0 {
        let mode = octal(&meta);
        problem(
            format!("{what} {shown} is open to others (mode {mode})"),
            mend(format!("chmod {chmod} {word}")),
        );
    }
    let (free_bytes, free_inodes) = (free(path), free_inodes(path));
    let written = match what {
        "workspace" => Some("[workspace] root"),
        "state" => Some("[state] dir"),
        _ => None,
    };
    if let Some(free) = free_bytes.filter(|free| meta.is_dir() && *free < FREE_BYTES_MIN) {
        let (free, least) = (free >> 20, FREE_BYTES_MIN >> 20);
        problem(
            format!("{what} {shown} has {free} MiB of free space"),
            format!("make room: at least {least} MiB"),
        );
    }
    if let Some(free) = free_inodes.filter(|free| meta.is_dir() && *free < FREE_INODES_MIN) {
        problem(
            format!("{what} {shown} has room for {free} more files, however small"),
            format!("remove files there: at least {FREE_INODES_MIN}"),
        );
    }
    let missing = written.map_or_else(Vec::new, |_| filesystem::find_missing(path));
    findings.extend(written.and_then(|key| filesystem::judge((what, key), path, &missing)));
    let cannot = missing.into_iter().map(|(what, _)| what).collect();
    let found = Some(FolderFacts { owner: meta.uid(), mode: octal(&meta), free_bytes, free_inodes, cannot });
    FolderReport { what, path: shown, found }
}

/// Whether there is a folder that may be the gateway's alone.
pub(super) fn is_own_folder(path: &Path) -> bool {
    let is_root = path.canonicalize().is_ok_and(|real| real.parent().is_none());
    // The sticky bit is for folders that accounts share, such as /tmp.
    !is_root && std::fs::metadata(path).is_ok_and(|meta| meta.is_dir() && meta.mode() & 0o1000 == 0)
}

/// The key that names a place which is not the gateway's.
pub(super) fn name_other_place(what: &str) -> &'static str {
    match what {
        "state" => "[state] dir = a folder of its own",
        "policies" => "[policies] dir = a folder of its own",
        "workflows" => "[workflows] dir = a folder of its own",
        "instructions" => "[provider] instructions_file = a file of its own",
        "certificates" => "[network] ca_file = a file of its own",
        "signing key" => "[audit] sign_key_file = a file of its own",
        "configuration" => "name a regular file with --config",
        _ => "[workspace] root = a folder of its own",
    }
}

/// Who has folders of their own in the workspace.
#[derive(Serialize)]
pub(super) struct FolderOwners {
    /// Sessions with a `/tmp`.
    sessions: usize,
    /// Users with a workspace.
    users: usize,
    /// How long an unused session's is kept.
    session_tmp_age: TimeSpan,
    /// What all of them hold; none when that takes long to measure.
    used_bytes: Option<u64>,
    /// The quota.
    max_bytes: u64,
}

/// Counts the folders, of users that are not configured any more too, and what they hold.
pub(super) fn tenants(limit: Duration, config: &Config, findings: &mut Vec<DoctorFinding>) -> FolderOwners {
    let root = &config.workspace.root;
    let names = |dir: &Path| {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        let hidden = |path: &PathBuf| path.file_name().is_some_and(|name| name.as_encoded_bytes()[0] == b'.');
        paths.filter(|path| !hidden(path)).collect::<Vec<_>>()
    };
    let users = names(&root.join("users"));
    let sessions = users.iter().chain([root]).map(|base| names(&base.join("sessions")).len()).sum();
    let used_bytes = publish::measure_used(root, Instant::now() + limit).unwrap_or_default();
    let max_bytes = config.workspace.max_bytes;
    findings.extend(used_bytes.and_then(|used| quota(used, max_bytes)));
    let session_tmp_age = config.workspace.session_tmp_age;
    FolderOwners { sessions, users: users.len(), session_tmp_age, used_bytes, max_bytes: max_bytes.0 }
}

/// What is to be said of a workspace of which nine tenths are used.
fn quota(used: u64, quota: ByteSize) -> Option<DoctorFinding> {
    let what = format!("the workspace holds {used} bytes of at most {quota}");
    // Twice as much, in whole MiB.
    let twice = ByteSize(quota.0.max(used).saturating_mul(2).div_ceil(1 << 20).saturating_mul(1 << 20));
    let mend = format!("[workspace] max_bytes = \"{twice}\"");
    match used {
        _ if used >= quota.0 => Some(DoctorFinding::problem("places", what, mend)),
        _ if used.saturating_mul(10) >= quota.0.saturating_mul(9) => {
            Some(DoctorFinding::notice("places", what, mend))
        }
        _ => None,
    }
}

impl fmt::Display for FolderOwners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sessions, users, session_tmp_age, .. } = self;
        write!(
            f,
            "in the workspace: {sessions} sessions with a /tmp (unused it goes after {session_tmp_age}), "
        )?;
        write!(f, "{users} users with a workspace of their own, ")?;
        match self.used_bytes {
            Some(used) => write!(f, "{} MiB of {}", used >> 20, ByteSize(self.max_bytes)),
            None => f.write_str("more files than can be measured at a glance"),
        }
    }
}

fn octal(meta: &Metadata) -> String {
    format!("{:04o}", meta.mode() & 0o7777)
}

/// Bytes that this user may still write there.
pub(in crate::cli) fn free(path: &Path) -> Option<u64> {
    let space = rustix::fs::statvfs(path).ok()?;
    Some(space.f_bavail.saturating_mul(space.f_frsize))
}

/// Files that may still be made there; none on a filesystem that makes inodes as it needs them.
fn free_inodes(path: &Path) -> Option<u64> {
    let space = rustix::fs::statvfs(path).ok()?;
    (space.f_files > 0).then_some(space.f_favail)
}

impl fmt::Display for FolderReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: ", self.what, self.path)?;
        match &self.found {
            None => f.write_str("not there yet"),
            Some(FolderFacts { owner, mode, free_bytes, free_inodes, cannot }) => {
                write!(f, "user {owner}, mode {mode}")?;
                free_bytes.map_or(Ok(()), |free| write!(f, ", {} MiB free", free >> 20))?;
                free_inodes.map_or(Ok(()), |free| write!(f, ", room for {free} files"))?;
                if cannot.is_empty() { Ok(()) } else { write!(f, ", without {}", cannot.join(", ")) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Flags;
    use std::collections::BTreeMap;

    #[test]
    fn what_is_not_the_gateways_alone_is_not_mended_by_a_command() {
        let dir = tempfile::tempdir().expect("a folder");
        let shared = dir.path().join("shared");
        std::fs::create_dir(&shared).expect("writable");
        let mode: std::fs::Permissions = std::os::unix::fs::PermissionsExt::from_mode(0o1777);
        std::fs::set_permissions(&shared, mode).expect("ours");
        assert!(is_own_folder(dir.path()));
        for (what, path, key) in [
            ("state", shared.as_path(), "[state] dir = "),
            ("workspace", shared.as_path(), "[workspace] root = "),
            ("vault", Path::new("/"), "[workspace] root = "),
            ("policies", Path::new("/dev/null"), "[policies] dir = "),
            ("workflows", shared.as_path(), "[workflows] dir = "),
            ("instructions", Path::new("/dev/null"), "[provider] instructions_file = "),
            ("certificates", Path::new("/dev/null"), "[network] ca_file = "),
            ("signing key", Path::new("/dev/null"), "[audit] sign_key_file = "),
        ] {
            let mut findings = Vec::new();
            place(what, path, PRIVATE, &mut findings);
            let mends: Vec<_> = findings.iter().map(|finding| finding.mend.as_str()).collect();
            assert!(mends.iter().any(|mend| mend.starts_with(key)), "{what} {mends:?}");
            assert!(!mends.iter().any(|mend| mend.starts_with("ch")), "{what} {mends:?}");
        }
    }

    #[test]
    fn others_may_write_nothing_that_directs_the_agent_or_says_whom_to_trust() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("c.toml");
        let text = "[workspace]\nroot = \"w\"\n[state]\ndir = \"s\"\n[workflows]\ndir = \"flows\"\n\
             [network]\nca_file = \"ca.pem\"\n[provider]\nkind = \"openai-chat\"\nmodel = \"m\"\n\
             api_key_env = \"K\"\ninstructions_file = \"how.md\"\n";
        std::fs::write(&file, text).expect("writable");
        std::fs::create_dir(dir.path().join("flows")).expect("writable");
        for name in ["ca.pem", "how.md"] {
            std::fs::write(dir.path().join(name), "").expect("writable");
        }
        let config = Config::load(Some(&file), &Flags::default(), &BTreeMap::new()).expect("valid");
        for name in ["flows", "ca.pem", "how.md"] {
            for (mode, is_open) in [(0o777, true), (0o755, false)] {
                let mode: std::fs::Permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
                std::fs::set_permissions(dir.path().join(name), mode).expect("ours");
                let mut findings = Vec::new();
                look(&config, &mut findings);
                let is_mend = |mend: &str| mend.starts_with("chmod go-w ") && mend.ends_with(name);
                assert_eq!(findings.iter().any(|finding| is_mend(&finding.mend)), is_open, "{name}");
            }
        }
    }

    #[test]
    fn a_workspace_that_takes_too_long_is_not_measured() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("c.toml");
        std::fs::write(&file, "[workspace]\nroot = \"w\"\nmax_bytes = \"10 B\"\n[state]\ndir = \"s\"\n")
            .expect("writable");
        let config = Config::load(Some(&file), &Flags::default(), &BTreeMap::new()).expect("valid");
        let shared = dir.path().join("w/shared");
        std::fs::create_dir_all(&shared).expect("writable");
        // More than are counted between two looks at the clock.
        for n in 0..300 {
            std::fs::write(shared.join(n.to_string()), "x").expect("writable");
        }
        let mut findings = Vec::new();
        let told = tenants(Duration::ZERO, &config, &mut findings);
        assert_eq!((told.used_bytes, findings.len()), (None, 0), "nothing is said of what is not known");
        assert!(told.to_string().ends_with("more files than can be measured at a glance"), "{told}");
        let told = tenants(Duration::from_secs(60), &config, &mut findings);
        assert_eq!((told.used_bytes, findings.len()), (Some(300), 1), "it is over its quota");
    }
}
