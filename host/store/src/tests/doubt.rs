//! Commits whose connection goes: what the server knows of them afterwards.

use super::postgres::nodes::join;
use super::postgres::{Schema, location, said};
use super::*;
use cofferdam_core::secret::Secret;
use cofferdam_postgres::{PostgresServer, new_schema, shared};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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

/// A way to the server that loses, once told so, all that comes back from a `COMMIT` on; and ends
/// when that is done.
fn begin_to_lose(from: &Path, to: &Path, loses: Arc<AtomicBool>) {
    let socket = |dir: &Path| dir.join(".s.PGSQL.5432");
    let (listener, to) = (UnixListener::bind(socket(from)).expect("a socket"), socket(to));
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (client, server) = (client.expect("it comes"), UnixStream::connect(&to).expect("it listens"));
            let pairs = [(client.try_clone(), server.try_clone()), (Ok(server), Ok(client))];
            let (is_lost, [up, down]) = (Arc::new(AtomicBool::new(false)), pairs);
            for (is_up, (from, to)) in [(true, up), (false, down)] {
                let (from, to) = (from.expect("a descriptor"), to.expect("a descriptor"));
                let (loses, is_lost) = (loses.clone(), is_lost.clone());
                std::thread::spawn(move || relay(is_up, (from, to), (&loses, &is_lost)));
            }
        }
    });
}

fn relay(
    is_up: bool,
    (mut from, mut to): (UnixStream, UnixStream),
    (loses, is_lost): (&AtomicBool, &AtomicBool),
) {
    let mut bytes = [0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        let has_commit = bytes[..count].windows(7).any(|some| some == b"COMMIT\0");
        if is_up && has_commit && loses.swap(false, Ordering::SeqCst) {
            is_lost.store(true, Ordering::SeqCst);
        }
        if is_up || !is_lost.load(Ordering::SeqCst) {
            to.write_all(&bytes[..count]).expect("it reads");
        } else if has_commit {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

/// A new schema behind a way that [loses](begin_to_lose); and the folder of that way.
fn behind_a_loss(server: &PostgresServer, loses: &Arc<AtomicBool>) -> (StoreLocation, tempfile::TempDir) {
    let dir = tempfile::tempdir().expect("a folder");
    begin_to_lose(dir.path(), server.dir(), loses.clone());
    let url = server.url().replace(&server.dir().display().to_string(), &dir.path().display().to_string());
    let config = PostgresConfig::new(&Secret::new(url), &new_schema(), b"").expect("sound");
    (StoreLocation::Postgres(Box::new(config)), dir)
}

/// The next commit of a store loses all answers from it on.
async fn check_a_lost_commit(store: &Store, loses: &AtomicBool) {
    store.note_move(CHANNEL, "b".into(), "c".into()).await.expect("noted");
    loses.store(true, Ordering::SeqCst);
    // It asks nothing, and is prepared by now: all of it could go out in one breath.
    store.note_move(CHANNEL, "a".into(), "b".into()).await.expect("the server knows");
    assert!(!loses.load(Ordering::SeqCst), "nothing was lost");
    assert_eq!(store.load_moves(CHANNEL).await.expect("connected anew").len(), 2);
}

/// All that the server said from its last answer on is lost, so what the transaction is must have
/// been known before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_whose_every_answer_was_lost_counts() {
    let Some(server) = shared("a_commit_whose_every_answer_was_lost") else { return };
    let loses = Arc::new(AtomicBool::new(false));
    let (location, _dir) = behind_a_loss(server, &loses);
    let store = Store::open(location).expect("a store");
    check_a_lost_commit(&store, &loses).await;
    // The end of what only looks goes out late; that of this is waited for.
    store.persist(CHANNEL, vec![new(1, None)]).await.expect("kept");
    loses.store(true, Ordering::SeqCst);
    let claimed = store.claim(CHANNEL, UpdateClaim::Update(1)).await.expect("the server knows");
    assert_eq!(claimed.expect("it is this one's").updates.len(), 1);
}

/// Who is asked whether this node is there says in the same answer which transaction it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_of_a_node_whose_every_answer_was_lost_counts() {
    let Some(server) = shared("a_commit_of_a_node_whose_every_answer_was_lost") else { return };
    let loses = Arc::new(AtomicBool::new(false));
    let (location, _dir) = behind_a_loss(server, &loses);
    let store = join(&location, "a").expect("a node");
    check_a_lost_commit(&store, &loses).await;
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
