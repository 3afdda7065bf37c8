//! What only SQLite has: the file, its versions, what is overwritten, and bounds by number.

use super::*;
use rusqlite::Connection;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::Ordering;

/// A database that lives as long as its folder.
pub(super) struct Files {
    dir: tempfile::TempDir,
}

impl Engine for Files {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a folder") }
    }

    fn open(&self) -> Store {
        Store::open(self.dir.path()).expect("a store")
    }
}

impl Fixture<Files> {
    pub(super) fn dir(&self) -> &Path {
        self.engine.dir.path()
    }

    fn path(&self) -> PathBuf {
        self.dir().join(FILE_NAME)
    }

    /// Beside the store: committed rows are there for every connection.
    pub(super) fn connection(&self) -> Connection {
        Connection::open(self.path()).expect("a connection")
    }

    fn sql<T: rusqlite::types::FromSql>(&self, query: &str) -> T {
        self.connection().query_row(query, [], |row| row.get(0)).expect(query)
    }
}

impl Database {
    fn sqlite(&self) -> &Sqlite {
        match &self.engine {
            crate::Engine::Sqlite(sqlite) => sqlite,
            crate::Engine::Postgres(_) => panic!("a test of SQLite with another engine"),
        }
    }
}

#[test]
fn the_file_is_private_even_if_it_was_not() {
    let fixture = Fixture::<Files>::new();
    let path = fixture.path();
    let mode = || std::fs::metadata(&path).expect("metadata").permissions().mode() & 0o777;
    assert_eq!(mode(), 0o600);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).expect("chmod");
    let sqlite = Store::open(fixture.engine.dir.path()).expect("a store");
    assert_eq!(mode(), 0o600);
    let connection = sqlite.database.sqlite().connection.lock().expect("a connection");
    let synchronous: i64 = connection.pragma_query_value(None, "synchronous", |row| row.get(0)).expect("it");
    let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).expect("it");
    assert_eq!((synchronous, mode.as_str()), (2, "wal"));
}

#[test]
fn a_newer_version_is_refused_and_untouched() {
    let fixture = Fixture::<Files>::new();
    fixture.connection().pragma_update(None, "user_version", 99).expect("set");
    let refused = Store::open(fixture.engine.dir.path()).map(|_| ()).expect_err("refused").to_string();
    let known = schema::VERSION;
    let expected = format!(
        "the database has version 99, this program knows {known}; run the newer release, or restore a backup"
    );
    assert_eq!(refused, expected);
    assert_eq!(fixture.sql::<i64>("PRAGMA user_version"), 99);
}

/// It would make the tables of its versions once more, and fail.
#[test]
fn a_version_that_a_newer_release_wrote_meanwhile_is_not_lowered() {
    let fixture = Fixture::<Files>::new();
    fixture.connection().pragma_update(None, "user_version", 99).expect("set");
    // As one that had looked before.
    let refused = schema::migrate(&mut fixture.connection());
    assert!(matches!(refused, Err(StoreError::Newer { found: 99, .. })), "{refused:?}");
    assert_eq!(fixture.sql::<i64>("PRAGMA user_version"), 99);
    // And as one that serves still.
    fixture.store.check().expect("writable");
    assert_eq!(fixture.sql::<i64>("PRAGMA user_version"), 99);
}

/// Takes away what later versions than the third have.
const TO_VERSION_3: &str =
    "DROP TABLE spoken_to; DROP TABLE line; DROP TABLE attempt; DROP TABLE usage; DROP TABLE approval;
    DROP TABLE approved_path; DROP TABLE outgoing; ALTER TABLE journal DROP COLUMN attachments;
    DROP INDEX inbox_session; DROP INDEX inbox_request; ALTER TABLE inbox DROP COLUMN session;
    ALTER TABLE inbox DROP COLUMN sender; ALTER TABLE inbox DROP COLUMN request;
    ALTER TABLE inbox DROP COLUMN joined; ALTER TABLE recent DROP COLUMN turn;
    ALTER TABLE journal DROP COLUMN delivery; DROP TABLE delivery;
    DROP TABLE moved; DROP INDEX inbox_message; ALTER TABLE inbox DROP COLUMN message;
    ALTER TABLE stranger DROP COLUMN times; DROP TABLE stream; DROP TABLE place;
    DROP TABLE run_message; DROP TABLE run_schedule; DROP TABLE run_task; DROP TABLE run;
    PRAGMA user_version = 3;";

