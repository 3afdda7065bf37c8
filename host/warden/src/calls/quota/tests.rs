//! Accounts of turns, with a journal and without.

use super::*;

fn left(quota: &WriteQuota, turn: &str) -> u64 {
    quota.share(&TurnId::new(turn), None).left
}

#[test]
fn the_calls_of_a_turn_share_what_it_may_write() {
    let quota = WriteQuota::new(ByteSize(10));
    assert_eq!(left(&quota, "a"), 10);
    quota.enter(&TurnId::new("a"), 4);
    quota.enter(&TurnId::new("b"), 1);
    quota.enter(&TurnId::new("a"), 5);
    assert_eq!((left(&quota, "a"), left(&quota, "b"), left(&quota, "c")), (1, 9, 10));
    // One that wrote more than it may, because the limit was lowered meanwhile, has nothing left.
    quota.enter(&TurnId::new("a"), u64::MAX);
    assert_eq!(left(&quota, "a"), 0);
}

#[test]
fn a_journal_knows_better_than_memory() {
    let quota = WriteQuota::new(ByteSize(10));
    let turn = TurnId::new("a");
    quota.enter(&turn, 9);
    let earlier = JournalState { answer: None, written_bytes: 3 };
    assert_eq!(quota.share(&turn, Some(&earlier)).left, 7);
}

#[test]
fn accounts_are_kept_while_they_are_recent() {
    let quota = WriteQuota::new(ByteSize(10));
    let turn = |n: usize| TurnId::new(format!("t{n}"));
    for n in 0..TURNS_KEPT_MAX {
        quota.enter(&turn(n), 1);
    }
    // Used again, so it is not the oldest any more.
    quota.enter(&turn(0), 1);
    quota.enter(&turn(TURNS_KEPT_MAX), 1);
    assert_eq!(lock(&quota.kept).len(), TURNS_KEPT_MAX);
    assert_eq!((left(&quota, "t0"), left(&quota, "t1"), left(&quota, "t2")), (8, 10, 9));
}
