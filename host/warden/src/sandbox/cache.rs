//! Compiled components on disk, so that a start costs milliseconds.
//!
//! An entry is named by the component's SHA-256 and that of the worker program, which compiled it.
//! An entry starts with the SHA-256 of that name and of what follows, so an entry that is damaged,
//! or another component's under this name, is recompiled and never run. The folder is this user's
//! alone; an entry that another user could have written is not read.
//!
//! What a component says of itself lies beside its code: a start that finds both runs no guest.
//! That entry holds for one component, one set of grants, one entry point and one worker program,
//! since these decide whether the component links and what it says. One whose code is gone counts
//! for nothing, so that a start leaves every tool compiled.

use super::SandboxError;
use super::workers::WORKER_SHA256;
use crate::files::lock_within;
use crate::shell::quote_path;
use cofferdam_core::capability::Grants;
use cofferdam_core::entry::EntryPoint;
use cofferdam_ipc::Description;
use rustix::fs::{AtFlags, Mode, OFlags, openat, statat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Larger components are refused before they are compiled.
pub const COMPONENT_BYTES_MAX: usize = 96 << 20;

/// Entries of each kind (code, descriptions) that are kept; of more, the oldest go.
pub const CACHE_ENTRIES_MAX: usize = 64;
/// Extension of machine code.
const CODE: &str = "cwasm";
/// Extension of what a component says of itself.
const DESCRIPTION: &str = "said";
/// Extension of the file whose lock says that a component is being compiled.
const TURN: &str = "compiling";
/// A temporary file this old was left by a crash.
const STALE: Duration = Duration::from_secs(60 * 60);
/// How often a turn that another process has is asked for.
const LOOK: Duration = Duration::from_millis(20);

/// The folder of compiled components.
#[derive(Debug)]
pub(super) struct CompileCache {
    path: PathBuf,
    dir: OwnedFd,
}

/// The turn to compile a component; the next one's comes when it is dropped.
pub(super) struct CompileTurn {
    /// Whether another process had it before, which may have left its code.
    pub(super) waited: bool,
    path: PathBuf,
    /// Closed, it lets the lock go.
    _file: fs::File,
}

impl Drop for CompileTurn {
    fn drop(&mut self) {
        // Who waits at the file that is gone compiles beside who makes another one: no harm.
        let _ = fs::remove_file(&self.path);
    }
}

/// Why an entry is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CacheMiss {
    /// There is none.
    Absent,
    /// Others could have written it.
    Foreign,
    /// It is not what was written.
    Damaged,
}

impl CompileCache {
    /// The cache in `path`, a folder of the state, which is made, for this user only, if it is
    /// missing.
    pub(super) fn open(path: &Path) -> Result<Self, SandboxError> {
        let failed = |error: std::io::Error| SandboxError::Cache(failure(path, &error));
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
        let dir = fs::File::open(path).map_err(failed)?;
        let meta = dir.metadata().map_err(failed)?;
        if !is_ours_alone(&meta) {
            return Err(SandboxError::Cache(exposure(path, &meta)));
        }
        Ok(Self { path: path.to_owned(), dir: dir.into() })
    }

    /// The machine code of a component, if there is a sound entry. What is not as it should be is
    /// told to the operator.
    pub(super) fn code(&self, sha256: &str) -> Option<Vec<u8>> {
        let component = &sha256[..12];
        match self.read_sealed(&entry_name(sha256)) {
            Ok(code) => return Some(code),
            Err(CacheMiss::Absent) => {}
            Err(CacheMiss::Foreign) => {
                tracing::warn!(component, "not reading a cache entry that others could have written");
            }
            Err(CacheMiss::Damaged) => tracing::warn!(component, "recompiling a damaged cache entry"),
        }
        None
    }

