//! Others change the same directories at the same time.

use super::*;
use Disposition::{CreateNew, Replace};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::os::unix::fs::symlink;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const THREADS: usize = 16;

/// Ends the disturbing thread, also when the test panics.
pub(super) struct Disturbance(AtomicBool);

impl Disturbance {
    pub(super) const fn new() -> Self {
        Self(AtomicBool::new(true))
    }

    pub(super) fn goes_on(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Ends it when dropped.
    pub(super) fn guard(&self) -> impl Drop + '_ {
        struct Guard<'a>(&'a AtomicBool);
        impl Drop for Guard<'_> {
            fn drop(&mut self) {
                self.0.store(false, Ordering::Relaxed);
            }
        }
        Guard(&self.0)
    }
}

#[test]
fn of_many_that_create_a_file_exactly_one_wins() {
    for technique in BOTH {
        let room = Room::new(technique);
        let start = Barrier::new(THREADS);
        let results: Vec<_> = thread::scope(|scope| {
            let each = |n: usize| {
                let (room, start) = (&room, &start);
                scope.spawn(move || {
                    let sealed = room.seal("/shared/new/dir/file", CreateNew, &[n as u8]).unwrap();
                    start.wait();
                    room.publish(vec![sealed]).map_err(|f| f.code())
                })
            };
            let threads: Vec<_> = (0..THREADS).map(each).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        let won: Vec<_> = results.iter().enumerate().filter(|(_, r)| r.is_ok()).collect();
        assert_eq!(won.len(), 1, "{results:?}");
        assert_eq!(fs::read(room.host("/shared/new/dir/file")).unwrap(), [won[0].0 as u8]);
        assert!(results.iter().all(|r| r.is_ok() || *r == Err(ErrorCode::AlreadyExists)), "{results:?}");
        assert_eq!(room.tree().len(), 1 + 3 + 2 + 1);
    }
}

#[test]
fn many_can_create_and_replace_in_one_new_directory() {
    for technique in BOTH {
        let room = Room::new(technique);
        thread::scope(|scope| {
            for n in 0..THREADS {
                let room = &room;
                scope.spawn(move || {
                    for round in 0..8 {
                        room.save(&format!("/tmp/{round}/d/{n}"), CreateNew, b"own").unwrap();
                        room.save(&format!("/tmp/{round}/d/common"), Replace, &[n as u8; 3]).unwrap();
                    }
                });
            }
        });
        for round in 0..8 {
            assert_eq!(fs::read_dir(room.host(&format!("/tmp/{round}/d"))).unwrap().count(), THREADS + 1);
        }
        assert_eq!(fs::read_dir(room.host("/tmp")).unwrap().count(), 8);
    }
}

#[test]
fn one_publishers_failure_does_not_pull_the_directory_from_under_another() {
    let room = Room::new(StagingMethod::Unnamed);
    let mount = room.workspace.mount_of(&path("/tmp/x")).unwrap();
    let disturbance = Disturbance::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            // What a publish that fails does: makes the directories, then takes them back.
            while disturbance.goes_on() {
                let share = budget();
                drop(super::super::parents::open_or_make(mount, &path("/tmp/a/b/c"), Mode::empty(), &share));
            }
        });
        let _end = disturbance.guard();
        for _ in 0..200 {
            room.save("/tmp/a/b/file", CreateNew, b"x").unwrap();
            fs::remove_file(room.host("/tmp/a/b/file")).unwrap();
            let _ = fs::remove_dir(room.host("/tmp/a/b"));
            let _ = fs::remove_dir(room.host("/tmp/a"));
        }
    });
}

#[test]
fn a_parent_swapped_for_a_symlink_never_leads_outside() {
    for technique in BOTH {
        let room = Room::new(technique);
        let (outside, parent, aside) = (room.outside(), room.host("/shared/p"), room.host("/shared/aside"));
        fs::create_dir(&parent).unwrap();
        symlink(&outside, &aside).unwrap();
        let seal = |n: usize| {
            fs::write(parent.join(format!("old-{n}")), "old").unwrap();
            let new = room.seal(&format!("/shared/p/new-{n}"), CreateNew, b"new");
            [new.unwrap(), room.seal(&format!("/shared/p/old-{n}"), Replace, b"new").unwrap()]
        };
        let sealed: Vec<_> = (0..150).flat_map(seal).collect();
        let disturbance = Disturbance::new();
        let mut landed = 0;
        thread::scope(|scope| {
            scope.spawn(|| {
                while disturbance.goes_on() {
                    renameat_with(CWD, &parent, CWD, &aside, RenameFlags::EXCHANGE).unwrap();
                    thread::yield_now();
                }
            });
            let _end = disturbance.guard();
            for file in sealed {
                match room.publish(vec![file]) {
                    Ok(_) => landed += 1,
                    Err(failure) => assert_eq!(failure.code(), ErrorCode::PathDenied, "{failure}"),
                }
            }
        });
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        let real = if fs::symlink_metadata(&parent).unwrap().is_dir() { &parent } else { &aside };
        let changed =
            fs::read_dir(real).unwrap().filter(|e| fs::read(e.as_ref().unwrap().path()).unwrap() == b"new");
        assert_eq!(changed.count(), landed);
        assert!(landed > 0, "the race was never lost");
    }
}
