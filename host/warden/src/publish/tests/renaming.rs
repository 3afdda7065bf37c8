//! What a rename refuses, leaves and says.

use super::refusals::plant;
use super::*;
use crate::publish::lock::HeldFile;
use Disposition::{CreateNew, Replace};
use std::os::unix::fs::{PermissionsExt, symlink};

#[test]
fn what_cannot_move_or_be_moved_to_is_refused_early_and_late() {
    use ErrorCode::{AlreadyExists, InvalidArguments, IsADirectory, NotARegularFile, NotFound, PathDenied};
    let table: &[(&str, &str, Disposition, ErrorCode)] = &[
        ("/shared/none", "/shared/x", CreateNew, NotFound),
        ("/shared/none/x", "/shared/x", CreateNew, NotFound),
        ("/shared", "/tmp/x", CreateNew, PathDenied),
        ("/shared/file", "/tmp", Replace, PathDenied),
        ("/shared/file", "/etc/passwd", Replace, PathDenied),
        ("/etc/passwd", "/shared/x", Replace, PathDenied),
        ("/shared/link-to-file", "/shared/x", CreateNew, NotARegularFile),
        ("/shared/link-to-nothing", "/shared/x", CreateNew, NotARegularFile),
        ("/shared/fifo", "/shared/x", Replace, NotARegularFile),
        ("/shared/socket", "/shared/x", Replace, NotARegularFile),
        ("/shared/device", "/shared/x", Replace, NotARegularFile),
        ("/shared/link-to-dir/x", "/shared/x", CreateNew, PathDenied),
        ("/shared/file", "/shared/link-to-dir/x", CreateNew, PathDenied),
        ("/shared/file", "/shared/link-outside/x", CreateNew, PathDenied),
        ("/shared/file", "/shared/second/x", CreateNew, PathDenied),
        ("/shared/file", "/shared/file", Replace, InvalidArguments),
        ("/shared/dir", "/shared/dir", Replace, InvalidArguments),
        ("/shared/dir", "/shared/dir/in/itself", CreateNew, InvalidArguments),
        ("/shared/file", "/shared/second", CreateNew, AlreadyExists),
        ("/shared/dir", "/shared/second", CreateNew, AlreadyExists),
        ("/shared/dir", "/shared/second", Replace, AlreadyExists),
        ("/shared/file", "/shared/dir", CreateNew, IsADirectory),
        ("/shared/file", "/shared/dir", Replace, IsADirectory),
        ("/shared/dir", "/shared/dir2", Replace, IsADirectory),
        ("/shared/file", "/shared/link-to-file", Replace, NotARegularFile),
        ("/shared/file", "/shared/fifo", Replace, NotARegularFile),
        ("/shared/dir", "/shared/link-outside", Replace, NotARegularFile),
    ];
    let room = Room::new(StagingMethod::detect());
    plant(&room);
    fs::create_dir(room.host("/shared/dir2")).unwrap();
    fs::write(room.host("/shared/second"), "second").unwrap();
    for (from, to, how, code) in table {
        let said = room.unchanged_by(*code, || room.rename(from, to, *how));
        assert!(said.starts_with('/'), "{said}");
    }

    // What appears at the target after planning is refused when it happens.
    for (from, to, how, code) in table {
        let from = from.replace("/shared/", "/vault/");
        if !matches!(&*from, "/vault/file" | "/vault/dir") || !to.starts_with("/shared/") {
            continue;
        }
        let room = Room::new(StagingMethod::detect());
        fs::write(room.host("/vault/file"), "new").unwrap();
        fs::create_dir(room.host("/vault/dir")).unwrap();
        let Ok((plan, _)) = room.workspace.plan_rename(&path(&from), &path(to), *how, &budget()) else {
            panic!("{from} to {to} was refused early")
        };
        plant(&room);
        fs::create_dir(room.host("/shared/dir2")).unwrap();
        fs::write(room.host("/shared/second"), "second").unwrap();
        let (code, name) = match *to {
            // Into itself it is not from there: what it meets is what appeared.
            "/shared/file" if from == "/vault/file" => continue,
            "/shared/dir" => (ErrorCode::IsADirectory, to),
            "/shared/dir/in/itself" => continue,
            _ => (*code, to),
        };
        let said = room.unchanged_by(code, || Ok(room.workspace.publish(plan)?));
        assert!(said.starts_with("/shared/"), "{name}: {said}");
    }
}

