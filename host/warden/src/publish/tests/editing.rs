//! What a call read is what it replaces, or nothing happens.

use super::*;
use crate::stop::StopReason;
use Disposition::{CreateNew, Replace};
use cofferdam_core::audit::sha256_hex;
use rustix::fs::{CWD, FlockOperation, flock, mkfifoat};
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

fn hash(bytes: &[u8]) -> [u8; 32] {
    hex::decode(sha256_hex(bytes)).unwrap().try_into().unwrap()
}

/// Stages `new` for `/shared/file`, which must be `old` when published.
fn edit(
    workspace: &Arc<Workspace>,
    how: Disposition,
    old: &[u8],
    new: &[u8],
) -> Result<SealedFile, ToolError> {
    let mut staged = workspace.stage(&path("/shared/file"), how, &budget())?;
    staged.write(new)?;
    staged.expect(hash(old));
    Ok(staged.seal()?)
}

#[test]
fn what_was_read_is_replaced() {
    for technique in BOTH {
        let room = Room::new(technique);
        room.save("/shared/file", CreateNew, b"old").unwrap();
        room.publish(vec![edit(&room.workspace, Replace, b"old", b"new").unwrap()]).unwrap();
        room.publish(vec![edit(&room.workspace, Replace, b"new", b"").unwrap()]).unwrap();
        room.publish(vec![edit(&room.workspace, Replace, b"", b"newer").unwrap()]).unwrap();
        assert_eq!(fs::read(room.host("/shared/file")).unwrap(), b"newer");
        assert_eq!(room.tree().len(), 1 + 3 + 1);
    }
}

#[test]
fn anything_else_is_left_as_it_is() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 6] = [
        ("other bytes", |at| fs::write(at, "somebody's").unwrap()),
        ("another file", |at| {
            fs::write(at.with_extension("new"), "else").unwrap();
            fs::rename(at.with_extension("new"), at).unwrap();
        }),
        ("nothing", |at| fs::remove_file(at).unwrap()),
        ("a directory", |at| {
            fs::remove_file(at).unwrap();
            fs::create_dir(at).unwrap();
        }),
        ("a link", |at| {
            fs::rename(at, at.with_extension("old")).unwrap();
            symlink("file.old", at).unwrap();
        }),
        ("a FIFO", |at| {
            fs::remove_file(at).unwrap();
            mkfifoat(CWD, at, Mode::from_raw_mode(0o666)).unwrap();
        }),
    ];
    for technique in BOTH {
        for (what, change) in changes {
            let room = Room::new(technique);
            room.save("/shared/file", CreateNew, b"old").unwrap();
            let sealed = edit(&room.workspace, Replace, b"old", b"new").unwrap();
            change(&room.host("/shared/file"));
            let mut before = room.tree();
            before.retain(|path, _| !path.to_str().unwrap().contains(GuestPath::RESERVED_PREFIX));
            let failure = room.publish(vec![sealed]).unwrap_err();
            assert_eq!(failure.code(), ErrorCode::WriteFailed, "{what}: {failure}");
            assert_eq!(
                failure.to_string(),
                "/shared/file changed since it was read; read it again and repeat the edit"
            );
            assert_eq!(room.tree(), before, "{what}");
        }
    }
}

#[test]
fn what_is_missing_already_is_told_when_sealing() {
    let room = Room::new(StagingMethod::Unnamed);
    for how in [CreateNew, Replace] {
        let Err(error) = edit(&room.workspace, how, b"old", b"new") else { panic!("it sealed") };
        assert_eq!(error.code, ErrorCode::WriteFailed);
        assert!(error.message.contains("changed since it was read"), "{error}");
    }
}

