//! `file_move`: gives a file or directory another path, within a mount or across. The host carries
//! the rename out after the call; nothing is read or written here.

use cofferdam_sdk::change::{self, Disposition};
use cofferdam_sdk::{ErrorCode, Tool, ToolError, export_tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// What to move: the full path of a file or directory under /shared or /tmp, for example
    /// "/shared/draft.txt". Symbolic links are not moved.
    from: String,
    /// The full path that it gets, name included, for example "/shared/letters/final.txt". Missing
    /// directories are created.
    to: String,
    /// Whether a file already at "to" is replaced. If false, the call fails with "already_exists"
    /// and both stay as they are. A directory is never replaced.
    #[serde(default)]
    overwrite: bool,
}

#[derive(Serialize, JsonSchema)]
struct Moved {
    /// Always true: a failure is an error.
    moved: bool,
    /// The path that it had.
    from: String,
    /// The path that it has now.
    to: String,
    /// What was moved: "file" or "directory".
    kind: &'static str,
    /// Length of all files moved, in bytes.
    bytes: u64,
    /// Files and directories moved, the named one included.
    entries: u64,
}

impl Tool for Arguments {
    const NAME: &str = "file_move";
    const SUMMARY: &str = "Moves or renames a file or directory under /shared or /tmp.";
    type Arguments = Self;
    type Output = Moved;

    fn call(Arguments { from, to, overwrite }: Arguments) -> Result<Moved, ToolError> {
        if from == to {
            return Err(ToolError::new(
                ErrorCode::InvalidArguments,
                format!("from and to are the same; give another path than {to}"),
            ));
        }
        let disposition = if overwrite { Disposition::Replace } else { Disposition::CreateNew };
        let planned = change::rename(&from, &to, disposition)?;
        Ok(Moved {
            moved: true,
            from,
            to,
            kind: planned.kind.name(),
            bytes: planned.bytes,
            entries: planned.entries,
        })
    }
}

export_tool!(Arguments);
