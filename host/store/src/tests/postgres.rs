//! What only PostgreSQL has: a server of its own that goes, comes back, and takes changes or not.
//! What several nodes do with one store is in `nodes`, how a store moves there and back in
//! `copying`, and how tables get another version in `migrating`.

mod copying;
mod migrating;
pub(super) mod nodes;

use super::*;
use cofferdam_core::secret::Secret;
use cofferdam_postgres::{PostgresServer, new_schema, shared};

/// A schema of the server that the tests share.
pub(super) struct Schema {
    pub(super) location: StoreLocation,
}

pub(super) fn location(server: &PostgresServer, schema: &str) -> StoreLocation {
    let config = PostgresConfig::new(&Secret::new(server.url()), schema, b"").expect("sound");
    StoreLocation::Postgres(Box::new(config))
}

impl Engine for Schema {
    fn new() -> Self {
        let server = shared("cofferdam-store").expect("it is there");
        Self { location: location(server, &new_schema()) }
    }

    fn open(&self) -> Store {
        Store::open(&self.location).expect("a store")
    }

    fn is_there(test: &str) -> bool {
        shared(test).is_some()
    }
}

impl Fixture<Schema> {
    fn schema(&self) -> &str {
        match &self.engine.location {
            StoreLocation::Postgres(config) => config.schema(),
            StoreLocation::Sqlite(_) => unreachable!("a schema of PostgreSQL"),
        }
    }

    /// What a statement answers, with the schema's own tables.
    pub(super) fn sql(&self, statement: &str) -> String {
        let schema = self.schema();
        shared("").expect("it runs").sql(&format!("SET search_path TO {schema}; {statement}"))
    }
}

/// What comes of a look, which is not for async threads.
pub(super) fn look<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| scope.spawn(work).join().expect("no panic"))
}

/// What an error says.
pub(super) fn said<T>(result: Result<T, StoreError>) -> String {
    result.map(|_| ()).expect_err("refused").to_string()
}

#[tokio::test]
async fn a_server_that_went_is_told_and_the_next_call_works_when_it_is_back() {
    let Some(mut server) = PostgresServer::start("a_server_that_went_is_told") else { return };
    let location = location(&server, "here");
    let store = Store::open(&location).expect("a store");
    store.persist(CHANNEL, vec![new(1, None)]).await.expect("kept");
    server.stop();
    let lost = said(store.persist(CHANNEL, vec![new(2, None)]).await);
    assert!(lost.contains("PostgreSQL at") && lost.contains("/postgres"), "{lost}");
    let away = said(Store::open(&location));
    assert!(away.contains("cannot be reached"), "{away}");
    assert!(said(look(|| DatabaseView::open(&location))).contains("cannot be reached"));
    server.begin();
    store.persist(CHANNEL, vec![new(2, None)]).await.expect("kept");
    assert_eq!(ids(&store.pending(CHANNEL, None, 9).await.expect("asked")), [1, 2]);
}

#[tokio::test]
async fn a_connection_whose_server_stands_still_is_given_up_and_the_next_one_works() {
    let Some(server) = PostgresServer::start("a_connection_whose_server_stands_still") else { return };
    let store = Store::open(location(&server, "s")).expect("a store");
    store.persist(CHANNEL, vec![new(1, None)]).await.expect("kept");
    let backends = || {
        let found = "SELECT pid FROM pg_stat_activity WHERE application_name = 'cofferdam'";
        let pids = server.sql(found).lines().map(|pid| pid.parse().expect("a number")).collect::<Vec<i32>>();
        pids.into_iter().filter_map(rustix::process::Pid::from_raw).collect::<Vec<_>>()
    };
    let signal = |pids: &[rustix::process::Pid], signal| {
        pids.iter().for_each(|pid| rustix::process::kill_process(*pid, signal).expect("it is there"));
    };
    let still = backends();
    signal(&still, rustix::process::Signal::STOP);
    let since = std::time::Instant::now();
    let (told, took) = (store.persist(CHANNEL, vec![new(2, None)]).await, since.elapsed());
    let next = store.persist(CHANNEL, vec![new(3, None)]).await;
    // Before anything fails: the server cannot end without them.
    signal(&still, rustix::process::Signal::CONT);
    let told = said(told);
    assert!(told.contains("it has not answered in 12 s"), "{told}");
    assert!(took < std::time::Duration::from_secs(20), "{took:?}");
    next.expect("another connection");
}