#[tokio::test]
async fn a_database_of_the_first_version_is_taken_over() {
    let fixture = Fixture::<Files>::new();
    fixture.store.persist(CHANNEL, vec![new(1, None)]).await.expect("it");
    let older = format!(
        "{TO_VERSION_3} DROP TABLE recent; DROP TABLE placeholder; ALTER TABLE journal DROP COLUMN written_bytes;
         PRAGMA user_version = 1"
    );
    fixture.connection().execute_batch(&older).expect("set");
    let fixture = fixture.restart();
    assert_eq!(fixture.sql::<i64>("PRAGMA user_version"), schema::VERSION);
    assert_eq!(ids(&fixture.store.pending(CHANNEL, None, 9).await.expect("it")), [1]);
    fixture.ends(2, files("here", None, "x")).await;
    assert!(fixture.recent("here", "ann").await.is_some());
}

#[tokio::test]
async fn a_database_of_the_third_version_is_taken_over() {
    let fixture = Fixture::<Files>::new();
    fixture.bound(1).await;
    fixture.connection().execute_batch(TO_VERSION_3).expect("set");
    let fixture = fixture.restart();
    fixture.says("s", "t", 0, "a").await;
    assert_eq!(fixture.said("s", "t").await, "t:a");
    assert_eq!(
        fixture.store.take_over(CHANNEL, &[]).await.expect("it").turns.len(),
        1,
        "what was there stays"
    );
}

/// Takes away what the last version has, and gives back what it took.
pub(super) const TO_VERSION_16: &str = "DROP INDEX run_due; DROP INDEX run_age; DROP INDEX run_unanswered;
    DROP INDEX run_unnoted; ALTER TABLE run DROP COLUMN ended_by; ALTER TABLE run DROP COLUMN unnoted;
    ALTER TABLE run DROP COLUMN due_at; CREATE INDEX run_open ON run (state) WHERE ended_at IS NULL;
    PRAGMA user_version = 16;";

#[tokio::test]
async fn a_run_that_waits_in_a_database_of_the_release_before_still_waits() {
    let hour = 3_600_000;
    let fixture = conformance::waits::waiting::<Files>("w-1").await;
    fixture.connection().execute_batch(TO_VERSION_16).expect("set");
    let fixture = fixture.restart();
    assert_eq!(fixture.sql::<i64>("PRAGMA user_version"), schema::VERSION);
    let to_go_on = async |at| fixture.store.runs_to_go_on(at, 9 * hour).await.expect("asked").runs;
    assert!(to_go_on(now_ms()).await.is_empty(), "it waits");
    assert_eq!(to_go_on(now_ms() + 2 * hour).await, ["w-1"], "its time is over");
    assert_eq!(fixture.store.runs_to_go_on(now_ms() + hour / 2, 1).await.expect("asked").runs, ["w-1"]);
}

#[tokio::test]
async fn what_was_said_is_forgotten_when_it_is_done() {
    let fixture = Fixture::<Files>::new();
    let turn = fixture.bound(1).await;
    fixture.store.end(CHANNEL, &turn, text_reply(&["a", "b"])).await.expect("it");
    assert_eq!(fixture.sql::<String>("SELECT raw FROM inbox"), "");
    fixture.store.mark_part_sent(&turn, 0, "100").await.expect("it");
    fixture.store.mark_part_failed(&turn, 1, "blocked", PartsInstead::default()).await.expect("it");
    assert_eq!(fixture.sql::<String>("SELECT group_concat(body || outcome) FROM part"), "100,blocked");
    fixture.store.persist(CHANNEL, vec![stranger(2, "7")]).await.expect("it");
    assert_eq!(fixture.sql::<i64>("SELECT count(*) FROM inbox WHERE raw <> ''"), 0);
    fixture.says("here", "t", 0, "overwritten").await;
    fixture.store.forget_lines(&SessionId::new("here")).await.expect("forgotten");
    fixture.connection().pragma_update(None, "wal_checkpoint", "truncate").expect("written back");
    let bytes = std::fs::read(fixture.path()).expect("the file");
    assert!(!bytes.windows(11).any(|w| w == b"overwritten"), "what is forgotten is overwritten");
}