#[test]
fn a_stop_ends_waiting_for_another_program() {
    let room = Room::new(StagingMethod::Unnamed);
    room.save("/shared/file", CreateNew, b"old").unwrap();
    let held = fs::File::open(room.host("/shared/file")).unwrap();
    flock(&held, FlockOperation::LockExclusive).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    let share = Arc::new(CallBudget::new(ByteSize::mib(1), move || {
        asked.load(Ordering::Relaxed).then_some(StopReason::Deadline)
    }));
    let mut staged = room.workspace.stage(&path("/shared/file"), Replace, &share).unwrap();
    staged.expect(hash(b"old"));
    let sealed = staged.seal().unwrap();
    stop.store(true, Ordering::Relaxed);
    assert_eq!(room.publish(vec![sealed]).unwrap_err().code(), ErrorCode::TimedOut);
    assert_eq!(fs::read(room.host("/shared/file")).unwrap(), b"old");
}

#[test]
fn another_programs_lock_is_waited_for_only_so_long() {
    let room = Room::new(StagingMethod::Unnamed);
    let names = ["/shared/file", "/shared/other"];
    let held = names.map(|name| {
        room.save(name, CreateNew, b"old").unwrap();
        let held = fs::File::open(room.host(name)).unwrap();
        flock(&held, FlockOperation::LockExclusive).unwrap();
        held
    });
    let edited = edit(&room.workspace, Replace, b"old", b"new").unwrap();
    thread::scope(|scope| {
        // What was promised nothing goes on without the lock.
        scope.spawn(|| room.save("/shared/other", Replace, b"new").unwrap());
        let failure = room.publish(vec![edited]).unwrap_err();
        assert_eq!(
            (failure.code(), failure.to_string().as_str()),
            (
                ErrorCode::WriteFailed,
                "/shared/file is locked by another program; try again when that is done"
            )
        );
    });
    assert_eq!(names.map(|name| fs::read(room.host(name)).unwrap()), [b"old", b"new"]);
    assert_eq!(fs::read_dir(room.host("/shared")).unwrap().count(), 2, "nothing is left behind");
    drop(held);
    room.publish(vec![edit(&room.workspace, Replace, b"old", b"new").unwrap()]).unwrap();
    assert_eq!(fs::read(room.host("/shared/file")).unwrap(), b"new");
}

#[test]
fn who_waits_for_another_program_keeps_nobody_from_making_directories() {
    let room = Room::new(StagingMethod::Unnamed);
    room.save("/shared/file", CreateNew, b"old").unwrap();
    room.save("/shared/moving", CreateNew, b"moved").unwrap();
    let waits = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&waits);
    let share = Arc::new(CallBudget::new(ByteSize::mib(1), move || {
        asked.store(true, Ordering::Relaxed);
        None
    }));
    let mut staged = room.workspace.stage(&path("/shared/file"), Replace, &share).unwrap();
    staged.write(b"new").unwrap();
    staged.expect(hash(b"old"));
    let edited: Vec<PlannedChange> = vec![PlannedChange::Write(staged.seal().unwrap())];
    let (from, to) = (path("/shared/moving"), path("/shared/file"));
    let (moved, _) = room.workspace.plan_rename(&from, &to, Replace, &share).unwrap();
    for (plan, content) in [(edited, b"new".to_vec()), (moved, b"moved".to_vec())] {
        let held = fs::File::open(room.host("/shared/file")).unwrap();
        flock(&held, FlockOperation::LockExclusive).unwrap();
        waits.store(false, Ordering::Relaxed);
        let (made, over) = (AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                while !waits.load(Ordering::Relaxed) && !over.load(Ordering::Relaxed) {
                    thread::yield_now();
                }
                room.save(&format!("/shared/made-{}/x", content.len()), CreateNew, b"x").unwrap();
                made.store(true, Ordering::Relaxed);
                flock(&held, FlockOperation::Unlock).unwrap();
            });
            let published = room.workspace.publish(plan);
            over.store(true, Ordering::Relaxed);
            published.unwrap();
            assert!(made.load(Ordering::Relaxed), "the directory was made after the wait");
        });
        assert_eq!(fs::read(room.host("/shared/file")).unwrap(), content);
    }
}

