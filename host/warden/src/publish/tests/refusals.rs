//! What may not be written to, asked early and when publishing.

use super::*;
use Disposition::{CreateNew, Replace};
use ErrorCode::{AlreadyExists, IsADirectory, NotARegularFile, PathDenied};
use rustix::fs::{CWD, FileType, makedev, mkfifoat, mknodat};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

/// Names in `/shared`, and what both dispositions answer. The same table holds early and late.
const TABLE: &[(&str, ErrorCode, ErrorCode)] = &[
    ("/shared/file", AlreadyExists, ErrorCode::Internal), // Replace succeeds; told apart below
    ("/shared/dir", IsADirectory, IsADirectory),
    ("/shared/link-to-file", NotARegularFile, NotARegularFile),
    ("/shared/link-to-nothing", NotARegularFile, NotARegularFile),
    ("/shared/link-outside", NotARegularFile, NotARegularFile),
    ("/shared/link-absolute", NotARegularFile, NotARegularFile),
    ("/shared/link-to-dir/x", PathDenied, PathDenied),
    ("/shared/link-outside/x", PathDenied, PathDenied),
    ("/shared/link-to-nothing/x", PathDenied, PathDenied),
    ("/shared/link-to-dir/sub/x", PathDenied, PathDenied),
    ("/shared/loop/x", PathDenied, PathDenied),
    ("/shared/proc/x", PathDenied, PathDenied),
    ("/shared/file/x", PathDenied, PathDenied),
    ("/shared/fifo/x", PathDenied, PathDenied),
    ("/shared/fifo", NotARegularFile, NotARegularFile),
    ("/shared/socket", NotARegularFile, NotARegularFile),
    ("/shared/device", NotARegularFile, NotARegularFile),
];

pub(super) fn plant(room: &Room) {
    let at = |name: &str| room.host("/shared").join(name);
    fs::write(at("file"), "old").unwrap();
    fs::create_dir(at("dir")).unwrap();
    symlink("file", at("link-to-file")).unwrap();
    symlink("nothing", at("link-to-nothing")).unwrap();
    symlink("../../outside", at("link-outside")).unwrap();
    symlink(room.outside(), at("link-absolute")).unwrap();
    symlink("dir", at("link-to-dir")).unwrap();
    symlink("loop", at("loop")).unwrap();
    symlink("/proc/self/cwd", at("proc")).unwrap();
    mkfifoat(CWD, at("fifo"), Mode::from_raw_mode(0o666)).unwrap();
    drop(UnixListener::bind(at("socket")).unwrap());
    // A device needs a privilege; without it, a FIFO stands in for one.
    let rw = Mode::from_raw_mode(0o666);
    if mknodat(CWD, at("device"), FileType::CharacterDevice, rw, makedev(1, 3)).is_err() {
        mkfifoat(CWD, at("device"), rw).unwrap();
    }
}

#[test]
fn nothing_but_regular_files_is_written_to() {
    for technique in BOTH {
        let room = Room::new(technique);
        plant(&room);
        for (at, create_new, replace) in TABLE {
            room.refuses(at, CreateNew, *create_new);
            if *replace != ErrorCode::Internal {
                room.refuses(at, Replace, *replace);
            }
        }
    }
}

#[test]
fn what_appears_after_sealing_is_refused_when_publishing() {
    for technique in BOTH {
        for how in [CreateNew, Replace] {
            let room = Room::new(technique);
            let answers =
                TABLE.iter().map(|(at, new, replace)| (*at, if how == CreateNew { new } else { replace }));
            let sealed: Vec<_> = answers
                .filter(|(_, code)| **code != ErrorCode::Internal)
                .map(|(at, code)| (at, *code, room.seal(at, how, b"new").unwrap()))
                .collect();
            plant(&room);
            let mut before = room.tree();
            before.retain(|path, _| !is_temporary(path));
            for (at, code, file) in sealed {
                let failure = room.publish(vec![file]).unwrap_err();
                assert_eq!(failure.code(), code, "{at} {how:?}: {failure}");
                assert!(failure.landed.is_empty());
            }
            assert_eq!(room.tree(), before);
        }
    }
}

fn is_temporary(path: &Path) -> bool {
    path.file_name().unwrap().to_str().unwrap().starts_with(GuestPath::RESERVED_PREFIX)
}

#[test]
fn messages_name_what_is_in_the_way() {
    let room = Room::new(StagingMethod::Unnamed);
    plant(&room);
    fs::create_dir_all(room.host("/shared/dir/a")).unwrap();
    symlink("..", room.host("/shared/dir/a/up")).unwrap();
    let message = room.refuses("/shared/dir/a/up/b/c", CreateNew, PathDenied);
    assert!(message.starts_with("/shared/dir/a/up is a symbolic link"), "{message}");
    let message = room.refuses("/shared/file/x/y", CreateNew, PathDenied);
    assert!(message.starts_with("/shared/file is not a directory"), "{message}");
    let message = room.refuses("/shared/fifo", Replace, NotARegularFile);
    assert!(message.starts_with("/shared/fifo is a FIFO"), "{message}");
}

#[test]
fn mounts_are_never_replaced_and_others_unknown() {
    let room = Room::new(StagingMethod::Unnamed);
    for how in [CreateNew, Replace] {
        room.refuses("/shared", how, IsADirectory);
        room.refuses("/tmp", how, IsADirectory);
        room.refuses("/etc/passwd", how, PathDenied);
        room.refuses("/workspace/x", how, PathDenied);
    }
}

#[test]
fn the_workspace_does_not_open_through_a_symbolic_link() {
    let outer = tempfile::tempdir().unwrap();
    let elsewhere = outer.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let root = outer.path().join("workspace");
    fs::create_dir(&root).unwrap();
    symlink(&elsewhere, root.join("vault")).unwrap();
    let config = Config::shared(root, ByteSize::mib(1));
    let Err(error) = Workspaces::open(&config) else { panic!("it opened") };
    assert!(error.to_string().contains("vault must be a directory"), "{error}");
}
