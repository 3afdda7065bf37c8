//! Local files of attachments: opened beneath the folder of the file that declares them,
//! whatever lies there.
//!
//! The kernel resolves each path in one step (openat2) and never above the folder; links inside are
//! followed. Nothing is opened before it is known to be a regular file, so no FIFO or device is
//! waited for.

use cofferdam_core::path::GuestPath;
use cofferdam_core::text::one_line;
use cofferdam_core::tool::ErrorCode;
use cofferdam_warden::files::{open_beneath, real_path, reopen};
use cofferdam_workflow::attachment::{FolderPath, PathError, Pattern, PatternSegment};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// Entries of folders that the patterns of one task may look at.
pub const ENTRIES_MAX: usize = 10_000;

/// A folder whose files can be attached.
pub struct AttachableFolder {
    handle: OwnedFd,
}

/// A regular file, open for reading.
#[derive(Debug)]
pub struct LocalFile {
    /// The file.
    pub file: File,
    /// Its length when it was opened.
    pub bytes: u64,
    /// Where it really lies, links followed: the same for two names of one file.
    pub real: PathBuf,
}

/// Why a file is not attached. Messages name paths as they are written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LocalError {
    /// Nothing is there.
    #[error("{0} is not there")]
    NotFound(String),
    /// It leads out of the folder.
    #[error("{0} leads out of the folder of the file that declares it; put the file itself there")]
    Outside(String),
    /// A folder, FIFO, device or socket.
    #[error("{0} is not a regular file")]
    NotRegular(String),
    /// The account may not read it.
    #[error("{0} cannot be read: {1}")]
    Unreadable(String, String),
    /// A name that no text can hold.
    #[error("a name in {0} is not UTF-8; rename it, or let the pattern leave it out")]
    Name(String),
    /// A name that matches, and that no path may have.
    #[error("{0} matches a pattern and cannot be attached; rename it, or let the pattern leave it out: {1}")]
    Unfit(String, PathError),
    /// Too much to look through.
    #[error("the patterns of this task look at more than {max} entries of folders; write narrower ones", max = ENTRIES_MAX)]
    TooMany,
}

impl LocalError {
    /// For programs.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NotFound(_) => ErrorCode::NotFound,
            Self::Outside(_) => ErrorCode::PathDenied,
            Self::NotRegular(_) => ErrorCode::NotARegularFile,
            Self::Unreadable(..) | Self::Name(_) | Self::Unfit(..) => ErrorCode::AttachmentUnavailable,
            Self::TooMany => ErrorCode::TooLarge,
        }
    }

    fn from_errno(errno: Errno, path: &str) -> Self {
        let path = display_path(path);
        match errno {
            Errno::NOENT | Errno::NOTDIR => Self::NotFound(path),
            // The latter is a circle of links, or one of /proc.
            Errno::XDEV | Errno::LOOP => Self::Outside(path),
            errno => Self::Unreadable(path, std::io::Error::from(errno).kind().to_string()),
        }
    }
}

fn display_path(path: &str) -> String {
    format!("`{}`", one_line(path, 200))
}

impl AttachableFolder {
    /// The folder at this path of the machine.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(path: &Path) -> std::io::Result<Self> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self { handle: rustix::fs::open(path, flags, Mode::empty())? })
    }

    /// A folder below.
    ///
    /// # Errors
    /// [`LocalError`].
    pub fn open_below(&self, path: &FolderPath) -> Result<Self, LocalError> {
        let text = display_hidden(path);
        let handle = self.open_beneath(&text, OFlags::PATH | OFlags::DIRECTORY);
        Ok(Self { handle: handle.map_err(|errno| LocalError::from_errno(errno, &text))? })
    }

    /// The regular file at a path below.
    ///
    /// # Errors
    /// [`LocalError`].
    pub fn file(&self, path: &FolderPath) -> Result<LocalFile, LocalError> {
        self.file_at(&path.to_string())
    }

    /// The same for a file of a workspace, whose mount this folder is.
    ///
    /// # Errors
    /// [`LocalError`].
    pub fn file_of_mount(&self, path: &GuestPath) -> Result<LocalFile, LocalError> {
        self.file_at(path.below_mount()).map_err(|error| match error {
            LocalError::NotFound(_) => LocalError::NotFound(display_path(path.as_str())),
            LocalError::Outside(_) => LocalError::Outside(display_path(path.as_str())),
            LocalError::NotRegular(_) => LocalError::NotRegular(display_path(path.as_str())),
            other => other,
        })
    }

    fn file_at(&self, text: &str) -> Result<LocalFile, LocalError> {
        let failed = |errno| LocalError::from_errno(errno, text);
        let handle = self.open_beneath(text, OFlags::PATH).map_err(failed)?;
        let stat = rustix::fs::fstat(&handle).map_err(failed)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(LocalError::NotRegular(display_path(text)));
        }
        let file = File::from(reopen(&handle).map_err(failed)?);
        let real = real_path(&file).map_err(failed)?;
        let bytes = u64::try_from(stat.st_size).unwrap_or_default();
        Ok(LocalFile { file, bytes, real })
    }

    fn open_beneath(&self, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        open_beneath(&self.handle, path, flags, ResolveFlags::empty())
    }

    /// The files that a pattern matches, sorted by the bytes of their paths. `left` counts entries
    /// of folders down.
    ///
    /// # Errors
    /// [`LocalError`].
    pub fn find_matching(&self, pattern: &Pattern, left: &mut usize) -> Result<Vec<FolderPath>, LocalError> {
        let mut walk = PatternWalk { folder: self, found: BTreeSet::new(), left };
        walk.enter(FolderPath::default(), pattern.segments())?;
        // One that was left out would be missing without a word.
        let parse = |text: String| {
            FolderPath::parse(&text).map_err(|problem| LocalError::Unfit(display_path(&text), problem))
        };
        walk.found.into_iter().map(parse).collect()
    }
}

