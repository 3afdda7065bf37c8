//! `file_list`: what is in a folder, a page at a time, in the byte order of names. It looks at the
//! entries of the page alone, and follows no link.

use cofferdam_sdk::files::{self, Directory, Kind, Opened};
use cofferdam_sdk::glob::Glob;
use cofferdam_sdk::walk::{self, Depth, Plan, Problem, Start, Told, Walk};
use cofferdam_sdk::{ErrorCode, Tool, ToolError, export_tool, text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The full path of the folder, for example "/shared/notes".
    #[serde(default = "path_default")]
    path: String,
    /// Whether to list what lies in the folders below, too. Links are never followed.
    #[serde(default)]
    recursive: bool,
    /// Which entries to list, for example "*.txt" (names at any depth), "notes/**/*.md" (paths
    /// below the folder) or "{a,b}*".
    #[schemars(length(min = 1, max = 500))]
    glob: Option<String>,
    /// How many entries to list at most. If there are more, "truncated" is true in the answer.
    #[serde(default = "limit_default")]
    #[schemars(range(min = 1, max = 1000))]
    limit: u32,
    /// The "cursor" of the last answer, to list what follows. The other arguments must be the same.
    #[schemars(length(min = 1, max = 32_768))]
    cursor: Option<String>,
}

fn path_default() -> String {
    "/shared".into()
}

const fn limit_default() -> u32 {
    200
}

#[derive(Serialize, JsonSchema)]
struct List {
    /// The folder that was listed.
    path: String,
    /// What is in it, in the byte order of the parts of names.
    entries: Vec<Entry>,
    /// Whether more entries follow.
    truncated: bool,
    /// Where they begin: the argument "cursor" of the next call.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
    /// What could not be read, the first of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unreadable: Vec<Told>,
    /// How much could not be read in all.
    unreadable_count: usize,
}

#[derive(Serialize, JsonSchema)]
struct Entry {
    /// The name, or the path below the folder where "recursive" is true.
    name: String,
    /// The real name has control or invisible characters, written here as \u{…}: no tool takes it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    escaped: bool,
    /// "file", "directory", "symlink", "fifo", "socket", "device" or "unknown".
    kind: Kind,
    /// Length in bytes; what the filesystem says for anything but a file.
    size: u64,
    /// When the content changed last, in RFC 3339 (UTC).
    mtime: Option<String>,
}

/// Bytes of names on a page; then it says where to go on.
const PAGE_BYTES_MAX: usize = 1 << 20;

impl Tool for Arguments {
    const NAME: &str = "file_list";
    const SUMMARY: &str = "Lists a folder, or everything below it: name, kind, size and time of each entry.";
    type Arguments = Self;
    type Output = List;

    fn call(arguments: Arguments) -> Result<List, ToolError> {
        let Arguments { path, recursive, glob, limit, cursor } = arguments;
        let limit = limit as usize;
        let glob = glob.map(|glob| Glob::parse(&glob)).transpose();
        let glob = glob.map_err(|why| ToolError::new(ErrorCode::InvalidArguments, why))?;
        let start = match cursor {
            Some(cursor) => Start::After(walk::cursor_path(&cursor)?),
            None => Start::Beginning,
        };
        let depth = if recursive { Depth::Recursive } else { Depth::Flat };
        let folder = folder(&path)?;
        // One more than the page tells whether there are more.
        let walk = Walk::new(folder, Plan { depth, glob, start, names: limit + 1 });
        let mut walk = walk.map_err(ToolError::on_path(&path))?;
        let (entries, rest) = page(&mut walk, limit);
        let (unreadable, unreadable_count) = std::mem::take(walk.unreadable()).into_told(&path);
        let cursor = rest.map(|last| text::escape(&last).into_owned());
        let truncated = cursor.is_some();
        Ok(List { path, entries, truncated, cursor, unreadable, unreadable_count })
    }
}

/// The folder at `path`.
fn folder(path: &str) -> Result<Directory, ToolError> {
    match files::open(path).map_err(ToolError::on_path(path))? {
        (Opened::Directory(folder), _) => Ok(folder),
        (Opened::File(_), _) => Err(ToolError::new(
            ErrorCode::InvalidArguments,
            format!("This is a file, not a folder; use file_info or file_read for it: {path}"),
        )),
    }
}

/// The entries of a page, and the last of them if there are more.
fn page(walk: &mut Walk<Directory>, limit: usize) -> (Vec<Entry>, Option<String>) {
    let mut entries = Vec::new();
    let mut gone = Vec::new();
    let (mut last, mut bytes) = (String::new(), 0);
    let rest = loop {
        let Some(found) = walk.step() else {
            break walk.stopped().then(|| walk.position().to_owned());
        };
        if entries.len() + gone.len() == limit || bytes > PAGE_BYTES_MAX {
            break Some(last);
        }
        found.path.clone_into(&mut last);
        bytes += last.len();
        match found.folder.stat(found.name) {
            Ok(stat) => entries.push(Entry {
                escaped: text::has_deceptive(found.path),
                name: text::shown(found.path).into_owned(),
                kind: stat.kind,
                size: stat.size,
                mtime: stat.modified,
            }),
            Err(error) => gone.push((last.clone(), Problem::of(&error))),
        }
    };
    gone.iter().for_each(|(path, problem)| walk.unreadable().add(path, *problem));
    (entries, rest)
}

export_tool!(Arguments);
