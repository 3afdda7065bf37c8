//! `file_info`: what lies at a path: kind, size, time, and of a file its media type by content and
//! its SHA-256. It believes no name, and follows links inside the mount alone.

// The very rules by which the gateway tells what an attachment is: the two never disagree.
#[path = "../../../host/warden/src/attachments/sniff.rs"]
#[allow(unreachable_pub, reason = "written for a module of the gateway")]
mod sniff;
#[path = "../../../host/warden/src/attachments/text.rs"]
mod text;

use cofferdam_sdk::files::{self, File, Kind, Links, Opened};
use cofferdam_sdk::{Tool, ToolError, export_tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io::{self, BufReader};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The full path, for example "/shared/photo.jpg".
    path: String,
}

#[derive(Serialize, JsonSchema)]
struct Info {
    /// What was looked at.
    path: String,
    /// "file", "directory", "symlink", "fifo", "socket", "device" or "unknown". Of a link it is
    /// what the link leads to, and "symlink" only where it leads nowhere within reach.
    kind: Kind,
    /// Whether the last part of the path is a symbolic link.
    link: bool,
    /// Length in bytes; what the filesystem says for anything but a file.
    size: u64,
    /// When the content changed last, in RFC 3339 (UTC).
    mtime: Option<String>,
    /// The media type by the content, of files only.
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<String>,
    /// SHA-256 of the content in lower-case hex, of files only.
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
}

impl Tool for Arguments {
    const NAME: &str = "file_info";
    const SUMMARY: &str =
        "Tells what a path is: kind, size, time, and of a file its type by content and its SHA-256.";
    type Arguments = Self;
    type Output = Info;

    fn call(Arguments { path }: Arguments) -> Result<Info, ToolError> {
        look(&path).map_err(ToolError::on_path(&path))
    }
}

fn look(path: &str) -> io::Result<Info> {
    let itself = files::stat(path, Links::Keep)?;
    let link = itself.kind == Kind::Symlink;
    let stat = match link {
        // A link that leads nowhere, in a circle or out of the mount is all that there is to tell
        // of.
        true => files::stat(path, Links::Follow).unwrap_or(itself),
        false => itself,
    };
    let mut info = Info {
        path: path.to_owned(),
        kind: stat.kind,
        link,
        size: stat.size,
        mtime: stat.modified,
        mime_type: None,
        sha256: None,
    };
    if stat.kind == Kind::File
        && let (Opened::File(file), stat) = files::open(path)?
    {
        // What is told belongs to the one file that is open, also if another took its name
        // meanwhile.
        let (sha256, size) = hash(&file)?;
        (info.size, info.mtime, info.sha256) = (size, stat.modified, Some(sha256));
        info.mime_type = Some(sniff::sniff(&mut BufReader::new(file)));
    }
    Ok(info)
}

/// Bytes that are hashed at once.
const CHUNK_BYTES: u64 = 256 << 10;

/// SHA-256 in lower-case hex, and how many bytes it is of.
fn hash(file: &File) -> io::Result<(String, u64)> {
    let mut hasher = Sha256::new();
    let mut at = 0;
    loop {
        let (bytes, ended) = file.read_at(at, CHUNK_BYTES)?;
        hasher.update(&bytes);
        at += bytes.len() as u64;
        if ended || bytes.is_empty() {
            break;
        }
    }
    Ok((format!("{:x}", hasher.finalize()), at))
}

export_tool!(Arguments);
