//! What is taken, what is refused, and what a sweep leaves.

use super::*;
use cofferdam_core::limits::ByteSize;
use cofferdam_core::tool::{ErrorCode, ToolError};
use std::convert::Infallible;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

pub(super) const LIMITS: Config = Config {
    max_bytes: ByteSize(10),
    max_call_bytes: ByteSize(27),
    max_turn_bytes: ByteSize(25),
    max_count: 3,
    max_held_bytes: ByteSize(40),
};

pub(super) struct Fixture {
    pub(super) dir: tempfile::TempDir,
    pub(super) outgoing: Outgoing,
}

impl Fixture {
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let outgoing = Outgoing::open(&dir.path().join("outgoing"), LIMITS).expect("it opens");
        Self { dir, outgoing }
    }

    /// An open file of these bytes.
    pub(super) fn source(&self, name: &str, bytes: &str) -> OutgoingFile {
        let mut file = tempfile::tempfile_in(self.dir.path()).expect("a file");
        file.write_all(bytes.as_bytes()).expect("written");
        file.seek(SeekFrom::Start(0)).expect("a file");
        let path = format!("/shared/{name}");
        let body = OutgoingBytes::File { path, file, len: bytes.len() as u64 };
        OutgoingFile { body, name: None, mime_type: None }
    }

    /// What becomes of adding what a call composed, with no name where that is empty.
    fn compose(&self, turn: &TurnId, files: &[(&str, &str)]) -> Result<Vec<OutgoingAttachment>, ToolError> {
        let mut addition = self.outgoing.addition(turn);
        let source = |(name, bytes): &(&str, &str)| OutgoingFile {
            body: OutgoingBytes::Contents(bytes.as_bytes().to_vec()),
            name: Some((*name).to_owned()).filter(|name| !name.is_empty()),
            mime_type: Some("text/csv".to_owned()),
        };
        let added = addition.take(files.iter().map(source).collect(), &|| Ok(()))?;
        let paths: Vec<_> =
            addition.effects().iter().map(|effect| effect.path().map(str::to_owned)).collect();
        assert!(paths.iter().all(Option::is_none), "{paths:?}");
        addition.keep();
        Ok(added)
    }

    /// What becomes of adding these files in a call of the turn that ends well.
    pub(super) fn add(
        &self,
        turn: &TurnId,
        files: &[(&str, &str)],
    ) -> Result<Vec<OutgoingAttachment>, ToolError> {
        let mut addition = self.outgoing.addition(turn);
        let sources = files.iter().map(|(name, bytes)| self.source(name, bytes)).collect();
        let added = addition.take(sources, &|| Ok(()))?;
        addition.keep();
        Ok(added)
    }

    /// The names in the folder.
    pub(super) fn names(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.dir.path().join("outgoing")).expect("a folder");
        entries.map(|entry| entry.expect("an entry").path()).collect()
    }

    pub(super) fn sweep(&self, in_use: &[&str]) {
        let in_use = in_use.iter().map(|sha256| (*sha256).to_owned()).collect();
        self.outgoing.sweep(now(), || Ok::<_, Infallible>(in_use)).expect("nothing fails");
    }
}

/// A time by the clock that nodes share, which is far behind this machine's.
pub(super) fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_000_000_000)
}

pub(super) fn turn(n: usize) -> TurnId {
    TurnId::new(format!("t{n}"))
}

#[test]
fn the_bytes_are_there_whatever_becomes_of_the_file() {
    let f = Fixture::new();
    let added = f.add(&turn(1), &[("a.txt", "hello"), ("b", "world"), ("c.txt", "hello")]).expect("taken");
    let names: Vec<_> = added.iter().map(|file| (file.name.as_str(), file.mime_type.as_str())).collect();
    assert_eq!(names, [("a.txt", "text/plain"), ("b", "text/plain"), ("c.txt", "text/plain")]);
    assert_eq!(added[0].sha256, cofferdam_core::audit::sha256_hex(b"hello"));
    assert_eq!((&added[0].sha256, f.names().len()), (&added[2].sha256, 2), "the same bytes are held once");
    let mut held = String::new();
    f.outgoing.file(&added[1].sha256).expect("held").read_to_string(&mut held).expect("readable");
    assert_eq!(held, "world");
    for nothing in ["", "../outgoing", &"0".repeat(64), &"A".repeat(64)] {
        assert!(f.outgoing.file(nothing).is_err() && !f.outgoing.holds(nothing), "{nothing}");
    }
}

