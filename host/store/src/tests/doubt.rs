//! Commits whose connection goes: what the server knows of them afterwards. And, since the way to
//! the server shows it: what waits for nothing else than its commit.

use super::postgres::nodes::join;
use super::postgres::{Schema, location, said};
use super::*;
use cofferdam_core::lock::lock;
use cofferdam_core::secret::Secret;
use cofferdam_postgres::{PostgresServer, new_schema, shared};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A connection that goes at the very commit: the server knows afterwards.
#[tokio::test]
async fn a_commit_that_was_cut_off_is_told_as_that() {
    if !Schema::is_there("a_commit_that_was_cut_off") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    fixture.sql(
        "CREATE FUNCTION go() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(1); RETURN NULL; END $$;
         CREATE CONSTRAINT TRIGGER goes AFTER INSERT ON moved DEFERRABLE INITIALLY DEFERRED
         FOR EACH ROW EXECUTE FUNCTION go()",
    );
    let lost = fixture.store.note_move(CHANNEL, "a".into(), "b".into()).await;
    assert!(matches!(&lost, Err(StoreError::Lost { .. })), "{lost:?}");
    assert!(said(lost).contains("nothing was changed"));
    assert!(fixture.store.load_moves(CHANNEL).await.expect("connected anew").is_empty());
}

/// What a way to the server does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Open,
    /// It lets nobody through who comes anew.
    Away,
    /// It loses all that comes back from the next `COMMIT` on, and ends when that is done.
    LosesAnswer,
    /// The same, and an error of this severity and code comes in its place.
    Fails(&'static str, &'static str),
    /// It ends at the next `COMMIT`, keeps that, and is away from then on.
    HoldsCommit,
    /// What was kept goes to the server; it is open once that has ended the connection.
    Delivers,
    /// Nothing comes back before the next `COMMIT` was said.
    AwaitsCommit,
}

type WayState = Arc<Mutex<Way>>;

fn begin_way(from: &Path, to: &Path, way: WayState) {
    let socket = |dir: &Path| dir.join(".s.PGSQL.5432");
    let (listener, to) = (UnixListener::bind(socket(from)).expect("a socket"), socket(to));
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let client = client.expect("it comes");
            if *lock(&way) == Way::Away {
                continue;
            }
            // A server that was stopped may not be back yet.
            let Ok(server) = UnixStream::connect(&to) else { continue };
            let pairs = [(client.try_clone(), server.try_clone()), (Ok(server), Ok(client))];
            let (is_lost, [up, down]) = (Arc::new(AtomicBool::new(false)), pairs);
            for (is_up, (from, to)) in [(true, up), (false, down)] {
                let (from, to) = (from.expect("a descriptor"), to.expect("a descriptor"));
                let (way, is_lost) = (way.clone(), is_lost.clone());
                std::thread::spawn(move || relay(is_up, (from, to), (&way, &is_lost)));
            }
        }
    });
}

