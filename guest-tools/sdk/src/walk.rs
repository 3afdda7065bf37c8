//! A sorted walk through a folder and, if asked, everything below it: each entry once, in the byte
//! order of names, folders before what they hold, in bounded memory for folders of any size.
//! Links are shown and never followed. What cannot be read is remembered and does not end the walk.

mod names;
mod unreadable;

use std::io;

use crate::ToolError;
use crate::files::{Directory, Kind, Visit};
use crate::glob::Glob;
use names::Names;
pub use unreadable::{Problem, Told, Unreadable};

/// Folders inside each other that a walk goes into; each one is an open handle.
pub const DEPTH_MAX: usize = 64;
/// Entries that a walk reads after its first find, before it says where to go on.
pub const ENTRIES_MAX: usize = 1_000_000;
/// Memory for names that wait for their turn, over all open folders.
const NAMES_BYTES_MAX: usize = 8 << 20;
/// What a folder may hold even when the others have used that up.
const NAMES_BYTES_MIN: usize = 64 << 10;

/// A folder as a walk needs it; [`Directory`] is the real one.
pub trait Folder: Sized {
    /// Opens a folder in this one, never through a link.
    ///
    /// # Errors
    /// When it is gone, no folder any more, or not to be read.
    fn open(&self, name: &str) -> io::Result<Self>;

    /// Calls `visit` for every entry in any order; see [`Directory::each`].
    ///
    /// # Errors
    /// When the folder cannot be read, or no further.
    fn each(&self, visit: &mut Visit<'_>) -> io::Result<()>;
}

impl Folder for Directory {
    fn open(&self, name: &str) -> io::Result<Self> {
        self.open_directory(name)
    }

    fn each(&self, visit: &mut Visit<'_>) -> io::Result<()> {
        Directory::each(self, visit)
    }
}

/// Where a walk goes.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Into the folders that it finds, or not.
    pub depth: Depth,
    /// Entries that are shown; folders are gone into whether they are shown or not.
    pub glob: Option<Glob>,
    /// Where it begins.
    pub start: Start,
    /// Names needed of one folder at once: a page needs no more than its length. The walk is
    /// complete with any number; a small one reads large folders more often.
    pub names: usize,
}

impl Plan {
    fn enters(&self, kind: Kind) -> bool {
        kind == Kind::Directory && self.depth == Depth::Recursive
    }

    fn shows(&self, path: &str) -> bool {
        self.glob.as_ref().is_none_or(|glob| glob.matches(path))
    }
}

/// Whether a walk goes into folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// The folder's own entries alone.
    Flat,
    /// Everything below, to [`DEPTH_MAX`].
    Recursive,
}

/// Where a walk begins, by a path below its folder, or a batch of names of one folder. What is named
/// need not be there any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// With the first entry.
    Beginning,
    /// With this entry.
    At(String),
    /// With what follows this entry in order.
    After(String),
}

/// An entry on the way.
#[derive(Debug)]
pub struct Found<'a, D> {
    /// The path below the walk's folder.
    pub path: &'a str,
    /// Its last part.
    pub name: &'a str,
    /// What it was when the folder was read.
    pub kind: Kind,
    /// The folder it lies in, to open it by name.
    pub folder: &'a D,
}

/// A walk under way.
pub struct Walk<D> {
    plan: Plan,
    levels: Vec<Level<D>>,
    path: String,
    descend: bool,
    /// The names on the way to the start that are still ahead, last one first.
    ahead: Vec<String>,
    entries_left: usize,
    found_any: bool,
    stopped: bool,
    unreadable: Unreadable,
}

struct Level<D> {
    folder: D,
    names: Names,
    /// How much of the path belongs to the folder.
    prefix: usize,
}

impl<D: Folder> Walk<D> {
    /// A walk through an open folder.
    ///
    /// # Errors
    /// When the folder itself cannot be read.
    pub fn new(folder: D, plan: Plan) -> io::Result<Self> {
        let ahead = match &plan.start {
            Start::Beginning => Vec::new(),
            Start::At(path) | Start::After(path) => path.rsplit('/').map(str::to_owned).collect(),
        };
        let mut walk = Self {
            plan,
            levels: Vec::new(),
            path: String::new(),
            descend: false,
            ahead,
            entries_left: ENTRIES_MAX,
            found_any: false,
            stopped: false,
            unreadable: Unreadable::default(),
        };
        walk.enter(folder)?;
        Ok(walk)
    }