#[tokio::test]
async fn what_belongs_to_a_turn_goes_with_it() {
    let fixture = Fixture::<Files>::new();
    for id in [1, 2] {
        let turn = fixture.bound(id).await;
        fixture.store.record(turn.call(0).as_str(), "hash", &json!({}).into(), 0).expect("recorded");
        fixture.store.attempt(&turn, &caller("ann")).await.expect("noted");
        fixture.store.end(CHANNEL, &turn, text_reply(&["x"])).await.expect("it");
    }
    assert_eq!(fixture.sql::<i64>("SELECT count(*) FROM attempt"), 0);
    fixture.store.mark_part_sent(&TurnId::new("telegram-1-1"), 0, "5").await.expect("it");
    fixture.store.prune(much_later()).await.expect("it");
    for table in ["inbox", "part", "reply"] {
        assert_eq!(fixture.sql::<i64>(&format!("SELECT count(*) FROM {table}")), 1, "{table}");
    }
    assert_eq!(fixture.sql::<i64>("SELECT count(*) FROM journal"), 0);
}

#[tokio::test]
async fn what_is_done_is_forgotten_by_number() {
    let fixture = Fixture::<Files>::new();
    let ignored = |id| NewUpdate { fate: UpdateFate::Ignored, ..new(id, None) };
    let many = (1..=i64::from(DONE_ROWS_MAX) + 3).map(ignored).collect();
    fixture.store.persist(CHANNEL, many).await.expect("it");
    fixture.connection().execute("UPDATE inbox SET received_at = update_id * 10", []).expect("updated");
    assert_eq!(fixture.store.known_since().await.expect("it"), Some(40), "before it is forgotten");
    assert_eq!(fixture.store.prune(now_ms()).await.expect("it"), 3);
    assert_eq!(fixture.sql::<i64>("SELECT min(update_id) FROM inbox"), 4);
    assert_eq!(fixture.store.known_since().await.expect("it"), Some(40));
    assert_eq!(fixture.store.prune(now_ms()).await.expect("it"), 0);
}

#[tokio::test]
async fn a_place_is_known_though_the_clock_was_set_back() {
    let fixture = Fixture::<Files>::new();
    let place = |n: u32| ReplyPlace { place: n.to_string(), last: 7, unasked: false };
    let at = StreamPosition { session: "a".into(), address: "wss://x".into(), number: 1 };
    fixture.store.begin_stream(CHANNEL, at.clone()).await.expect("it");
    let all = (0..PLACES_MAX).map(place).collect();
    fixture.store.persist_at(CHANNEL, vec![], at.clone(), all).await.expect("it");
    fixture.connection().execute("UPDATE place SET noted_at = noted_at + 86400000", []).expect("updated");
    for n in [PLACES_MAX, PLACES_MAX + 1] {
        fixture.store.persist_at(CHANNEL, vec![], at.clone(), vec![place(n)]).await.expect("it");
    }
    let places = fixture.store.places(CHANNEL).await.expect("it");
    assert_eq!(places[..2], [place(PLACES_MAX + 1), place(PLACES_MAX)]);
    assert_eq!(places.len(), PLACES_MAX as usize);
}

/// Fills a table with five rows more than its limit, and prunes: the latest stay.
async fn check_pruned_by_number(insert: &str, limit: u32, smallest: &str) {
    let fixture = Fixture::<Files>::new();
    let insert = format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) INSERT INTO {insert} FROM n"
    );
    fixture.connection().execute(&insert, [i64::from(limit) + 5, now_ms()]).expect("inserted");
    fixture.store.prune(now_ms()).await.expect("it");
    assert_eq!(fixture.sql::<i64>(smallest), 6, "{insert}");
    let table =
        insert.split_once("INSERT INTO ").and_then(|(_, rest)| rest.split(' ').next()).expect("a table");
    assert_eq!(fixture.sql::<i64>(&format!("SELECT count(*) FROM {table}")), i64::from(limit));
}

#[tokio::test]
async fn tables_are_bounded_by_number() {
    check_pruned_by_number(
        "recent (channel, conversation, sender, album, files, noted_at) SELECT 'c', i, 's', NULL, '', ?2 + i",
        RECENT_ROWS_MAX,
        "SELECT min(CAST(conversation AS INTEGER)) FROM recent",
    )
    .await;
    check_pruned_by_number(
        "line (session, turn, n, body, said_at) SELECT 's', 't', i, '', ?2",
        LINES_MAX,
        "SELECT min(n) FROM line",
    )
    .await;
    check_pruned_by_number(
        "approved_path SELECT 'c', 's', 't', i, ?2 + i",
        APPROVED_PATHS_MAX,
        "SELECT min(CAST(path AS INTEGER)) FROM approved_path",
    )
    .await;
}

