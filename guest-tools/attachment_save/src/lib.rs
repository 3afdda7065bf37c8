//! `attachment_save`: saves one file that came with the user's message, at the very path given. The
//! bytes go from the host to the host; this component sees their number only.

use cofferdam_sdk::{StagedFile, Tool, ToolError, attachments, export_tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Which attachment of the user's current message to save, counted from 0 as in the list of
    /// attachments. One call saves one attachment.
    index: u64,
    /// Where to save it: the full path of a file under /shared or /tmp, for example
    /// "/shared/photos/cat.jpg". It is used exactly as given: no extension is added. Missing
    /// directories are created.
    path: String,
    /// Whether a file already at this path is replaced. If false, the call fails with
    /// "already_exists" and the file there stays as it is.
    #[serde(default)]
    overwrite: bool,
}

#[derive(Serialize, JsonSchema)]
struct Saved {
    /// Always true: a failure is an error.
    saved: bool,
    /// Where the file is.
    path: String,
    /// Media type detected from the content.
    mime_type: String,
    /// Length of the file in bytes.
    bytes_written: u64,
    /// The attachment that was saved.
    source_index: u32,
}

impl Tool for Arguments {
    const NAME: &str = "attachment_save";
    const SUMMARY: &str = "Saves one file that the user sent with the current message, whole and unchanged, \
        under /shared or /tmp.";
    type Arguments = Self;
    type Output = Saved;

    fn call(Arguments { index, path, overwrite }: Arguments) -> Result<Saved, ToolError> {
        let attachment = attachments::require(index)?;
        let mut file = if overwrite { StagedFile::replace(&path)? } else { StagedFile::create_new(&path)? };
        file.append_attachment(attachment.index)?;
        let sealed = file.finish()?;
        Ok(Saved {
            saved: true,
            path,
            mime_type: attachment.mime_type,
            bytes_written: sealed.bytes,
            source_index: attachment.index,
        })
    }
}

export_tool!(Arguments);
