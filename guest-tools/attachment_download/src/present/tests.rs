//! Looking at real files of this machine.

use super::is_there;
use crate::plan::plan;
use cofferdam_sdk::attachments::AttachmentInfo;
use cofferdam_sdk::recent::RecentAttachment;
use cofferdam_sdk::{ErrorCode, ToolError};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

/// SHA-256 of `abc`.
const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

/// A directory of its own two levels down, so that the first one stands for a mount.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("attachment-download-{}-{name}", std::process::id()));
        fs::create_dir_all(&dir).expect("writable");
        Self(dir)
    }

    /// What is found for `abc` below `dir`.
    fn found(&self, dir: &str) -> Result<bool, ErrorCode> {
        let info = AttachmentInfo {
            index: 0,
            name: None,
            mime_type: "text/plain".into(),
            size: 3,
            sha256: ABC.into(),
            unavailable: None,
        };
        let dir = self.0.join(dir).to_str().expect("text").trim_end_matches('/').to_owned();
        let source = RecentAttachment { info, source_url: String::new() };
        let placing = plan(&dir, vec![source]).expect("a plan").remove(0);
        is_there(&dir, &placing).map_err(|error: ToolError| error.code)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn only_the_very_bytes_count() {
    let dir = Dir::new("bytes");
    let file = dir.0.join("ba7816bf8f.txt");
    assert_eq!(dir.found(""), Ok(false));
    assert_eq!(dir.found("not/there"), Ok(false));
    fs::write(&file, "abc").expect("writable");
    assert_eq!(dir.found(""), Ok(true));
    for other in ["abd", "ab", "abcd", ""] {
        fs::write(&file, other).expect("writable");
        assert_eq!(dir.found(""), Err(ErrorCode::AlreadyExists), "{other}");
    }
}

#[test]
fn what_is_no_file_is_never_trusted() {
    let dir = Dir::new("kinds");
    let file = dir.0.join("ba7816bf8f.txt");
    fs::write(dir.0.join("abc"), "abc").expect("writable");
    symlink("abc", &file).expect("writable");
    assert_eq!(dir.found(""), Err(ErrorCode::NotARegularFile), "though the link leads to the very bytes");
    fs::remove_file(&file).expect("there");
    fs::create_dir(&file).expect("writable");
    assert_eq!(dir.found(""), Err(ErrorCode::IsADirectory));
    fs::create_dir(dir.0.join("real")).expect("writable");
    fs::write(dir.0.join("real/ba7816bf8f.txt"), "abc").expect("writable");
    symlink("real", dir.0.join("link")).expect("writable");
    assert_eq!((dir.found("real"), dir.found("link")), (Ok(true), Err(ErrorCode::PathDenied)));
    assert_eq!(dir.found("abc"), Err(ErrorCode::NotFound), "the directory is a file");
}
