//! `file_write`: writes text to a file, all or nothing, or appends it to what is there. Appending
//! publishes the old bytes and the new ones in one step; it never writes into a file in place.

use std::fs;
use std::io::Write;

use cofferdam_sdk::{ErrorCode, Sealed, StagedFile, Tool, ToolError, export_tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Largest content of one call, in bytes: it fits the memory of the call twice.
const CONTENT_BYTES_MAX: usize = 8 << 20;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Where to write: the full path of a file under /shared or /tmp, for example
    /// "/shared/notes/today.txt". It is used exactly as given. Missing directories are created.
    path: String,
    /// The text, written exactly as it is: no line end is added. At most 8 MiB as UTF-8.
    content: String,
    /// Whether a file already at this path is replaced. If false, the call fails with
    /// "already_exists" and the file there stays as it is. Not together with "append".
    #[serde(default)]
    overwrite: bool,
    /// Whether the text is added to the end of the file at this path; if there is none, it is
    /// created.
    #[serde(default)]
    append: bool,
}

#[derive(Serialize, JsonSchema)]
struct Written {
    /// Always true: a failure is an error.
    written: bool,
    /// Where the file is.
    path: String,
    /// "created", "replaced" or "appended": what became of the file.
    outcome: &'static str,
    /// Length of the text of this call in bytes.
    bytes_written: u64,
    /// Length of the whole file in bytes.
    total_bytes: u64,
    /// SHA-256 of the whole file, in lower-case hex.
    sha256: String,
}

impl Tool for Arguments {
    const NAME: &str = "file_write";
    const SUMMARY: &str = "Writes text to a file under /shared or /tmp, or appends it to one; for a change \
        inside a file there is file_edit.";
    type Arguments = Self;
    type Output = Written;

    fn call(Arguments { path, content, overwrite, append }: Arguments) -> Result<Written, ToolError> {
        check(&content, overwrite, append)?;
        let (outcome, sealed) = match (overwrite, append) {
            (_, true) => add(&path, &content)?,
            (true, false) => replace(&path, &content)?,
            (false, false) => create(&path, &content)?,
        };
        Ok(Written {
            written: true,
            path,
            outcome,
            bytes_written: content.len() as u64,
            total_bytes: sealed.bytes,
            sha256: sealed.sha256,
        })
    }
}

export_tool!(Arguments);

/// Refuses what no file has to be looked at for.
fn check(content: &str, overwrite: bool, append: bool) -> Result<(), ToolError> {
    if overwrite && append {
        return Err(ToolError::new(
            ErrorCode::InvalidArguments,
            "append keeps what is in the file and overwrite replaces it: give one of them, not both",
        ));
    }
    if content.len() > CONTENT_BYTES_MAX {
        return Err(ToolError::new(
            ErrorCode::TooLarge,
            format!(
                "content is {} bytes; one call writes at most {CONTENT_BYTES_MAX} (8 MiB). Write the first \
                 part, then the others with append=true.",
                content.len()
            ),
        ));
    }
    Ok(())
}

fn create(path: &str, content: &str) -> Result<(&'static str, Sealed), ToolError> {
    Ok(("created", finish(StagedFile::create_new(path)?, path, content)?))
}

fn replace(path: &str, content: &str) -> Result<(&'static str, Sealed), ToolError> {
    let file = StagedFile::replace(path)?;
    // For the answer alone: anyone who creates or removes the file meanwhile makes it inexact, not
    // wrong.
    let outcome = if fs::symlink_metadata(path).is_ok() { "replaced" } else { "created" };
    Ok((outcome, finish(file, path, content)?))
}

fn add(path: &str, content: &str) -> Result<(&'static str, Sealed), ToolError> {
    let mut file = StagedFile::replace(path)?;
    match file.append_file(path) {
        Ok(old) => {
            // What somebody else appends meanwhile must not be lost: their file is not the one
            // copied.
            file.expect(&old.sha256)?;
            Ok(("appended", finish(file, path, content)?))
        }
        // Of two calls that find nothing one creates the file and the other is refused.
        Err(error) if error.code == ErrorCode::NotFound => create(path, content),
        Err(error) => Err(error),
    }
}

fn finish(mut file: StagedFile, path: &str, content: &str) -> Result<Sealed, ToolError> {
    file.write_all(content.as_bytes()).map_err(ToolError::on_path(path))?;
    file.finish()
}

#[cfg(test)]
mod tests;
