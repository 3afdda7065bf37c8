//! What was said in a session: in order, once, for as long as it is kept.

use super::*;
use cofferdam_core::id::{Caller, SessionId};

fn whose(session: &str, turn: &str) -> WhoseTurn {
    let caller = Caller { channel: "telegram".into(), sender: "1".into() };
    WhoseTurn { session: SessionId::new(session), turn: TurnId::new(turn), caller }
}

impl Fixture {
    async fn says(&self, session: &str, turn: &str, n: usize, body: &str) {
        self.store.add_line(&whose(session, turn), n, body.into(), 0).await.expect("added");
    }

    /// The lines of a session, with those of a turn that runs.
    async fn said(&self, session: &str, turn: &str) -> String {
        let lines = self.store.lines(&SessionId::new(session), &TurnId::new(turn)).await.expect("lines");
        lines.iter().map(|line| format!("{}:{}", line.turn, line.body)).collect::<Vec<_>>().join(" ")
    }
}

#[tokio::test]
async fn lines_come_back_in_order_after_a_restart_and_each_once() {
    let fixture = Fixture::new();
    for (turn, n, body) in [("t1", 0, "a"), ("t1", 1, "b"), ("t1", 1, "other"), ("t2", 0, "c")] {
        fixture.says("here", turn, n, body).await;
    }
    fixture.says("there", "t3", 0, "d").await;
    let fixture = fixture.restart();
    assert_eq!(fixture.said("here", "t2").await, "t1:a t1:b t2:c");
    assert_eq!(fixture.said("there", "t3").await, "t3:d");
    assert_eq!(fixture.said("nowhere", "t").await, "");
    fixture.store.forget_lines(&SessionId::new("here")).await.expect("forgotten");
    assert_eq!(
        (fixture.said("here", "t2").await, fixture.said("there", "t").await),
        (String::new(), "t3:d".into())
    );
    let bytes = std::fs::read(fixture.dir.path().join(FILE_NAME)).expect("the file");
    assert!(!bytes.windows(3).any(|w| w == b"t1a"), "what is forgotten is overwritten");
}

#[tokio::test]
async fn a_line_takes_the_place_of_older_ones() {
    let fixture = Fixture::new();
    for (session, turn, body) in [("s", "1", "a"), ("x", "2", "z"), ("s", "3", "b"), ("s", "4", "c")] {
        fixture.says(session, turn, 0, body).await;
    }
    let replace = async |from: &str, body: &str| {
        let from = TurnId::new(from);
        fixture.store.replace_lines(&whose("s", "4"), &from, body.into(), 0).await.expect("replaced");
    };
    replace("nobody", "no").await;
    replace("1", "nothing is older").await;
    assert_eq!(fixture.said("s", "4").await, "1:a 3:b 4:c");
    replace("3", "sum").await;
    assert_eq!(fixture.said("s", "4").await, "s#1:sum 3:b 4:c");
    replace("4", "sums").await;
    assert_eq!(fixture.said("s", "4").await, "s#3:sums 4:c");
    assert_eq!(fixture.said("x", "2").await, "2:z");
}

#[tokio::test]
async fn of_earlier_turns_only_the_latest_are_loaded_and_all_of_the_own() {
    let fixture = Fixture::new();
    let half = "x".repeat(LOADED_BYTES_MAX / 2);
    for turn in ["1", "2", "3", "now"] {
        fixture.says("s", turn, 0, &half).await;
        fixture.says("s", turn, 1, "").await;
    }
    let lines = fixture.store.lines(&SessionId::new("s"), &TurnId::new("now")).await.expect("lines");
    let turns: Vec<_> = lines.iter().map(|line| line.turn.as_str()).collect();
    assert_eq!(turns, ["1", "2", "2", "3", "3", "now", "now"]);
}

#[tokio::test]
async fn what_was_said_is_forgotten_by_age_and_by_number() {
    let fixture = Fixture::new();
    fixture.says("s", "old", 0, "x").await;
    let later = now_ms() + i64::try_from(DONE_AGE_MAX.as_millis()).expect("small") + 1;
    fixture.store.prune(now_ms()).await.expect("it");
    assert_eq!(fixture.said("s", "").await, "old:x");
    fixture.store.prune(later).await.expect("it");
    assert_eq!(fixture.said("s", "").await, "");
    let many = i64::from(LINES_MAX) + 5;
    let insert = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
        INSERT INTO line (session, turn, n, body, said_at) SELECT 's', 't', i, '', ?2 FROM n";
    let inserted = |connection: &Connection| connection.execute(insert, [many, now_ms()]);
    inserted(&fixture.store.connection.lock().expect("a connection")).expect("inserted");
    fixture.store.prune(now_ms()).await.expect("it");
    assert_eq!(fixture.sql::<i64>("SELECT count(*) FROM line"), i64::from(LINES_MAX));
    assert_eq!(fixture.sql::<i64>("SELECT min(n) FROM line"), 6, "the latest stay");
}

#[tokio::test]
async fn a_database_of_the_third_version_is_taken_over() {
    let fixture = Fixture::new();
    fixture.bound(1).await;
    fixture.store.connection.lock().expect("a connection").execute_batch(TO_VERSION_3).expect("set");
    let fixture = fixture.restart();
    fixture.says("s", "t", 0, "a").await;
    assert_eq!(fixture.said("s", "t").await, "t:a");
    assert_eq!(fixture.store.bound(CHANNEL).await.expect("it").len(), 1, "what was there stays");
}
