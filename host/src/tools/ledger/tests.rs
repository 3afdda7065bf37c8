//! Accounts of turns, with a journal and without.

use super::*;

fn left(ledger: &Ledger, turn: &str) -> u64 {
    ledger.share(&TurnId::new(turn), None).left
}

#[test]
fn the_calls_of_a_turn_share_what_it_may_write() {
    let ledger = Ledger::new(ByteSize(10));
    assert_eq!(left(&ledger, "a"), 10);
    ledger.enter(&TurnId::new("a"), 4);
    ledger.enter(&TurnId::new("b"), 1);
    ledger.enter(&TurnId::new("a"), 5);
    assert_eq!((left(&ledger, "a"), left(&ledger, "b"), left(&ledger, "c")), (1, 9, 10));
    // One that wrote more than it may, because the limit was lowered meanwhile, has nothing left.
    ledger.enter(&TurnId::new("a"), u64::MAX);
    assert_eq!(left(&ledger, "a"), 0);
}

#[test]
fn a_journal_knows_better_than_memory() {
    let ledger = Ledger::new(ByteSize(10));
    let turn = TurnId::new("a");
    ledger.enter(&turn, 9);
    let earlier = Earlier { answer: None, written_bytes: 3 };
    assert_eq!(ledger.share(&turn, Some(&earlier)).left, 7);
}

#[test]
fn accounts_are_kept_while_they_are_recent() {
    let ledger = Ledger::new(ByteSize(10));
    let turn = |n: usize| TurnId::new(format!("t{n}"));
    for n in 0..TURNS_KEPT_MAX {
        ledger.enter(&turn(n), 1);
    }
    // Used again, so it is not the oldest any more.
    ledger.enter(&turn(0), 1);
    ledger.enter(&turn(TURNS_KEPT_MAX), 1);
    assert_eq!(ledger.kept().len(), TURNS_KEPT_MAX);
    assert_eq!((left(&ledger, "t0"), left(&ledger, "t1"), left(&ledger, "t2")), (8, 10, 9));
}
