//! `file_search`: lines that match a text or a regular expression, in a file or in all files below
//! a folder, in the order of their paths. It follows no link below the path, and its work and
//! memory are bounded for all files and patterns.

mod excerpt;
mod pattern;
mod scan;

use cofferdam_sdk::files::{self, File, Kind, Opened};
use cofferdam_sdk::glob::Glob;
use cofferdam_sdk::walk::{self, Depth, Plan, Problem, Start, Told, Unreadable, Walk};
use cofferdam_sdk::{ErrorCode, Tool, ToolError, export_tool, progress, text};
use excerpt::Match;
use scan::{Ended, Left, Scanner};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The full path of a file, or of a folder whose files are searched with all below, for example
    /// "/shared/notes".
    path: String,
    /// What to search for: a text, or a regular expression where "regex" is true. Lines are
    /// searched one by one.
    #[schemars(length(min = 1, max = 1000))]
    pattern: String,
    /// Whether the pattern is a regular expression (Rust's syntax: no look-around, no
    /// back-references).
    #[serde(default)]
    regex: bool,
    /// Whether upper and lower case are the same.
    #[serde(default)]
    case_insensitive: bool,
    /// Which files to search, for example "*.md" (names at any depth) or "notes/**/2026-*" (paths
    /// below the folder).
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
    /// The "cursor" of the last answer, to search on from there. The other arguments must be the
    /// same.
    #[schemars(length(min = 1, max = 32_768))]
    cursor: Option<String>,
}

const fn limit_default() -> u32 {
    100
}

#[derive(Default, Serialize, JsonSchema)]
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

impl Tool for Arguments {
    const NAME: &str = "file_search";
    const SUMMARY: &str = "Finds the lines of files that contain a text or match a regular expression.";
    type Arguments = Self;
    type Output = Search;

    fn call(arguments: Arguments) -> Result<Search, ToolError> {
        let refused = |why: String| ToolError::new(ErrorCode::InvalidArguments, why);
        let pattern = pattern::of(&arguments).map_err(refused)?;
        let Arguments { path, glob, context, limit, cursor, .. } = arguments;
        let glob = glob.map(|glob| Glob::parse(&glob)).transpose().map_err(refused)?;
        let from = cursor.as_deref().map(resume).transpose()?;
        let left = Left { matches: limit as usize, answer_bytes: ANSWER_BYTES_MAX, bytes: BYTES_MAX };
        let opened = files::open(&path).map_err(ToolError::on_path(&path))?;
        let mut job = Job {
            scanner: Scanner::new(pattern, context as usize, left),
            answer: Search { path: path.clone(), ..Search::default() },
        };
        let unreadable = match opened {
            (Opened::File(file), _) => job.file(&file, from.map_or(0, |(line, _)| line)),
            (Opened::Directory(folder), _) => {
                let start = from.as_ref().map_or(Start::Beginning, |(_, path)| Start::At(path.clone()));
                let plan = Plan { depth: Depth::Recursive, glob, start, names: NAMES_MAX };
                let mut walk = Walk::new(folder, plan).map_err(ToolError::on_path(&path))?;
                job.folder(&mut walk, from);
                std::mem::take(walk.unreadable())
            }
        };
        let (unreadable, unreadable_count) = unreadable.into_told(&path);
        Ok(Search {
            truncated: job.answer.cursor.is_some(),
            files_searched: job.scanner.files,
            matches: job.scanner.matches,
            unreadable,
            unreadable_count,
            ..job.answer
        })
    }
}

/// One search under way.
struct Job {
    scanner: Scanner,
    /// Its path, cursor and counts, the rest of which is filled in at the end.
    answer: Search,
}

/// Files between two words of progress.
const TOLD_EVERY: usize = 1000;

impl Job {
    /// Searches the one file that the path names.
    fn file(&mut self, file: &File, after: u64) -> Unreadable {
        let mut unreadable = Unreadable::default();
        // There is no name to go on after: the cursor's path only has to be one.
        if let Err(problem) = self.scan(file, &self.answer.path.clone(), "-", after) {
            unreadable.add("", problem);
        }
        unreadable
    }

    fn folder(&mut self, walk: &mut Walk<files::Directory>, mut from: Option<(u64, String)>) {
        let mut told = TOLD_EVERY;
        while self.answer.cursor.is_none() {
            if self.scanner.files >= told {
                told += TOLD_EVERY;
                progress::report(&format!("searched {} files", self.scanner.files));
                // Nobody waits for what is found.
                if progress::cancelled() {
                    return;
                }
            }
            let Some(found) = walk.step() else {
                self.answer.cursor = walk.stopped().then(|| cursor(u64::MAX, walk.position()));
                return;
            };
            match found.kind {
                Kind::File => {}
                Kind::Directory => continue,
                Kind::Symlink => {
                    self.answer.symlinks_skipped += 1;
                    continue;
                }
                _ => {
                    self.answer.special_skipped += 1;
                    continue;
                }
            }
            let after = from.take().filter(|(_, path)| path == found.path).map_or(0, |(line, _)| line);
            let below = found.path.to_owned();
            let opened = match text::has_deceptive(&below) {
                true => Err(Problem::Deceptive),
                false => found.folder.open_file(found.name).map_err(|error| Problem::of(&error)),
            };
            let path = format!("{}/{below}", self.answer.path);
            if let Err(problem) = opened.and_then(|file| self.scan(&file, &path, &below, after)) {
                walk.unreadable().add(&below, problem);
            }
        }
    }

    /// Searches a file after that line, or not at all after the last one, and notes where to go on
    /// if the call has done its share with it.
    fn scan(&mut self, file: &File, path: &str, below: &str, after: u64) -> Result<(), Problem> {
        if after == u64::MAX {
            return Ok(());
        }
        let ended = self.scanner.scan(path, &mut |at, length| file.read_at(at, length), after);
        if self.scanner.is_spent() {
            // A file that could not be read to its end would only be begun again.
            let line = if let Ok(Ended::Stopped { line }) = ended { line } else { u64::MAX };
            self.answer.cursor = Some(cursor(line, below));
        }
        self.answer.binary_skipped += usize::from(ended? == Ended::Binary);
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

export_tool!(Arguments);
