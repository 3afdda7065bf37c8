//! What is put, fetched, counted and swept, and what becomes of it while the bucket is away.

use super::super::tests::{Fixture, LIMITS, now, turn};
use super::*;
use cofferdam_core::lock::lock;
use cofferdam_core::message::OutgoingAttachment;
use cofferdam_core::tool::ErrorCode;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::{Read, Write};

/// Bytes and age.
type Blobs = BTreeMap<String, (Vec<u8>, Duration)>;

/// Holds what is put in memory; every call fails while `away`.
#[derive(Default)]
struct Held {
    blobs: Mutex<Blobs>,
    away: Mutex<bool>,
    /// How many bytes the last blob that was asked for might have.
    bytes_max: Mutex<u64>,
}

impl Held {
    fn blobs(&self) -> io::Result<MutexGuard<'_, Blobs>> {
        if *lock(&self.away) { Err(io::Error::other("it is away")) } else { Ok(lock(&self.blobs)) }
    }
}

impl Bucket for Held {
    fn put(&self, sha256: &str, mut file: File) -> io::Result<()> {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        self.blobs()?.insert(sha256.to_owned(), (bytes, Duration::ZERO));
        Ok(())
    }

    fn get(&self, sha256: &str, bytes_max: u64, mut to: File) -> io::Result<()> {
        let bytes = self.blobs()?.get(sha256).ok_or(io::ErrorKind::NotFound)?.0.clone();
        *lock(&self.bytes_max) = bytes_max;
        assert!(bytes.len() as u64 <= bytes_max);
        to.write_all(&bytes)
    }

    fn has(&self, sha256: &str) -> io::Result<bool> {
        Ok(self.blobs()?.contains_key(sha256))
    }

    fn list(&self, most: usize) -> io::Result<Vec<StoredBlob>> {
        let blob = |(sha256, (bytes, age)): (&String, &(Vec<u8>, Duration))| StoredBlob {
            sha256: sha256.clone(),
            bytes: bytes.len() as u64,
            written: now() - *age,
        };
        Ok(self.blobs()?.iter().take(most).map(blob).collect())
    }

    fn remove(&self, sha256: &str) -> io::Result<()> {
        self.blobs()?.remove(sha256);
        Ok(())
    }
}

fn fixture() -> (Fixture, Arc<Held>) {
    let (mut fixture, held) = (Fixture::new(), Arc::new(Held::default()));
    fixture.outgoing = fixture.outgoing.clone().with_bucket(held.clone());
    (fixture, held)
}

#[test]
fn another_node_reads_what_was_taken_in_and_nothing_else() {
    let (node, held) = fixture();
    let added = node.add(&turn(1), &[("a", "hello")]).expect("taken");
    let sha256 = &added[0].sha256;
    let (mut other, _) = fixture();
    other.outgoing = other.outgoing.with_bucket(held.clone());
    assert!(other.outgoing.holds(sha256) && other.outgoing.file(sha256).is_err());
    lock(&held.blobs).get_mut(sha256).expect("put").0 = b"other".into();
    let refused = other.outgoing.fetch(&added[0]).expect_err("other bytes");
    assert_eq!(refused.kind(), io::ErrorKind::InvalidData);
    *lock(&held.away) = true;
    assert!(other.outgoing.fetch(&added[0]).is_err() && !other.outgoing.holds(sha256));
    assert!(!other.outgoing.adopt(&turn(2), &added), "the call must run again");
    assert!(other.names().is_empty(), "nothing is left of what was refused");
    *lock(&held.away) = false;
    lock(&held.blobs).get_mut(sha256).expect("put").0 = b"hello".into();
    other.outgoing.fetch(&added[0]).expect("fetched");
    assert_eq!(*lock(&held.bytes_max), 5, "no more than the file has");
    let mut read = String::new();
    other.outgoing.file(sha256).expect("here").read_to_string(&mut read).expect("readable");
    assert_eq!(read, "hello");
    let read_again = other.outgoing.adopt(&turn(2), &added);
    assert!(read_again, "a call of another node counts here");
    // It is here now, and what is nowhere is told when it is opened.
    *lock(&held.away) = true;
    other.outgoing.fetch(&added[0]).expect("nobody is asked");
    *lock(&held.away) = false;
    let nowhere = OutgoingAttachment { sha256: "0".repeat(64), ..added[0].clone() };
    other.outgoing.fetch(&nowhere).expect("it is nowhere");
}

