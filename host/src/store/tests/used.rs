//! What each person has used in a day, and how often a turn was begun.

use super::*;
use cofferdam_core::id::{Caller, SessionId};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

fn caller(sender: &str) -> Caller {
    Caller { channel: "telegram".into(), sender: sender.into() }
}

impl Fixture {
    async fn used(&self, sender: &str) -> (u64, u64) {
        let Used { tokens, written_bytes } = self.store.used(&caller(sender), now_ms()).await.expect("known");
        (tokens, written_bytes)
    }
}

#[tokio::test]
async fn a_step_is_charged_once_to_its_person_and_day() {
    let fixture = Fixture::new();
    let whose = |turn: &str| WhoseTurn {
        session: SessionId::new("s"),
        turn: TurnId::new(turn),
        caller: caller("ann"),
    };
    for (turn, n) in [("1", 0), ("1", 0), ("1", 1), ("2", 0)] {
        fixture.store.add_line(&whose(turn), n, "x".into(), 10).await.expect("added");
    }
    fixture.store.replace_lines(&whose("2"), &TurnId::new("2"), "sum".into(), 5).await.expect("replaced");
    let fixture = fixture.restart();
    assert_eq!((fixture.used("ann").await, fixture.used("ben").await), ((35, 0), (0, 0)));
    let tomorrow = fixture.store.used(&caller("ann"), now_ms() + DAY_MS).await.expect("known");
    assert_eq!(tomorrow, Used::default(), "it starts anew");
    fixture.store.prune(now_ms() + 40 * DAY_MS).await.expect("it");
    assert_eq!(fixture.sql::<i64>("SELECT count(*) FROM usage"), 0);
}

#[tokio::test]
async fn written_bytes_are_charged_to_whose_turn_it_is_and_once() {
    let fixture = Fixture::new();
    let writes =
        |call: &str, bytes| fixture.store.record(call, "h", &json!({}).into(), bytes).expect("recorded");
    writes("nobodys/0", 7);
    fixture.store.attempt(&TurnId::new("t"), &caller("ann")).await.expect("noted");
    writes("t/0", 100);
    writes("t/1", 50);
    // Again after a crash, and then with less.
    writes("t/1", 50);
    writes("t/0", 40);
    assert_eq!(fixture.used("ann").await, (0, 90));
}

#[tokio::test]
async fn attempts_are_counted_until_the_turn_ends() {
    let fixture = Fixture::new();
    let turn = fixture.bound(1).await;
    let attempt =
        async |fixture: &Fixture| fixture.store.attempt(&turn, &caller("ann")).await.expect("noted");
    assert_eq!(attempt(&fixture).await, 1);
    let fixture = fixture.restart();
    assert_eq!(attempt(&fixture).await, 2);
    fixture.store.withdraw_attempt(&turn).await.expect("withdrawn");
    assert_eq!(attempt(&fixture).await, 2, "a stop on purpose does not count");
    fixture.store.end(CHANNEL, &turn, text_reply(&["x"])).await.expect("ended");
    assert_eq!(fixture.sql::<i64>("SELECT count(*) FROM attempt"), 0);
}
