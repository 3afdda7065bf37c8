//! `attachment_download`: places every file of the user's most recent message that has any in one
//! directory, each under the first ten hex digits of its SHA-256. It names no address and fetches
//! nothing: the channel has done so. What already lies there under such a name is read, never
//! trusted, and never replaced.

mod name;
mod plan;
mod present;

use cofferdam_sdk::recent::{self, RecentAttachment};
use cofferdam_sdk::{ErrorCode, StagedFile, Tool, ToolError, export_tool, progress};
use plan::{Placing, plan};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Arguments {
    /// The directory to place the files in, under /shared or /tmp, for example "/shared/inbox"; "~"
    /// means /shared. Missing directories are created.
    #[serde(default = "downloads")]
    download_dir: String,
}

fn downloads() -> String {
    "/shared/Downloads".to_owned()
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Downloaded {
    /// Always true: a failure is an error.
    ok: bool,
    /// The directory that the files are in.
    download_dir: String,
    /// The files in the order of the message; equal ones once.
    files: Vec<Placed>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Placed {
    /// Where the file is, as the other file tools take it.
    path: String,
    /// The first ten hex digits of its SHA-256.
    sha10: String,
    /// Its length in bytes.
    bytes: u64,
    /// Where it came from: an address, or the channel's own reference.
    source_url: String,
    /// Media type detected from the content, where one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<String>,
}

impl Tool for Arguments {
    const NAME: &str = "attachment_download";
    const SUMMARY: &str = "Places all files of the user's most recent message that has any in a directory, named by \
        their content.";
    type Arguments = Self;
    type Output = Downloaded;

    fn call(Arguments { download_dir }: Arguments) -> Result<Downloaded, ToolError> {
        let placings = plan(&download_dir, recent::list())?;
        // Everything is looked at before anything is staged: the call does all or names what is in
        // the way.
        let mut missing = Vec::new();
        for placing in &placings {
            if !present::is_there(&download_dir, placing)? {
                missing.push(placing);
            }
        }
        for (n, placing) in missing.iter().enumerate() {
            progress::report(&format!("placing {} of {} files", n + 1, missing.len()));
            if progress::cancelled() {
                return Err(ToolError::new(
                    ErrorCode::WriteFailed,
                    "The turn was cancelled; nothing was written.",
                ));
            }
            place(placing)?;
        }
        Ok(Downloaded { ok: true, download_dir, files: placings.into_iter().map(describe_placed).collect() })
    }
}

/// Stages one file; nobody sees it before the host publishes it.
fn place(placing: &Placing) -> Result<(), ToolError> {
    let RecentAttachment { info, .. } = &placing.source;
    let mut file = StagedFile::create_new(&placing.path).map_err(overtaken)?;
    file.append_attachment(info.index)?;
    let sealed = file.finish()?;
    if sealed.sha256 == info.sha256 {
        return Ok(());
    }
    Err(ToolError::new(
        ErrorCode::WriteFailed,
        format!(
            "The bytes of attachment {} changed on their way; nothing was written. Try again.",
            info.index
        ),
    ))
}

/// Nothing had the name when this call looked: perhaps the same download runs twice.
fn overtaken(error: ToolError) -> ToolError {
    match error.code {
        ErrorCode::AlreadyExists => {
            let said = "Somebody else made it meanwhile, and nothing was written; call again to look at it";
            ToolError::new(error.code, format!("{said}. {}", error.message))
        }
        _ => error,
    }
}

fn describe_placed(Placing { path, sha10, source }: Placing) -> Placed {
    let mime_type = Some(source.info.mime_type).filter(|mime| mime != name::UNKNOWN_TYPE);
    Placed { path, sha10, bytes: source.info.size, source_url: source.source_url, mime_type }
}

export_tool!(Arguments);
