//! `file_search`: lines that match a text or a regular expression, in a file or in all files below a
//! folder, in the order of their paths. It follows no link below the path, and its work and memory are
//! bounded whatever the files and the pattern are.

mod excerpt;
mod pattern;
mod scan;

use cofferdam_sdk::files::{self, File, Kind, Opened};
use cofferdam_sdk::glob::Glob;
use cofferdam_sdk::schemars::JsonSchema;
use cofferdam_sdk::serde::{Deserialize, Serialize};
use cofferdam_sdk::walk::{self, Depth, Plan, Problem, Start, Told, Unreadable, Walk};
use cofferdam_sdk::{ErrorCode, Tool, ToolError, export_tool, progress, text};
use excerpt::Match;
use pattern::{Case, Pattern};
use scan::{Ended, Scanner};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "cofferdam_sdk::serde", deny_unknown_fields)]
#[schemars(crate = "cofferdam_sdk::schemars")]
struct Arguments {
    /// The full path of a file, or of a folder whose files are searched with all below, for example
    /// "/shared/notes".
    path: String,
    /// What to search for: a text, or a regular expression where "regex" is true. Lines are searched one
    /// by one.
    #[schemars(length(min = 1, max = 1000))]
    pattern: String,
    /// Whether the pattern is a regular expression (Rust's syntax: no look-around, no back-references).
    #[serde(default)]
    regex: bool,
    /// Whether upper and lower case are the same.
    #[serde(default)]
    case_insensitive: bool,
    /// Which files to search, for example "*.md" (names at any depth) or "notes/**/2026-*" (paths below
    /// the folder).
    #[schemars(length(min = 1, max = 500))]
    glob: Option<String>,
    /// How many lines to show before and after each match.
    #[serde(default)]
    #[schemars(range(min = 0, max = 10))]
    context: u32,
    /// How many matches to show at most. If there may be more, "truncated" is true in the answer.
    #[serde(default = "limit_default")]
    #[schemars(range(min = 1, max = 1000))]
    limit: u32,
    /// The "cursor" of the last answer, to search on from there. The other arguments must be the same.
    #[schemars(length(min = 1, max = 32_768))]
    cursor: Option<String>,
}

const fn limit_default() -> u32 {
    100
}

#[derive(Serialize, JsonSchema)]
#[serde(crate = "cofferdam_sdk::serde")]
#[schemars(crate = "cofferdam_sdk::schemars")]
struct Search {
    /// Where was searched.
    path: String,
    /// The lines that match, in the order of paths and lines, each once.
    matches: Vec<Match>,
    /// Whether the search stopped before its end: at the limit, or after much work.
    truncated: bool,
    /// Where it stopped: the argument "cursor" of the next call.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
    /// Files that were searched.
    files_searched: usize,
    /// Files that were not, because they are not text: there is a zero byte near the beginning.
    binary_skipped: usize,
    /// Links that were not followed.
    symlinks_skipped: usize,
    /// FIFOs, sockets and devices.
    special_skipped: usize,
    /// What could not be read, the first of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unreadable: Vec<Told>,
    /// How much could not be read in all.
    unreadable_count: usize,
}

/// Bytes searched by one call; then it says where to go on.
const BYTES_MAX: u64 = 4 << 30;
/// Bytes of text that one call answers with, apart from paths; then it says where to go on.
const ANSWER_BYTES_MAX: usize = 1 << 20;
/// Names that wait for their turn in each folder; more are fetched when these are used up.
const NAMES_MAX: usize = 200_000;

enum FileSearch {}

impl Tool for FileSearch {
    const NAME: &str = "file_search";
    const SUMMARY: &str = "Finds the lines of files that contain a text or match a regular expression.";
    type Arguments = Arguments;
    type Output = Search;

    fn call(arguments: Arguments) -> Result<Search, ToolError> {
        let refused = |why: String| ToolError::new(ErrorCode::InvalidArguments, why);
        let Arguments { path, pattern, regex, case_insensitive, glob, context, limit, cursor } = arguments;
        let case = if case_insensitive { Case::Either } else { Case::AsWritten };
        let pattern = if regex { Pattern::regex(&pattern, case) } else { Pattern::text(&pattern, case) };
        let pattern = pattern.map_err(refused)?;
        let glob = glob.map(|glob| Glob::parse(&glob)).transpose().map_err(refused)?;
        let from = cursor.as_deref().map(resume).transpose()?;
        let mut job = Job {
            scanner: Scanner::new(pattern, context as usize, limit as usize, ANSWER_BYTES_MAX, BYTES_MAX),
            cursor: None,
            binary: 0,
            symlinks: 0,
            special: 0,
            told: 0,
        };
        let unreadable = match files::open(&path).map_err(ToolError::on_path(&path))? {
            (Opened::File(file), _) => job.file(&path, &file, from),
            (Opened::Directory(folder), _) => {
                let start = from.as_ref().map_or(Start::Beginning, |(_, path)| Start::At(path.clone()));
                let plan = Plan { depth: Depth::Recursive, glob, start, names: NAMES_MAX };
                let mut walk = Walk::new(folder, plan).map_err(ToolError::on_path(&path))?;
                walk.unreadable().below(&path);
                job.folder(&path, &mut walk, from);
                std::mem::take(walk.unreadable())
            }
        };
        let (unreadable, unreadable_count) = unreadable.into_told();
        Ok(Search {
            path,
            truncated: job.cursor.is_some(),
            cursor: job.cursor,
            files_searched: job.scanner.files,
            matches: job.scanner.matches,
            binary_skipped: job.binary,
            symlinks_skipped: job.symlinks,
            special_skipped: job.special,
            unreadable,
            unreadable_count,
        })
    }
}

