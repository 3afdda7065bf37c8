//! `file_delete`: removes a file, a link or a directory. The host carries it out after the call, as
//! a whole; a symbolic link is never followed, and a mount is never removed.

use std::fs;

use cofferdam_sdk::change::{self, Contents};
use cofferdam_sdk::{ErrorCode, Tool, ToolError, export_tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Entries counted for a message; beyond, it says "more than".
const COUNTED_MAX: usize = 1000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// What to remove: the full path of a file, a symbolic link or a directory under /shared or
    /// /tmp, for example "/shared/old.txt". A link is removed itself, never what it leads to.
    path: String,
    /// Whether a directory is removed with everything in it. If false, only an empty one is.
    #[serde(default)]
    recursive: bool,
}

#[derive(Serialize, JsonSchema)]
struct Deleted {
    /// Always true: a failure is an error.
    deleted: bool,
    /// The path that is gone.
    path: String,
    /// What it was: "file", "directory" or "other", such as a symbolic link.
    kind: &'static str,
    /// Files and directories removed, the named one included.
    entries: u64,
    /// Length of all files removed, in bytes.
    bytes: u64,
}

impl Tool for Arguments {
    const NAME: &str = "file_delete";
    const SUMMARY: &str = "Removes a file, a link or a directory under /shared or /tmp; there is no undo.";
    type Arguments = Self;
    type Output = Deleted;

    fn call(Arguments { path, recursive }: Arguments) -> Result<Deleted, ToolError> {
        refuse_mount(&path)?;
        let contents = if recursive { Contents::Remove } else { Contents::Keep };
        let planned = change::remove(&path, contents).map_err(|error| not_empty(error, &path, contents))?;
        Ok(Deleted {
            deleted: true,
            path,
            kind: planned.kind.name(),
            entries: planned.entries,
            bytes: planned.bytes,
        })
    }
}

export_tool!(Arguments);

/// A mount is one name below the root. The policy refuses it before; what is gone is gone, so
/// twice.
fn refuse_mount(path: &str) -> Result<(), ToolError> {
    if path.trim_matches('/').contains('/') {
        return Ok(());
    }
    Err(ToolError::new(
        ErrorCode::PathDenied,
        format!("A mount is never removed; name what is to be removed in it: {path}"),
    ))
}

/// Says how much a directory holds, where it was not to be removed with it.
fn not_empty(error: ToolError, path: &str, contents: Contents) -> ToolError {
    if (error.code, contents) != (ErrorCode::IsADirectory, Contents::Keep) {
        return error;
    }
    let counted = fs::read_dir(path).map(|entries| entries.take(COUNTED_MAX + 1).count());
    ToolError::new(ErrorCode::IsADirectory, advice(path, counted.unwrap_or(0)))
}

fn advice(path: &str, counted: usize) -> String {
    let holds = match counted {
        0 => "is not empty".to_owned(),
        1 => "holds 1 entry".to_owned(),
        COUNTED_MAX.. if counted > COUNTED_MAX => format!("holds more than {COUNTED_MAX} entries"),
        _ => format!("holds {counted} entries"),
    };
    format!("The directory {holds}; to remove it with everything in it, pass recursive=true: {path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_is_refused() {
        for path in ["/shared", "/tmp", "/", "", "/shared/", "shared"] {
            assert_eq!(refuse_mount(path).unwrap_err().code, ErrorCode::PathDenied, "{path:?}");
        }
        assert!(refuse_mount("/shared/a").is_ok() && refuse_mount("/tmp/a/b").is_ok());
    }

    #[test]
    fn a_directory_says_how_much_it_holds() {
        let check = |counted: usize, part: &str| {
            let told = advice("/shared/d", counted);
            assert!(told.contains(part) && told.contains("recursive=true"), "{told}");
        };
        check(0, "is not empty");
        check(1, "holds 1 entry;");
        check(2, "holds 2 entries;");
        check(COUNTED_MAX, "holds 1000 entries;");
        check(COUNTED_MAX + 1, "holds more than 1000 entries;");
    }

    #[test]
    fn other_failures_stay_as_the_host_said_them() {
        let failure = |code| ToolError::new(code, "said by the host");
        for (code, contents) in
            [(ErrorCode::NotFound, Contents::Keep), (ErrorCode::IsADirectory, Contents::Remove)]
        {
            assert_eq!(not_empty(failure(code), "/shared/d", contents).message, "said by the host");
        }
    }
}