/// As after a crash, if its name were there before its bytes.
#[test]
fn what_is_cut_short_here_is_fetched_again_and_never_sent() {
    let (node, held) = fixture();
    let added = node.add(&turn(1), &[("a", "hello")]).expect("taken").remove(0);
    let path = node.dir.path().join("outgoing").join(&added.sha256);
    let cut = || std::fs::write(&path, "he").expect("writable");
    cut();
    node.outgoing.fetch(&added).expect("fetched");
    assert_eq!(std::fs::read_to_string(&path).expect("readable"), "hello");
    cut();
    lock(&held.blobs).clear();
    let refused = node.outgoing.fetch(&added).expect_err("it is nowhere");
    assert_eq!(refused.kind(), io::ErrorKind::InvalidData);
    assert!(!node.outgoing.adopt(&turn(1), &[added]), "the call must run again");
}

#[test]
fn what_is_not_put_is_not_held() {
    let (node, held) = fixture();
    *lock(&held.away) = true;
    let refused = node.add(&turn(1), &[("a", "hello")]).expect_err("it is away");
    assert_eq!(refused.code, ErrorCode::WriteFailed);
    assert!(node.names().is_empty());
    *lock(&held.away) = false;
    // What other nodes have there counts.
    lock(&held.blobs).insert("ab".repeat(32), (vec![0; 36], Duration::ZERO));
    let refused = node.add(&turn(1), &[("a", "hello")]).expect_err("too much waits");
    assert_eq!(refused.code, ErrorCode::NoSpace);
    assert_eq!((lock(&held.blobs).len(), node.names().len()), (1, 0));
    node.add(&turn(1), &[("a", "four")]).expect("just enough");
}

#[test]
fn what_is_out_does_not_count_though_it_is_too_young_to_go() {
    let (node, held) = fixture();
    let another = "ab".repeat(32);
    let put = |age| drop(lock(&held.blobs).insert(another.clone(), (vec![0; 36], age)));
    let refused = |bytes: &str| {
        let refused = node.add(&turn(1), &[("a", bytes)]).expect_err("too much waits");
        assert_eq!(refused.code, ErrorCode::NoSpace);
    };
    put(Duration::from_secs(1));
    refused("hello");
    node.sweep(&[&another]);
    refused("hello");
    node.sweep(&[]);
    node.add(&turn(1), &[("a", "hello")]).expect("there is room");
    assert_eq!(lock(&held.blobs).len(), 2, "what is out is still there");
    // Another node adds the same bytes once more.
    put(Duration::ZERO);
    refused("x");
}

#[test]
fn what_is_put_while_the_bucket_is_swept_counts() {
    for is_own in [true, false] {
        let (node, held) = fixture();
        let (used, anothers) = ("ab".repeat(32), "cd".repeat(32));
        lock(&held.blobs).insert(used.clone(), (vec![0; 36], Duration::from_secs(1)));
        let in_use = || Ok::<_, Infallible>(BTreeSet::from([used.clone()]));
        let sweep = node.outgoing.sweep_beside(now(), in_use).expect("nothing fails").expect("it is due");
        if is_own {
            let added = node.add(&turn(1), &[("a", "four")]).expect("just enough");
            // The bucket's clock is behind.
            lock(&held.blobs).get_mut(&added[0].sha256).expect("put").1 = Duration::from_secs(60);
        } else {
            lock(&held.blobs).insert(anothers, (b"four".to_vec(), Duration::ZERO));
        }
        sweep.run();
        let refused = node.add(&turn(2), &[("b", "x")]).expect_err("too much waits");
        assert_eq!(refused.code, ErrorCode::NoSpace, "{is_own}");
    }
}