    /// The next entry.
    pub fn step(&mut self) -> Option<Found<'_, D>> {
        let kind = self.advance()?;
        let level = self.levels.last()?;
        let name = self.path.get(level.prefix..).unwrap_or_default();
        Some(Found { path: &self.path, name, kind, folder: &level.folder })
    }

    /// Whether the walk stopped at [`ENTRIES_MAX`]; it goes on after [`Walk::position`].
    pub fn stopped(&self) -> bool {
        self.stopped
    }

    /// The path up to which everything was shown; empty at the beginning.
    pub fn position(&self) -> &str {
        self.path.trim_end_matches('/')
    }

    /// What could not be read so far.
    pub fn unreadable(&mut self) -> &mut Unreadable {
        &mut self.unreadable
    }

    fn advance(&mut self) -> Option<Kind> {
        loop {
            if std::mem::take(&mut self.descend) && !self.go_into() {
                return None;
            }
            let level = self.levels.last_mut()?;
            let Some((name, kind)) = level.names.next() else {
                match level.names.rest() {
                    Some(_) if self.exhausted() => return None,
                    Some(rest) => self.refill(rest),
                    None => drop(self.levels.pop()),
                }
                self.ahead.clear();
                continue;
            };
            self.path.truncate(level.prefix);
            self.path.push_str(name);
            self.descend = self.plan.enters(kind);
            // On the way to the start: what was shown before is not shown again.
            let passed = match self.ahead.last() {
                Some(ahead) if ahead == name => {
                    self.ahead.pop();
                    !self.ahead.is_empty() || matches!(self.plan.start, Start::After(_))
                }
                _ => {
                    self.ahead.clear();
                    false
                }
            };
            if !self.descend {
                self.ahead.clear();
            }
            if passed {
                continue;
            }
            self.found_any = true;
            if self.plan.shows(&self.path) {
                return Some(kind);
            }
        }
    }

    /// Opens the folder at the current path; false where the walk stops for this time.
    fn go_into(&mut self) -> bool {
        if self.exhausted() {
            self.descend = true;
            return false;
        }
        if self.levels.len() >= DEPTH_MAX {
            self.ahead.clear();
            self.unreadable.add(&self.path, Problem::TooDeep);
            return true;
        }
        let Some(level) = self.levels.last() else { return true };
        let opened = level.folder.open(self.path.get(level.prefix..).unwrap_or_default());
        let parent = self.path.len();
        self.path.push('/');
        let entered = opened.and_then(|folder| self.enter(folder));
        if let Err(error) = entered {
            self.ahead.clear();
            self.path.truncate(parent);
            self.unreadable.add(&self.path, Problem::of(&error));
        }
        true
    }

    fn enter(&mut self, folder: D) -> io::Result<()> {
        let from = self.ahead.last().map_or(Start::Beginning, |name| Start::At(name.clone()));
        let names = self.read(&folder, from)?;
        self.levels.push(Level { folder, names, prefix: self.path.len() });
        Ok(())
    }

    /// The next batch of a folder that holds more names than fit at once.
    fn refill(&mut self, from: Start) {
        let Some(level) = self.levels.pop() else { return };
        let Level { folder, names, prefix } = level;
        drop(names);
        self.path.truncate(prefix);
        match self.read(&folder, from) {
            Ok(names) => self.levels.push(Level { folder, names, prefix }),
            Err(error) => {
                let path = self.path.trim_end_matches('/');
                self.unreadable.add(path, Problem::of(&error));
            }
        }
    }

    fn read(&mut self, folder: &D, from: Start) -> io::Result<Names> {
        let held: usize = self.levels.iter().map(|level| level.names.held()).sum();
        let bytes = (NAMES_BYTES_MAX.saturating_sub(held) / 2).max(NAMES_BYTES_MIN);
        let again = matches!(from, Start::After(_));
        let mut names = Names::new(from, bytes, self.plan.names.max(1));
        let (mut read, mut nameless) = (0_usize, 0_usize);
        let plan = &self.plan;
        let mut path = self.path.clone();
        let prefix = path.len();
        folder.each(&mut |entry| {
            read += 1;
            match entry {
                Ok((name, kind)) if names.wants(name) => {
                    path.truncate(prefix);
                    path.push_str(name);
                    if plan.enters(kind) || plan.shows(&path) {
                        names.offer(name, kind);
                    }
                }
                Ok(_) => {}
                Err(_) => nameless += 1,
            }
        })?;
        names.finish();
        if self.found_any {
            self.entries_left = self.entries_left.saturating_sub(read);
        }
        if nameless > 0 && !again {
            self.unreadable.add(self.path.trim_end_matches('/'), Problem::NotUtf8(nameless));
        }
        Ok(names)
    }

    /// Whether it is time to stop. Only before a folder is read, and only after something new was
    /// found: each call gets further than the one before.
    fn exhausted(&mut self) -> bool {
        self.stopped = self.found_any && self.entries_left == 0;
        self.stopped
    }
}

/// A cursor as a caller gave it, made the path it stands for.
///
/// # Errors
/// `invalid_arguments` for what no walk ever answered.
pub fn cursor_path(cursor: &str) -> Result<String, ToolError> {
    let path = crate::text::unescape(cursor)
        .filter(|path| path.split('/').all(|name| !matches!(name, "" | "." | "..") && name.len() <= 255));
    path.ok_or_else(|| {
        let said = "The cursor is not one of an earlier answer; leave it out to start at the beginning";
        ToolError::new(crate::ErrorCode::InvalidArguments, said)
    })
}

#[cfg(test)]
mod tests;