fn relay(
    is_up: bool,
    (mut from, mut to): (UnixStream, UnixStream),
    (way, is_lost): (&WayState, &AtomicBool),
) {
    let mut bytes = [0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        let has_commit = bytes[..count].windows(7).any(|some| some == b"COMMIT\0");
        let was = *lock(way);
        let loses_answer = matches!(was, Way::LosesAnswer | Way::Fails(..));
        if !is_up && loses_answer {
            // What is sent at once may come in pieces: none is answered before the last is here.
            std::thread::sleep(Duration::from_millis(200));
        }
        while !is_up && *lock(way) == Way::AwaitsCommit {
            std::thread::sleep(Duration::from_millis(5));
        }
        if is_up && has_commit && was == Way::AwaitsCommit {
            *lock(way) = Way::Open;
        }
        if is_up && has_commit && loses_answer {
            is_lost.store(true, Ordering::SeqCst);
            if let Way::Fails(severity, code) = was {
                from.write_all(&error_response(severity, code)).expect("it reads");
            }
            *lock(way) = Way::Open;
        }
        if is_up && has_commit && was == Way::HoldsCommit {
            is_lost.store(true, Ordering::SeqCst);
            *lock(way) = Way::Away;
            let _ = from.shutdown(Shutdown::Both);
            while *lock(way) != Way::Delivers {
                std::thread::sleep(Duration::from_millis(5));
            }
            // The server may have ended it meanwhile.
            let _ = (to.write_all(&bytes[..count]), to.shutdown(Shutdown::Write));
            while let Ok(1..) = to.read(&mut bytes) {}
            *lock(way) = Way::Open;
            return;
        }
        if is_up || !is_lost.load(Ordering::SeqCst) {
            to.write_all(&bytes[..count]).expect("it reads");
        } else if has_commit {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

/// How a server tells an error.
fn error_response(severity: &str, code: &str) -> Vec<u8> {
    let fields = format!("S{severity}\0V{severity}\0C{code}\0Mit fails\0\0");
    let length = u32::try_from(fields.len() + 4).expect("it is short");
    let mut message = vec![b'E'];
    message.extend(length.to_be_bytes());
    message.extend(fields.into_bytes());
    message
}

/// A new schema behind a way; and the folder of that.
fn behind_a_way(server: &PostgresServer, way: &WayState) -> (StoreLocation, tempfile::TempDir) {
    let dir = tempfile::tempdir().expect("a folder");
    begin_way(dir.path(), server.dir(), way.clone());
    let url = server.url().replace(&server.dir().display().to_string(), &dir.path().display().to_string());
    let config = PostgresConfig::new(&Secret::new(url), &new_schema(), b"").expect("sound");
    (StoreLocation::Postgres(Box::new(config)), dir)
}

/// The next commit of a store loses all answers from it on.
async fn check_a_lost_commit(store: &Store, way: &WayState, lost_by: Way) {
    store.note_move(CHANNEL, "b".into(), "c".into()).await.expect("noted");
    *lock(way) = lost_by;
    // It asks nothing, and is prepared by now: all of it may go out in one breath.
    store.note_move(CHANNEL, "a".into(), "b".into()).await.expect("the server knows");
    assert_eq!(*lock(way), Way::Open, "something was lost");
    assert_eq!(store.load_moves(CHANNEL).await.expect("connected anew").len(), 2);
}

/// All that the server said of it is lost, so what the transaction is must have been known before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_whose_every_answer_was_lost_counts() {
    let Some(server) = shared("a_commit_whose_every_answer_was_lost") else { return };
    let way = Arc::new(Mutex::new(Way::Open));
    let (location, _dir) = behind_a_way(server, &way);
    let store = Store::open(location).expect("a store");
    check_a_lost_commit(&store, &way, Way::LosesAnswer).await;
    // The end of what only looks goes out late; that of this is waited for.
    store.persist(CHANNEL, vec![new(1, None)]).await.expect("kept");
    *lock(&way) = Way::LosesAnswer;
    // It was bound, and nobody was told to which words.
    let unknown = store.claim(CHANNEL, UpdateClaim::Update(1)).await;
    assert!(matches!(&unknown, Err(StoreError::Unknown { .. })), "{unknown:?}");
    let again = store.claim(CHANNEL, UpdateClaim::Update(1)).await.expect("the server knows");
    assert_eq!(again.expect("it is this one's").updates.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_of_a_node_whose_every_answer_was_lost_counts() {
    let Some(server) = shared("a_commit_of_a_node_whose_every_answer_was_lost") else { return };
    let way = Arc::new(Mutex::new(Way::Open));
    let (location, _dir) = behind_a_way(server, &way);
    let store = join(&location, "a").expect("a node");
    check_a_lost_commit(&store, &way, Way::LosesAnswer).await;
    // The end of what only looks goes out late; that of this is waited for.
    store.persist(CHANNEL, vec![new(1, None)]).await.expect("kept");
    *lock(&way) = Way::LosesAnswer;
    // It was kept, and nobody was told whose its session is: what waits there is to be read.
    let persisted = store.persist(CHANNEL, vec![new(2, None)]).await.expect("the server knows");
    assert_eq!((persisted.kept, persisted.claimed), (1, vec![SessionId::new("s")]));
    let waiting = store.load_waiting(CHANNEL, &SessionId::new("s"), 9).await.expect("asked");
    assert_eq!(waiting.iter().map(|update| update.update_id).collect::<Vec<_>>(), [1, 2]);
}

/// As where the disk of its log is full: what it had written of the commit counts when it is back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_at_which_the_server_breaks_off_counts_though_it_tells_an_error() {
    let Some(server) = shared("a_commit_at_which_the_server_breaks_off") else { return };
    for (severity, code) in [("PANIC", "53100"), ("FATAL", "XX000"), ("ERROR", "08P01"), ("ERROR", "40003")] {
        let way = Arc::new(Mutex::new(Way::Open));
        let (location, _dir) = behind_a_way(server, &way);
        let store = Store::open(location).expect("a store");
        check_a_lost_commit(&store, &way, Way::Fails(severity, code)).await;
    }
}

/// A way that is, as soon as somebody does something.
async fn until(way: &WayState, awaited: Way) {
    while *lock(way) != awaited {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// What is under way still when somebody asks was told as lost, so it is refused when it comes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_comes_after_it_was_asked_about_changes_nothing() {
    let Some(server) = shared("a_commit_that_comes_after_it_was_asked_about") else { return };
    let way = Arc::new(Mutex::new(Way::Open));
    let (location, _dir) = behind_a_way(server, &way);
    let store = Store::open(location).expect("a store");
    let note = |from: &'static str| {
        let store = store.clone();
        tokio::spawn(async move { store.note_move(CHANNEL, from.into(), "b".into()).await })
    };
    note("x").await.expect("no panic").expect("noted");
    *lock(&way) = Way::HoldsCommit;
    let lost = note("a");
    until(&way, Way::Away).await;
    *lock(&way) = Way::Open;
    let lost = lost.await.expect("no panic");
    assert!(matches!(&lost, Err(StoreError::Lost { .. })), "{lost:?}");
    *lock(&way) = Way::Delivers;
    until(&way, Way::Open).await;
    assert_eq!(store.load_moves(CHANNEL).await.expect("connected anew").len(), 1);
    note("a").await.expect("no panic").expect("noted now");
    assert_eq!(store.load_moves(CHANNEL).await.expect("asked").len(), 2);
}

/// As few as a gateway has threads for all that blocks, others need them meanwhile; and who is told
/// of pauses, such as for a watchdog, is told of these.
#[test]
fn who_asks_about_a_commit_holds_no_thread_and_tells_of_its_pauses() {
    static PAUSES: AtomicUsize = AtomicUsize::new(0);
    let Some(server) = shared("who_asks_about_a_commit") else { return };
    let way = Arc::new(Mutex::new(Way::Open));
    let (location, _dir) = behind_a_way(server, &way);
    let store = Store::open(location).expect("a store");
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).max_blocking_threads(1).enable_all().build();
    runtime.expect("a runtime").block_on(async {
        store.note_move(CHANNEL, "x".into(), "y".into()).await.expect("noted");
        *lock(&way) = Way::HoldsCommit;
        let noting = store.clone();
        let count = |_: Duration| _ = PAUSES.fetch_add(1, Ordering::SeqCst);
        let store_retry = StoreRetry::new(CancellationToken::new(), count);
        let noted = tokio::spawn(async move {
            let note = || noting.note_move(CHANNEL, "a".into(), "b".into());
            store_retry.store_until_done("note a move", note).await
        });
        until(&way, Way::Away).await;
        // It is asked about until the server is back, so none of these is between two attempts.
        while PAUSES.load(Ordering::SeqCst) < 3 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        tokio::task::spawn_blocking(|| ()).await.expect("there is a thread");
        assert!(!noted.is_finished(), "it is asked about");
        *lock(&way) = Way::Open;
        noted.await.expect("no panic").expect("noted at last");
        *lock(&way) = Way::Delivers;
        until(&way, Way::Open).await;
        assert_eq!(store.load_moves(CHANNEL).await.expect("asked").len(), 2);
    });
}

/// Who asks how the gateway is waits for no server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_whose_answer_was_lost_is_told_as_failed_at_once() {
    let Some(server) = shared("a_check_whose_answer_was_lost") else { return };
    let way = Arc::new(Mutex::new(Way::Open));
    let (location, _dir) = behind_a_way(server, &way);
    let store = Store::open(location).expect("a store");
    store.check().expect("it can be written");
    *lock(&way) = Way::HoldsCommit;
    let lost = store.check();
    assert!(matches!(&lost, Err(StoreError::Lost { .. })), "{lost:?}");
    assert_eq!(*lock(&way), Way::Away, "it is not back");
    *lock(&way) = Way::Delivers;
    until(&way, Way::Open).await;
    store.check().expect("it can be written again");
}

/// Of a transaction that is not on its disk a server that crashes knows nothing when it is back,
/// and gives the number that it had to another one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_a_server_lost_as_it_crashed_does_not_count() {
    let Some(mut server) = PostgresServer::start("a_commit_that_a_server_lost") else { return };
    server.set("wal_writer_delay", "10s");
    let way = Arc::new(Mutex::new(Way::Open));
    let (location, _dir) = behind_a_way(&server, &way);
    let store = Store::open(location).expect("a store");
    store.persist(CHANNEL, vec![new(1, Some("a")), new(2, Some("b"))]).await.expect("kept");
    // Who claims an album asks on the way, so all but the commit is there when that goes out.
    let album = |album: &str| UpdateClaim::Album(album.to_owned());
    store.claim(CHANNEL, album("a")).await.expect("asked").expect("it waits");
    *lock(&way) = Way::HoldsCommit;
    let (claiming, of) = (store.clone(), album("b"));
    let claim = tokio::spawn(async move { claiming.claim(CHANNEL, of).await });
    until(&way, Way::Away).await;
    let number = server.sql("SELECT backend_xid FROM pg_stat_activity WHERE backend_xid IS NOT NULL");
    server.crash();
    server.begin();
    server.sql("CREATE TABLE another (one int)");
    let another = server.sql("SELECT xmin FROM pg_class WHERE relname = 'another'");
    assert_eq!(another, number, "the number was given to another one");
    *lock(&way) = Way::Open;
    let lost = claim.await.expect("no panic");
    assert!(matches!(&lost, Err(StoreError::Lost { .. })), "{lost:?}");
    let again = store.claim(CHANNEL, album("b")).await.expect("it is back");
    assert_eq!(again.expect("nobody has it").updates.len(), 1);
}

