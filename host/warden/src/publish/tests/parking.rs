//! Plans of very many changes: what they hold open, what they leave behind, and what a crash leaves
//! of them.

use super::super::park::ParkFolder;
use super::super::temp::PREFIX;
use super::super::{ChangePlan, RENAMES_AND_REMOVALS_MAX};
use super::*;
use Disposition::{CreateNew, Replace};
use rustix::io::Errno;
use support::kernel::{AccessFs, with_refused};

/// Enough that most wait without a descriptor, and few enough to be quick.
const MANY: usize = 120;

fn big() -> Arc<CallBudget> {
    let mut share = CallBudget::new(ByteSize::mib(50), || None);
    share.changes_max = Limits::CEILING.changes;
    Arc::new(share)
}

/// A plan of so many small files below `/shared/d`.
fn plan(room: &Room, how: Disposition, count: usize) -> ChangePlan {
    let (mut plan, share) = (ChangePlan::default(), big());
    for n in 0..count {
        let mut staged =
            room.workspace.stage(&path(&format!("/shared/d/{}/{n}", n % 7)), how, &share).unwrap();
        staged.write(format!("file {n}").as_bytes()).unwrap();
        plan.extend(vec![PlannedChange::Write(staged.seal().unwrap())]).unwrap();
    }
    plan
}

/// Descriptors of this process on something in this room.
fn descriptors(room: &Room) -> usize {
    let opened =
        fs::read_dir("/proc/self/fd").unwrap().filter_map(|fd| fs::read_link(fd.unwrap().path()).ok());
    opened.filter(|to| to.starts_with(room.outer.path())).count()
}

fn all_there(room: &Room) {
    for n in 0..MANY {
        let found = fs::read(room.host(&format!("/shared/d/{}/{n}", n % 7))).unwrap();
        assert_eq!(found, format!("file {n}").as_bytes());
        assert_eq!(mode_of(&room.host(&format!("/shared/d/{}/{n}", n % 7))), 0o644);
    }
}

fn hidden(room: &Room) -> usize {
    let names = fs::read_dir(room.host("/shared")).unwrap();
    names.filter(|name| name.as_ref().unwrap().file_name().to_str().unwrap().starts_with(PREFIX)).count()
}

#[test]
fn a_large_plan_holds_few_descriptors_and_lands_whole() {
    for technique in BOTH {
        let room = Room::new(technique);
        let before = descriptors(&room);
        let new = plan(&room, CreateNew, MANY);
        let held = descriptors(&room) - before;
        assert!(held < 40, "{held} descriptors are open for {MANY} files");
        assert!(!room.host("/shared/d").exists());
        let landed = room.workspace.publish(new.into_steps()).unwrap();
        assert_eq!(landed.len(), MANY);
        all_there(&room);
        assert_eq!((hidden(&room), descriptors(&room)), (0, before));

        // Over files that are there, whose modes stay.
        let one = room.host("/shared/d/3/115");
        fs::set_permissions(&one, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let over = plan(&room, Replace, MANY);
        fs::set_permissions(&one, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
        room.workspace.publish(over.into_steps()).unwrap();
        all_there(&room);
        assert_eq!(hidden(&room), 0);
    }
}

#[test]
fn a_large_plan_that_fails_or_is_dropped_leaves_nothing_behind() {
    let room = Room::new(StagingMethod::Unnamed);
    let before = room.tree();
    drop(plan(&room, CreateNew, MANY));
    assert_eq!(room.tree(), before);

    let new = plan(&room, CreateNew, MANY);
    fs::create_dir_all(room.host("/shared/d/5")).unwrap();
    fs::write(room.host("/shared/d/5/103"), "somebody's").unwrap();
    let failure = room.workspace.publish(new.into_steps()).unwrap_err();
    assert_eq!((failure.code(), failure.landed.len()), (ErrorCode::AlreadyExists, 103));
    let said = failure.to_string();
    assert!(said.ends_with("saved /shared/d/1/15, and 87 more)"), "{said}");
    assert_eq!(fs::read(room.host("/shared/d/5/103")).unwrap(), b"somebody's");
    assert_eq!(hidden(&room), 0);
}

#[test]
fn what_waits_is_spared_by_others_and_swept_after_a_crash() {
    let room = Room::new(StagingMethod::Unnamed);
    let new = plan(&room, CreateNew, MANY);
    assert_eq!(hidden(&room), 1);
    // Another gateway starts, and sweeps.
    drop(room.reopened());
    room.workspace.publish(new.into_steps()).unwrap();
    all_there(&room);

    // As a crash leaves it.
    let left = room.host("/shared").join(format!("{PREFIX}0"));
    fs::create_dir(&left).unwrap();
    fs::write(left.join("0"), "half a plan").unwrap();
    drop(room.reopened());
    assert_eq!(hidden(&room), 0);
}

#[test]
fn renames_and_removals_of_a_plan_are_so_many_whatever_its_policy_says() {
    let room = Room::new(StagingMethod::detect());
    let (mut plan, share) = (ChangePlan::default(), big());
    fs::write(room.host("/shared/a"), "").unwrap();
    let remove = || room.workspace.plan_remove(&path("/shared/a"), Contents::Keep, &share).unwrap();
    for _ in 0..RENAMES_AND_REMOVALS_MAX {
        plan.extend(vec![PlannedChange::Remove(remove())]).unwrap();
    }
    let refused = plan.extend(vec![PlannedChange::Remove(remove())]).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::QuotaExceeded);
    assert!(refused.to_string().contains("one call may rename or remove 64 names"), "{refused}");
    assert_eq!(plan.into_steps().len(), RENAMES_AND_REMOVALS_MAX);
}

#[test]
fn a_directory_that_cannot_be_opened_once_it_is_made_does_not_stay() {
    let room = Room::new(StagingMethod::Unnamed);
    let mount = room.workspace.mount_of(&path("/shared/a")).unwrap();
    let made = with_refused(AccessFs::ReadDir, || ParkFolder::make(mount).map(drop));
    assert_eq!((made, hidden(&room)), (Err(Errno::ACCESS), 0));
}