/// One search under way.
struct Job {
    scanner: Scanner,
    cursor: Option<String>,
    binary: usize,
    symlinks: usize,
    special: usize,
    /// Files searched when progress was told last.
    told: usize,
}

/// Files between two words of progress.
const TOLD_EVERY: usize = 1000;

impl Job {
    /// Searches the one file that `path` names.
    fn file(&mut self, path: &str, file: &File, from: Option<(u64, String)>) -> Unreadable {
        let mut unreadable = Unreadable::default();
        unreadable.below(path);
        let after = from.map_or(0, |(line, _)| line);
        if after == u64::MAX {
            return unreadable;
        }
        let ended = self.scanner.scan(path, &mut |at, length| file.read_at(at, length), after);
        // There is no name to go on after: the cursor's path only has to be one.
        if let Err(problem) = self.note(ended, "-") {
            unreadable.add("", problem);
        }
        unreadable
    }

    fn folder(&mut self, base: &str, walk: &mut Walk<files::Directory>, mut from: Option<(u64, String)>) {
        let mut path = String::new();
        while self.cursor.is_none() {
            if self.scanner.files >= self.told + TOLD_EVERY {
                self.told = self.scanner.files;
                progress::report(&format!("searched {} files", self.told));
                // Nobody waits for what is found.
                if progress::cancelled() {
                    return;
                }
            }
            let Some(found) = walk.step() else {
                self.cursor = walk.stopped().then(|| cursor(u64::MAX, walk.position()));
                return;
            };
            match found.kind {
                Kind::File => {}
                Kind::Directory => continue,
                Kind::Symlink => {
                    self.symlinks += 1;
                    continue;
                }
                _ => {
                    self.special += 1;
                    continue;
                }
            }
            let after = from.take().filter(|(_, path)| path == found.path).map_or(0, |(line, _)| line);
            if after == u64::MAX {
                continue;
            }
            let below = found.path.to_owned();
            let ended = if text::has_deceptive(&below) {
                Err(Problem::Deceptive)
            } else {
                path.clear();
                path.extend([base, "/", &below]);
                let opened = found.folder.open_file(found.name);
                let scan = |file: File| self.scanner.scan(&path, &mut |at, n| file.read_at(at, n), after);
                opened.map_err(|error| Problem::of(&error)).and_then(scan)
            };
            if let Err(problem) = self.note(ended, &below) {
                walk.unreadable().add(&below, problem);
            }
        }
    }

    /// What became of the file at `below`, and where to go on if the search stopped in or after it.
    fn note(&mut self, ended: Result<Ended, Problem>, below: &str) -> Result<(), Problem> {
        match ended {
            Ok(Ended::Whole) => {}
            Ok(Ended::Binary) => self.binary += 1,
            Ok(Ended::Stopped { line }) => self.cursor = Some(cursor(line, below)),
            Err(problem) => {
                // The work of this call is done, and this file would only be begun again.
                if self.scanner.is_spent() {
                    self.cursor = Some(cursor(u64::MAX, below));
                }
                return Err(problem);
            }
        }
        if self.cursor.is_none() && self.scanner.is_spent() {
            self.cursor = Some(cursor(u64::MAX, below));
        }
        Ok(())
    }
}

/// Where a search goes on: after this line of this file, or after the file.
fn cursor(line: u64, path: &str) -> String {
    match line {
        u64::MAX => format!("end:{}", text::escape(path)),
        line => format!("{line}:{}", text::escape(path)),
    }
}

/// The line and the path of a cursor.
fn resume(cursor: &str) -> Result<(u64, String), ToolError> {
    let (line, path) = cursor.split_once(':').unwrap_or(("", ""));
    let line = if line == "end" { Some(u64::MAX) } else { line.parse().ok() };
    // An empty path is no cursor, and `cursor_path` says so.
    let path = walk::cursor_path(if line.is_some() { path } else { "" })?;
    Ok((line.unwrap_or(0), path))
}

export_tool!(FileSearch);