#[test]
fn files_and_directories_move_with_everything() {
    for technique in BOTH {
        let room = Room::new(technique);
        fs::create_dir_all(room.host("/shared/d/e")).unwrap();
        fs::write(room.host("/shared/d/e/file"), "12345").unwrap();
        fs::set_permissions(room.host("/shared/d/e/file"), fs::Permissions::from_mode(0o4751)).unwrap();
        symlink("e", room.host("/shared/d/link")).unwrap();
        let inode = fs::metadata(room.host("/shared/d")).unwrap().ino();

        let (plan, summary) = room
            .workspace
            .plan_rename(&path("/shared/d"), &path("/tmp/new/parents/d"), CreateNew, &budget())
            .unwrap();
        assert_eq!((summary.kind, summary.entries, summary.bytes), (EntryKind::Directory, 4, 5));
        let intent: Vec<_> = plan.iter().map(PlannedChange::effect).collect();
        let moved = Effect::Moved {
            path: "/tmp/new/parents/d".into(),
            moved_from: "/shared/d".into(),
            kind: EntryKind::Directory,
            inode,
        };
        assert_eq!(intent, [moved]);
        assert_eq!(room.workspace.find_effect(&intent[0]).unwrap(), None);
        assert_eq!(room.workspace.publish(plan).unwrap(), intent);
        assert_eq!(room.workspace.find_effect(&intent[0]).unwrap(), Some(intent[0].clone()));
        assert_eq!(fs::read(room.host("/tmp/new/parents/d/e/file")).unwrap(), b"12345");
        assert!(!room.host("/shared/d").exists());

        room.rename("/tmp/new/parents/d/e/file", "/vault/file", Replace).unwrap();
        assert_eq!(mode_of(&room.host("/vault/file")), 0o4751);
        assert_eq!(room.workspace.find_effect(&intent[0]).unwrap(), Some(intent[0].clone()));
    }
}

#[test]
fn replacing_takes_the_name_and_leaves_other_hard_links() {
    let room = Room::new(StagingMethod::detect());
    let at = |name: &str| room.host("/shared").join(name);
    fs::write(at("new"), "new").unwrap();
    fs::write(at("old"), "old").unwrap();
    fs::hard_link(at("old"), at("old-too")).unwrap();
    fs::set_permissions(at("new"), fs::Permissions::from_mode(0o600)).unwrap();
    room.rename("/shared/new", "/shared/old", Replace).unwrap();
    assert_eq!((fs::read(at("old")).unwrap(), mode_of(&at("old"))), (b"new".to_vec(), 0o600));
    assert_eq!(fs::read(at("old-too")).unwrap(), b"old");
    assert!(!at("new").exists());
}

#[test]
fn of_two_names_of_one_file_one_stays() {
    let room = Room::new(StagingMethod::detect());
    let at = |name: &str| room.host("/shared").join(name);
    fs::write(at("a"), "content").unwrap();
    fs::hard_link(at("a"), at("b")).unwrap();
    room.unchanged_by(ErrorCode::AlreadyExists, || room.rename("/shared/a", "/shared/b", CreateNew));
    let effect = room.rename("/shared/a", "/shared/b", Replace).unwrap().remove(0);
    assert!(!at("a").exists());
    assert_eq!(fs::read(at("b")).unwrap(), b"content");
    assert!(room.workspace.find_effect(&effect).unwrap().is_some());
}

#[test]
fn a_file_whose_only_name_both_paths_lead_to_stays() {
    let room = Room::new(StagingMethod::detect());
    let at = |name: &str| room.host("/shared").join(name);
    fs::create_dir(at("a")).unwrap();
    fs::write(at("a/x"), "content").unwrap();
    let (from, to) = (path("/shared/a/x"), path("/shared/b/x"));
    let (mut plan, _) = room.workspace.plan_rename(&from, &to, Replace, &budget()).unwrap();
    let PlannedChange::Rename(rename) = plan.remove(0) else { panic!("no rename") };
    // As where case makes no difference: the folder of the target is that of the source.
    let dir = rustix::fd::OwnedFd::from(fs::File::open(at("a")).unwrap());
    let held = HeldFile::new(Some(&rustix::fs::stat(at("a/x")).unwrap()), []);
    let refused = rename.place(&dir, &dir, &held).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::InvalidArguments, "{refused}");
    assert_eq!(fs::read(at("a/x")).unwrap(), b"content");
}