#[test]
fn one_bad_file_among_good_ones_adds_none() {
    let check = |files: &[(&str, &str)], code: ErrorCode, part: &str| {
        let f = Fixture::new();
        let refused = f.add(&turn(1), files).expect_err("refused");
        assert_eq!(refused.code, code, "{refused}");
        assert!(refused.message.contains(part), "{refused}");
        assert!(f.names().is_empty());
        f.add(&turn(1), &[("a", "0123456789"), ("b", "0123456789"), ("c", "01234")]).expect("nothing counts");
    };
    check(&[("a", "x"), ("b", "")], ErrorCode::InvalidArguments, "/shared/b is empty");
    check(&[("a", "x"), ("b", "0123456789x")], ErrorCode::TooLarge, "/shared/b has 11 bytes");
    let ten = "0123456789";
    check(&[("a", ten), ("b", ten), ("c", "012345")], ErrorCode::QuotaExceeded, "max_turn_bytes");
    check(&[("a", "x"), ("b", "x"), ("c", "x"), ("d", "x")], ErrorCode::QuotaExceeded, "max_count");
}

#[test]
fn what_a_call_composed_is_a_file_like_any_other() {
    let f = Fixture::new();
    let added = f.compose(&turn(1), &[("t", "a,b"), ("../x.svg", "<svg/>")]).expect("taken");
    let shown: Vec<_> = added.iter().map(|file| (file.name.as_str(), file.bytes)).collect();
    assert_eq!(shown, [("t.csv", 3), ("x.svg", 6)]);
    let mut held = String::new();
    f.outgoing.file(&added[0].sha256).expect("held").read_to_string(&mut held).expect("readable");
    assert_eq!(held, "a,b");
    assert_eq!(f.add(&turn(1), &[("a", "a,b")]).expect("taken")[0].sha256, added[0].sha256);
    let check = |files: &[(&str, &str)], code: ErrorCode, part: &str| {
        let f = Fixture::new();
        let refused = f.compose(&turn(1), files).expect_err("refused");
        assert_eq!(refused.code, code, "{refused}");
        assert!(refused.message.contains(part) && f.names().is_empty(), "{refused}");
    };
    check(&[("a", "x"), ("b.csv", "")], ErrorCode::InvalidArguments, "\"b.csv\" is empty");
    check(&[("a", "x"), ("", "x")], ErrorCode::InvalidArguments, "needs a name");
    check(&[(" ", "x")], ErrorCode::InvalidArguments, "needs a name");
    check(&[("a", "0123456789x")], ErrorCode::TooLarge, "replies.max_bytes");
    check(&[("a", "x"), ("b", "x"), ("c", "x"), ("d", "x")], ErrorCode::QuotaExceeded, "max_count");
    let half = "x".repeat((CONTENTS_BYTES_MAX / 2) as usize + 1);
    check(&[("a", &half), ("b", &half)], ErrorCode::TooLarge, "1 MiB");
}

#[test]
fn the_limits_of_a_turn_hold_over_its_calls() {
    let f = Fixture::new();
    f.add(&turn(1), &[("a", "0123456789"), ("b", "0123456789")]).expect("taken");
    assert_eq!(f.add(&turn(1), &[("c", "012345")]).expect_err("refused").code, ErrorCode::QuotaExceeded);
    f.add(&turn(1), &[("c", "01234")]).expect("as much as may be");
    assert_eq!(f.add(&turn(1), &[("d", "x")]).expect_err("refused").code, ErrorCode::QuotaExceeded);
    f.add(&turn(2), &[("d", "another turn")]).expect_err("too long a file");
    f.add(&turn(2), &[("d", "another")]).expect("a turn of its own");
}

#[test]
fn the_limit_of_a_call_holds_over_all_that_it_adds() {
    let f = Fixture::new();
    let limits = Config { max_call_bytes: ByteSize(15), ..LIMITS };
    let outgoing = f.outgoing.with_limits(limits);
    let take = |addition: &mut Addition, bytes: &str| addition.take(vec![f.source("a", bytes)], &|| Ok(()));
    let mut addition = outgoing.addition(&turn(1));
    take(&mut addition, "0123456789").expect("taken");
    let refused = take(&mut addition, "012345").expect_err("refused");
    assert_eq!(refused.code, ErrorCode::QuotaExceeded);
    assert!(refused.message.contains("replies.max_call_bytes"), "{refused}");
    assert_eq!(f.names().len(), 1, "nothing of it was copied");
    take(&mut addition, "01234").expect("as much as may be");
    addition.keep();
    let mut another = outgoing.addition(&turn(1));
    take(&mut another, "0123456789").expect("a call of its own");
    let both = vec![f.source("a", "01234567"), f.source("b", "01234567")];
    let refused = outgoing.addition(&turn(2)).take(both, &|| Ok(())).expect_err("refused");
    assert!(refused.message.contains("15 B"), "{refused}");
}

