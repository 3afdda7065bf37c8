//! What `look` tells, and what it refuses to open.

use super::*;
use rustix::fs::{CWD, mkfifoat};
use std::os::unix::fs::symlink;

#[test]
fn it_tells_of_regular_files_only_and_never_blocks() {
    let room = Room::new(Technique::Unnamed);
    let facts = room.save("/shared/d/file", Disposition::CreateNew, b"content").unwrap();
    symlink("d/file", room.host("/shared/link")).unwrap();
    symlink("d", room.host("/shared/dirlink")).unwrap();
    mkfifoat(CWD, room.host("/shared/fifo"), Mode::from_raw_mode(0o666)).unwrap();
    assert_eq!(room.workspace.look(&path("/shared/d/file")).unwrap(), Some(facts));
    for nothing in [
        "/shared",
        "/shared/d",
        "/shared/none",
        "/shared/none/x",
        "/shared/link",
        "/shared/dirlink/file",
        "/shared/fifo",
        "/shared/d/file/x",
    ] {
        assert_eq!(room.workspace.look(&path(nothing)).unwrap(), None, "{nothing}");
    }
    assert_eq!(room.workspace.look(&path("/etc/passwd")).unwrap_err().code(), ErrorCode::PathDenied);
}