/// Nobody waits for each of them.
#[tokio::test]
async fn a_transaction_of_many_statements_is_kept_or_refused_as_a_whole() {
    if !Schema::is_there("a_transaction_of_many_statements") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    let many: Vec<_> = (0..300).map(|n| n.to_string()).collect();
    let reply = || text_reply(&many.iter().map(String::as_str).collect::<Vec<_>>());
    let stored = fixture.store.tell(CHANNEL, &TurnId::new("t1"), reply()).await.expect("kept");
    assert_eq!(stored.expect("it is new").parts.len(), 300);
    assert_eq!(fixture.sql("SELECT count(*), sum(n) FROM part"), "300|44850");
    // The last but one of them fails.
    fixture.sql("ALTER TABLE part ADD CHECK (turn <> 't2' OR n <> 298)");
    let refused = fixture.store.tell(CHANNEL, &TurnId::new("t2"), reply()).await.expect_err("refused");
    assert_eq!(crate::postgres::refusal(&refused).map(|code| code.code()), Some("23514"), "{refused}");
    assert_eq!(fixture.sql("SELECT count(*) FROM reply"), "1");
    let next = fixture.store.tell(CHANNEL, &TurnId::new("t3"), text_reply(&["next"])).await;
    assert_eq!(next.expect("the connection is as before").expect("it is new").parts.len(), 1);
}

/// What is read meets nobody, and a change in it is refused.
#[tokio::test]
async fn what_only_looks_changes_nothing() {
    if !Schema::is_there("what_only_looks") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    let refused = fixture.store.read_here(|tx| {
        tx.run("DELETE FROM inbox", params![]).and_then(|()| tx.exists("SELECT 1", params![]))
    });
    assert!(refused.expect_err("it changes").to_string().contains("read-only"));
    let memory = Store::in_memory().expect("there is room");
    memory.persist(CHANNEL, vec![new(1, None)]).await.expect("kept");
    memory.read_here(|tx| tx.run("DELETE FROM inbox", params![])).expect("it is undone");
    assert_eq!(memory.pending(CHANNEL, None, 9).await.expect("asked").len(), 1);
}

#[tokio::test]
async fn tables_of_a_newer_release_are_refused_and_untouched() {
    if !Schema::is_there("tables_of_a_newer_release_are_refused") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    fixture.sql("UPDATE schema_version SET version = 99");
    let refused = said(Store::open(&fixture.engine.location));
    assert!(refused.contains("the database has version 99"), "{refused}");
    assert!(said(look(|| DatabaseView::check_open(&fixture.engine.location))).contains("version 99"));
    assert_eq!(fixture.sql("SELECT version FROM schema_version"), "99");
    // This engine began with a later one.
    fixture.sql("UPDATE schema_version SET version = 16");
    assert!(said(Store::open(&fixture.engine.location)).contains("tables of version 16"));
}

#[tokio::test]
async fn many_programs_may_come_first() {
    if !Schema::is_there("many_programs_may_come_first") {
        return;
    }
    let engine = Schema::new();
    assert!(
        look(|| DatabaseView::open(&engine.location).map(|view| view.is_none())).expect("asked"),
        "who looks makes nothing"
    );
    let opened: Vec<_> = std::thread::scope(|scope| {
        let each: Vec<_> = (0..4).map(|_| scope.spawn(|| Store::open(&engine.location))).collect();
        each.into_iter().map(|one| one.join().expect("no panic")).collect()
    });
    for store in opened {
        store.expect("a store").check().expect("writable");
    }
}

#[tokio::test]
async fn why_a_server_takes_no_changes_is_told_apart() {
    if !Schema::is_there("why_a_server_takes_no_changes") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    for (code, tells) in [
        ("25006", "it is read-only (no); it may be a standby"),
        ("53100", "its disk is full (no); make room"),
        ("53200", "it is out of memory (no)"),
        ("55P03", "a table is locked (no); another client has it"),
        ("57014", "it is slow (no)"),
        ("58030", "its disk fails (no)"),
    ] {
        let raise = format!("DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '{code}'; END $$");
        let hindered = fixture.store.write_here(|tx| tx.execute(&raise, crate::value::params![]).map(drop));
        assert!(matches!(hindered, Err(StoreError::Hindered { .. })), "{hindered:?}");
        let hindered = said(hindered);
        assert!(hindered.starts_with("PostgreSQL at ") && hindered.contains(tells), "{hindered}");
        fixture.store.check().expect("the next call works");
    }
}

/// As behind a name that meant a standby for a while. A connection keeps what it was made with.
#[tokio::test]
async fn a_server_that_was_read_only_takes_changes_once_it_is_not() {
    if !Schema::is_there("a_server_that_was_read_only") {
        return;
    }
    let server = shared("").expect("it runs");
    server.sql("CREATE ROLE promoted SUPERUSER LOGIN");
    let url = server.url().replace("user=cofferdam", "user=promoted");
    let config = PostgresConfig::new(&Secret::new(url), &new_schema(), b"").expect("sound");
    let store = Store::open(StoreLocation::Postgres(Box::new(config))).expect("a store");
    server.sql("ALTER ROLE promoted SET default_transaction_read_only = on");
    server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'promoted'");
    let persist = || store.persist(CHANNEL, vec![new(1, None)]);
    let refused = loop {
        match persist().await {
            // The connection of before.
            Err(StoreError::Lost { .. }) => {}
            refused => break said(refused),
        }
    };
    assert!(refused.contains("takes no changes: it is read-only ("), "{refused}");
    server.sql("ALTER ROLE promoted RESET default_transaction_read_only");
    persist().await.expect("another connection");
}

