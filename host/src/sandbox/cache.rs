//! Compiled components on disk, so that a start costs milliseconds.
//!
//! An entry is named by the component's SHA-256 and a hash of wasmtime's version and the engine's
//! settings; what the component says of itself lies beside it (`descriptions.rs`). An entry starts with the SHA-256 of that name and of what follows, so an entry that is damaged, or
//! another component's under this name, is recompiled and never run. The folder is this user's alone; an
//! entry that another user could have written is not read.

use super::SandboxError;
use super::missing::Missing;
use cofferdam_core::text::one_line;
use rustix::fs::{AtFlags, Mode, OFlags, openat, statat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use wasmtime::Engine;
use wasmtime::component::Component;

/// Larger components are refused before they are compiled.
pub const COMPONENT_BYTES_MAX: usize = 32 << 20;

/// Entries of each kind (code, descriptions) that are kept; of more, the oldest go.
pub const CACHE_ENTRIES_MAX: usize = 64;
/// Extension of machine code.
const CODE: &str = "cwasm";
/// Extension of what a component says of itself.
pub(super) const DESCRIPTION: &str = "said";
/// A temporary file this old was left by a crash.
const STALE: std::time::Duration = std::time::Duration::from_secs(60 * 60);

/// A hash over wasmtime's version, the target and every setting that changes the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Compatibility(u64);

impl Compatibility {
    pub(super) fn of(engine: &Engine) -> Self {
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        Self(hasher.finish())
    }
}

/// Reads entries of the folder; writes none.
#[derive(Debug)]
pub(super) struct Entries {
    dir: OwnedFd,
}

impl Entries {
    /// The folder that is open already.
    pub(super) fn new(dir: OwnedFd) -> Self {
        Self { dir }
    }

    /// The compiled component, if there is a sound entry.
    pub(super) fn read(&self, engine: &Engine, sha256: &str) -> Result<Component, Missing> {
        let code = self.sealed(&entry_name(Compatibility::of(engine), sha256))?;
        deserialize(engine, &code).map_err(|_| Missing::Damaged)
    }

    /// What an entry holds, if it is what was written under this name, and by us.
    pub(super) fn sealed(&self, name: &str) -> Result<Vec<u8>, Missing> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut file = match openat(&self.dir, name, flags, Mode::empty()) {
            Ok(fd) => fs::File::from(fd),
            Err(Errno::NOENT) => return Err(Missing::Absent),
            Err(_) => return Err(Missing::Foreign),
        };
        let meta = file.metadata().map_err(|_| Missing::Damaged)?;
        if !is_ours_alone(&meta) || !meta.is_file() {
            return Err(Missing::Foreign);
        }
        let (mut sum, mut content) = ([0; 32], Vec::new());
        file.read_exact(&mut sum).map_err(|_| Missing::Damaged)?;
        file.read_to_end(&mut content).map_err(|_| Missing::Damaged)?;
        if seal(name, &content) == sum { Ok(content) } else { Err(Missing::Damaged) }
    }

    /// Whether there is code of a component, sound or not.
    pub(super) fn has_code(&self, compatibility: Compatibility, sha256: &str) -> bool {
        statat(&self.dir, entry_name(compatibility, sha256), AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }
}

/// The folder of compiled components.
#[derive(Debug)]
pub(super) struct Cache {
    path: PathBuf,
    pub(super) entries: Entries,
}

impl Cache {
    /// The cache in `path`, a folder of the state, which is made, for this user only, if it is missing.
    pub(super) fn open(path: &Path) -> Result<Self, SandboxError> {
        let failed = |error: std::io::Error| SandboxError::Cache(failure(path, &error));
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
        let dir = fs::File::open(path).map_err(failed)?;
        let meta = dir.metadata().map_err(failed)?;
        if !is_ours_alone(&meta) {
            return Err(SandboxError::Cache(exposure(path, &meta)));
        }
        Ok(Self { path: path.to_owned(), entries: Entries::new(dir.into()) })
    }

    /// The open folder, to be handed to whoever only reads.
    pub(super) fn dir(&self) -> BorrowedFd<'_> {
        self.entries.dir.as_fd()
    }

    /// The compiled component; compiles it in this process and stores it if there is no sound entry.
    pub(super) fn load(
        &self,
        engine: &Engine,
        bytes: &[u8],
        sha256: &str,
    ) -> Result<Component, SandboxError> {
        match self.entries.read(engine, sha256) {
            Ok(component) => return Ok(component),
            Err(missing) => missing.log(sha256),
        }
        let code = compile(engine, bytes)?;
        // Kept or not, it is here.
        let _ = self.store(Compatibility::of(engine), sha256, &code);
        deserialize(engine, &code)
    }

    /// Keeps compiled code; without the entry the next start is slower.
    ///
    /// # Errors
    /// Told to the operator already.
    pub(super) fn store(
        &self,
        compatibility: Compatibility,
        sha256: &str,
        code: &[u8],
    ) -> std::io::Result<()> {
        self.write(&entry_name(compatibility, sha256), code).inspect_err(|error| {
            tracing::warn!(%error, dir = %self.path.display(), "cannot keep compiled code");
        })
    }

    /// Writes an entry, whole and sealed, and keeps the folder bounded.
    pub(super) fn write(&self, name: &str, content: &[u8]) -> std::io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.path)?;
        file.write_all(&seal(name, content))?;
        file.write_all(content)?;
        file.as_file().sync_data()?;
        file.persist(self.path.join(name))?;
        sweep(&self.path)
    }
}