#[tokio::test]
async fn lines_of_an_open_turn_are_kept_beyond_any_number() {
    let fixture = Fixture::<Files>::new();
    let turn = fixture.bound(1).await;
    fixture.says("s", turn.as_str(), 0, "said").await;
    let others = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
        INSERT INTO line (session, turn, n, body, said_at) SELECT 'o', 'o', i, '', ?2 FROM n";
    fixture.connection().execute(others, [i64::from(LINES_MAX), now_ms()]).expect("inserted");
    fixture.store.prune(now_ms()).await.expect("it");
    assert_eq!(fixture.said("s", "t").await, "telegram-1-1:said");
    fixture.store.end(CHANNEL, &turn, text_reply(&[])).await.expect("it");
    fixture.store.prune(now_ms()).await.expect("it");
    assert_eq!(fixture.said("s", "t").await, "");
}

#[tokio::test]
async fn so_many_moves_are_remembered() {
    let fixture = Fixture::<Files>::new();
    let mut connection = fixture.connection();
    let tx = connection.transaction().expect("it");
    for n in 1..=MOVES_MAX {
        let row = (CHANNEL, format!("old{n}"), n);
        tx.execute("INSERT INTO moved VALUES (?1, ?2, 'new', ?3)", row).expect("it");
    }
    tx.commit().expect("it");
    fixture.store.note_move(CHANNEL, "last".into(), "new".into()).await.expect("it");
    let places: Vec<_> =
        fixture.store.load_moves(CHANNEL).await.expect("it").into_iter().map(|(from, _)| from).collect();
    assert_eq!(places.len(), MOVES_MAX as usize);
    assert!(places.contains(&"last".to_owned()) && !places.contains(&"old1".to_owned()), "the oldest went");
}

#[tokio::test]
async fn a_move_is_remembered_though_the_clock_was_set_back() {
    let fixture = Fixture::<Files>::new();
    let ahead = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
        INSERT INTO moved SELECT 'c', i, 'new', ?2 FROM n";
    let tomorrow = now_ms() + 86_400_000;
    fixture.connection().execute(ahead, [i64::from(MOVES_MAX), tomorrow]).expect("inserted");
    let mut marks = Vec::new();
    for place in ["one", "other"] {
        fixture.store.note_move(CHANNEL, place.into(), "new".into()).await.expect("it");
        marks.push(fixture.store.moves_mark(CHANNEL).await.expect("it"));
    }
    let moves = fixture.store.load_moves(CHANNEL).await.expect("it");
    assert_eq!(moves.iter().map(|(from, _)| from.as_str()).collect::<Vec<_>>(), ["one", "other"]);
    assert!(tomorrow < marks[0].1 && marks[0].1 < marks[1].1, "others learn of it: {marks:?}");
}

#[tokio::test]
async fn files_are_the_last_ones_and_forgotten_in_time_though_the_clock_was_set_back() {
    let fixture = Fixture::<Files>::new();
    let ahead = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
        INSERT INTO recent (channel, conversation, sender, files, noted_at) SELECT 'c', i, 's', '', ?2 FROM n";
    let in_a_year = now_ms() + 365 * 86_400_000;
    fixture.connection().execute(ahead, [i64::from(RECENT_ROWS_MAX), in_a_year]).expect("inserted");
    fixture.ends(1, files("here", None, "a")).await;
    fixture.store.prune(now_ms()).await.expect("it");
    assert_eq!(fixture.recent("here", "ann").await.as_deref(), Some("a"));
    fixture.store.prune(much_later()).await.expect("it");
    assert_eq!(fixture.sql::<i64>("SELECT count(*) FROM recent"), 0);
}

#[tokio::test]
async fn a_path_is_remembered_and_forgotten_in_time_though_the_clock_was_set_back() {
    let fixture = Fixture::<Files>::new();
    let ahead = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
        INSERT INTO approved_path SELECT 'c', 's', 't', i, ?2 FROM n";
    let in_a_year = now_ms() + 365 * 86_400_000;
    fixture.connection().execute(ahead, [i64::from(APPROVED_PATHS_MAX), in_a_year]).expect("inserted");
    let of = ApprovedPaths { channel: "c".into(), sender: "s".into(), tool: "t".into() };
    let path = vec!["/shared/new".to_owned()];
    fixture.store.remember_paths(of.clone(), path.clone()).await.expect("it");
    fixture.store.prune(now_ms() + 3_600_000).await.expect("it");
    assert_eq!(fixture.store.approved_paths(&of, &path).expect("it"), path);
    assert_eq!(fixture.sql::<i64>("SELECT count(*) FROM approved_path"), i64::from(APPROVED_PATHS_MAX));
    fixture.store.prune(much_later()).await.expect("it");
    assert_eq!(fixture.sql::<i64>("SELECT count(*) FROM approved_path"), 0);
}