#[tokio::test]
async fn a_standby_shows_what_there_is_and_is_told_as_one_that_takes_no_changes() {
    let Some(primary) = PostgresServer::start("a_standby_shows_what_there_is") else { return };
    let store = Store::open(location(&primary, "here")).expect("a store");
    store.persist(CHANNEL, vec![new(1, None)]).await.expect("kept");
    let standby = primary.add_standby();
    let at = location(&standby, "here");
    let waiting = look(|| DatabaseView::open(&at)?.map(|view| view.count_waiting()).transpose());
    assert_eq!(waiting.expect("read").expect("there are tables").messages, 1);
    for refused in [said(Store::open(&at)), said(look(|| DatabaseView::check_open(&at)))] {
        let tells = refused.contains("takes no changes: it is read-only (")
            && refused.contains("it may be a standby: name all servers");
        assert!(tells, "{refused}");
    }
    look(|| DatabaseView::check_open(location(&primary, "here"))).expect("it takes changes");
}

#[tokio::test]
async fn a_transaction_that_meets_another_one_each_time_is_given_up() {
    if !Schema::is_there("a_transaction_that_meets_another_one_each_time") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    let tried = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let counted = tried.clone();
    let ended = fixture.store.write(move |tx| {
        counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        tx.execute("DO $$ BEGIN RAISE SQLSTATE '40001'; END $$", crate::value::params![]).map(drop)
    });
    assert!(matches!(ended.await, Err(StoreError::Engine(_))));
    assert_eq!(tried.load(std::sync::atomic::Ordering::Relaxed), crate::postgres::CONFLICTS_MAX + 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_many_add_to_at_once_is_added_each_time() {
    if !Schema::is_there("what_many_add_to_at_once") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    let mut adding = tokio::task::JoinSet::new();
    for n in 0..40 {
        let store = fixture.store.clone();
        adding.spawn(async move { store.spend(&whose("s", &format!("t{n}")), 1).await });
    }
    for added in adding.join_all().await {
        added.expect("added");
    }
    assert_eq!(fixture.used("ann").await.0, 40);
}

#[tokio::test]
async fn no_query_is_compiled_to_machine_code() {
    if !Schema::is_there("no_query_is_compiled") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    let plan = fixture.store.write_here(|tx| {
        let plan = "EXPLAIN SELECT sum(until) FROM node WHERE who > 'a'";
        tx.query_rows(plan, params![], |row| row.get::<String>(0))
    });
    let plan = plan.expect("explained").join("\n");
    // As PostgreSQL says up to 17, and from 18 on.
    let is_unwanted = plan.contains("cost=10000000000") || plan.contains("Disabled: true");
    assert!(is_unwanted && !plan.contains("JIT"), "{plan}");
}

#[tokio::test]
async fn commits_are_on_the_disk_whatever_the_servers_default_is() {
    if !Schema::is_there("commits_are_on_the_disk") {
        return;
    }
    let server = shared("").expect("it runs");
    server.sql("CREATE ROLE careless SUPERUSER LOGIN; ALTER ROLE careless SET synchronous_commit = off");
    let url = server.url().replace("user=cofferdam", "user=careless");
    let config = PostgresConfig::new(&Secret::new(url), &new_schema(), b"").expect("sound");
    let store = Store::open(StoreLocation::Postgres(Box::new(config))).expect("a store");
    let shown = store.write_here(|tx| {
        tx.query_row("SELECT current_setting('synchronous_commit')", params![], |row| row.get::<String>(0))
    });
    assert_eq!(shown.expect("asked"), "on");
}

/// Each one keeps its statements, and takes memory for them.
#[tokio::test]
async fn the_connection_that_was_used_last_is_used_next() {
    if !Schema::is_there("the_connection_that_was_used_last") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    let pid = |sleep: &str| {
        let (store, asked) = (
            fixture.store.clone(),
            format!("SELECT CAST(pg_backend_pid() AS bigint) FROM pg_sleep({sleep})"),
        );
        async move {
            store
                .read(move |tx| tx.query_row(&asked, params![], |row| row.get::<i64>(0)))
                .await
                .expect("asked")
        }
    };
    let (_, second) = tokio::join!(pid("0"), pid("2"));
    for _ in 0..5 {
        assert_eq!(pid("0").await, second);
    }
}
