//! Chains of several nodes in one state folder.

use super::*;
use crate::audit::{ChainPlace, LandedCall, ToldHeads, verify};
use cofferdam_core::tool::ErrorCode;
use std::time::Duration;

fn open(dir: &TempDir, node: Option<&str>) -> AuditLog {
    let place = ChainPlace::new(dir.path(), node);
    fs::create_dir_all(place.active.parent().expect("a folder")).expect("writable");
    AuditLog::open_in(dir.path(), node, &Config::default()).expect("opens")
}

fn append(log: &AuditLog, event: AuditEvent) -> u64 {
    log.append(event, Durability::Buffered).expect("appends")
}

#[test]
fn the_chains_of_a_folder_are_found() {
    let dir = tempfile::tempdir().expect("a folder");
    assert_eq!(ChainPlace::find_all(&dir.path().join("none")).expect("none is no fault"), []);
    for node in [Some("b"), None, Some("a")] {
        open(&dir, node);
    }
    // A name is never a way out of the folder, and a folder without a chain is none.
    fs::create_dir(dir.path().join("node-empty")).expect("writable");
    fs::write(dir.path().join("node-file"), "").expect("writable");
    assert_eq!(ChainPlace::new(dir.path(), Some("..")).active, dir.path().join("node-../audit.jsonl"));
    let found = ChainPlace::find_all(dir.path()).expect("readable");
    let nodes: Vec<_> = found.iter().map(|chain| chain.node.as_deref()).collect();
    assert_eq!(nodes, [None, Some("a"), Some("b")]);
}

#[test]
fn a_chain_that_cannot_be_looked_at_is_not_left_out() {
    let dir = tempfile::tempdir().expect("a folder");
    open(&dir, Some("a"));
    // Nobody gets into it, not even root.
    std::os::unix::fs::symlink("node-b", dir.path().join("node-b")).expect("writable");
    let found = ChainPlace::find_all(dir.path()).expect("readable");
    let nodes: Vec<_> = found.iter().map(|chain| chain.node.as_deref()).collect();
    assert_eq!(nodes, [Some("a"), Some("b")]);
    let checked = verify(LogSelection::Log(&found[1].active), &[], Vec::new());
    assert!(matches!(checked, Err(AuditError::Open { .. })), "{checked:?}");
}

/// What is settled are the chains of those who are gone, and the one of before there were nodes.
#[test]
fn nobody_settles_the_chain_of_a_node_that_is_there() {
    let dir = tempfile::tempdir().expect("a folder");
    let (a, b, c) = (open(&dir, Some("a")), open(&dir, Some("b")), open(&dir, Some("c")));
    let before = open(&dir, None);
    for log in [&before, &a, &b, &c] {
        append(log, intent(1));
    }
    let opened = |log: &AuditLog, gone: &[&str]| {
        let open_in = |log: Result<AuditLog, AuditError>| {
            let log = log.expect("it opens");
            let found = log.open_intents(Duration::ZERO).expect("nobody publishes");
            found.intents().count()
        };
        let found = log.open_siblings(&|node| gone.contains(&node)).expect("the folder is read");
        found.into_iter().map(open_in).collect::<Vec<_>>()
    };
    assert_eq!(opened(&a, &[]), [1], "that of no node");
    assert_eq!(opened(&a, &["c"]), [1, 1]);
    assert_eq!(opened(&before, &[]), [1, 1, 1], "who shares nothing has all of them");
    assert_eq!(opened(&AuditLog::open(&a.path).expect("opens"), &["c"]), [0; 0], "its others are not known");
}

#[test]
fn a_call_that_went_on_at_another_node_is_found_there() {
    let dir = tempfile::tempdir().expect("a folder");
    let (a, b) = (open(&dir, Some("a")), open(&dir, Some("b")));
    let call = facts(1).call;
    let seq = append(&a, intent(1));
    let nothing = CallOutcome {
        facts: facts(1),
        files: Vec::new(),
        code: Some(ErrorCode::Cancelled),
        ..settled(Some(seq))
    };
    append(
        &a,
        AuditEvent::Outcome(CallOutcome { reconciled: true, settled_by: Some("b".into()), ..nothing }),
    );
    assert_eq!(b.find_landed(&call).expect("reads"), None);
    let seq = append(&b, intent(1));
    append(&b, AuditEvent::Outcome(CallOutcome { facts: facts(1), ..settled(Some(seq)) }));
    for log in [&a, &b] {
        assert_eq!(log.find_landed(&call).expect("reads"), Some(LandedCall::All(files())));
    }
}

