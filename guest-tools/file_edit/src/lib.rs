//! `file_edit`: replaces exact pieces of text in a file, all of them or none. It works on bytes, so line
//! ends and whatever is no UTF-8 stay as they are, and it refuses to overwrite a file that changed since
//! it was read.

mod diff;
mod refusal;
#[cfg(test)]
mod testing;
mod text;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use cofferdam_sdk::schemars::JsonSchema;
use cofferdam_sdk::serde::{Deserialize, Serialize};
use cofferdam_sdk::{ErrorCode, StagedFile, Tool, ToolError, export_tool, progress};
use sha2::{Digest, Sha256};

use refusal::Problem;
use text::{TEXT_BYTES_MAX, Text};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "cofferdam_sdk::serde", deny_unknown_fields)]
#[schemars(crate = "cofferdam_sdk::schemars")]
struct Arguments {
    /// The full path of the file, for example "/shared/notes/today.txt". At most 16 MiB.
    path: String,
    /// The replacements, in order: each applies to what the ones before it left. If one of them
    /// cannot be made, none is.
    #[schemars(length(min = 1, max = 100))]
    edits: Vec<Edit>,
}

/// One replacement.
#[derive(Deserialize, JsonSchema)]
#[serde(crate = "cofferdam_sdk::serde", deny_unknown_fields)]
#[schemars(crate = "cofferdam_sdk::schemars")]
struct Edit {
    /// The text to replace, exactly as it is in the file, white space and line ends included. Without
    /// "all" it must be there once: take in as much of what surrounds it as makes it unique.
    old_text: String,
    /// What takes its place; empty to remove it.
    new_text: String,
    /// Whether every occurrence is replaced, from the beginning, where it may be there many times.
    #[serde(default)]
    all: bool,
}

#[derive(Serialize, JsonSchema)]
#[serde(crate = "cofferdam_sdk::serde")]
#[schemars(crate = "cofferdam_sdk::schemars")]
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

enum FileEdit {}

impl Tool for FileEdit {
    const NAME: &str = "file_edit";
    const SUMMARY: &str = "Replaces exact pieces of text in a file under /shared or /tmp, and answers with \
        a diff.";
    type Arguments = Arguments;
    type Output = Edited;

    fn call(Arguments { path, edits }: Arguments) -> Result<Edited, ToolError> {
        refusal::check(&edits)?;
        // Before reading: it refuses what must not be written, such as a link or a directory.
        let mut file = StagedFile::replace(&path)?;
        let original = read(&path)?;
        let bytes_before = original.len();
        file.expect(&hex(&Sha256::digest(&original)))?;

        let mut text = Text::new(original);
        let replacements = apply(&mut text, &edits, &path, |index| go_on(index, edits.len()))?;
        if text.current() == text.original() {
            return Err(refusal::nothing_changes(&path));
        }
        file.write_all(text.current()).map_err(ToolError::on_path(&path))?;
        let sealed = file.finish()?;
        let diff = diff::unified(&path, &text);
        Ok(Edited {
            edited: true,
            path,
            replacements,
            bytes_before,
            bytes_after: sealed.bytes,
            sha256: sealed.sha256,
            diff: diff.text,
            diff_truncated: diff.truncated,
        })
    }
}

export_tool!(FileEdit);

/// Makes the edits one after the other; how many occurrences each replaced. Those that cannot be made
/// are told together, so that the next attempt mends them all. `before_next` is asked before each but the
/// first whether to go on.
fn apply(
    text: &mut Text,
    edits: &[Edit],
    path: &str,
    before_next: impl Fn(usize) -> Result<(), ToolError>,
) -> Result<Vec<usize>, ToolError> {
    let mut replacements = Vec::with_capacity(edits.len());
    let mut problems = Vec::new();
    for (index, edit) in edits.iter().enumerate() {
        if index > 0 {
            before_next(index)?;
        }
        match text.edit(edit.old_text.as_bytes(), edit.new_text.as_bytes(), edit.all.into()) {
            Ok(count) => replacements.push(count),
            Err(why) => problems.push(Problem { index, old_text: &edit.old_text, why }),
        }
    }
    if problems.is_empty() { Ok(replacements) } else { Err(refusal::of(&problems, text, path)) }
}

/// Tells which edit comes, and ends the call where nobody waits for it.
fn go_on(index: usize, count: usize) -> Result<(), ToolError> {
    progress::report(&format!("edit {} of {count}", index + 1));
    if progress::cancelled() {
        return Err(ToolError::new(ErrorCode::WriteFailed, "Cancelled; nothing was changed"));
    }
    Ok(())
}

fn read(path: &str) -> Result<Vec<u8>, ToolError> {
    let mut file = File::open(path).map_err(ToolError::on_path(path))?;
    // A directory opens and has no length; staging has refused it before.
    let length = file.seek(SeekFrom::End(0)).map_err(ToolError::on_path(path))?;
    let too_large = |length: u64| {
        ToolError::new(
            ErrorCode::TooLarge,
            format!(
                "The file is {length} bytes, and files up to {TEXT_BYTES_MAX} bytes (16 MiB) are edited; write \
                 the part that matters to a file of its own: {path}"
            ),
        )
    };
    if length > TEXT_BYTES_MAX as u64 {
        return Err(too_large(length));
    }
    let bytes = read_all(file, length).map_err(ToolError::on_path(path))?;
    if bytes.len() > TEXT_BYTES_MAX { Err(too_large(bytes.len() as u64)) } else { Ok(bytes) }
}

/// The bytes from the beginning, in one buffer that fits a file of this length; of one that grew
/// meanwhile, at most one byte more than is edited.
fn read_all(mut file: File, length: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(0))?;
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0) + 1);
    file.take(TEXT_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Lower-case hex.
fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    bytes.iter().flat_map(|&byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