#[test]
fn what_waits_to_be_sent_is_bounded() {
    let f = Fixture::new();
    for n in 0..4 {
        f.add(&turn(n), &[("a", &format!("{n}123456789"))]).expect("taken");
    }
    let full = f.add(&turn(5), &[("a", "x")]).expect_err("full");
    assert_eq!(full.code, ErrorCode::NoSpace);
    assert!(full.message.contains("max_held_bytes"), "{full}");
    f.outgoing.release(&turn(0));
    f.sweep(&[]);
    f.add(&turn(5), &[("a", "x")]).expect("there is room again");
}

#[test]
fn a_call_that_does_not_end_well_adds_nothing() {
    let f = Fixture::new();
    let mut addition = f.outgoing.addition(&turn(1));
    addition.take(vec![f.source("a", "0123456789")], &|| Ok(())).expect("taken");
    assert_eq!(addition.attachments().len(), 1);
    drop(addition);
    f.add(&turn(1), &[("a", "x"), ("b", "x"), ("c", "x")]).expect("all of the turn's share is there");
    let stopped = ToolError::new(ErrorCode::TimedOut, "late");
    let mut addition = f.outgoing.addition(&turn(2));
    let said = addition.take(vec![f.source("a", "x")], &|| Err(stopped.clone())).expect_err("stopped");
    assert_eq!(said, stopped);
    let mut addition = f.outgoing.addition(&turn(2));
    let mut shrunk = f.source("a", "x");
    if let OutgoingBytes::File { len, .. } = &mut shrunk.body {
        *len = 5;
    }
    let said = addition.take(vec![shrunk], &|| Ok(())).expect_err("it shrank");
    assert_eq!(said.code, ErrorCode::WriteFailed);
    let mut unreadable = f.source("a", "x");
    if let OutgoingBytes::File { file, .. } = &mut unreadable.body {
        // The system refuses to read what is open for writing alone.
        let path = f.dir.path().join("unreadable");
        *file = std::fs::File::create(path).expect("writable");
    }
    let said = addition.take(vec![unreadable], &|| Ok(())).expect_err("unreadable");
    assert_eq!(said.code, ErrorCode::ReadFailed);
    assert!(said.message.starts_with("/shared/a cannot be read ("), "{said}");
}

#[test]
fn a_sweep_leaves_what_a_turn_or_the_store_needs() {
    let f = Fixture::new();
    let one = |n: usize| f.add(&turn(n), &[("a", &n.to_string())]).expect("taken").remove(0).sha256;
    let (first, second, third) = (one(1), one(2), one(3));
    f.outgoing.release(&turn(1));
    f.outgoing.release(&turn(2));
    let failed = f.outgoing.sweep(now(), || Err::<BTreeSet<String>, _>("the store fails"));
    assert_eq!((failed, f.names().len()), (Err("the store fails"), 3));
    f.sweep(&[&second]);
    let held = |sha256: &str| f.outgoing.holds(sha256);
    assert_eq!((held(&first), held(&second), held(&third)), (false, true, true));
    f.outgoing.release(&turn(3));
    f.sweep(&[]);
    assert!(f.names().is_empty(), "what was left is looked at again");
    let unasked = || -> Result<BTreeSet<String>, Infallible> { unreachable!("there is nothing to sweep") };
    f.outgoing.sweep(now(), unasked).expect("nothing happens");
}