#[test]
fn what_changed_since_planning_stays_and_made_parents_go() {
    let room = Room::new(StagingMethod::detect());
    let at = |name: &str| room.host("/shared").join(name);
    fs::write(at("file"), "planned").unwrap();
    let plan = || {
        let to = path("/shared/made/too/x");
        room.workspace.plan_rename(&path("/shared/file"), &to, CreateNew, &budget()).unwrap().0
    };
    let planned = plan();
    // Its number is not given to the new file while the plan holds it.
    fs::remove_file(at("file")).unwrap();
    fs::write(at("file"), "another").unwrap();
    let said = room.unchanged_by(ErrorCode::WriteFailed, || Ok(room.workspace.publish(planned)?));
    assert!(said.starts_with("/shared/file changed since the call looked at it"), "{said}");
    let planned = plan();
    fs::remove_file(at("file")).unwrap();
    room.unchanged_by(ErrorCode::WriteFailed, || Ok(room.workspace.publish(planned)?));
}

#[test]
fn a_dropped_plan_and_a_plan_that_stops_leave_the_rest() {
    let room = Room::new(StagingMethod::detect());
    fs::write(room.host("/shared/a"), "a").unwrap();
    fs::write(room.host("/shared/b"), "b").unwrap();
    let before = room.tree();
    let share = budget();
    let step = |from: &str, to: &str| {
        room.workspace.plan_rename(&path(from), &path(to), CreateNew, &share).unwrap().0.remove(0)
    };
    drop(step("/shared/a", "/shared/c"));
    assert_eq!(room.tree(), before);
    let plan = vec![
        step("/shared/a", "/shared/c"),
        step("/shared/b", "/shared/c"),
        PlannedChange::Write(room.seal("/shared/never", CreateNew, b"x").unwrap()),
    ];
    let failure = room.workspace.publish(plan).unwrap_err();
    assert_eq!(failure.code(), ErrorCode::AlreadyExists);
    assert!(failure.to_string().ends_with("(done before that: moved /shared/a to /shared/c)"), "{failure}");
    assert_eq!(failure.landed.len(), 1);
    assert!(room.host("/shared/b").exists() && !room.host("/shared/never").exists());
}

#[test]
fn without_a_careful_rename_a_file_is_linked_and_unlinked() {
    let room = Room::new(StagingMethod::detect());
    fs::write(room.host("/shared/a"), "a").unwrap();
    let (mut plan, _) =
        room.workspace.plan_rename(&path("/shared/a"), &path("/tmp/b"), CreateNew, &budget()).unwrap();
    let PlannedChange::Rename(rename) = plan.remove(0) else { panic!("no rename") };
    let dir = |mount| rustix::fd::OwnedFd::from(fs::File::open(room.host(mount)).unwrap());
    rename.link_and_unlink(&dir("/shared"), &dir("/tmp")).unwrap();
    assert!(!room.host("/shared/a").exists());
    assert_eq!(fs::read(room.host("/tmp/b")).unwrap(), b"a");
    assert_eq!(rename.link_and_unlink(&dir("/shared"), &dir("/tmp")), Err(rustix::io::Errno::EXIST));
}