/// Of the others' older files there may be many.
#[test]
fn a_call_that_has_landed_is_looked_for_in_the_newest_file_of_each_chain_first() {
    let dir = tempfile::tempdir().expect("a folder");
    let (a, b) = (open(&dir, Some("a")), open(&dir, Some("b")));
    let small = Config { rotate_bytes: ByteSize(1), ..Config::default() };
    let rotating = AuditLog::open_with(&a.path, &small).expect("opens");
    for n in 2..4 {
        append(&rotating, intent(n));
    }
    // A folder in its place cannot be read.
    let old = a.path.with_file_name("audit-00000000000000000001.jsonl");
    fs::remove_file(&old).and_then(|()| fs::create_dir(&old)).expect("it was rotated away");
    let seq = append(&b, intent(1));
    append(&b, AuditEvent::Outcome(CallOutcome { facts: facts(1), ..settled(Some(seq)) }));
    for log in [&a, &b] {
        assert_eq!(log.find_landed(&facts(1).call).expect("reads"), Some(LandedCall::All(files())));
        log.find_landed(&facts(9).call).expect_err("of this one all are asked");
    }
}

#[test]
fn a_head_that_another_node_has_recorded_shows_a_cut_and_a_change() {
    let dir = tempfile::tempdir().expect("a folder");
    let (a, b) = (open(&dir, Some("a")), open(&dir, Some("b")));
    append(&b, intent(1));
    append(&b, intent(2));
    let head = b.confirm_newest_head().expect("on the disk");
    append(&a, AuditEvent::Heads { heads: [("b".to_owned(), head.to_string())].into() });
    let check = |log: &AuditLog, kept: &[Kept]| {
        verify(LogSelection::Log(&log.path), kept, Vec::new()).expect("readable")
    };
    let Verification::Sound(report) = check(&a, &[]) else { panic!("it is sound") };
    assert_eq!(report.others, [("b".to_owned(), head.clone())].into());
    let told = |head: &Head| [Kept { head: head.clone(), by: Witness::Node("a".into()) }];
    assert!(matches!(check(&b, &told(&head)), Verification::Sound(_)));
    let ahead = Head { seq: 3, ..head.clone() };
    let Verification::Bad { record, .. } = check(&b, &told(&ahead)) else { panic!("it was cut") };
    assert_eq!(
        record.fault.to_string(),
        "it is missing, and so is all up to the head that node a has recorded (seq 3): the tail was cut"
    );
    let other = Head { seq: 1, ..head };
    let Verification::Bad { record, .. } = check(&b, &told(&other)) else { panic!("it was changed") };
    let what = "it is not the record of the head that node a has recorded: the log was rewritten";
    assert_eq!((record.seq, record.fault.to_string()), (1, what.to_owned()));
}

/// Has a node record how far another one is.
fn tell(by: &AuditLog, node: &str, head: &Head) {
    append(by, AuditEvent::Heads { heads: [(node.to_owned(), head.to_string())].into() });
}

/// What is said of the chain of `b` beside what a node has recorded of it.
fn found_by(dir: &TempDir, node: &str) -> Option<(u64, String)> {
    let told = ToldHeads::open(dir.path(), node, "b").expect("readable");
    let chain = ChainPlace::new(dir.path(), Some("b")).active;
    match verify(LogSelection::Log(&chain), &[], vec![told]).expect("readable") {
        Verification::Sound(_) => None,
        Verification::Bad { record, .. } => Some((record.seq, record.fault.to_string())),
    }
}

const CHANGED: &str = "it is not the record of the head that node a has recorded: the log was rewritten";

