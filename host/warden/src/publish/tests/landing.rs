//! What publishing leaves on disk when it succeeds, and after it stopped half-way.

use super::*;
use Disposition::{CreateNew, Replace};
use std::os::unix::fs::PermissionsExt;

#[test]
fn files_land_whole_with_their_parents() {
    for technique in BOTH {
        let room = Room::new(technique);
        let facts = room.save("/shared/a/b/c/file.bin", CreateNew, b"abc").unwrap();
        assert_eq!(facts.path, "/shared/a/b/c/file.bin");
        assert_eq!(
            (facts.bytes, facts.sha256.as_str()),
            (3, cofferdam_core::audit::sha256_hex(b"abc").as_str())
        );
        assert_eq!(fs::read(room.host("/shared/a/b/c/file.bin")).unwrap(), b"abc");
        room.save("/vault/empty", Replace, b"").unwrap();
        assert_eq!(fs::read(room.host("/vault/empty")).unwrap(), b"");
        // The outer directory, the workspace, three mounts, three parents and two files.
        assert_eq!(room.tree().len(), 1 + 3 + 3 + 2);
    }
}

#[test]
fn replacing_keeps_the_mode_and_other_hard_links() {
    for technique in BOTH {
        let room = Room::new(technique);
        let (file, other) = (room.host("/shared/file"), room.host("/shared/other-name"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o4640)).unwrap();
        fs::hard_link(&file, &other).unwrap();
        room.save("/shared/file", Replace, b"new").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert_eq!(fs::read(&other).unwrap(), b"old");
        // The permissions, without the right to run as somebody else.
        assert_eq!(mode_of(&file), 0o640);
        assert_eq!(room.tree().len(), 1 + 3 + 2);
    }
}

#[test]
fn the_mode_follows_what_is_there_when_publishing() {
    for technique in BOTH {
        let room = Room::new(technique);
        let file = room.host("/shared/file");
        let sealed = room.seal("/shared/file", Replace, b"new").unwrap();
        fs::write(&file, "appeared").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        room.publish(vec![sealed]).unwrap();
        assert_eq!((fs::read(&file).unwrap(), mode_of(&file)), (b"new".to_vec(), 0o600));

        let sealed = room.seal("/shared/file", Replace, b"newer").unwrap();
        fs::remove_file(&file).unwrap();
        room.publish(vec![sealed]).unwrap();
        assert_eq!((fs::read(&file).unwrap(), mode_of(&file)), (b"newer".to_vec(), 0o644));
    }
}

#[test]
fn new_files_and_directories_follow_the_umask() {
    for technique in BOTH {
        let room = Room::with(technique, 0o027, ByteSize::mib(1));
        room.save("/shared/made/file", CreateNew, b"x").unwrap();
        assert_eq!(mode_of(&room.host("/shared/made/file")), 0o640);
        assert_eq!(mode_of(&room.host("/shared/made")), 0o750);
        assert_eq!(mode_of(&room.host("/")), 0o700);
    }
}

#[test]
fn the_longest_names_and_paths_can_be_created_and_replaced() {
    for technique in BOTH {
        let room = Room::new(technique);
        let name = format!("/shared/{}", "n".repeat(255));
        room.save(&name, CreateNew, b"1").unwrap();
        room.save(&name, Replace, b"2").unwrap();
        assert_eq!(fs::read(room.host(&name)).unwrap(), b"2");

        let depth = (GuestPath::BYTES_MAX - "/tmp".len()) / 2;
        room.make_deep("/tmp", depth - 1);
        let deep = format!("/tmp{}", "/d".repeat(depth));
        room.save(&deep, CreateNew, b"1").unwrap();
        room.save(&deep, Replace, b"2").unwrap();
        assert_eq!(room.workspace.look(&path(&deep), None).unwrap().unwrap().bytes, 1);
    }
}

#[test]
fn several_files_land_in_order_up_to_the_one_that_fails() {
    for technique in BOTH {
        let room = Room::new(technique);
        let seal = |at| room.seal(at, CreateNew, at.as_bytes()).unwrap();
        let files = vec![seal("/shared/1"), seal("/shared/d/2"), seal("/shared/1"), seal("/shared/e/3")];
        let failure = room.publish(files).unwrap_err();
        assert_eq!(failure.code(), ErrorCode::AlreadyExists);
        let landed: Vec<_> = failure.landed.iter().filter_map(Effect::path).collect();
        assert_eq!(landed, ["/shared/1", "/shared/d/2"]);
        assert!(
            failure.to_string().ends_with("(done before that: saved /shared/1, saved /shared/d/2)"),
            "{failure}"
        );
        assert_eq!(room.tree().len(), 1 + 3 + 3);
    }
}

#[test]
fn directories_made_in_vain_are_removed_and_others_stay() {
    for technique in BOTH {
        let room = Room::new(technique);
        fs::create_dir_all(room.host("/shared/there")).unwrap();
        // A name that no filesystem takes fails after its parents were made.
        let sealed = room.seal("/shared/there/made/too/x", CreateNew, b"x").unwrap();
        let before = room.tree();
        let (mount, share) = (room.workspace.mount_of(sealed.path()).unwrap(), budget());
        let make = || super::super::parents::open_or_make(mount, sealed.path(), Mode::empty(), &share);
        let parent = make().unwrap().unwrap();
        assert!(room.host("/shared/there/made/too").is_dir());
        drop(parent);
        assert_eq!(room.tree(), before);

        let parent = make().unwrap().unwrap();
        fs::write(room.host("/shared/there/made/somebody-elses"), "").unwrap();
        drop(parent);
        assert!(!room.host("/shared/there/made/too").exists());
        assert!(room.host("/shared/there/made/somebody-elses").exists());
        room.publish(vec![sealed]).unwrap();
        assert!(room.host("/shared/there/made/too/x").exists());
    }
}