    /// Keeps compiled code; without the entry the next start is slower.
    pub(super) fn keep_code(&self, sha256: &str, code: &[u8]) {
        if let Err(error) = self.write(&entry_name(sha256), code) {
            tracing::warn!(%error, dir = %self.path.display(), "cannot keep compiled code");
        }
    }

    /// What the component said, linked with these grants, if that is known and its code is there.
    pub(super) fn description(
        &self,
        sha256: &str,
        grants: &Grants,
        point: &EntryPoint,
    ) -> Option<Description> {
        let bytes = match self.read_sealed(&description_name(sha256, grants, point).ok()?) {
            Ok(bytes) => bytes,
            Err(CacheMiss::Absent) => return None,
            Err(why) => {
                let component = &sha256[..12];
                tracing::warn!(component, ?why, "not reading a kept description; the tool is asked again");
                return None;
            }
        };
        let description = postcard::from_bytes(&bytes).ok()?;
        let has_code = statat(&self.dir, entry_name(sha256), AtFlags::SYMLINK_NOFOLLOW).is_ok();
        has_code.then_some(description)
    }

    /// Keeps what a component said; without the entry the next start asks it again.
    pub(super) fn keep_description(
        &self,
        sha256: &str,
        grants: &Grants,
        point: &EntryPoint,
        description: &Description,
    ) {
        let written = description_name(sha256, grants, point).and_then(|name| {
            let bytes = postcard::to_stdvec(description).map_err(std::io::Error::other)?;
            self.write(&name, &bytes)
        });
        if let Err(error) = written {
            tracing::warn!(%error, "cannot keep what a tool says of itself");
        }
    }

    /// What an entry holds, if it is what was written under this name, and by us.
    fn read_sealed(&self, name: &str) -> Result<Vec<u8>, CacheMiss> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut file = match openat(&self.dir, name, flags, Mode::empty()) {
            Ok(fd) => fs::File::from(fd),
            Err(Errno::NOENT) => return Err(CacheMiss::Absent),
            Err(_) => return Err(CacheMiss::Foreign),
        };
        let meta = file.metadata().map_err(|_| CacheMiss::Damaged)?;
        if !is_ours_alone(&meta) || !meta.is_file() {
            return Err(CacheMiss::Foreign);
        }
        let (mut sum, mut content) = ([0; 32], Vec::new());
        let read = file.read_exact(&mut sum).and_then(|()| file.read_to_end(&mut content));
        if read.is_ok() && seal(name, &content) == sum { Ok(content) } else { Err(CacheMiss::Damaged) }
    }

    /// Waits until no other process compiles the component, for `longest` at most; none where the
    /// folder takes no lock, and then two may compile it.
    pub(super) fn wait_for_turn(&self, sha256: &str, longest: Duration) -> Option<CompileTurn> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let name = format!("{sha256}.{TURN}");
        let file = fs::File::from(openat(&self.dir, &name, flags, mode).ok()?);
        let waited = !lock_within(&file, Duration::ZERO, LOOK).ok()?;
        if waited && !lock_within(&file, longest, LOOK).ok()? {
            return None;
        }
        Some(CompileTurn { waited, path: self.path.join(name), _file: file })
    }

    /// Writes an entry, whole and sealed, and keeps the folder bounded.
    fn write(&self, name: &str, content: &[u8]) -> std::io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.path)?;
        file.write_all(&seal(name, content))?;
        file.write_all(content)?;
        file.as_file().sync_data()?;
        file.persist(self.path.join(name))?;
        sweep(&self.path)
    }
}

fn is_ours_alone(meta: &fs::Metadata) -> bool {
    meta.uid() == rustix::process::geteuid().as_raw() && meta.mode() & 0o022 == 0
}

/// Why the folder cannot be opened, and what mends it.
fn failure(path: &Path, error: &std::io::Error) -> String {
    let mend = match error.kind() {
        std::io::ErrorKind::PermissionDenied => format!("; {}", explain_take_over(path)),
        _ => String::new(),
    };
    format!("{}: {error}{mend}", path.display())
}