/// What asked for an answer before that would be given up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_turn_keeps_is_one_exchange_with_its_commit() {
    let Some(server) = shared("what_a_turn_keeps_is_one_exchange") else { return };
    let way = Arc::new(Mutex::new(Way::Open));
    let (location, _dir) = behind_a_way(server, &way);
    let store = join(&location, "a").expect("a node");
    // The second time all is prepared.
    for (id, held) in [(1, Way::Open), (2, Way::AwaitsCommit)] {
        *lock(&way) = held;
        let persisted = store.persist(CHANNEL, vec![new(id, None)]).await.expect("kept");
        assert_eq!((*lock(&way), persisted.kept), (Way::Open, 1), "it was committed");
        let turn = store.claim(CHANNEL, UpdateClaim::Update(id)).await.expect("asked").expect("bound").turn;
        *lock(&way) = held;
        store.add_answer(&whose("s", turn.as_str()), 0, "x".into(), 5).await.expect("kept");
        assert_eq!(*lock(&way), Way::Open, "it was committed");
        *lock(&way) = held;
        store.end(CHANNEL, &turn, text_reply(&["x"])).await.expect("ended");
        assert_eq!(*lock(&way), Way::Open, "it was committed");
    }
    let used = store.load_usage(&caller("ann"), now_ms()).await.expect("known");
    assert_eq!(used.tokens, 10);
}