/// The machine code of a component.
pub(super) fn compile(engine: &Engine, bytes: &[u8]) -> Result<Vec<u8>, SandboxError> {
    if bytes.len() > COMPONENT_BYTES_MAX {
        return Err(SandboxError::TooLarge(bytes.len()));
    }
    let started = std::time::Instant::now();
    let code = engine.precompile_component(bytes).map_err(not_compiled)?;
    tracing::info!(ms = started.elapsed().as_millis() as u64, "compiled a component");
    Ok(code)
}

fn is_ours_alone(meta: &fs::Metadata) -> bool {
    meta.uid() == rustix::process::geteuid().as_raw() && meta.mode() & 0o022 == 0
}

/// Why the folder cannot be opened, and what mends it.
fn failure(path: &Path, error: &std::io::Error) -> String {
    let mend = match error.kind() {
        std::io::ErrorKind::PermissionDenied => format!("; {}", taking_over(path)),
        _ => String::new(),
    };
    format!("{}: {error}{mend}", path.display())
}

/// Who besides us can write the folder, and what mends it.
fn exposure(path: &Path, meta: &fs::Metadata) -> String {
    let shown = path.display();
    if meta.uid() == rustix::process::geteuid().as_raw() {
        let mend = format!("chmod 700 {}", word(path));
        return format!(
            "{shown} can be written by others, who could make the gateway run their code; run: {mend}"
        );
    }
    let (owner, mend) = (meta.uid(), taking_over(path));
    format!("{shown} belongs to user {owner}, who could make the gateway run their code; {mend}")
}

/// All of the state, since whoever made the cache made more of it.
fn taking_over(path: &Path) -> String {
    let us = rustix::process::geteuid().as_raw();
    let state = word(path.parent().unwrap_or(path));
    format!(
        "run this as the account that the state belongs to, or give it to this one, as root: chown -RhP {us} {state}"
    )
}

/// A path as one word of a shell's command.
fn word(path: &Path) -> String {
    let text = path.display().to_string();
    shlex::try_quote(&text).map_or(text.clone(), |quoted| quoted.into_owned())
}

fn entry_name(compatibility: Compatibility, sha256: &str) -> String {
    format!("{sha256}-{:016x}.{CODE}", compatibility.0)
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

#[allow(unsafe_code, reason = "wasmtime cannot check compiled code; see SAFETY")]
pub(super) fn deserialize(engine: &Engine, code: &[u8]) -> Result<Component, SandboxError> {
    // SAFETY: `code` was produced by `precompile_component` of this very wasmtime: either a moment ago
    // in this process or by a process that the gateway started for it, or read from a file in a folder
    // that only this user can write, whose checksum held. Version and settings are checked by wasmtime itself.
    unsafe { Component::deserialize(engine, code) }.map_err(not_compiled)
}

/// On one line: the compiler shows bytes of the component over several.
fn not_compiled(error: wasmtime::Error) -> SandboxError {
    SandboxError::Compile(one_line(&format!("{error:#}"), 400))
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