/// Its later heads are in it; the one of before is what it lacks.
#[test]
fn a_chain_that_was_cut_and_has_grown_past_that_is_shown_by_every_head_of_before() {
    let dir = tempfile::tempdir().expect("a folder");
    let (a, b) = (open(&dir, Some("a")), open(&dir, Some("b")));
    for n in 1..=4 {
        append(&b, intent(n));
        tell(&a, "b", &b.confirm_newest_head().expect("on the disk"));
    }
    assert_eq!(found_by(&dir, "a"), None);
    let (known, whole) = (b.head(), fs::read_to_string(&b.path).expect("readable"));
    drop(b);
    let cut: String = whole.split_inclusive('\n').take(2).collect();
    fs::write(ChainPlace::new(dir.path(), Some("b")).active, cut).expect("writable");
    let missing =
        "it is missing, and so is all up to the head that node a has recorded (seq 3): the tail was cut";
    assert_eq!(found_by(&dir, "a"), Some((3, missing.to_owned())));
    let again = open(&dir, Some("b"));
    assert!(!again.holds(&known).expect("readable"));
    for n in 5..=8 {
        append(&again, intent(n));
    }
    tell(&a, "b", &again.confirm_newest_head().expect("on the disk"));
    assert_eq!(found_by(&dir, "a"), Some((3, CHANGED.to_owned())));
    assert_eq!(sound(&a.path).others, [("b".to_owned(), again.head())].into());
    // Without others the node's own word shows it.
    tell(&again, "b", &known);
    let own = CHANGED.replace("node a", "node b");
    assert_eq!(found_by(&dir, "b"), Some((4, own)));
}

#[test]
fn a_head_that_is_told_after_a_later_one_counts_too() {
    let dir = tempfile::tempdir().expect("a folder");
    let (a, b) = (open(&dir, Some("a")), open(&dir, Some("b")));
    append(&b, intent(1));
    let first = b.confirm_newest_head().expect("on the disk");
    append(&b, intent(2));
    append(&b, intent(3));
    let last = b.confirm_newest_head().expect("on the disk");
    for head in [&last, &first, &last] {
        tell(&a, "b", head);
    }
    assert_eq!(found_by(&dir, "a"), None, "a database that was put back tells an old one");
    tell(&a, "b", &Head { seq: 2, ..first });
    assert_eq!(found_by(&dir, "a"), Some((2, CHANGED.to_owned())));
}

#[test]
fn a_chain_holds_the_heads_of_its_records_in_every_file() {
    let dir = tempfile::tempdir().expect("a folder");
    let place = open(&dir, Some("a")).path.clone();
    let small = Config { rotate_bytes: ByteSize(1), ..Config::default() };
    let log = AuditLog::open_with(&place, &small).expect("opens");
    assert!(log.holds(&Head::genesis()).expect("readable"), "it is empty");
    for n in 1..=3 {
        append(&log, intent(n));
        assert!(log.holds(&Head::genesis()).expect("readable"), "it begins there");
        assert!(log.holds(&log.head()).expect("readable"));
    }
    let head = log.head();
    append(&log, intent(4));
    assert!(log.holds(&head).expect("readable"), "it was rotated away");
    for other in [Head { seq: 2, ..head.clone() }, Head { sha256: GENESIS.to_owned(), ..head.clone() }] {
        assert!(!log.holds(&other).expect("readable"), "{other}");
    }
    assert!(!log.holds(&Head { seq: 9, ..head }).expect("readable"));
}

#[test]
fn the_newest_head_is_the_one_that_another_process_has_appended() {
    let dir = tempfile::tempdir().expect("a folder");
    let (serve, call) = (open(&dir, Some("a")), open(&dir, Some("a")));
    append(&serve, intent(1));
    append(&call, intent(2));
    assert_eq!(serve.head().seq, 1, "it has not looked");
    assert_eq!(serve.confirm_newest_head().expect("on the disk"), call.head());
    fs::remove_file(&serve.path).expect("it is there");
    assert!(matches!(serve.confirm_newest_head(), Err(AuditError::Deleted)));
}
