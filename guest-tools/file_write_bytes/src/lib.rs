//! `file_write_bytes`: writes bytes given as base64 to a file, all or nothing. Text is no special case
//! here, and large files are better sent as attachments.

mod decode;

use cofferdam_sdk::schemars::JsonSchema;
use cofferdam_sdk::serde::{Deserialize, Serialize};
use cofferdam_sdk::{StagedFile, Tool, ToolError, export_tool};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "cofferdam_sdk::serde", deny_unknown_fields)]
#[schemars(crate = "cofferdam_sdk::schemars")]
struct Arguments {
    /// Where to write: the full path of a file under /shared or /tmp, for example
    /// "/shared/notes/today.txt". It is used exactly as given. Missing directories are created.
    path: String,
    /// The whole content of the file in standard base64 (A-Z a-z 0-9 + /) with "=" padding and
    /// without spaces or line breaks. At most 8 MiB once decoded; empty for an empty file.
    content_base64: String,
    /// Whether a file already at this path is replaced. If false, the call fails with
    /// "already_exists" and the file there stays as it is.
    #[serde(default)]
    overwrite: bool,
}

#[derive(Serialize, JsonSchema)]
#[serde(crate = "cofferdam_sdk::serde")]
#[schemars(crate = "cofferdam_sdk::schemars")]
struct Written {
    /// Always true: a failure is an error.
    written: bool,
    /// Where the file is.
    path: String,
    /// Length of the file in bytes.
    bytes_written: u64,
    /// SHA-256 of the file, in lower-case hex.
    sha256: String,
}

enum FileWriteBytes {}

impl Tool for FileWriteBytes {
    const NAME: &str = "file_write_bytes";
    const SUMMARY: &str = "Writes bytes given as base64 to a file under /shared or /tmp.";
    type Arguments = Arguments;
    type Output = Written;

    fn call(Arguments { path, content_base64, overwrite }: Arguments) -> Result<Written, ToolError> {
        decode::check_length(&content_base64)?;
        let mut file = if overwrite { StagedFile::replace(&path)? } else { StagedFile::create_new(&path)? };
        decode::decode(&content_base64, &path, &mut file)?;
        let sealed = file.finish()?;
        Ok(Written { written: true, path, bytes_written: sealed.bytes, sha256: sealed.sha256 })
    }
}

export_tool!(FileWriteBytes);