#[tokio::test]
async fn strangers_are_forgotten_in_time() {
    let fixture = Fixture::<Files>::new();
    fixture.store.persist(CHANNEL, vec![stranger(1, "7")]).await.expect("it");
    fixture.store.prune(now_ms()).await.expect("it");
    assert_eq!(fixture.sql::<i64>("SELECT count(*) FROM stranger"), 1);
    let later = now_ms() + i64::try_from(DONE_AGE_MAX.as_millis()).expect("small") + 1000;
    fixture.store.prune(later).await.expect("it");
    assert_eq!(fixture.sql::<i64>("SELECT count(*) FROM stranger"), 0);
}

#[tokio::test]
async fn what_a_clock_told_that_ran_ahead_keeps_no_stranger_from_an_answer() {
    let fixture = Fixture::<Files>::new();
    let told = async |updates| fixture.store.persist(CHANNEL, updates).await.expect("it").replies.len();
    let many = STRANGERS_TOLD_PER_HOUR_MAX;
    assert_eq!(
        told((1..=i64::from(many)).map(|n| stranger(n, &n.to_string())).collect()).await,
        many as usize
    );
    assert_eq!(told(vec![stranger(100, "new")]).await, 0, "the hour is full");
    fixture.connection().execute("UPDATE stranger SET told_at = told_at + 86400000", []).expect("set");
    assert_eq!(told(vec![stranger(101, "1"), stranger(102, "new")]).await, 2);
    assert_eq!(told(vec![stranger(103, "1"), stranger(104, "new")]).await, 0, "they know now");
    fixture.connection().execute("UPDATE stranger SET told_at = told_at + 1000", []).expect("set");
    assert_eq!(told(vec![stranger(105, "1"), stranger(106, "new")]).await, 0, "the clock was set back");
}

#[tokio::test]
async fn what_was_told_unasked_is_forgotten() {
    let fixture = Fixture::<Files>::new();
    let turn = TurnId::new("telegram-1-allowed-7-1");
    fixture.store.tell(CHANNEL, &turn, text_reply(&["you are served"])).await.expect("it");
    fixture.store.mark_part_sent(&turn, 0, "1").await.expect("it");
    let later = now_ms() + i64::try_from(DONE_AGE_MAX.as_millis()).expect("small") + 1000;
    fixture.store.prune(later).await.expect("it");
    assert_eq!(fixture.sql::<i64>("SELECT count(*) FROM reply"), 0);
}

#[tokio::test]
async fn of_what_waits_to_be_said_to_a_turn_so_much_is_looked_at() {
    let fixture = Fixture::<Files>::new();
    let turn = fixture.bound(1).await;
    // What is said begins with update 2; three more come than are looked at.
    let last = i64::from(steering::LOOKED_AT_MAX) + 1;
    let said =
        |id| NewUpdate { fate: UpdateFate::Pending(headers("s", "ann", QueueMode::Steer)), ..new(id, None) };
    fixture.store.persist(CHANNEL, (2..=last + 3).map(said).collect()).await.expect("it");
    let looked_at = async || -> Vec<i64> {
        let steers = fixture.store.load_steers(CHANNEL, &turn).await.expect("it");
        steers.iter().map(|steer| steer.update.update_id).collect()
    };
    assert_eq!(looked_at().await, Vec::from_iter(2..=last));
    // As the first are taken up the others come into view, and none is lost.
    let taking = TakeUpRequest { channel: CHANNEL.into(), updates: vec![2, 3], noting: None };
    let taken = fixture.store.take_up(&whose("s", turn.as_str()), 1, "said".into(), &taking).await;
    assert!(taken.expect("it"));
    assert_eq!(looked_at().await, Vec::from_iter(4..=last + 2));
    fixture.store.end(CHANNEL, &turn, text_reply(&[])).await.expect("it");
    let waiting = fixture.store.pending(CHANNEL, None, 999).await.expect("it");
    assert_eq!(ids(&waiting), Vec::from_iter(4..=last + 3));
}