fn display_hidden(path: &FolderPath) -> String {
    format!("./{path}")
}

/// A pattern on its way through folders.
struct PatternWalk<'a> {
    folder: &'a AttachableFolder,
    /// Paths that match, as text.
    found: BTreeSet<String>,
    left: &'a mut usize,
}

impl PatternWalk<'_> {
    /// What these segments match in the folder at `path`. As deep as folders are, and no deeper for
    /// a pattern that is long.
    fn enter(&mut self, mut path: FolderPath, mut segments: &[PatternSegment]) -> Result<(), LocalError> {
        loop {
            match segments {
                [] => return Ok(()),
                // A name without wildcards: a linked folder is entered, beneath as ever.
                [PatternSegment::Name(name)] => return self.keep(path.join(name)),
                [PatternSegment::Name(name), rest @ ..] => {
                    path.push(name);
                    segments = rest;
                }
                [PatternSegment::AnyDepth, rest @ ..] => {
                    for (name, is_folder) in self.entries(&path)? {
                        if is_folder && PatternSegment::AnyDepth.matches_name(&name) {
                            self.enter(path.join(&name), segments)?;
                        }
                    }
                    segments = rest;
                }
                [wild, rest @ ..] => return self.enter_matching(&path, (wild, rest)),
            }
        }
    }

    /// What a name with wildcards, and what comes behind it, match in the folder at `path`.
    fn enter_matching(
        &mut self,
        path: &FolderPath,
        (wild, rest): (&PatternSegment, &[PatternSegment]),
    ) -> Result<(), LocalError> {
        for (name, is_folder) in self.entries(path)? {
            if !wild.matches_name(&name) {
                continue;
            }
            match (rest.is_empty(), is_folder) {
                (true, false) => self.keep(path.join(&name))?,
                (false, true) => self.enter(path.join(&name), rest)?,
                // A pattern names files; folders of that name are no files, and files no folders.
                (true, true) | (false, false) => {}
            }
        }
        Ok(())
    }

    /// Keeps a path where a file is; a folder behind a link is none.
    fn keep(&mut self, path: FolderPath) -> Result<(), LocalError> {
        let text = path.to_string();
        let handle = match self.folder.open_beneath(&display_hidden(&path), OFlags::PATH) {
            Ok(handle) => handle,
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(()),
            Err(errno) => return Err(LocalError::from_errno(errno, &text)),
        };
        let stat = rustix::fs::fstat(&handle).map_err(|errno| LocalError::from_errno(errno, &text))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            self.found.insert(text);
        }
        Ok(())
    }

    /// The entries of a folder, and whether each is itself a folder; none where there is no folder.
    fn entries(&mut self, path: &FolderPath) -> Result<Vec<(String, bool)>, LocalError> {
        let text = display_hidden(path);
        let failed = |errno| LocalError::from_errno(errno, &text);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK;
        let handle = match self.folder.open_beneath(&text, flags) {
            Ok(handle) => handle,
            Err(Errno::NOENT | Errno::NOTDIR) => {
                self.count_entry()?;
                return Ok(Vec::new());
            }
            Err(errno) => return Err(failed(errno)),
        };
        let mut entries = Vec::new();
        for entry in Dir::read_from(&handle).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            self.count_entry()?;
            let Ok(name) = name.to_str() else {
                return Err(LocalError::Name(display_path(&path.to_string())));
            };
            let is_folder = match entry.file_type() {
                FileType::Unknown => is_folder(&handle, name).map_err(failed)?,
                known => known == FileType::Directory,
            };
            entries.push((name.to_owned(), is_folder));
        }
        if entries.is_empty() {
            self.count_entry()?;
        }
        Ok(entries)
    }

    /// Counts an entry. A look that finds none counts as one: a long pattern looks into each folder
    /// for hundreds that are not there.
    fn count_entry(&mut self) -> Result<(), LocalError> {
        *self.left = self.left.checked_sub(1).ok_or(LocalError::TooMany)?;
        Ok(())
    }
}

/// For filesystems whose listings do not say.
fn is_folder(dir: &OwnedFd, name: &str) -> Result<bool, Errno> {
    let stat: Stat = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Threads of the gateway have little room, and somebody who gives a part of a pattern may make
    /// it long.
    #[test]
    fn a_long_pattern_needs_no_more_room_than_a_short_one() {
        let dir = tempfile::tempdir().expect("a folder");
        for step in ["x/", "x/**/"] {
            let pattern = Pattern::parse(&format!("**/{}*.png", step.repeat(800))).expect("it parses");
            let folder = AttachableFolder::open(dir.path()).expect("it is there");
            let looking = move || folder.find_matching(&pattern, &mut { ENTRIES_MAX });
            let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(looking).expect("a thread");
            assert_eq!(thread.join().expect("it has room"), Ok(Vec::new()), "{step}");
        }
    }
}
