//! The share of a call, the workspace's quota, and the stop of a call.

use super::*;
use crate::publish::{parents, walk};
use crate::stop::StopReason;
use Disposition::{CreateNew, Replace};
use rustix::fs::{CWD, mkfifoat};
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicU32, Ordering};

const KIB: usize = 1024;

fn small(kib: u64) -> Room {
    Room::with(StagingMethod::Unnamed, 0o022, ByteSize::kib(kib))
}

fn save(room: &Room, at: &str, kib: usize) -> Result<FileFacts, ToolError> {
    room.save(at, Replace, &vec![b'x'; kib * KIB])
}

#[test]
fn a_call_writes_its_share_and_no_more_over_all_its_files() {
    let room = Room::new(StagingMethod::Unnamed);
    let before = room.tree();
    let share = Arc::new(CallBudget::new(ByteSize::kib(10), || None));
    let mut first = room.workspace.stage(&path("/shared/1"), CreateNew, &share).unwrap();
    first.write(&[0; 6 * KIB]).unwrap();
    let mut second = room.workspace.stage(&path("/shared/2"), CreateNew, &share).unwrap();
    let error = second.write(&[0; 4 * KIB + 1]).unwrap_err();
    assert_eq!(error.code(), ErrorCode::QuotaExceeded);
    assert!(error.to_string().contains("this call may write 10 KiB in all"), "{error}");
    assert_eq!(second.bytes, 0);
    drop(first);
    let mut third = room.workspace.stage(&path("/shared/3"), CreateNew, &share).unwrap();
    third.write(&[0; 4 * KIB]).unwrap();
    assert_eq!(third.write(&[0]).unwrap_err().code(), ErrorCode::QuotaExceeded);
    assert_eq!(share.spent(), 10 * KIB as u64);
    drop((second, third));
    assert_eq!(room.tree(), before);
}

#[test]
fn an_attachment_over_the_share_is_refused_before_a_byte_is_written() {
    let room = Room::new(StagingMethod::Unnamed);
    let share = Arc::new(CallBudget::new(ByteSize::kib(1), || None));
    let mut staged = room.workspace.stage(&path("/shared/1"), CreateNew, &share).unwrap();
    assert_eq!(
        staged.append_bytes_known(&[0; KIB + 1], &[0; 32]).unwrap_err().code(),
        ErrorCode::QuotaExceeded
    );
    assert_eq!((staged.bytes, share.spent()), (0, 0));
}

#[test]
fn a_call_stages_a_bounded_number_of_files() {
    let room = Room::new(StagingMethod::Unnamed);
    let share = budget();
    let stage = |n| room.workspace.stage(&path(&format!("/tmp/{n}")), CreateNew, &share);
    let held: Vec<_> = (0..Limits::DEFAULT.changes).map(|n| stage(n).unwrap()).collect();
    let Err(error) = stage(99) else { panic!("one more was staged") };
    assert_eq!(error.code(), ErrorCode::QuotaExceeded);
    drop(held);
    room.save("/tmp/next-call", CreateNew, b"works").unwrap();
}

#[test]
fn directories_that_a_call_makes_count_together_and_those_that_are_taken_back_do_not() {
    let room = Room::new(StagingMethod::Unnamed);
    let mut share = CallBudget::new(ByteSize::kib(1), || None);
    share.changes_max = 3;
    let share = Arc::new(share);
    let below = |mount: &str, depth| path(&format!("{mount}{}/file", "/d".repeat(depth)));
    let mount = room.workspace.mount_of(&path("/tmp/x")).unwrap();
    for _ in 0..3 {
        let made = parents::open_or_make(mount, &below("/tmp", 67), Mode::empty(), &share);
        assert!(made.unwrap().is_some());
    }
    assert_eq!(fs::read_dir(room.host("/tmp")).unwrap().count(), 0);
    let write = |at: &GuestPath| {
        let staged = room.workspace.stage(at, CreateNew, &share).unwrap();
        PlannedChange::Write(staged.seal().unwrap())
    };
    // What is there costs nothing.
    room.workspace.publish(vec![write(&below("/shared", 40)), write(&path("/shared/d/other"))]).unwrap();
    let failure = room.workspace.publish(vec![write(&below("/tmp", 28))]).unwrap_err();
    assert_eq!(failure.code(), ErrorCode::QuotaExceeded);
    let said =
        "one call may make 67 directories; make the rest in another call, or raise changes in the policy";
    assert!(failure.to_string().contains(said), "{failure}");
    assert_eq!(fs::read_dir(room.host("/tmp")).unwrap().count(), 0);
    // Another call has a share of its own; a rename takes of it as a new file does.
    room.rename("/shared/d/other", below("/tmp", 80).as_str(), CreateNew).unwrap();
    let far = below("/vault", 2040);
    let error = room.rename(below("/tmp", 80).as_str(), far.as_str(), CreateNew).unwrap_err();
    assert_eq!(error.code, ErrorCode::QuotaExceeded);
    assert!(error.message.contains("one call may make 80 directories; make the rest"), "{error}");
    assert_eq!(fs::read_dir(room.host("/vault")).unwrap().count(), 0);
}

