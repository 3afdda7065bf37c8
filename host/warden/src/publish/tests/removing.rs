//! What a removal refuses, takes with it, gives back and leaves behind.

use super::refusals::plant;
use super::*;
use crate::publish::Expired;
use crate::publish::remove::{ENTRIES_ADDED_MAX, ENTRIES_MAX, check_entries};
use crate::publish::sweep::sweep;
use crate::publish::temp::PREFIX;
use crate::publish::tree::{self, LISTED_MAX, Unreadable};
use crate::stop::StopReason;
use Disposition::CreateNew;
use ErrorCode::{IsADirectory, NotFound, PathDenied, WriteFailed};
use cofferdam_core::host_call::Planning;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

#[test]
fn what_may_not_be_removed_is_refused() {
    let room = Room::new(StagingMethod::detect());
    plant(&room);
    fs::write(room.outside().join("secret"), "secret").unwrap();
    fs::create_dir_all(room.host("/shared/full/d")).unwrap();
    for contents in [Contents::Keep, Contents::Remove] {
        for (at, code) in [
            ("/shared", PathDenied),
            ("/tmp", PathDenied),
            ("/vault", PathDenied),
            ("/etc/passwd", PathDenied),
            ("/shared/none", NotFound),
            ("/shared/none/x", NotFound),
            ("/shared/file/x", PathDenied),
            ("/shared/link-to-dir/x", PathDenied),
            ("/shared/link-outside/secret", PathDenied),
            ("/shared/link-absolute/secret", PathDenied),
            ("/shared/proc/x", PathDenied),
        ] {
            room.unchanged_by(code, || room.remove(at, contents));
        }
    }
    let said = room.unchanged_by(IsADirectory, || room.remove("/shared/full", Contents::Keep));
    assert!(said.contains("ask for recursive=true"), "{said}");
    assert_eq!(fs::read(room.outside().join("secret")).unwrap(), b"secret");
}

#[test]
fn names_go_and_what_they_lead_to_stays() {
    for technique in BOTH {
        for contents in [Contents::Keep, Contents::Remove] {
            let room = Room::new(technique);
            plant(&room);
            fs::write(room.outside().join("secret"), "secret").unwrap();
            fs::hard_link(room.host("/shared/file"), room.host("/vault/file-too")).unwrap();
            for name in [
                "link-to-file",
                "link-to-nothing",
                "link-to-dir",
                "link-outside",
                "link-absolute",
                "loop",
                "proc",
                "fifo",
                "socket",
                "device",
                "file",
                "dir",
            ] {
                let at = format!("/shared/{name}");
                let planned = room.workspace.plan_remove(&path(&at), contents, &budget()).unwrap();
                let (summary, step) = (planned.summary(), PlannedChange::Remove(planned));
                let kind = match name {
                    "file" => EntryKind::File,
                    "dir" => EntryKind::Directory,
                    _ => EntryKind::Other,
                };
                assert_eq!((summary.kind, summary.entries), (kind, 1), "{name}");
                let effect = step.effect();
                assert_eq!(effect, Effect::Removed { path: at.clone(), removed: kind, entries: 1 });
                assert_eq!(room.workspace.find_effect(&effect).unwrap(), None, "{name}");
                assert_eq!(room.workspace.publish(vec![step]).unwrap(), std::slice::from_ref(&effect));
                assert!(fs::symlink_metadata(room.host(&at)).is_err());
                assert_eq!(room.workspace.find_effect(&effect).unwrap(), Some(effect));
            }
            assert_eq!(fs::read_dir(room.host("/shared")).unwrap().count(), 0);
            assert_eq!(fs::read(room.outside().join("secret")).unwrap(), b"secret");
            assert_eq!(fs::read(room.host("/vault/file-too")).unwrap(), b"old");
        }
    }
}