/// The first sweep has asked what is in use; then the last reply that needs the blob is out.
#[test]
fn a_sweep_that_begins_during_another_looks_at_what_that_left() {
    let f = Fixture::new();
    let blob = f.add(&turn(1), &[("a", "x")]).expect("taken").remove(0).sha256;
    f.outgoing.release(&turn(1));
    let again = f.outgoing.clone();
    let mut second = None;
    let first = f.outgoing.sweep(now(), || {
        let sweep = std::thread::spawn(move || again.sweep(now(), || Ok::<_, Infallible>(BTreeSet::new())));
        // It has ended if it does not wait for this one.
        let asked = std::time::Instant::now();
        while !sweep.is_finished() && asked.elapsed() < std::time::Duration::from_millis(100) {
            std::thread::yield_now();
        }
        second = Some(sweep);
        Ok::<_, Infallible>(BTreeSet::from([blob]))
    });
    first.expect("nothing fails");
    second.expect("begun").join().expect("no panic").expect("nothing fails");
    assert!(f.names().is_empty(), "{:?}", f.names());
}

/// The store answers the sweep before it keeps a reply; then its turn lets go, and waits for no
/// sweep.
#[test]
fn what_a_turn_hands_over_during_a_sweep_stays() {
    let f = Fixture::new();
    f.add(&turn(1), &[("a", "x")]).expect("taken");
    let mut dropped = f.outgoing.addition(&turn(2));
    dropped.take(vec![f.source("b", "y")], &|| Ok(())).expect("taken");
    let again = f.outgoing.clone();
    let swept = f.outgoing.sweep(now(), || {
        let (told, ends) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let held = again.release(&turn(1));
            drop(dropped);
            told.send(held)
        });
        let held = ends.recv_timeout(Duration::from_secs(20)).expect("it waits for no sweep");
        assert!(held);
        Ok::<_, Infallible>(BTreeSet::new())
    });
    swept.expect("nothing fails");
    assert_eq!(f.names().len(), 2, "the store may have been told since");
    f.sweep(&[]);
    assert!(f.names().is_empty(), "what was left is looked at again");
}

#[test]
fn a_turn_that_runs_again_has_its_files_back_or_runs_the_call_again() {
    let f = Fixture::new();
    let added = f.add(&turn(1), &[("a", "x"), ("b", "y")]).expect("taken");
    let again = Outgoing::open(&f.dir.path().join("outgoing"), LIMITS).expect("it opens");
    assert!(again.adopt(&turn(1), &added));
    again.sweep(now(), || Ok::<_, Infallible>(BTreeSet::new())).expect("nothing fails");
    assert!(again.holds(&added[0].sha256), "the turn holds it");
    std::fs::remove_file(f.dir.path().join("outgoing").join(&added[1].sha256)).expect("there");
    assert!(!again.adopt(&turn(2), &added));
}

#[test]
fn what_dead_processes_leave_is_removed_and_what_living_ones_hold_is_not() {
    let f = Fixture::new();
    let dir = f.dir.path().join("outgoing");
    let beside = Outgoing::open_beside(&dir, LIMITS).expect("it opens");
    let mut addition = beside.addition(&turn(1));
    let added = addition.take(vec![f.source("a", "x")], &|| Ok(())).expect("taken");
    addition.keep();
    for left in [".beside-dead", ".beside-dead/inner"] {
        std::fs::create_dir(dir.join(left)).expect("made");
    }
    std::fs::write(dir.join(".tmpdead"), "x").expect("written");
    let served = f.add(&turn(2), &[("b", "y")]).expect("taken");
    let again = Outgoing::open(&dir, LIMITS).expect("it opens");
    assert!(beside.holds(&added[0].sha256) && beside.holds(&served[0].sha256));
    assert_eq!(f.names().len(), 2, "a blob, and the folder of the process beside: {:?}", f.names());
    assert!(!again.holds(&added[0].sha256));
    drop(beside);
    assert_eq!(f.names().len(), 1, "the folder goes with its process");
}

#[test]
fn processes_that_start_at_once_each_have_a_folder() {
    let f = Fixture::new();
    let dir = f.dir.path().join("outgoing");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let beside = Outgoing::open_beside(&dir, LIMITS).expect("it opens");
                    let mut addition = beside.addition(&turn(1));
                    let added = addition.take(vec![f.source("a", "x")], &|| Ok(())).expect("taken");
                    assert!(beside.holds(&added[0].sha256));
                }
            });
        }
    });
    assert!(f.names().is_empty(), "each is gone with its process: {:?}", f.names());
}

#[test]
fn a_process_beside_that_adds_nothing_makes_no_folder() {
    let f = Fixture::new();
    let served = f.add(&turn(1), &[("a", "x")]).expect("taken");
    let beside = Outgoing::open_beside(&f.dir.path().join("outgoing"), LIMITS).expect("it opens");
    assert!(beside.holds(&served[0].sha256), "it sees what the one serve holds");
    assert!(beside.file(&served[0].sha256).is_err(), "and reads its own alone");
    beside.sweep(now(), || Ok::<_, Infallible>(BTreeSet::new())).expect("nothing fails");
    assert_eq!(f.names().len(), 1, "the blob, which is not its to remove");
}