/// How far the turn of update 1 has come.
async fn progress(store: &Store) -> usize {
    let (session, turn) = (SessionId::new("s"), TurnId::new("telegram-1-1"));
    let waits = store.pending(CHANNEL, None, 9).await.expect("it").len();
    let bound = store.take_over(CHANNEL, &[]).await.expect("it").turns.len();
    let said = store.lines(&session, &turn).await.expect("it").len();
    let unsent = store.take_over(CHANNEL, &[]).await.expect("it").replies.len();
    let steps = [(0, 0, 0, 0), (1, 0, 0, 0), (0, 1, 0, 0), (0, 1, 1, 0), (0, 0, 1, 1), (0, 0, 1, 0)];
    let found = (waits, bound, said, unsent);
    steps.iter().position(|step| *step == found).unwrap_or_else(|| panic!("torn: {found:?}"))
}

/// A loss of power leaves the log as long as it happens to be on the disk.
#[tokio::test]
async fn of_what_rides_a_loss_of_power_takes_the_latest_and_tears_nothing() {
    let fixture = Fixture::<Files>::new();
    let log = fixture.dir().join(format!("{FILE_NAME}-wal"));
    let shortest = std::fs::metadata(&log).expect("a log").len();
    let turn = fixture.bound(1).await;
    fixture.store.attempt(&turn, &caller("ann")).await.expect("noted");
    fixture.says("s", turn.as_str(), 0, "hello").await;
    fixture.store.end(CHANNEL, &turn, text_reply(&["x"])).await.expect("it");
    fixture.store.mark_part_sent(&turn, 0, "5").await.expect("it");
    let whole = std::fs::read(&log).expect("a log");
    let mut seen = Vec::new();
    for length in (shortest..).step_by(1024).take_while(|length| *length < whole.len() as u64) {
        let after = Fixture::<Files>::new();
        drop(after.store);
        std::fs::copy(fixture.path(), after.engine.dir.path().join(FILE_NAME)).expect("copied");
        let cut = &whole[..usize::try_from(length).expect("small")];
        std::fs::write(after.engine.dir.path().join(format!("{FILE_NAME}-wal")), cut).expect("written");
        seen.push(progress(&after.engine.open()).await);
    }
    assert!(seen.is_sorted(), "{seen:?}");
    seen.dedup();
    assert_eq!(seen, [0, 1, 2, 3, 4], "the log is cut before its end");
    assert_eq!(progress(&fixture.restart().store).await, 5);
}

#[tokio::test]
async fn what_rides_is_settled_once_and_what_the_disk_may_have_lost_is_written_once_more() {
    let fixture = Fixture::<Files>::new();
    let sqlite = Store::open(fixture.dir()).expect("a store");
    let settled = || *sqlite.database.sqlite().log.settled.lock().expect("nobody panics with it");
    let committed = || sqlite.database.sqlite().log.committed.load(Ordering::Relaxed);
    assert!(settled() < committed(), "an earlier run may have left something");
    sqlite.persist(CHANNEL, vec![new(1, None)]).await.expect("it");
    sqlite.settle_here().expect("settled");
    assert_eq!(settled(), committed());
    sqlite.claim(CHANNEL, UpdateClaim::Update(1)).await.expect("it");
    assert!(settled() < committed(), "it rides");

    let log = || std::fs::metadata(fixture.dir().join(format!("{FILE_NAME}-wal"))).expect("a log").len();
    assert!(log() > 0);
    sqlite.database.sqlite().log.doubtful.store(true, Ordering::Relaxed);
    sqlite.settle_here().expect("settled");
    assert_eq!((settled(), log()), (committed(), 0), "all of it is in the database itself");
    assert_eq!(sqlite.take_over(CHANNEL, &[]).await.expect("it").turns.len(), 1);
    sqlite.database.sqlite().log.doubtful.store(true, Ordering::Relaxed);
    sqlite.persist(CHANNEL, vec![new(2, None)]).await.expect("it");
    assert!(
        !sqlite.database.sqlite().log.doubtful.load(Ordering::Relaxed),
        "nothing is written upon what may be lost"
    );
}

/// Nobody waits for the other end of a FIFO.
#[test]
fn what_is_no_file_is_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let (file, mode) = (dir.path().join(FILE_NAME), rustix::fs::Mode::from_raw_mode(0o600));
    rustix::fs::mkfifoat(rustix::fs::CWD, &file, mode).expect("writable");
    assert!(matches!(Store::open(dir.path()), Err(StoreError::NotAFile(path)) if path == file));
    assert!(matches!(DatabaseView::open(dir.path()), Err(StoreError::NotAFile(_))));
    assert!(matches!(DatabaseView::check_open(dir.path()), Err(StoreError::NotAFile(_))));
}
