//! What `look` tells, and what it refuses to open.

use super::*;
use rustix::fs::{CWD, mkfifoat};
use std::os::unix::fs::symlink;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

#[test]
fn it_tells_of_regular_files_only_and_never_blocks() {
    let room = Room::new(StagingMethod::Unnamed);
    let facts = room.save("/shared/d/file", Disposition::CreateNew, b"content").unwrap();
    symlink("d/file", room.host("/shared/link")).unwrap();
    symlink("d", room.host("/shared/dirlink")).unwrap();
    mkfifoat(CWD, room.host("/shared/fifo"), Mode::from_raw_mode(0o666)).unwrap();
    assert_eq!(room.workspace.look(&path("/shared/d/file"), None).unwrap(), Some(facts));
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
        assert_eq!(room.workspace.look(&path(nothing), None).unwrap(), None, "{nothing}");
    }
    assert_eq!(room.workspace.look(&path("/etc/passwd"), None).unwrap_err().code(), ErrorCode::PathDenied);
}

#[test]
fn what_reading_finds_is_told_through_links_and_changes_with_the_file() {
    let room = Room::new(StagingMethod::Unnamed);
    room.save("/shared/d/file", Disposition::CreateNew, b"content").unwrap();
    symlink("d/file", room.host("/shared/link")).unwrap();
    symlink("/etc/passwd", room.host("/shared/out")).unwrap();
    let found = |at: &str| room.workspace.read_snapshot(&path(at)).unwrap();
    let file = found("/shared/d/file").expect("there");
    assert_eq!((file.kind, file.bytes), (EntryKind::File, 7));
    assert_eq!(found("/shared/link").as_ref(), Some(&file));
    for nothing in ["/shared/none", "/shared/none/x", "/shared/out", "/shared/d/file/x"] {
        assert_eq!(found(nothing), None, "{nothing}");
    }
    // Of a directory only which one it is.
    let (dir, mount) = (found("/shared/d").expect("there"), found("/shared").expect("there"));
    room.save("/shared/d/other", Disposition::CreateNew, b"x").unwrap();
    assert_eq!((found("/shared/d"), found("/shared")), (Some(dir), Some(mount)));
    room.save("/shared/d/file", Disposition::Replace, b"another").unwrap();
    assert_ne!(found("/shared/d/file"), Some(file));
    assert_eq!(room.workspace.read_snapshot(&path("/etc/passwd")).unwrap_err().code(), ErrorCode::PathDenied);
}

#[test]
fn what_happened_is_synced_also_where_its_directories_are_gone_since() {
    let room = Room::new(StagingMethod::Unnamed);
    let facts = room.save("/shared/new/file", Disposition::CreateNew, b"content").unwrap();
    let removed = Effect::Removed { path: "/shared/d/e/file".into(), removed: EntryKind::File, entries: 1 };
    let happened = [Effect::Written(facts), removed];
    room.workspace.sync_effects(&happened).unwrap();
    fs::write(room.host("/shared/d"), "a file in its place").unwrap();
    room.workspace.sync_effects(&happened).unwrap();
}

#[test]
fn a_file_of_another_length_is_not_read() {
    let room = Room::new(StagingMethod::Unnamed);
    let facts = room.save("/shared/file", Disposition::CreateNew, b"content").unwrap();
    assert!(room.workspace.find_effect(&facts.clone().into()).unwrap().is_some());
    // Nobody waits for so many zeros.
    fs::File::create(room.host("/shared/file")).unwrap().set_len(1 << 40).unwrap();
    let (workspace, (told, found)) = (room.workspace.clone(), mpsc::channel());
    thread::spawn(move || told.send(workspace.find_effect(&facts.into()).unwrap()));
    assert_eq!(found.recv_timeout(Duration::from_secs(60)), Ok(None));
}