/// It may be about to say so: its blob is older than its word.
#[test]
fn what_another_node_may_need_is_left_for_an_hour() {
    let f = Fixture::new();
    let added = f.add(&turn(1), &[("a", "young"), ("b", "old"), ("c", "in use")]).expect("taken");
    let hour_ago = SystemTime::now() - UNSAID_AGE_MAX - std::time::Duration::from_secs(1);
    for path in f.names().iter().filter(|path| !path.ends_with(&added[0].sha256)) {
        std::fs::File::open(path).and_then(|blob| blob.set_modified(hour_ago)).expect("it is there");
    }
    let in_use = || Ok::<_, Infallible>([added[2].sha256.clone()].into());
    let node = Outgoing::open_with_nodes(&f.dir.path().join("outgoing"), LIMITS).expect("it opens");
    node.sweep(SystemTime::now(), in_use).expect("nothing fails");
    let holds = |node: &Outgoing| [0, 1, 2].map(|n| node.holds(&added[n].sha256));
    assert_eq!(holds(&node), [true, false, true]);
    let alone = Outgoing::open(&f.dir.path().join("outgoing"), LIMITS).expect("it opens");
    alone.sweep(now(), in_use).expect("nothing fails");
    assert_eq!(holds(&alone), [false, false, true], "nobody else can need it");
}

#[test]
fn what_is_out_does_not_count_though_another_node_might_need_it() {
    let mut f = Fixture::new();
    f.outgoing = Outgoing::open_with_nodes(&f.dir.path().join("outgoing"), LIMITS).expect("it opens");
    for n in 0..4 {
        f.add(&turn(n), &[("a", &format!("{n}123456789"))]).expect("taken");
    }
    f.sweep(&[]);
    assert_eq!(f.add(&turn(5), &[("a", "x")]).expect_err("full").code, ErrorCode::NoSpace);
    f.outgoing.release(&turn(0));
    f.sweep(&[]);
    f.add(&turn(5), &[("a", "x")]).expect("there is room again");
    assert_eq!(f.names().len(), 5, "nothing is removed");
    assert_eq!(f.add(&turn(6), &[("a", "0123456789")]).expect_err("full").code, ErrorCode::NoSpace);
}

/// It has added nothing since it swept last.
#[test]
fn a_node_that_finds_no_room_sweeps_what_another_one_has_left() {
    let mut f = Fixture::new();
    let open =
        |f: &Fixture| Outgoing::open_with_nodes(&f.dir.path().join("outgoing"), LIMITS).expect("it opens");
    f.outgoing = open(&f);
    f.sweep(&[]);
    let gone = open(&f);
    let node = std::mem::replace(&mut f.outgoing, gone);
    for n in 0..4 {
        f.add(&turn(n), &[("a", &format!("{n}123456789"))]).expect("taken");
    }
    f.outgoing = node;
    assert_eq!(f.add(&turn(5), &[("a", "x")]).expect_err("full").code, ErrorCode::NoSpace);
    f.sweep(&[]);
    f.add(&turn(5), &[("a", "x")]).expect("what is out takes no room");
}

/// The machine of the node that sweeps is years ahead of the clock that the nodes share.
#[test]
fn a_node_that_is_ahead_removes_no_blob_that_another_one_has_just_written() {
    let f = Fixture::new();
    f.add(&turn(1), &[("a", "x")]).expect("taken");
    let dir = f.dir.path().join("outgoing");
    std::fs::write(dir.join(".tmpyoung"), "x").expect("written");
    for path in f.names() {
        std::fs::File::open(path).and_then(|file| file.set_modified(now())).expect("it is there");
    }
    let node = Outgoing::open_with_nodes(&dir, LIMITS).expect("it opens");
    let sweep = |at| node.sweep(at, || Ok::<_, Infallible>(BTreeSet::new())).expect("nothing fails");
    sweep(now() + UNSAID_AGE_MAX - Duration::from_secs(1));
    assert_eq!(f.names().len(), 2);
    sweep(now() + UNSAID_AGE_MAX);
    assert!(f.names().is_empty(), "what nobody has said to need, and what was never finished");
}