#[test]
fn of_two_gateways_that_append_at_once_none_loses_a_line() {
    const EACH: usize = 200;
    for technique in BOTH {
        let room = Room::new(technique);
        room.save("/shared/file", CreateNew, b"").unwrap();
        // A second process has other descriptors, and so has a workspace that is opened again.
        let gateways = [room.workspace.clone(), room.reopened()];
        let append = |workspace: &Arc<Workspace>, line: &str| -> Result<(), ToolError> {
            let mut staged = workspace.stage(&path("/shared/file"), Replace, &budget())?;
            let read =
                staged.append_file(&path("/shared/file"), LinkRule::Follow, ExpectedEntry::Anything)?;
            staged.write(line.as_bytes())?;
            staged.expect(hex::decode(read.sha256).unwrap().try_into().unwrap());
            workspace.publish(vec![PlannedChange::Write(staged.seal()?)])?;
            Ok(())
        };
        thread::scope(|scope| {
            for (n, workspace) in gateways.iter().enumerate() {
                scope.spawn(move || {
                    for line in 0..EACH {
                        while let Err(error) = append(workspace, &format!("{n}:{line}\n")) {
                            // Changed since it was read, or again and again while it was to land.
                            assert_eq!(error.code, ErrorCode::WriteFailed, "{error}");
                        }
                    }
                });
            }
        });
        let text = fs::read_to_string(room.host("/shared/file")).unwrap();
        for n in 0..gateways.len() {
            let own: Vec<_> = text.lines().filter_map(|line| line.strip_prefix(&format!("{n}:"))).collect();
            let expected: Vec<_> = (0..EACH).map(|line| line.to_string()).collect();
            assert_eq!(own, expected, "{technique:?}: lines of gateway {n}");
        }
    }
}

#[test]
fn a_plain_replacement_a_move_or_a_removal_never_vanishes_under_an_edit() {
    let room = Room::new(StagingMethod::Unnamed);
    let other = room.reopened();
    for round in 0..150 {
        room.save("/shared/file", Replace, b"old").unwrap();
        let _ = fs::remove_file(room.host("/shared/aside"));
        let sealed = edit(&room.workspace, Replace, b"old", b"edited").unwrap();
        let step = match round % 3 {
            0 => {
                let mut staged = other.stage(&path("/shared/file"), Replace, &budget()).unwrap();
                staged.write(b"plain").unwrap();
                PlannedChange::Write(staged.seal().unwrap())
            }
            1 => other
                .plan_rename(&path("/shared/file"), &path("/shared/aside"), CreateNew, &budget())
                .unwrap()
                .0
                .remove(0),
            _ => PlannedChange::Remove(
                other.plan_remove(&path("/shared/file"), Contents::Keep, &budget()).unwrap(),
            ),
        };
        let (edited, done) = thread::scope(|scope| {
            let edited = scope.spawn(|| room.publish(vec![sealed]).is_ok());
            let done = scope.spawn(|| other.publish(vec![step]).is_ok());
            (edited.join().unwrap(), done.join().unwrap())
        });
        let now = fs::read(room.host("/shared/file")).ok();
        let aside = fs::read(room.host("/shared/aside")).ok();
        // In some order, each as a whole: an edit after the other one would have been refused.
        let expected: (Option<&[u8]>, Option<&[u8]>) = match (round % 3, edited, done) {
            (0, _, true) => (Some(b"plain"), None),
            (1, false, true) => (None, Some(b"old")),
            (2, false, true) => (None, None),
            (1 | 2, true, false) => (Some(b"edited"), None),
            other => panic!("{other:?}: {now:?} {aside:?}"),
        };
        assert_eq!((now.as_deref(), aside.as_deref()), expected, "{round}: {edited} {done}");
    }
}
