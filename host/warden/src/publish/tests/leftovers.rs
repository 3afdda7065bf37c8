//! What is left of a file that is never published: nothing that anybody sees, and nothing for long.

use super::*;
use crate::publish::Expired;
use crate::publish::sweep::{SWEPT_ENTRIES_MAX, sweep};
use crate::publish::temp::PREFIX;
use Disposition::{CreateNew, Replace};
use rustix::fs::{FlockOperation, flock};
use std::os::unix::fs::symlink;
use support::kernel::{AccessFs, with_refused};

#[test]
fn the_temporary_prefix_is_one_that_no_guest_can_name() {
    assert!(PREFIX.starts_with(GuestPath::RESERVED_PREFIX));
    assert!(GuestPath::parse(&format!("/shared/{PREFIX}x")).is_err());
}

#[test]
fn dropped_files_leave_nothing() {
    for technique in BOTH {
        let room = Room::new(technique);
        fs::write(room.host("/shared/old"), "old").unwrap();
        let before = room.tree();
        let mut staged = room.workspace.stage(&path("/shared/d/new"), CreateNew, &budget()).unwrap();
        staged.write(b"half").unwrap();
        drop(staged);
        drop(room.seal("/shared/old", Replace, b"whole").unwrap());
        assert_eq!(room.tree(), before);
    }
}

#[test]
fn a_staged_file_shows_under_no_name_or_only_under_a_reserved_one() {
    for (technique, names) in BOTH.into_iter().zip([0, 1]) {
        let room = Room::new(technique);
        let sealed = room.seal("/shared/x", CreateNew, b"secret").unwrap();
        let shown: Vec<_> = fs::read_dir(room.host("/shared")).unwrap().map(|e| e.unwrap().path()).collect();
        assert_eq!(shown.len(), names);
        assert!(shown.iter().all(|p| p.file_name().unwrap().to_str().unwrap().starts_with(PREFIX)));
        drop(sealed);
    }
}

#[test]
fn a_failed_replacement_does_not_show_its_temporary_name() {
    for technique in BOTH {
        let room = Room::new(technique);
        fs::write(room.host("/shared/file"), "old").unwrap();
        let sealed = room.seal("/shared/file", Replace, b"new").unwrap();
        fs::remove_file(room.host("/shared/file")).unwrap();
        fs::create_dir(room.host("/shared/file")).unwrap();
        let failure = room.publish(vec![sealed]).unwrap_err();
        assert_eq!(failure.code(), ErrorCode::IsADirectory);
        assert_eq!(room.tree().len(), 1 + 3 + 1);
    }
}

#[test]
fn a_start_sweeps_what_a_crash_left_and_spares_what_others_hold() {
    let room = Room::new(StagingMethod::Named);
    let at = |name: &str| room.host("/shared").join(format!("{PREFIX}{name}"));
    fs::write(at("crashed"), "left behind").unwrap();
    fs::create_dir_all(at("directory").join("d/e")).unwrap();
    fs::write(at("directory").join("d/file"), "removed by halves").unwrap();
    symlink("/shared/d", at("directory").join("d/link")).unwrap();
    fs::create_dir(at("held-directory")).unwrap();
    let held_directory = fs::File::open(at("held-directory")).unwrap();
    flock(&held_directory, FlockOperation::LockExclusive).unwrap();
    symlink("crashed", at("link")).unwrap();
    fs::write(at("held"), "another process").unwrap();
    let held = fs::File::open(at("held")).unwrap();
    flock(&held, FlockOperation::LockExclusive).unwrap();
    fs::create_dir(room.host("/shared/d")).unwrap();
    fs::write(room.host("/shared/d").join(format!("{PREFIX}deep")), "not ours").unwrap();
    let sealed = room.seal("/shared/staged-meanwhile", CreateNew, b"x").unwrap();

    room.reopened();

    assert!(!at("crashed").exists() && !at("directory").exists());
    assert!(at("held").exists() && at("held-directory").exists());
    assert!(fs::symlink_metadata(at("link")).is_ok());
    assert!(room.host("/shared/d").join(format!("{PREFIX}deep")).exists());
    room.publish(vec![sealed]).unwrap();
    assert_eq!(fs::read(room.host("/shared/staged-meanwhile")).unwrap(), b"x");
    drop((held, held_directory));
    room.reopened();
    assert!(!at("held").exists() && !at("held-directory").exists());
}

#[test]
fn a_file_that_cannot_be_opened_is_told_of_and_stays() {
    let room = Room::new(StagingMethod::Named);
    // As a crash leaves a file that nobody may read; root may, unless that is refused.
    let left = room.host("/shared").join(format!("{PREFIX}crashed"));
    fs::write(&left, "left behind").unwrap();
    let shared = room.workspace.mount("/shared").unwrap();
    let swept = with_refused(AccessFs::ReadFile, || sweep(shared, SWEPT_ENTRIES_MAX));
    assert_eq!(swept, Ok(Expired { left: 1, ..Expired::default() }));
    assert!(left.exists());
    assert_eq!(sweep(shared, SWEPT_ENTRIES_MAX), Ok(Expired { leftovers: 1, ..Expired::default() }));
}