#[test]
fn between_filesystems_a_file_is_copied_and_its_source_removed_if_unchanged() {
    const NAME: &str =
        "publish::tests::renaming::between_filesystems_a_file_is_copied_and_its_source_removed_if_unchanged";
    let Some((room, other)) = Room::across(NAME) else { return };
    let (source, target) = (room.host("/shared/file"), other.path().join("d/file"));
    fs::create_dir(room.host("/shared/dir")).unwrap();
    let said =
        room.unchanged_by(ErrorCode::IsADirectory, || room.rename("/shared/dir", "/tmp/dir", CreateNew));
    assert!(said.contains("move its files one by one"), "{said}");
    fs::write(&source, vec![7; 3 << 20]).unwrap();
    fs::set_permissions(&source, fs::Permissions::from_mode(0o640)).unwrap();
    let modified = fs::metadata(&source).unwrap().modified().unwrap();
    let plan = |how| room.workspace.plan_rename(&path("/shared/file"), &path("/tmp/d/file"), how, &budget());

    let (planned, summary) = plan(CreateNew).unwrap();
    assert_eq!((summary.kind, summary.entries, summary.bytes), (EntryKind::File, 1, 3 << 20));
    assert!(matches!(planned[..], [PlannedChange::Write(_), PlannedChange::Remove(_)]));
    fs::write(&source, "changed since").unwrap();
    let failure = room.workspace.publish(planned).unwrap_err();
    assert_eq!(failure.code(), ErrorCode::WriteFailed);
    assert!(failure.to_string().ends_with("(done before that: saved /tmp/d/file)"), "{failure}");
    assert_eq!(fs::read(&source).unwrap(), b"changed since");

    fs::write(&source, "new").unwrap();
    fs::File::options().write(true).open(&source).unwrap().set_modified(modified).unwrap();
    let (planned, _) = plan(Replace).unwrap();
    let intent: Vec<_> = planned.iter().map(PlannedChange::effect).collect();
    assert_eq!(room.workspace.publish(planned).unwrap(), intent);
    let meta = fs::metadata(&target).unwrap();
    assert_eq!((mode_of(&target), meta.modified().unwrap()), (0o640, modified));
    assert_eq!(fs::read(&target).unwrap(), b"new");
    assert!(!source.exists());
    for effect in &intent {
        assert_eq!(room.workspace.find_effect(effect).unwrap().as_ref(), Some(effect));
    }
}

#[test]
fn between_filesystems_what_was_approved_moves_over_what_was_approved() {
    const NAME: &str =
        "publish::tests::renaming::between_filesystems_what_was_approved_moves_over_what_was_approved";
    let Some((room, other)) = Room::across(NAME) else { return };
    let (source, target) = (room.host("/shared/file"), other.path().join("file"));
    fs::write(&source, "new").unwrap();
    fs::write(&target, "old").unwrap();
    let seen = |at: &str| room.workspace.snapshot(&path(at)).unwrap().unwrap();
    let plan = || {
        let (from, to) = (path("/shared/file"), path("/tmp/file"));
        room.workspace.plan_rename(&from, &to, Replace, &budget()).unwrap().0
    };

    // What was copied must be what was approved: told before the copy lands.
    let approved = seen("/shared/file");
    fs::write(&source, "newer").unwrap();
    let mut planned = plan();
    let [copy, removal] = &mut planned[..] else { panic!("no copy") };
    copy.expect_approved(|_| ExpectedEntry::Anything).unwrap();
    let refused = removal.expect_approved(|_| ExpectedEntry::This(&approved)).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::ApprovalDenied);
    let refused = removal.expect_approved(|_| ExpectedEntry::Nothing).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::ApprovalDenied);
    drop(planned);

    // What the copy replaces is looked at when it lands.
    let (from, to) = (seen("/shared/file"), seen("/tmp/file"));
    let mut planned = plan();
    for step in &mut planned {
        let expected = |at: &GuestPath| ExpectedEntry::This(if at.mount() == "/tmp" { &to } else { &from });
        step.expect_approved(expected).unwrap();
    }
    fs::write(&target, "somebody's").unwrap();
    assert_eq!(room.workspace.publish(planned).unwrap_err().code(), ErrorCode::ApprovalDenied);
    assert_eq!(fs::read(&target).unwrap(), b"somebody's");
    assert_eq!(fs::read(&source).unwrap(), b"newer");
}

#[test]
fn what_a_rename_replaces_is_free_again() {
    let room = Room::with(StagingMethod::detect(), 0o022, ByteSize::kib(10));
    let held = || room.workspace.quota.known_bytes().unwrap_or_default();
    room.save("/shared/a", CreateNew, &[0; 4 << 10]).unwrap();
    room.save("/shared/b", CreateNew, &[0; 5 << 10]).unwrap();
    room.rename("/shared/a", "/tmp/a", CreateNew).unwrap();
    assert_eq!(held(), 9 << 10);
    room.rename("/tmp/a", "/shared/b", Replace).unwrap();
    assert_eq!(held(), 4 << 10);
    fs::hard_link(room.host("/shared/b"), room.host("/vault/other-name")).unwrap();
    room.save("/shared/c", CreateNew, &[0; 1 << 10]).unwrap();
    room.rename("/shared/c", "/shared/b", Replace).unwrap();
    assert_eq!(held(), 5 << 10);
}