#[test]
fn a_directory_goes_with_all_in_it_and_nothing_else() {
    let room = Room::new(StagingMethod::detect());
    let outside = room.outside();
    fs::write(outside.join("secret"), "secret").unwrap();
    let dir = room.host("/shared/d");
    fs::create_dir(&dir).unwrap();
    // Broader than a directory buffer, deeper than a process has descriptors.
    for n in 0..300 {
        fs::create_dir_all(dir.join(format!("a-directory-with-a-rather-long-name-{n}/e"))).unwrap();
        fs::write(dir.join(format!("a-file-with-a-rather-long-name-{n}")), [0; 5]).unwrap();
    }
    let deep = dir.join("d/".repeat(1500));
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("file"), [0; 7]).unwrap();
    symlink(&outside, dir.join("out")).unwrap();
    symlink("../..", dir.join("up")).unwrap();
    fs::write(dir.join(format!("{PREFIX}deep")), "somebody's").unwrap();
    let plan = room.workspace.plan_remove(&path("/shared/d"), Contents::Remove, &budget()).unwrap();
    let entries = 1 + 3 * 300 + 1501 + 3;
    assert_eq!((plan.summary().entries, plan.summary().bytes), (entries, 300 * 5 + 7 + 10));
    let effects = room.workspace.publish(vec![PlannedChange::Remove(plan)]).unwrap();
    let removed = Effect::Removed { path: "/shared/d".into(), removed: EntryKind::Directory, entries };
    assert_eq!(effects, [removed]);
    assert_eq!(fs::read_dir(room.host("/shared")).unwrap().count(), 0);
    assert_eq!(fs::read(outside.join("secret")).unwrap(), b"secret");
}

#[test]
fn what_changed_since_planning_stays() {
    let room = Room::new(StagingMethod::detect());
    let at = |name: &str| room.host("/shared").join(name);
    fs::write(at("file"), "planned").unwrap();
    fs::create_dir(at("dir")).unwrap();
    let plan = |name: &str, contents| {
        let at = path(&format!("/shared/{name}"));
        vec![PlannedChange::Remove(room.workspace.plan_remove(&at, contents, &budget()).unwrap())]
    };
    let before = room.tree();
    drop(plan("dir", Contents::Remove));
    assert_eq!(room.tree(), before);
    let (file, dir, kept) =
        (plan("file", Contents::Keep), plan("dir", Contents::Remove), plan("dir", Contents::Keep));
    fs::write(at("dir").join("added"), "").unwrap();
    room.unchanged_by(IsADirectory, || Ok(room.workspace.publish(kept)?));
    for name in ["file", "dir"] {
        fs::rename(at(name), room.host("/vault").join(name)).unwrap();
        fs::write(at(name), "somebody else's").unwrap();
    }
    for plan in [file, dir] {
        let said = room.unchanged_by(WriteFailed, || Ok(room.workspace.publish(plan)?));
        assert!(said.contains("changed since the call looked at it"), "{said}");
    }
}

/// Makes a file that cannot be deleted, for as long as the guard lives.
struct Stubborn(PathBuf);

impl Stubborn {
    fn new(at: &Path) -> Self {
        fs::write(at, "stays").unwrap();
        let immutable = Command::new("chattr").arg("+i").arg(at).output().is_ok_and(|o| o.status.success());
        if !immutable {
            fs::set_permissions(at.parent().unwrap(), fs::Permissions::from_mode(0o555)).unwrap();
        }
        Self(at.to_owned())
    }

    /// Whether the system keeps its word here: the superuser of some containers is told neither
    /// way.
    fn holds(&self) -> bool {
        let aside = self.0.with_extension("aside");
        let moved = fs::rename(&self.0, &aside).is_ok();
        if moved {
            fs::rename(&aside, &self.0).unwrap();
        }
        !moved
    }
}

impl Drop for Stubborn {
    fn drop(&mut self) {
        let _ = Command::new("chattr").arg("-i").arg(&self.0).output();
        let _ = fs::set_permissions(self.0.parent().unwrap(), fs::Permissions::from_mode(0o755));
    }
}

