//! What the filesystem of a folder can do of what the gateway does there, tried in a folder of its
//! own that is gone afterwards. A filesystem of a network, or one that a container brings, may lack
//! any of it, and says so only when it is asked.

use super::finding::DoctorFinding;
use crate::config::Config;
use cofferdam_core::path::GuestPath;
use cofferdam_store::StoreLocation;
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags, RenameFlags};
use rustix::fs::{flock, fsync, linkat, openat, renameat, renameat_with};
use rustix::io::{Errno, Result};
use std::path::Path;

const UNNAMED: &str = "unnamed files";
const LINKS: &str = "hard links";
const NEW_NAMES: &str = "renames that replace nothing";

/// Filesystems of a network, by the numbers of statfs(2).
const OF_A_NETWORK: [(u64, &str); 6] = [
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xfe53_4d42, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0x00c3_6400, "Ceph"),
    (0x0102_1997, "9P"),
];

/// What could not be done there, each with what the system said. Empty where nothing could be
/// tried: whoever prepares the folder tells why.
pub(super) fn find_missing(dir: &Path) -> Vec<(&'static str, Errno)> {
    // One that a killed doctor leaves stays, since a start sweeps mounts alone.
    let named = tempfile::Builder::new().prefix(GuestPath::RESERVED_PREFIX).tempdir_in(dir);
    let Ok(folder) = named else { return Vec::new() };
    let Ok(dir) = std::fs::File::open(folder.path()) else { return Vec::new() };
    let dir = dir.as_fd();
    let tried = [
        (UNNAMED, unnamed(dir)),
        (LINKS, link(dir)),
        (NEW_NAMES, rename_new(dir)),
        ("renames that replace", replace(dir)),
        ("locks", lock(dir)),
        ("fsync of a file", make(dir, "synced").and_then(fsync)),
        ("fsync of a folder", fsync(dir)),
    ];
    tried.into_iter().filter_map(|(what, ended)| Some((what, ended.err()?))).collect()
}

fn make(dir: BorrowedFd<'_>, name: &str) -> Result<rustix::fd::OwnedFd> {
    openat(dir, name, OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR)
}

/// Such a file is invisible until it is whole.
fn unnamed(dir: BorrowedFd<'_>) -> Result<()> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = openat(dir, ".", flags, Mode::RUSR | Mode::WUSR)?;
    let path = format!("/proc/self/fd/{}", rustix::fd::AsRawFd::as_raw_fd(&file));
    linkat(CWD, path, dir, "unnamed", AtFlags::SYMLINK_FOLLOW)
}

fn link(dir: BorrowedFd<'_>) -> Result<()> {
    make(dir, "linked")?;
    linkat(dir, "linked", dir, "link", AtFlags::empty())
}

fn rename_new(dir: BorrowedFd<'_>) -> Result<()> {
    make(dir, "new")?;
    make(dir, "taken")?;
    match renameat_with(dir, "new", dir, "taken", RenameFlags::NOREPLACE) {
        Err(Errno::EXIST) => renameat_with(dir, "new", dir, "free", RenameFlags::NOREPLACE),
        // It takes the flag and replaces all the same.
        Ok(()) => Err(Errno::OPNOTSUPP),
        Err(errno) => Err(errno),
    }
}

fn replace(dir: BorrowedFd<'_>) -> Result<()> {
    make(dir, "next")?;
    make(dir, "last")?;
    renameat(dir, "next", dir, "last")
}

/// Two openings of a file are to each other like two processes.
fn lock(dir: BorrowedFd<'_>) -> Result<()> {
    let (file, flags) = (make(dir, "locked")?, OFlags::RDWR | OFlags::CLOEXEC);
    let other = openat(dir, "locked", flags, Mode::empty())?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    match flock(&other, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Ok(()),
        Ok(()) => Err(Errno::NOLCK),
        Err(errno) => Err(errno),
    }
}

/// What is to be said of a folder whose filesystem lacks this much. Without unnamed files a file is
/// under a name of the gateway's until it is whole; of hard links and renames that replace nothing
/// one suffices.
pub(super) fn judge(
    (what, key): (&str, &str),
    path: &Path,
    missing: &[(&'static str, Errno)],
) -> Option<DoctorFinding> {
    let lacks = |what| missing.iter().any(|(other, _)| *other == what);
    let either = [LINKS, NEW_NAMES];
    let is_needed = |what: &&str| match *what {
        UNNAMED => false,
        what if either.contains(&what) => either.into_iter().all(lacks),
        _ => true,
    };
    let told: Vec<String> = missing
        .iter()
        .filter(|(what, _)| is_needed(what))
        .map(|(what, errno)| format!("{what} ({})", std::io::Error::from(*errno)))
        .collect();
    (!told.is_empty()).then(|| {
        let told = told.join(", ");
        let what = format!("the filesystem of the {what} {} cannot do {told}", path.display());
        DoctorFinding::problem("places", what, format!("{key} = a folder on ext4, XFS, Btrfs or NFS 4"))
    })
}

/// The write-ahead log of SQLite is shared memory, which no other machine sees (SQLite's
/// documentation, "Write-Ahead Logging").
pub(super) fn judge_database(config: &Config) -> Option<DoctorFinding> {
    let (StoreLocation::Sqlite(_), dir) = (&config.store.location, &config.state_dir) else { return None };
    let kind = u64::try_from(rustix::fs::statfs(dir).ok()?.f_type).ok()? & 0xffff_ffff;
    let (_, name) = OF_A_NETWORK.into_iter().find(|(number, _)| *number == kind)?;
    let what =
        format!("the database {} is on {name}, and SQLite needs a disk of this machine", dir.display());
    Some(DoctorFinding::problem(
        "places",
        what,
        "[store] engine = \"postgres\", or [state] dir = a folder here",
    ))
}