/// A token is taken back with the next renewal of the lease; what a process has left, a day later.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_that_nobody_asks_for_are_taken_back() {
    if !Schema::is_there("tokens_that_nobody_asks_for") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    let count = || fixture.sql("SELECT count(*) FROM committed");
    let before: u32 = count().parse().expect("a number");
    fixture.store.note_move(CHANNEL, "a".into(), "b".into()).await.expect("noted");
    assert_eq!(count(), (before + 1).to_string(), "it has no lease");
    fixture.sql("UPDATE committed SET at = at - interval '25 hours'");
    let node = join(&fixture.engine.location, "a").expect("a node");
    node.note_move(CHANNEL, "b".into(), "c".into()).await.expect("noted");
    // That of joining stays: it was there before there was a lease.
    while count() != "1" {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(fixture.sql("SELECT count(*) FROM committed WHERE at < now() - interval '1 hour'"), "0");
}

/// Each node asks for these twice a second.
#[tokio::test]
async fn a_look_for_what_is_due_writes_nothing_where_nothing_is() {
    if !Schema::is_there("a_look_for_what_is_due") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    let of = ("daily", "0 9 * * *");
    fixture.store.begin_schedule_check(of, 100).await.expect("begun");
    let before = fixture.sql("SELECT count(*) FROM committed");
    assert_eq!(fixture.store.begin_schedule_check(of, 200).await.expect("asked"), 100);
    assert!(fixture.store.end_idle_turn_runs(now_ms()).await.expect("asked").is_empty());
    assert_eq!(fixture.sql("SELECT count(*) FROM committed"), before);
}