#[test]
fn what_cannot_be_deleted_is_back_and_listed() {
    let room = Room::new(StagingMethod::detect());
    let dir = room.host("/shared/d");
    fs::create_dir_all(dir.join("a/b")).unwrap();
    fs::create_dir_all(dir.join("z/empty")).unwrap();
    fs::write(dir.join("z/file"), [0; 5 << 10]).unwrap();
    let stubborn = Stubborn::new(&dir.join("a/b/stubborn"));
    if !needs::available(
        "publish::tests::removing::what_cannot_be_deleted_is_back_and_listed",
        "a user who is bound by modes, or chattr and a filesystem that heeds it",
        stubborn.holds(),
    ) {
        return;
    }
    room.save("/vault/other", CreateNew, &[0; 1 << 10]).unwrap();
    let before = room.workspace.quota.known_bytes().unwrap_or_default();
    let error = room.remove("/shared/d", Contents::Remove).unwrap_err();
    assert_eq!(error.code, WriteFailed);
    assert!(
        error.message.starts_with(
            "/shared/d was not removed: 1 entry could not be deleted: /shared/d/a/b/stubborn (Operation not permitted"
        ) || error.message.contains("Permission denied"),
        "{error}"
    );
    assert!(error.message.ends_with("; all that does not lie there is gone"), "{error}");
    assert_eq!(fs::read(dir.join("a/b/stubborn")).unwrap(), b"stays");
    assert!(!dir.join("z").exists());
    assert_eq!(fs::read_dir(room.host("/shared")).unwrap().count(), 1);
    assert_eq!(room.workspace.quota.known_bytes().unwrap_or_default(), before - (5 << 10));
    drop(stubborn);
    room.remove("/shared/d", Contents::Remove).unwrap();
    assert_eq!(fs::read_dir(room.host("/shared")).unwrap().count(), 0);
}

#[test]
fn of_many_that_cannot_be_deleted_the_first_are_listed() {
    let room = Room::new(StagingMethod::detect());
    let all = LISTED_MAX + 2;
    let stubborn: Vec<_> = (0..all)
        .map(|n| {
            let dir = room.host(&format!("/shared/d/{n}"));
            fs::create_dir_all(&dir).unwrap();
            Stubborn::new(&dir.join("file"))
        })
        .collect();
    if !needs::available(
        "publish::tests::removing::of_many_that_cannot_be_deleted_the_first_are_listed",
        "a user who is bound by modes, or chattr and a filesystem that heeds it",
        stubborn.iter().all(Stubborn::holds),
    ) {
        return;
    }
    let error = room.remove("/shared/d", Contents::Remove).unwrap_err();
    assert_eq!(error.code, WriteFailed);
    let said = format!("/shared/d was not removed: {all} entries could not be deleted: /shared/d/");
    assert!(error.message.starts_with(&said), "{error}");
    assert_eq!(error.message.matches("/file (").count(), LISTED_MAX, "{error}");
    assert!(error.message.ends_with(", …; all that does not lie there is gone"), "{error}");
    assert_eq!(fs::read_dir(room.host("/shared/d")).unwrap().count(), all);
    drop(stubborn);
    room.remove("/shared/d", Contents::Remove).unwrap();
    assert!(!room.host("/shared/d").exists());
}

#[test]
fn what_others_add_to_a_directory_goes_with_it_up_to_a_number() {
    let room = Room::new(StagingMethod::detect());
    let dir = room.host("/shared/d");
    let plan = || {
        let plan = room.workspace.plan_remove(&path("/shared/d"), Contents::Remove, &budget()).unwrap();
        vec![PlannedChange::Remove(plan)]
    };
    let add = |count: u64| (0..count).for_each(|n| fs::write(dir.join(n.to_string()), "").unwrap());
    fs::create_dir(&dir).unwrap();
    // The directory itself is planned, so that one more than is added may go.
    let planned = plan();
    add(ENTRIES_ADDED_MAX + 1 + 7);
    let failure = room.workspace.publish(planned).unwrap_err();
    assert_eq!(failure.code(), WriteFailed);
    let said = failure.to_string();
    assert!(
        said.starts_with("/shared/d was not removed: 1 entry could not be deleted: /shared/d ("),
        "{said}"
    );
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 7, "it has its name again, with what is left");
    assert_eq!(fs::read_dir(room.host("/shared")).unwrap().count(), 1);
    // So many go with it.
    let planned = plan();
    add(ENTRIES_ADDED_MAX);
    room.workspace.publish(planned).unwrap();
    assert_eq!(fs::read_dir(room.host("/shared")).unwrap().count(), 0);
}