#[test]
fn the_workspace_holds_its_quota_and_no_more() {
    let room = small(10);
    save(&room, "/shared/a", 6).unwrap();
    let message = room.refuses_bytes("/tmp/b", 5 * KIB, ErrorCode::QuotaExceeded);
    assert!(message.contains("the workspace may hold 10 KiB"), "{message}");
    save(&room, "/tmp/b", 4).unwrap();
    // The old content of a replaced file counts until it is gone.
    room.refuses_bytes("/tmp/b", 2 * KIB, ErrorCode::QuotaExceeded);
    fs::remove_file(room.host("/tmp/b")).unwrap();
    save(&room, "/shared/a", 2).unwrap();
    save(&room, "/vault/c", 8).unwrap();
    room.refuses_bytes("/tmp/d", 1, ErrorCode::QuotaExceeded);
}

impl Room {
    fn refuses_bytes(&self, at: &str, bytes: usize, code: ErrorCode) -> String {
        let before = self.tree();
        let error = self.save(at, Replace, &vec![b'x'; bytes]).unwrap_err();
        assert_eq!(error.code, code);
        assert_eq!(self.tree(), before);
        error.message
    }
}

#[test]
fn what_is_kept_of_the_number_is_what_a_walk_finds() {
    for technique in BOTH {
        let room = Room::new(technique);
        let check = |kib: usize| {
            assert_eq!(room.workspace.quota.known_bytes().unwrap_or_default(), (kib * KIB) as u64)
        };
        save(&room, "/shared/a", 6).unwrap();
        check(6);
        save(&room, "/shared/a", 4).unwrap();
        check(4);
        fs::hard_link(room.host("/shared/a"), room.host("/vault/other-name")).unwrap();
        save(&room, "/shared/a", 1).unwrap();
        check(5);
        room.seal("/shared/b", CreateNew, &[0; KIB]).unwrap();
        room.save("/shared/a", CreateNew, b"exists").unwrap_err();
        check(5);
        let dirs = ["/shared", "/tmp", "/vault"].map(|guest| room.workspace.mount(guest).unwrap());
        let walked =
            dirs.map(|dir| walk::measure(&**dir, walk::HiddenNames::AtRoot, &|| None).unwrap().unwrap());
        check(walked.iter().sum::<u64>() as usize / KIB);
    }
}

#[test]
fn what_is_staged_counts_until_it_is_dropped() {
    for technique in BOTH {
        let room = Room::with(technique, 0o022, ByteSize::kib(10));
        let sealed = room.seal("/shared/a", CreateNew, &[0; 8 * KIB]).unwrap();
        room.refuses_bytes("/shared/b", 3 * KIB, ErrorCode::QuotaExceeded);
        drop(sealed);
        let sealed = room.seal("/shared/b", CreateNew, &[0; 8 * KIB]).unwrap();
        room.publish(vec![sealed]).unwrap();
        room.refuses_bytes("/shared/c", 3 * KIB, ErrorCode::QuotaExceeded);
        save(&room, "/shared/c", 2).unwrap();
    }
}

