//! Looking at the database beside anyone who writes it.

use super::sqlite::{Files, TO_VERSION_16};
use super::*;

#[tokio::test]
async fn what_waits_is_counted_beside_a_writer_and_nothing_is_made() {
    let dir = tempfile::tempdir().expect("a directory");
    assert!(DatabaseView::open(dir.path()).expect("nothing").is_none());
    assert_eq!(std::fs::read_dir(dir.path()).expect("there").count(), 0);
    let fixture = Fixture::<Files>::new();
    let look = DatabaseView::open(fixture.dir()).expect("opened").expect("there");
    assert_eq!(look.version(), StoreLocation::from(fixture.dir()).version_known());
    assert_eq!((look.damage().expect("read"), look.received_at().expect("read")), (None, None));
    fixture.store.persist(CHANNEL, vec![new(1, None), new(2, None), new(3, None)]).await.expect("persisted");
    let turn =
        fixture.store.claim(CHANNEL, UpdateClaim::Update(1)).await.expect("claimed").expect("waits").turn;
    fixture.store.claim(CHANNEL, UpdateClaim::Update(2)).await.expect("claimed");
    fixture.store.end(CHANNEL, &turn, text_reply(&["a", "b"])).await.expect("ended");
    let asked = |id: &str, expires_at| NewApproval {
        channel: CHANNEL.into(),
        id: id.into(),
        call: format!("{id}/0"),
        sha256: "h".into(),
        place: "p".into(),
        expires_at,
    };
    fixture.store.ask(asked("open", now_ms() + 60_000)).await.expect("asked");
    fixture.store.ask(asked("late", now_ms() - 60_000)).await.expect("asked");
    let expected = WaitingCounts { messages: 1, turns: 1, approvals: 1, replies: 1, parts: 2 };
    assert_eq!(look.count_waiting().expect("read"), expected);
    assert!(look.received_at().expect("read").is_some_and(|at| at <= now_ms()));
    fixture.store.mark_part_sent(&turn, 0, "m").await.expect("noted");
    fixture.store.mark_part_sent(&turn, 1, "m").await.expect("noted");
    assert_eq!(look.count_waiting().expect("read"), WaitingCounts { replies: 0, parts: 0, ..expected });
}

#[tokio::test]
async fn a_day_of_many_people_is_listed_from_the_top() {
    let fixture = Fixture::<Files>::new();
    let people = i64::from(PEOPLE_LISTED_MAX) + 1;
    for n in 1..=people {
        let (turn, sender) = (TurnId::new(format!("t{n}")), n.to_string());
        let caller = Caller { channel: "telegram".into(), sender };
        fixture.store.attempt(&turn, &caller).await.expect("noted");
        let bytes = u64::try_from(n).expect("positive");
        fixture.store.record(&format!("t{n}/0"), "h", &json!({}).into(), bytes).expect("recorded");
    }
    let look = DatabaseView::open(fixture.dir()).expect("opened").expect("there");
    let today = look.usage_today().expect("read");
    assert_eq!(today.len(), PEOPLE_LISTED_MAX as usize);
    assert_eq!((today[0].sender.clone(), today[0].written_bytes), (people.to_string(), 101));
}

/// The command that goes on with it brings the tables to this version.
#[tokio::test]
async fn what_a_run_began_with_is_read_in_tables_of_an_older_release() {
    let fixture = conformance::waits::waiting::<Files>("w-1").await;
    let began_with = |run| {
        let look = DatabaseView::open(fixture.dir()).expect("opened").expect("there");
        look.load_beginning(run).expect("read")
    };
    let began = began_with("w-1");
    assert!(began.is_some());
    fixture.connection().execute_batch(TO_VERSION_16).expect("set");
    assert_eq!((began_with("w-1"), began_with("w-2")), (began, None));
    fixture.connection().execute_batch("PRAGMA user_version = 12").expect("set");
    assert_eq!(began_with("w-1"), None, "that release kept no runs");
}

#[test]
fn what_is_no_database_or_a_newer_one_is_told() {
    let fixture = Fixture::<Files>::new();
    fixture.connection().pragma_update(None, "user_version", 1000).expect("set");
    let look = DatabaseView::open(fixture.dir()).expect("opened").expect("there");
    assert_eq!(look.version(), 1000);
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join(FILE_NAME), "no database, and long enough for one".repeat(100))
        .expect("writable");
    assert!(DatabaseView::open(dir.path()).is_err());
}