/// Who besides us can write the folder, and what mends it.
fn exposure(path: &Path, meta: &fs::Metadata) -> String {
    let shown = path.display();
    if meta.uid() == rustix::process::geteuid().as_raw() {
        let mend = format!("chmod 700 {}", quote_path(path));
        return format!(
            "{shown} can be written by others, who could make the gateway run their code; run: {mend}"
        );
    }
    let (owner, mend) = (meta.uid(), explain_take_over(path));
    format!("{shown} belongs to user {owner}, who could make the gateway run their code; {mend}")
}

/// All of the state, since those who made the cache made more of it.
fn explain_take_over(path: &Path) -> String {
    let us = rustix::process::geteuid().as_raw();
    let state = quote_path(path.parent().unwrap_or(path));
    format!(
        "run this as the account that the state belongs to, or give it to this one, as root: chown -RhP {us} {state}"
    )
}

fn entry_name(sha256: &str) -> String {
    format!("{sha256}-{}.{CODE}", &WORKER_SHA256[..16])
}

/// Named by everything that decides what is said.
fn description_name(sha256: &str, grants: &Grants, point: &EntryPoint) -> std::io::Result<String> {
    let grants = postcard::to_stdvec(&(grants, point)).map_err(std::io::Error::other)?;
    let of = Sha256::new().chain_update(WORKER_SHA256).chain_update(grants).finalize();
    Ok(format!("{sha256}-{}.{DESCRIPTION}", hex::encode(&of[..8])))
}

/// Binds what an entry holds to its name.
fn seal(name: &str, content: &[u8]) -> [u8; 32] {
    Sha256::new().chain_update(name).chain_update(content).finalize().into()
}

/// Keeps the folder bounded: the newest entries stay, temporary files of crashed processes go.
fn sweep(dir: &Path) -> std::io::Result<()> {
    let mut kinds = [(CODE, Vec::new()), (DESCRIPTION, Vec::new())];
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        // Another process may be sweeping too.
        let Ok(modified) = entry.metadata().and_then(|meta| meta.modified()) else { continue };
        let path = entry.path();
        let extension = path.extension().and_then(OsStr::to_str);
        if let Some((_, entries)) = kinds.iter_mut().find(|(kind, _)| Some(*kind) == extension) {
            entries.push((modified, path));
        } else if modified.elapsed().is_ok_and(|age| age > STALE) {
            let _ = fs::remove_file(path);
        }
    }
    for (_, mut entries) in kinds {
        entries.sort();
        let surplus = entries.len().saturating_sub(CACHE_ENTRIES_MAX);
        for (_, path) in entries.into_iter().take(surplus) {
            let _ = fs::remove_file(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_stays_bounded_and_loses_what_crashes_left() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = |name: &str, seconds: u64| {
            let file = fs::File::create(dir.path().join(name)).expect("writable");
            let age = std::time::Duration::from_secs(seconds);
            file.set_modified(std::time::SystemTime::now() - age).expect("ours");
        };
        for n in 0..CACHE_ENTRIES_MAX as u64 + 3 {
            file(&format!("{n:03}.cwasm"), n);
            file(&format!("{n:03}.said"), n);
        }
        file(".tmpOLD", 2 * 60 * 60);
        file(".tmpNEW", 1);
        sweep(dir.path()).expect("swept");
        let mut names: Vec<_> =
            fs::read_dir(dir.path()).expect("there").flatten().map(|e| e.file_name()).collect();
        names.sort();
        assert_eq!(names.len(), 2 * CACHE_ENTRIES_MAX + 1);
        assert_eq!((names[0].to_str(), names[1].to_str()), (Some(".tmpNEW"), Some("000.cwasm")));
        let last = format!("{:03}.said", CACHE_ENTRIES_MAX - 1);
        assert_eq!(names.last().and_then(|name| name.to_str()), Some(&*last), "of each kind the newest");
    }
}