/// A store whose next claim is committed, and waits for a standby that nobody has; and that claim.
async fn committing() -> Option<(PostgresServer, Store, tokio::task::JoinHandle<Claimed>)> {
    const MESSAGES: i64 = 200;
    let server = PostgresServer::start("committing")?;
    let store = Store::open(location(&server, "here")).expect("a store");
    store.persist(CHANNEL, (1..=MESSAGES).map(|id| new(id, None)).collect()).await.expect("kept");
    server.set("synchronous_standby_names", "nobody");
    // A process of the server follows a moment later.
    for id in 1..=MESSAGES {
        let claiming = store.clone();
        let claim = tokio::spawn(async move { (id, claiming.claim(CHANNEL, UpdateClaim::Update(id)).await) });
        while !claim.is_finished() {
            if server.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == "1" {
                return Some((server, store, claim));
            }
        }
    }
    panic!("no commit waits");
}

type Claimed = (i64, Result<Option<BoundTurn>, StoreError>);

/// Run again blindly, it would find the message bound, and leave it to who has done that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_whose_answer_was_lost_counts() {
    let Some((server, store, claim)) = committing().await else { return };
    server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
    server.set("synchronous_standby_names", "");
    let (id, claimed) = claim.await.expect("no panic");
    let claimed = claimed.expect("the server knows").expect("it is this one's");
    assert_eq!(claimed.updates.iter().map(|update| update.update_id).collect::<Vec<_>>(), [id]);
    assert_eq!(store.claim(CHANNEL, UpdateClaim::Update(id)).await.expect("asked"), None);
}

/// The server does not come back before the process ends; and where that goes on all the same, it
/// goes on with what it has bound.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_of_which_nothing_is_known_is_told_as_that_and_is_made_again() {
    let Some((mut server, store, claim)) = committing().await else { return };
    server.stop();
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert!(!claim.is_finished(), "it waits to ask");
    store.stop_asking();
    let (id, unknown) = claim.await.expect("no panic");
    assert!(matches!(&unknown, Err(StoreError::Unknown { .. })), "{unknown:?}");
    assert!(said(unknown).contains("is not known"));
    server.begin();
    server.set("synchronous_standby_names", "");
    let again = store.claim(CHANNEL, UpdateClaim::Update(id)).await.expect("it is back");
    let again = again.expect("it is this one's, bound or not");
    assert_eq!(again.updates.iter().map(|update| update.update_id).collect::<Vec<_>>(), [id]);
    assert_eq!(store.claim(CHANNEL, UpdateClaim::Update(id)).await.expect("asked"), None, "once");
}