#[test]
fn together_threads_stay_within_the_quota() {
    let room = small(100);
    std::thread::scope(|scope| {
        for n in 0..8 {
            let room = &room;
            scope.spawn(move || {
                for file in 0..8 {
                    let _ = save(room, &format!("/shared/{n}/{file}"), 3);
                }
            });
        }
    });
    let stop: walk::StopCheck<'_> = &|| None;
    let held = walk::measure(&**room.workspace.mount("/shared").unwrap(), walk::HiddenNames::AtRoot, stop)
        .unwrap()
        .unwrap();
    assert_eq!(held, 33 * 3 * KIB as u64);
}

#[test]
fn what_others_delete_is_seen_when_it_matters() {
    let room = small(10);
    fs::write(room.host("/vault/by-hand"), vec![0; 9 * KIB]).unwrap();
    room.refuses_bytes("/shared/a", 2 * KIB, ErrorCode::QuotaExceeded);
    fs::remove_file(room.host("/vault/by-hand")).unwrap();
    save(&room, "/shared/a", 10).unwrap();
}

#[test]
fn measuring_counts_every_file_once_and_follows_nothing() {
    let room = Room::new(StagingMethod::Unnamed);
    let shared = room.host("/shared");
    let mut expected = 0;
    // Broader than a directory buffer, deeper than a process has descriptors.
    for n in 0..700 {
        let dir = shared.join(format!("a-directory-with-a-rather-long-name-{n}"));
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("f"), [0; 3]).unwrap();
        fs::write(shared.join(format!("a-file-with-a-rather-long-name-{n}")), [0; 5]).unwrap();
        expected += 8;
    }
    room.make_deep("/shared", 1499);
    let deep = format!("/shared{}", "/d".repeat(1500));
    room.save(&deep, CreateNew, &[0; 7]).unwrap();
    fs::hard_link(shared.join("a-file-with-a-rather-long-name-0"), shared.join("hard")).unwrap();
    symlink(".", shared.join("loop")).unwrap();
    symlink("/usr", shared.join("usr")).unwrap();
    mkfifoat(CWD, shared.join("fifo"), Mode::from_raw_mode(0o666)).unwrap();
    // 5 bytes with two names count as 3 each.
    expected += 7 + 1;
    let dir = room.workspace.mount("/shared").unwrap();
    assert_eq!(walk::measure(&**dir, walk::HiddenNames::AtRoot, &|| None), Ok(Ok(expected)));
    let asked = AtomicU32::new(0);
    let stop: walk::StopCheck<'_> =
        &|| (asked.fetch_add(1, Ordering::Relaxed) == 3).then_some(StopReason::Cancelled);
    assert_eq!(walk::measure(&**dir, walk::HiddenNames::AtRoot, stop), Ok(Err(StopReason::Cancelled)));
}

#[test]
fn a_stop_ends_long_copies_and_leaves_nothing() {
    let bytes = vec![0; 8 << 20];
    let file = tempfile::tempfile().unwrap();
    file.set_len(bytes.len() as u64).unwrap();
    for (stop, code) in
        [(StopReason::Deadline, ErrorCode::TimedOut), (StopReason::Cancelled, ErrorCode::Cancelled)]
    {
        for by_file in [true, false] {
            let room = Room::new(StagingMethod::Unnamed);
            let before = room.tree();
            let asked = Arc::new(AtomicU32::new(0));
            let counter = Arc::clone(&asked);
            let check = move || (counter.fetch_add(1, Ordering::Relaxed) >= 6).then_some(stop);
            let share = Arc::new(CallBudget::new(ByteSize::mib(50), check));
            let mut staged = room.workspace.stage(&path("/shared/x"), CreateNew, &share).unwrap();
            let done = if by_file {
                staged.append_file_known(&file, bytes.len() as u64, &[0; 32])
            } else {
                staged.append_bytes_known(&bytes, &[0; 32])
            };
            assert_eq!(done.unwrap_err().code(), code);
            assert!(asked.load(Ordering::Relaxed) <= 8, "it went on for long");
            assert_eq!(staged.seal().err().map(|e| e.code()), Some(code));
            assert_eq!(room.tree(), before);
            room.save("/shared/x", CreateNew, b"works").unwrap();
        }
    }
}
