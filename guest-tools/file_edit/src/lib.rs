//! `file_edit`: replaces exact pieces of text in a file, all of them or none. It works on bytes, so
//! line ends and all that is no UTF-8 stay as they are, and it refuses to overwrite a file that
//! changed since it was read.

mod diff;
mod edit;
mod refusal;
#[cfg(test)]
mod testing;

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read, Write};

use cofferdam_sdk::{ErrorCode, StagedFile, Tool, ToolError, export_tool, progress};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use edit::{Edit, TEXT_BYTES_MAX};
use refusal::Problem;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The full path of the file, for example "/shared/notes/today.txt". At most 16 MiB.
    path: String,
    /// The replacements, in order: each applies to what the ones before it left. If one of them
    /// cannot be made, none is.
    #[schemars(length(min = 1, max = 100))]
    edits: Vec<Edit>,
}

#[derive(Serialize, JsonSchema)]
struct Edited {
    /// Always true: a failure is an error.
    edited: bool,
    /// The file that was changed.
    path: String,
    /// How many occurrences each edit replaced, in the order of the edits.
    replacements: Vec<usize>,
    /// Length of the file before, in bytes.
    bytes_before: usize,
    /// Length of the file now, in bytes.
    bytes_after: u64,
    /// SHA-256 of the file now, in lower-case hex.
    sha256: String,
    /// What changed, as a unified diff. Bytes that are no text show as U+FFFD.
    diff: String,
    /// Whether the diff does not show everything, because it was too long.
    diff_truncated: bool,
}

impl Tool for Arguments {
    const NAME: &str = "file_edit";
    const SUMMARY: &str = "Replaces exact pieces of text in a file under /shared or /tmp, and answers with \
        a diff.";
    type Arguments = Self;
    type Output = Edited;

    fn call(Arguments { path, edits }: Arguments) -> Result<Edited, ToolError> {
        refusal::check(&edits)?;
        // Before reading: it refuses what must not be written, such as a link or a directory.
        let mut file = StagedFile::replace(&path)?;
        let original = read(&path).map_err(ToolError::on_path(&path))?;
        file.expect(&format!("{:x}", Sha256::digest(&original)))?;
        let (text, replacements) = apply(&original, &edits, &path, |index| go_on(index, edits.len()))?;
        if text == original {
            let said = format!("Together the edits change nothing: later ones undo earlier ones in {path}");
            return Err(ToolError::new(ErrorCode::InvalidArguments, said));
        }
        file.write_all(&text).map_err(ToolError::on_path(&path))?;
        let sealed = file.finish()?;
        let diff = diff::unified(&path, &original, &text);
        Ok(Edited {
            edited: true,
            path,
            replacements,
            bytes_before: original.len(),
            bytes_after: sealed.bytes,
            sha256: sealed.sha256,
            diff: diff.text,
            diff_truncated: diff.truncated,
        })
    }
}

export_tool!(Arguments);

/// Makes the edits one after the other; the text then, and how many occurrences each replaced.
/// Those that cannot be made are told together, so that the next attempt mends them all.
/// `before_next` is asked before each but the first whether to go on.
fn apply(
    original: &[u8],
    edits: &[Edit],
    path: &str,
    before_next: impl Fn(usize) -> Result<(), ToolError>,
) -> Result<(Vec<u8>, Vec<usize>), ToolError> {
    let mut text = Cow::Borrowed(original);
    let mut replacements = Vec::with_capacity(edits.len());
    let mut problems = Vec::new();
    for (index, edit) in edits.iter().enumerate() {
        if index > 0 {
            before_next(index)?;
        }
        match edit.make(&text) {
            Ok((edited, count)) => {
                text = Cow::Owned(edited);
                replacements.push(count);
            }
            Err(why) => problems.push(Problem { index, old_text: &edit.old_text, why }),
        }
    }
    match problems.is_empty() {
        true => Ok((text.into_owned(), replacements)),
        false => Err(refusal::of(&problems, original, &text, path)),
    }
}

/// Tells which edit comes, and ends the call where nobody waits for it.
fn go_on(index: usize, count: usize) -> Result<(), ToolError> {
    progress::report(&format!("edit {} of {count}", index + 1));
    if progress::cancelled() {
        return Err(ToolError::new(ErrorCode::WriteFailed, "Cancelled; nothing was changed"));
    }
    Ok(())
}

/// All of a file, in one buffer that fits it.
fn read(path: &str) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut bytes = Vec::with_capacity(length.min(TEXT_BYTES_MAX as u64) as usize + 1);
    // It may have grown meanwhile.
    file.take(TEXT_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > TEXT_BYTES_MAX {
        let said = format!(
            "The file is {} bytes, and files up to {TEXT_BYTES_MAX} bytes (16 MiB) are edited; write the part \
             that matters to a file of its own: {path}",
            length.max(bytes.len() as u64),
        );
        return Err(ToolError::new(ErrorCode::TooLarge, said).into());
    }
    Ok(bytes)
}