/// Another filesystem below `at`, for as long as the guard lives; none without the privilege.
struct Mounted(PathBuf);

impl Mounted {
    fn bind(what: &Path, at: &Path) -> Option<Self> {
        let mount = Command::new("mount").arg("--bind").arg(what).arg(at).output();
        mount.is_ok_and(|o| o.status.success()).then(|| Self(at.to_owned()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).output();
    }
}

#[test]
fn a_mount_inside_is_never_entered_removed_or_moved() {
    let room = Room::new(StagingMethod::detect());
    let outside = room.outside();
    fs::write(outside.join("secret"), "secret").unwrap();
    fs::create_dir_all(room.host("/shared/d/e/mounted")).unwrap();
    fs::write(room.host("/shared/d/e/file"), "").unwrap();
    // Of the same filesystem, so that no device number gives it away.
    let mounted = Mounted::bind(&outside, &room.host("/shared/d/e/mounted"));
    if !needs::available(
        "publish::tests::removing::a_mount_inside_is_never_entered_removed_or_moved",
        "the right to mount",
        mounted.is_some(),
    ) {
        return;
    }
    for at in ["/shared/d", "/shared/d/e", "/shared/d/e/mounted", "/shared/d/e/mounted/secret"] {
        let said = room.unchanged_by(PathDenied, || room.remove(at, Contents::Remove));
        assert!(said.starts_with("/shared/d/e/mounted"), "{said}");
        let said = room.unchanged_by(PathDenied, || room.rename(at, "/tmp/x", CreateNew));
        assert!(said.starts_with("/shared/d/e/mounted"), "{said}");
    }
    room.unchanged_by(PathDenied, || room.rename("/shared/d/e/file", "/shared/d/e/mounted/x", CreateNew));
    drop(mounted);

    // What is mounted after planning stays, and so does what leads there.
    let plan = room.workspace.plan_remove(&path("/shared/d"), Contents::Remove, &budget()).unwrap();
    let _mounted = Mounted::bind(&outside, &room.host("/shared/d/e/mounted")).unwrap();
    let failure = room.workspace.publish(vec![PlannedChange::Remove(plan)]).unwrap_err();
    assert_eq!(failure.code(), WriteFailed);
    assert!(failure.to_string().contains("/shared/d/e/mounted ("), "{failure}");
    assert_eq!(fs::read(room.host("/shared/d/e/mounted/secret")).unwrap(), b"secret");
    let aside = format!("{PREFIX}crashed");
    fs::rename(room.host("/shared/d"), room.host("/shared").join(&aside)).unwrap();
    room.reopened();
    assert_eq!(fs::read(outside.join("secret")).unwrap(), b"secret");
    // The guard knows the old name.
    fs::rename(room.host("/shared").join(&aside), room.host("/shared/d")).unwrap();
}

#[test]
fn what_a_removal_frees_is_what_a_walk_misses() {
    let room = Room::with(StagingMethod::detect(), 0o022, ByteSize::kib(100));
    let held = || room.workspace.quota.known_bytes().unwrap_or_default();
    let kib = |n: usize| vec![1; n << 10];
    room.save("/shared/file", CreateNew, &kib(4)).unwrap();
    room.save("/shared/d/one", CreateNew, &kib(8)).unwrap();
    room.save("/shared/d/e/two", CreateNew, &kib(16)).unwrap();
    room.save("/shared/d/three", CreateNew, &kib(32)).unwrap();
    // Two names that both go, and one that stays.
    fs::hard_link(room.host("/shared/d/e/two"), room.host("/shared/d/two-too")).unwrap();
    fs::hard_link(room.host("/shared/d/three"), room.host("/vault/three-too")).unwrap();
    assert_eq!(held(), 60 << 10);
    room.remove("/shared/file", Contents::Keep).unwrap();
    assert_eq!(held(), 56 << 10);
    room.remove("/shared/d", Contents::Remove).unwrap();
    assert_eq!(held(), 32 << 10);
    room.save("/shared/fits", CreateNew, &kib(68)).unwrap();
    room.remove("/vault/three-too", Contents::Keep).unwrap();
    assert_eq!(held(), 68 << 10);
}

#[test]
fn too_many_entries_and_a_stop_end_the_count() {
    let room = Room::new(StagingMethod::detect());
    for n in 0..20 {
        fs::create_dir_all(room.host(&format!("/shared/d/{n}"))).unwrap();
        fs::write(room.host(&format!("/shared/d/{n}/f")), "12").unwrap();
    }
    let dir = fs::File::open(room.host("/shared/d")).unwrap();
    let at = path("/shared/d");
    let count = |max| tree::count(&dir, &at, max, Unreadable::Refuse, &budget()).unwrap();
    let whole = Planning { kind: EntryKind::Directory, entries: 41, bytes: 40 };
    assert_eq!(count(41), whole);
    assert_eq!([count(40).entries, count(39).entries], [41, 40], "one more than asked for");
    let beyond = Planning { entries: ENTRIES_MAX + 1, ..whole };
    let error = check_entries(&at, Contents::Remove, &beyond).unwrap_err();
    assert_eq!(error.code(), ErrorCode::TooLarge);
    assert!(error.to_string().contains("more than 1000000 entries"), "{error}");

    let asked = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&asked);
    // Once when planning begins, once in the tree.
    let stop = move || (counter.fetch_add(1, Ordering::Relaxed) == 1).then_some(StopReason::Deadline);
    let share = Arc::new(CallBudget::new(ByteSize::mib(1), stop));
    let planned = room.workspace.plan_remove(&path("/shared/d"), Contents::Remove, &share);
    assert_eq!(planned.err().map(|e| e.code()), Some(ErrorCode::TimedOut));
}