#[test]
fn a_sweep_removes_what_is_old_and_nobody_needs() {
    let (node, held) = fixture();
    let [old, young, used] = ["ab", "cd", "ef"].map(|two| two.repeat(32));
    let aged = |age| (b"x".to_vec(), age);
    lock(&held.blobs).extend([
        (old.clone(), aged(UNSAID_AGE_MAX)),
        (young.clone(), aged(UNSAID_AGE_MAX - Duration::from_secs(1))),
        (used.clone(), aged(UNSAID_AGE_MAX * 2)),
    ]);
    let names = |held: &Held| lock(&held.blobs).keys().cloned().collect::<Vec<_>>();
    *lock(&held.away) = true;
    node.sweep(&[&used]);
    assert_eq!(names(&held).len(), 3);
    *lock(&held.away) = false;
    // One that failed is made up for, though nothing was added since.
    node.sweep(&[&used]);
    assert_eq!(names(&held), [young.clone(), used.clone()]);
    lock(&held.blobs).insert(young.clone(), aged(UNSAID_AGE_MAX));
    node.sweep(&[]);
    assert!(names(&held).is_empty());
}

/// The bucket is away while somebody waits for the folder.
#[test]
fn the_bucket_is_swept_beside_one_at_a_time_and_once_in_a_while() {
    let (node, held) = fixture();
    let put = || drop(lock(&held.blobs).insert("ab".repeat(32), (b"x".to_vec(), UNSAID_AGE_MAX)));
    let beside = || {
        let in_use = || Ok::<_, Infallible>(BTreeSet::new());
        node.outgoing.sweep_beside(now(), in_use).expect("nothing fails")
    };
    put();
    *lock(&held.away) = true;
    let first = beside().expect("none was swept");
    assert!(beside().is_none(), "one is about to be");
    *lock(&held.away) = false;
    first.run();
    assert!(lock(&held.blobs).is_empty());
    put();
    node.add(&turn(1), &[("a", "x")]).expect("taken");
    assert!(beside().is_none(), "one was a moment ago");
    let mut under_way = lock(&node.outgoing.shared.bucket_swept);
    *under_way = None;
    assert!(beside().is_none());
    drop(under_way);
    beside().expect("what was left is made up for").run();
    assert_eq!(lock(&held.blobs).len(), 1, "what the turn holds");
}

#[test]
fn more_blobs_than_anybody_counts_are_too_many_until_a_sweep() {
    let (node, held) = fixture();
    let old = |n: usize| (format!("{n:064x}"), (Vec::new(), UNSAID_AGE_MAX));
    lock(&held.blobs).extend((0..=BLOBS_LISTED_MAX).map(old));
    let refused = node.add(&turn(1), &[("a", "x")]).expect_err("nobody knows how much waits");
    assert_eq!(refused.code, ErrorCode::NoSpace);
    node.sweep(&[]);
    assert_eq!(lock(&held.blobs).len(), 1);
    // What was left goes with the next one, though nothing was added since.
    node.sweep(&[]);
    assert!(lock(&held.blobs).is_empty());
    node.add(&turn(1), &[("a", "x")]).expect("there is room");
}

#[test]
fn a_process_beside_asks_and_neither_puts_nor_removes() {
    let (node, held) = fixture();
    lock(&held.blobs).insert("ab".repeat(32), (b"x".to_vec(), UNSAID_AGE_MAX));
    let dir = node.dir.path().join("outgoing");
    let beside = Outgoing::open_beside(&dir, LIMITS).expect("it opens").with_bucket(held.clone());
    assert!(beside.holds(&"ab".repeat(32)));
    let mut addition = beside.addition(&turn(1));
    addition.take(vec![node.source("a", "x")], &|| Ok(())).expect("taken");
    addition.keep();
    beside.sweep(now(), || Ok::<_, Infallible>(BTreeSet::new())).expect("nothing fails");
    assert_eq!(lock(&held.blobs).len(), 1);
}
