//! The files of a log: those that were rotated away, oldest first, then the active one.
//!
//! A rotated file is named by the first `seq` in it, `audit-00000000000000000001.jsonl`, so that
//! names sort as the chain runs and two files never get one name. It refuses to guess from anything
//! else.

use super::lines::PositionedReader;
use super::{AuditError, open};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// More rotated files than this are not listed, but reported.
pub const ROTATED_FILES_MAX: usize = 65_536;

/// How often a listing starts anew because a rotation came between.
const TRIES: usize = 8;
const DIGITS: usize = 20;

/// Which files hold the records to read.
#[derive(Clone, Copy, Debug)]
pub enum LogSelection<'a> {
    /// The whole log whose active file this is: its rotated files, then itself.
    Log(&'a Path),
    /// These files as one chain, in this order. Where it begins is not proven then.
    Files(&'a [PathBuf]),
}

/// The files as they were at one moment; what is appended or rotated later is not seen.
#[derive(Debug)]
pub(super) struct LogFiles {
    rotated: Vec<PathBuf>,
    active: Option<(PathBuf, LogFile)>,
}

/// One of the files, open.
#[derive(Clone, Debug)]
pub(super) struct LogFile {
    pub(super) file: Arc<File>,
    /// The length up to which it is read.
    pub(super) end: u64,
}

impl LogFile {
    fn new(file: File) -> Result<Self, AuditError> {
        let end = open::settled_length(&file)?;
        Ok(Self { file: Arc::new(file), end })
    }

    /// Its lines from `start`, which must be the start of one.
    pub(super) fn lines(&self, start: u64) -> PositionedReader<&File> {
        PositionedReader::new(&*self.file, start, self.end)
    }
}

impl LogFiles {
    pub(super) fn select(source: LogSelection<'_>) -> Result<Self, AuditError> {
        match source {
            LogSelection::Log(active) => Self::open_log(active),
            LogSelection::Files(paths) => {
                for path in paths {
                    open::open_for_read(path)?;
                }
                Ok(Self { rotated: paths.to_vec(), active: None })
            }
        }
    }

    /// The active file is opened first: what is rotated away after that is known by its identity.
    fn open_log(active: &Path) -> Result<Self, AuditError> {
        for _ in 0..TRIES {
            match open::open_for_read(active) {
                Ok(file) => {
                    let part = LogFile::new(file)?;
                    let mut rotated = list(active)?;
                    let id = identity(&part.file)?;
                    let same = |path: &PathBuf| path.metadata().is_ok_and(|m| (m.dev(), m.ino()) == id);
                    if let Some(at) = rotated.iter().rposition(same) {
                        rotated.truncate(at);
                    }
                    return Ok(Self { rotated, active: Some((active.to_owned(), part)) });
                }
                Err(AuditError::Open { source, path }) if source.kind() == io::ErrorKind::NotFound => {
                    // Without a folder there is no other file either.
                    let Ok(Some(newest)) = newest(active) else {
                        return Err(AuditError::Open { source, path });
                    };
                    // A process that rotates holds this lock until there is an active file again.
                    open::settled_length(&open::open_for_read(&newest)?)?;
                }
                Err(error) => return Err(error),
            }
        }
        // A rotation was cut off between its two steps; the next append makes the active file.
        Ok(Self { rotated: list(active)?, active: None })
    }

    pub(super) fn len(&self) -> usize {
        self.rotated.len() + usize::from(self.active.is_some())
    }

    pub(super) fn open(&self, index: usize) -> Result<LogFile, AuditError> {
        match (self.rotated.get(index), &self.active) {
            (Some(path), _) => LogFile::new(open::open_for_read(path)?),
            (None, Some((_, part))) => Ok(part.clone()),
            (None, None) => Err(AuditError::Read(io::ErrorKind::NotFound.into())),
        }
    }

    pub(super) fn path(&self, index: usize) -> &Path {
        match (self.rotated.get(index), &self.active) {
            (Some(path), _) => path,
            (None, Some((path, ..))) => path,
            (None, None) => Path::new(""),
        }
    }

    /// Whether the file is complete: nothing is ever appended to one that was rotated away.
    pub(super) fn is_rotated(&self, index: usize) -> bool {
        let name = self.rotated.get(index).and_then(|path| path.file_name()).map(OsStr::to_string_lossy);
        name.and_then(|name| first_seq(&name)).is_some()
    }

    /// The files that may hold the record `seq`, the likelier first.
    pub(super) fn files_with(&self, seq: u64) -> impl Iterator<Item = usize> {
        let active = self.active.is_some().then_some(self.rotated.len());
        let first = |path: &PathBuf| first_seq(path.file_name()?.to_str()?);
        let rotated = self.rotated.iter().rposition(|path| first(path).is_some_and(|first| first <= seq));
        active.into_iter().chain(rotated)
    }
}

/// Device and inode: what stays the same when a file gets another name.
pub(super) fn identity(file: &File) -> Result<(u64, u64), AuditError> {
    let metadata = file.metadata().map_err(AuditError::Read)?;
    Ok((metadata.dev(), metadata.ino()))
}

/// The name of a file that is rotated away and whose first record is `first`.
pub(super) fn rotated_name(active: &Path, first: u64) -> OsString {
    let mut name = active.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{first:0DIGITS$}"));
    if let Some(extension) = active.extension() {
        name.push(".");
        name.push(extension);
    }
    name
}

/// The newest rotated file.
pub(super) fn newest(active: &Path) -> Result<Option<PathBuf>, AuditError> {
    let newest =
        rotated_files(active)?.try_fold(None, |newest, file| file.map(|file| newest.max(Some(file))));
    Ok(newest?.map(|(_, path)| path))
}

/// The folder that a file lies in.
pub(super) fn folder(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The rotated files, oldest first.
fn list(active: &Path) -> Result<Vec<PathBuf>, AuditError> {
    let found = rotated_files(active)?.take(ROTATED_FILES_MAX + 1);
    let mut found = found.collect::<Result<Vec<_>, _>>()?;
    if found.len() > ROTATED_FILES_MAX {
        return Err(AuditError::TooManyFiles);
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

/// The rotated files in any order, each with the first `seq` in it.
fn rotated_files(
    active: &Path,
) -> Result<impl Iterator<Item = Result<(u64, PathBuf), AuditError>>, AuditError> {
    let folder = folder(active);
    let failed = move |source| AuditError::Open { path: folder.to_owned(), source };
    let entries = folder.read_dir().map_err(failed)?;
    Ok(entries.filter_map(move |entry| {
        let name = match entry {
            Ok(entry) => entry.file_name(),
            Err(error) => return Some(Err(failed(error))),
        };
        let seq = first_seq(name.to_str()?)?;
        (rotated_name(active, seq) == name).then(|| Ok((seq, folder.join(name))))
    }))
}

/// The first `seq` of a rotated file, by its name.
fn first_seq(name: &str) -> Option<u64> {
    let (_, digits) = name.strip_suffix(".jsonl")?.rsplit_once('-')?;
    let plain = digits.len() == DIGITS && digits.bytes().all(|b| b.is_ascii_digit());
    if plain { digits.parse().ok() } else { None }
}