#[test]
fn changes_of_every_kind_count_against_a_calls_number() {
    let room = Room::new(StagingMethod::detect());
    fs::write(room.host("/shared/a"), "").unwrap();
    let share = budget();
    let mut plans = Vec::new();
    for _ in 0..Limits::DEFAULT.changes / 2 {
        plans.push(PlannedChange::Remove(
            room.workspace.plan_remove(&path("/shared/a"), Contents::Keep, &share).unwrap(),
        ));
        let (plan, _) =
            room.workspace.plan_rename(&path("/shared/a"), &path("/tmp/b"), CreateNew, &share).unwrap();
        plans.extend(plan);
    }
    let error = room.workspace.plan_remove(&path("/shared/a"), Contents::Keep, &share).err().unwrap();
    assert_eq!(error.code(), ErrorCode::QuotaExceeded);
    assert!(error.to_string().contains("one call may make 16 changes"), "{error}");
    // Each looks again: after the first, the others have nothing to do.
    let failure = room.workspace.publish(plans).unwrap_err();
    assert_eq!(failure.landed.len(), 1);
}

#[test]
fn a_removal_that_a_crash_cut_off_happened_and_the_next_starts_finish_it() {
    let room = Room::new(StagingMethod::detect());
    for n in 0..10 {
        fs::create_dir_all(room.host(&format!("/shared/d/{n}"))).unwrap();
        fs::write(room.host(&format!("/shared/d/{n}/f")), "12").unwrap();
    }
    let plan = PlannedChange::Remove(
        room.workspace.plan_remove(&path("/shared/d"), Contents::Remove, &budget()).unwrap(),
    );
    let effect = plan.effect();
    drop(plan);
    assert_eq!(room.workspace.find_effect(&effect).unwrap(), None);
    // As far as a removal comes in one step.
    fs::rename(room.host("/shared/d"), room.host("/shared").join(format!("{PREFIX}0"))).unwrap();
    assert_eq!(room.workspace.find_effect(&effect).unwrap(), Some(effect));
    let shared = room.workspace.mount("/shared").unwrap();
    let swept = |leftovers, left| Expired { sessions: 0, leftovers, left };
    assert_eq!(sweep(shared, 0).unwrap(), swept(0, 1));
    assert_eq!(sweep(shared, 15).unwrap(), swept(0, 1));
    assert_eq!(sweep(shared, 5).unwrap(), swept(1, 0));
    assert_eq!(sweep(shared, 5).unwrap(), swept(0, 0));
    assert_eq!(fs::read_dir(room.host("/shared")).unwrap().count(), 0);
}
