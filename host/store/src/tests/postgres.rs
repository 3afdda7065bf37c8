//! What only PostgreSQL has: a server of its own that goes and comes back, and one who serves.

use super::*;
use cofferdam_core::secret::Secret;
use cofferdam_postgres::{PostgresServer, new_schema, shared};
use std::collections::BTreeSet;

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
    let Some(mut server) = PostgresServer::start() else {
        assert!(shared("a_server_that_went_is_told").is_none());
        return;
    };
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

pub(super) fn join(location: &StoreLocation, name: &str) -> Result<Store, StoreError> {
    let store = Store::open(location)?;
    store.join(&node(name))?;
    Ok(store)
}

#[tokio::test]
async fn nodes_share_the_store_and_one_who_wants_it_alone_is_refused_or_waits_for_who_died() {
    if !Schema::is_there("nodes_share_the_store") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    let location = &fixture.engine.location;
    let (a, b) = (join(location, "a").expect("the first"), join(location, "b").expect("another name"));
    for refused in [join(location, "a"), Store::open_alone(location, &node("c"))] {
        let refused = said(refused);
        let tells =
            refused.contains("another serve uses the store") && refused.contains("as node \"a\": process ");
        assert!(tells, "{refused}");
    }
    assert!(a.try_duty("t").await.expect("asked") && a.try_duty("t").await.expect("asked"));
    assert!(!b.try_duty("t").await.expect("asked") && b.try_duty("u").await.expect("asked"));
    let [NodeRow { name, who, duties }, other] = &nodes(location)[..] else {
        panic!("{:?}", nodes(location))
    };
    assert!(name == "a" && who.starts_with("process ") && duties == &["t"], "{name} {who} {duties:?}");
    assert!(other.name == "b" && other.duties == ["u"], "{other:?}");
    // Those beside them write as they do beside a serve of SQLite.
    fixture.store.persist(CHANNEL, vec![new(1, None)]).await.expect("kept");
    a.leave().expect("it is there");
    assert!(b.try_duty("t").await.expect("asked"), "at once");
    let stranger = Store::open(location).expect("a store");
    let elsewhere = ClusterNode { state: "other".to_owned(), ..node("d") };
    assert!(said(stranger.join(&elsewhere)).contains("node \"b\" has another state folder"));
    b.leave().expect("it is there");
    let alone = Store::open_alone(location, &node("a")).expect("nobody is there");
    assert!(said(join(location, "b")).contains("another serve uses the store"));
    drop(alone);
    let since = std::time::Instant::now();
    let next = join(location, "a").expect("its time is over");
    let waited = since.elapsed();
    assert!(waited > LEASE_LEAST / 4 && waited < LEASE_LEAST * 2, "{waited:?}");
    next.leave().expect("it is there");
    assert!(nodes(location).is_empty());
}

#[tokio::test]
async fn a_connection_whose_server_stands_still_is_given_up_and_the_next_one_works() {
    let Some(server) = PostgresServer::start() else {
        return;
    };
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

#[tokio::test]
async fn a_lease_is_renewed_over_another_connection_where_one_stands_still() {
    let Some(server) = PostgresServer::start() else {
        return;
    };
    let store = Store::open(location(&server, "s")).expect("a store");
    // Shorter than a statement may take.
    let lease = std::time::Duration::from_secs(11);
    store.join(&ClusterNode { lease, ..node("a") }).expect("a node");
    let renewing = |only: &str| {
        let found = "SELECT pid FROM pg_stat_activity WHERE application_name = 'cofferdam'
             AND query LIKE 'UPDATE node SET until%'";
        let pids = server.sql(&format!("{found} {only}"));
        pids.lines().map(|pid| pid.parse().expect("a number")).collect::<Vec<i32>>()
    };
    let signal = |pid: i32, signal| {
        let pid = rustix::process::Pid::from_raw(pid).expect("a process");
        rustix::process::kill_process(pid, signal).expect("it is there");
    };
    let again = || tokio::time::sleep(std::time::Duration::from_millis(20));
    let still = loop {
        if let Some(pid) = renewing("").first().copied() {
            signal(pid, rustix::process::Signal::STOP);
            // In the middle of a renewal it would hold the row.
            if renewing("AND state = 'idle'") == [pid] {
                break pid;
            }
            signal(pid, rustix::process::Signal::CONT);
        }
        again().await;
    };
    let (since, mut is_certain) = (std::time::Instant::now(), true);
    while renewing("") == [still] && since.elapsed() < lease * 3 {
        is_certain &= store.has_lease();
        again().await;
    }
    is_certain &= store.has_lease();
    // Before anything fails: the server cannot end without it.
    signal(still, rustix::process::Signal::CONT);
    assert!(is_certain, "the lease was over before another connection was tried");
    store.ensure_lease().await.expect("it is renewed");
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

#[tokio::test]
async fn who_was_silent_for_too_long_writes_nothing_any_more() {
    if !Schema::is_there("who_was_silent_for_too_long_writes_nothing") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    let location = &fixture.engine.location;
    let (first, second) = (join(location, "a").expect("the first"), join(location, "b").expect("another"));
    assert!(first.try_duty("t").await.expect("asked"));
    first.persist(CHANNEL, vec![new(1, None)]).await.expect("kept");
    first.settle().await.expect("its lease is certain");
    first.ensure_own().expect("what it has begun is its own");
    let (turn, caller) = (TurnId::new("t"), whose("s", "t").caller);
    assert_eq!(first.attempt(&turn, &caller).await.expect("counted"), 1);
    // As if it had stood still.
    fixture.sql("DELETE FROM node WHERE name = 'a'");
    // One change of which nobody asks what came of it goes out in the same breath as its commit.
    assert!(matches!(first.withdraw_attempt(&turn).await, Err(StoreError::TakenOver)));
    assert_eq!(fixture.sql("SELECT count FROM attempt"), "1");
    assert!(matches!(first.persist(CHANNEL, vec![new(2, None)]).await, Err(StoreError::TakenOver)));
    assert!(matches!(first.claim(CHANNEL, UpdateClaim::Update(1)).await, Err(StoreError::TakenOver)));
    let told = tokio::time::timeout(std::time::Duration::from_secs(30), first.taken_over());
    told.await.expect("it is told");
    assert!(matches!(first.leave(), Err(StoreError::TakenOver)));
    assert!(second.try_duty("t").await.expect("asked"));
    assert_eq!(ids(&second.pending(CHANNEL, None, 9).await.expect("asked")), [1]);
    assert!(!first.has_lease());
    for sends in [first.settle().await, first.ensure_lease().await] {
        assert!(matches!(sends, Err(StoreError::TakenOver)), "it sends nothing either, at once");
    }
    first.ensure_own().expect_err("nor does it go on with a plan");
    second.settle().await.expect("it has said each second that it is there");
}

#[tokio::test]
async fn a_node_that_is_silent_is_taken_out_by_another_one() {
    if !Schema::is_there("a_node_that_is_silent_is_taken_out") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    let location = &fixture.engine.location;
    let first = join(location, "a").expect("the first");
    fixture.sql("UPDATE node SET until = until + 1000000");
    // Dropped, it says nothing any more.
    drop(first);
    fixture.sql("UPDATE node SET until = 0");
    let _second = join(location, "b").expect("another name");
    let mut tries = 0;
    while fixture.sql("SELECT count(*) FROM node WHERE name = 'a'") != "0" {
        tries += 1;
        assert!(tries < 300, "it is there still");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

/// Who takes its work over finds all that it has changed.
#[tokio::test]
async fn a_node_is_taken_out_once_what_it_was_changing_is_done() {
    if !Schema::is_there("a_node_is_taken_out_once") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    let a = join(&fixture.engine.location, "a").expect("a node");
    let (schema, server) = (fixture.schema(), shared("").expect("it runs"));
    let take_out = format!("SET search_path TO {schema}; DELETE FROM node WHERE name = 'a'");
    let waiting = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%{schema}; DELETE%'"
    );
    let take_out = take_out.as_str();
    std::thread::scope(|scope| {
        let changed = a.write_here(|tx| {
            // A test that is slow is no node that stands still.
            tx.execute("SET LOCAL idle_in_transaction_session_timeout = 0", params![])?;
            let taken_out = scope.spawn(move || server.sql(take_out));
            while server.sql(&waiting) == "0" {
                assert!(!taken_out.is_finished(), "it waits for nothing");
            }
            tx.run("INSERT INTO run_schedule (workflow, looked_at) VALUES ('w', 1)", params![])
        });
        changed.expect("it was there when it began");
    });
    assert_eq!(fixture.sql("SELECT count(*) FROM node"), "0");
    assert_eq!(fixture.sql("SELECT workflow FROM run_schedule"), "w");
    assert!(matches!(a.persist(CHANNEL, vec![new(1, None)]).await, Err(StoreError::TakenOver)));
}

/// All its connections are in use for longer than its lease.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_has_much_to_do_is_not_taken_out() {
    if !Schema::is_there("a_node_that_has_much_to_do") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    let location = &fixture.engine.location;
    let (a, _b) = (join(location, "a").expect("the first"), join(location, "b").expect("another name"));
    let look = |tx: &Tx<'_>| tx.query_row("SELECT 1 FROM pg_sleep(5)", params![], |row| row.get::<i64>(0));
    let looks: Vec<_> = (0..2 * postgres::CONNECTIONS_MAX)
        .map(|_| {
            tokio::spawn({
                let a = a.clone();
                async move { a.read(look).await }
            })
        })
        .collect();
    for looked in looks {
        assert_eq!(looked.await.expect("asked").expect("the server has time"), 1);
    }
    assert_eq!(fixture.sql("SELECT string_agg(name, ' ' ORDER BY name) FROM node"), "a b");
    a.persist(CHANNEL, vec![of("s1", 1)]).await.expect("it is a node still");
}

/// The same while another node is to be taken out, which takes one of these connections.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_has_much_to_do_renews_its_lease_while_another_one_is_to_be_taken_out() {
    if !Schema::is_there("a_node_that_has_much_to_do_renews_its_lease") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    let a = Store::open(&fixture.engine.location).expect("a store");
    let lease = std::time::Duration::from_secs(6);
    a.join(&ClusterNode { lease, ..node("a") }).expect("a node");
    // As no other test looks.
    let look = |tx: &Tx<'_>| tx.query_row("SELECT 1 FROM pg_sleep(4.75)", params![], |row| row.get::<i64>(0));
    let looks: Vec<_> = (0..2 * postgres::CONNECTIONS_MAX)
        .map(|_| {
            tokio::spawn({
                let a = a.clone();
                async move { a.read(look).await }
            })
        })
        .collect();
    let busy = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid()
         AND query LIKE '%pg_sleep(4.75)%'";
    while fixture.sql(busy) != postgres::CONNECTIONS_MAX.to_string() {
        assert!(!looks.iter().all(tokio::task::JoinHandle::is_finished), "they never were busy at once");
    }
    fixture
        .sql("INSERT INTO node (name, holder, who, state, until) VALUES ('b', 'b/1', 'nobody', 'here', 0)");
    let mut is_certain = true;
    while !looks.iter().all(tokio::task::JoinHandle::is_finished) {
        is_certain &= a.has_lease();
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    for looked in looks {
        assert_eq!(looked.await.expect("asked").expect("the server has time"), 1);
    }
    assert!(is_certain, "it said nothing for a lease");
    let mut tries = 0;
    while fixture.sql("SELECT count(*) FROM node WHERE name = 'b'") != "0" {
        tries += 1;
        assert!(tries < 300, "it is there still");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

/// A message of somebody's own session.
pub(super) fn of(session: &str, id: i64) -> NewUpdate {
    let headers = Headers {
        session: SessionId::new(session),
        sender: "1".to_owned(),
        queue: QueueMode::Turn,
        answers: None,
    };
    NewUpdate { fate: UpdateFate::Pending(headers), ..new(id, None) }
}

#[tokio::test]
async fn each_session_is_one_nodes_and_what_one_has_no_time_for_is_anothers() {
    if !Schema::is_there("each_session_is_one_nodes") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    let location = &fixture.engine.location;
    let (a, b) = (join(location, "a").expect("the first"), join(location, "b").expect("another"));
    let most = i64::from(SESSIONS_CLAIMED_MAX);
    let updates: Vec<_> = (1..=most + 2).map(|n| of(&format!("s{n}"), n)).collect();
    let persisted = a.persist(CHANNEL, updates).await.expect("kept");
    assert!(persisted.is_for_others && persisted.pending.is_empty());
    let named = |n| SessionId::new(format!("s{n}"));
    assert_eq!(persisted.claimed, (1..=most).map(named).collect::<Vec<_>>());
    let sessions = async |store: &Store, new| {
        let found = store.sessions(CHANNEL, 100, new).await.expect("asked");
        found.iter().map(|session| session.as_str()[1..].parse().expect("a number")).collect::<Vec<i64>>()
    };
    assert_eq!(sessions(&a, 0).await, (1..=most).collect::<Vec<_>>());
    assert_eq!(sessions(&b, 1).await, [most + 1], "the oldest that nobody has, and no more");
    assert_eq!(sessions(&b, 9).await, [most + 1, most + 2]);
    assert_eq!(sessions(&a, 9).await.len(), 8, "what another one has is not taken");
    // What comes in a session goes to the node that has it.
    let persisted = a.persist(CHANNEL, vec![of("s9", 20), of("s1", 21)]).await.expect("kept");
    assert_eq!((ids(&persisted.pending), persisted.is_for_others), (vec![21], true));
    let waiting = b.load_waiting_updates(CHANNEL, &SessionId::new("s9"), 9).await.expect("asked");
    assert_eq!(ids(&waiting), [9, 20]);
    // Nothing is left to others while something of it is open.
    let turn = a.claim(CHANNEL, UpdateClaim::Update(2)).await.expect("it").expect("it waits").turn;
    a.release(CHANNEL, BTreeSet::new()).await.expect("asked");
    assert_eq!(fixture.sql("SELECT count(*) FROM claim WHERE session IN ('s1', 's2')"), "2");
    a.dismiss(&turn).await.expect("it");
    b.release(CHANNEL, BTreeSet::new()).await.expect("asked");
    a.release(CHANNEL, BTreeSet::from([SessionId::new("s2")])).await.expect("asked");
    assert_eq!(fixture.sql("SELECT count(*) FROM claim WHERE session IN ('s1', 's2')"), "2");
    a.release(CHANNEL, BTreeSet::new()).await.expect("asked");
    assert_eq!(fixture.sql("SELECT session FROM claim WHERE session IN ('s1', 's2')"), "s1");
}

/// Its transaction met another one, and another node has had the session since.
#[tokio::test]
async fn a_claim_that_was_undone_takes_no_place_of_a_session() {
    if !Schema::is_there("a_claim_that_was_undone") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    let a = join(&fixture.engine.location, "a").expect("a node");
    let undone = a.write_here(|tx| {
        for n in 0..SESSIONS_CLAIMED_MAX {
            crate::claims::claim_session(tx, CHANNEL, (&format!("undone{n}"), "s"), 0)?;
        }
        Err::<(), _>(StoreError::Stopped)
    });
    assert!(matches!(undone, Err(StoreError::Stopped)), "{undone:?}");
    a.release(CHANNEL, BTreeSet::new()).await.expect("asked");
    let persisted = a.persist(CHANNEL, vec![of("s1", 1)]).await.expect("kept");
    assert_eq!((persisted.claimed, persisted.is_for_others), (vec![SessionId::new("s1")], false));
}

/// What waits there came first.
#[tokio::test]
async fn a_session_that_nobody_had_time_for_is_read_from_its_first_message_on() {
    if !Schema::is_there("a_session_that_nobody_had_time_for") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    let a = join(&fixture.engine.location, "a").expect("a node");
    let most = i64::from(SESSIONS_CLAIMED_MAX);
    a.persist(CHANNEL, (1..=most + 1).map(|n| of(&format!("s{n}"), n)).collect()).await.expect("kept");
    let turn = a.claim(CHANNEL, UpdateClaim::Update(1)).await.expect("it").expect("it waits").turn;
    a.dismiss(&turn).await.expect("it");
    a.release(CHANNEL, BTreeSet::new()).await.expect("asked");
    let last = format!("s{}", most + 1);
    let persisted = a.persist(CHANNEL, vec![of(&last, 20), of(&last, 21)]).await.expect("kept");
    let session = SessionId::new(last.as_str());
    // The second one goes behind what is read of the first.
    assert_eq!((ids(&persisted.pending), persisted.claimed), (vec![21], vec![session.clone()]));
    let waiting = a.load_waiting_updates(CHANNEL, &session, 9).await.expect("asked");
    assert_eq!(ids(&waiting), [most + 1, 20, 21]);
    let next = a.persist(CHANNEL, vec![of(&last, 22)]).await.expect("kept");
    assert_eq!((ids(&next.pending), next.claimed), (vec![22], Vec::new()));
}

#[tokio::test]
async fn what_a_node_had_begun_is_taken_over_once_it_is_gone_and_by_one_alone() {
    if !Schema::is_there("what_a_node_had_begun_is_taken_over") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    let location = &fixture.engine.location;
    let [a, b, c] = ["a", "b", "c"].map(|name| join(location, name).expect("a name of its own"));
    a.persist(CHANNEL, vec![of("s1", 1), of("s2", 2), of("s2", 3), of("s3", 4)]).await.expect("kept");
    let claim = async |id| a.claim(CHANNEL, UpdateClaim::Update(id)).await.expect("it").expect("it waits");
    let (first, second) = (claim(1).await, claim(2).await);
    a.end(CHANNEL, &first.turn, text_reply(&["one"])).await.expect("kept");
    let out = claim(4).await.turn;
    a.end(CHANNEL, &out, text_reply(&["out"])).await.expect("kept");
    a.mark_part_sent(&out, 0, "m").await.expect("kept");
    assert_eq!(b.gone_nodes(CHANNEL).await.expect("asked"), [""; 0], "it lives");
    a.leave().expect("it is there");
    let unsettled = b.take_over(CHANNEL, &[]).await.expect("asked");
    assert_eq!(unsettled, LeftWork::default(), "it went after its audit was looked at");
    let gone = b.gone_nodes(CHANNEL).await.expect("asked");
    assert_eq!(gone.len(), 1);
    let left = b.take_over(CHANNEL, &gone).await.expect("asked");
    let replies: Vec<_> = left.replies.iter().map(|reply| &reply.turn).collect();
    assert_eq!((replies, left.turns), (vec![&first.turn], vec![second]));
    for other in [&b, &c] {
        assert_eq!(other.gone_nodes(CHANNEL).await.expect("asked"), [""; 0]);
        assert_eq!(other.take_over(CHANNEL, &gone).await.expect("asked"), LeftWork::default());
    }
    // What waits behind it in its session is the same node's.
    assert_eq!(c.sessions(CHANNEL, 9, 9).await.expect("asked"), []);
    assert_eq!(b.sessions(CHANNEL, 9, 0).await.expect("asked"), [SessionId::new("s2")]);
}

/// The tables as the release before had them, where a claim of a reply was a row like any other.
const BACK_TO_19: &str = "ALTER TABLE claim DROP CONSTRAINT claim_pkey; ALTER TABLE claim RENAME session TO name;
    ALTER TABLE claim ADD kind text COLLATE \"C\" NOT NULL DEFAULT 'session' CHECK (kind IN ('session', 'reply'));
    ALTER TABLE claim ALTER kind DROP DEFAULT; ALTER TABLE claim ADD PRIMARY KEY (channel, kind, name);
    INSERT INTO claim (channel, kind, name, holder) SELECT channel, 'reply', turn, holder FROM reply WHERE finished_at IS NULL;
    ALTER TABLE claim DROP messages; ALTER TABLE reply DROP holder; DROP TABLE audit_head;
    DROP TABLE home; ALTER TABLE node DROP has_home; ALTER TABLE run DROP node; UPDATE schema_version SET version = 19";

#[tokio::test]
async fn what_a_node_of_the_release_before_had_begun_is_taken_over() {
    if !Schema::is_there("what_a_node_of_the_release_before_had_begun") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    let location = &fixture.engine.location;
    let a = join(location, "a").expect("a name of its own");
    a.persist(CHANNEL, vec![of("s1", 1), of("s2", 2)]).await.expect("kept");
    let claim = async |id| a.claim(CHANNEL, UpdateClaim::Update(id)).await.expect("it").expect("it waits");
    let (first, second) = (claim(1).await, claim(2).await);
    a.end(CHANNEL, &first.turn, text_reply(&["one"])).await.expect("kept");
    fixture.sql(BACK_TO_19);
    let b = join(location, "b").expect("it brings the tables to its version");
    assert_eq!(fixture.sql("SELECT version FROM schema_version"), "22");
    assert!(matches!(a.dismiss(&second.turn).await, Err(StoreError::TakenOver)), "it is out");
    let gone = b.gone_nodes(CHANNEL).await.expect("asked");
    let left = b.take_over(CHANNEL, &gone).await.expect("asked");
    let replies: Vec<_> = left.replies.iter().map(|reply| &reply.turn).collect();
    assert_eq!((gone.len(), replies, left.turns), (1, vec![&first.turn], vec![second]));
}

#[tokio::test]
async fn nodes_tell_each_other_how_far_their_audits_are() {
    if !Schema::is_there("nodes_tell_each_other") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    let location = &fixture.engine.location;
    let (a, b) = (join(location, "a").expect("the first"), join(location, "b").expect("another"));
    let exchange = async |store: &Store, own: Option<&str>| {
        let heads = store.exchange_heads(own.map(str::to_owned)).await.expect("told");
        heads.into_iter().map(|(node, head)| format!("{node} {head}")).collect::<Vec<_>>()
    };
    assert_eq!(exchange(&a, Some("1:ab")).await, [""; 0], "its own is no news");
    assert_eq!(exchange(&b, None).await, ["a 1:ab"], "who has nothing to tell learns all the same");
    assert_eq!(exchange(&b, Some("7:cd")).await, ["a 1:ab"]);
    assert_eq!(exchange(&a, Some("2:ef")).await, ["b 7:cd"]);
    a.leave().expect("it is there");
    assert_eq!(exchange(&b, None).await, ["a 2:ef"], "what is gone was told");
    assert!(matches!(a.exchange_heads(Some("3:00".into())).await, Err(StoreError::TakenOver)));
    let at = location.clone();
    let look = move || DatabaseView::open(at).expect("opens").expect("there are tables").audit_heads();
    let told = tokio::task::spawn_blocking(look).await.expect("no panic").expect("told");
    assert_eq!(told.len(), 2);
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
async fn a_node_is_woken_by_what_another_one_leaves() {
    if !Schema::is_there("a_node_is_woken") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    let location = &fixture.engine.location;
    let (a, b) = (join(location, "a").expect("the first"), join(location, "b").expect("another"));
    // It listens once it is woken by that.
    let mut woken = b.woken();
    let mut quick = 0;
    for _ in 0..20 {
        woken.changed().await.expect("it is open");
        let since = std::time::Instant::now();
        a.wake_nodes().await.expect("asked");
        woken.changed().await.expect("it is open");
        quick += usize::from(since.elapsed() < std::time::Duration::from_millis(200));
    }
    assert!(quick > 10, "a look of each second alone would take half a second: {quick} of 20");
}

fn node(name: &str) -> ClusterNode {
    ClusterNode { name: name.to_owned(), lease: LEASE_LEAST, state: "here".to_owned() }
}

fn nodes(location: &StoreLocation) -> Vec<NodeRow> {
    let found = look(|| DatabaseView::open(location)?.map_or(Ok(Vec::new()), |view| view.nodes()));
    found.expect("read")
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

#[tokio::test]
async fn a_standby_shows_what_there_is_and_is_told_as_one_that_takes_no_changes() {
    let Some(primary) = PostgresServer::start() else {
        return;
    };
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

/// A store with rows in most tables, and texts that are hard to keep.
async fn fill(store: &Store) {
    let hard = "NUL \0, \u{1a}, \u{1a}0, 'quote', \\, ä€😀, ?1 $1";
    for id in 1..=5 {
        let update = NewUpdate { raw: format!("{hard} {id}"), ..new(id, Some("album")) };
        store.persist(CHANNEL, vec![update]).await.expect("kept");
    }
    store.persist(CHANNEL, vec![new(6, None), stranger(7, "eve")]).await.expect("kept");
    let turn = store.claim(CHANNEL, UpdateClaim::Update(6)).await.expect("it").expect("bound").turn;
    store.attempt(&turn, &caller("ann")).await.expect("noted");
    store.keep_transcript(&turn, hard).await.expect("kept");
    store.add_line(&whose("s", turn.as_str()), 0, hard.into(), 7).await.expect("added");
    store.record(turn.call(0).as_str(), "h", &answer(vec![file("f1")]), 9).expect("recorded");
    store.mark_placeholder_begun(&turn).await.expect("noted");
    for place in ["a", "b", "c"] {
        store.note_move(CHANNEL, place.into(), hard.into()).await.expect("noted");
    }
    store.set_spoken_to(&SessionId::new("s"), "ann", true).await.expect("set");
    let position = StreamPosition { session: "x".into(), address: "y".into(), number: 3 };
    store.begin_stream(CHANNEL, position).await.expect("begun");
    let paths = ApprovedPaths { channel: "c".into(), sender: "s".into(), tool: "t".into() };
    store.remember_paths(paths, vec!["/a".into(), "/b".into()]).await.expect("noted");
    store.begin_schedule_check("w", 5).await.expect("begun");
}

/// Every row of every table, in order.
fn rows(store: &Store) -> Vec<String> {
    store.write_here(crate::copy::dump).expect("read")
}

#[tokio::test]
async fn a_store_moves_there_and_back_and_nothing_is_lost() {
    if !Schema::is_there("a_store_moves_there_and_back") {
        return;
    }
    let (sqlite, postgres, back) =
        (Fixture::<Files>::new(), Fixture::<Schema>::new(), Fixture::<Files>::new());
    fill(&sqlite.store).await;
    let before = rows(&sqlite.store);
    assert!(before.len() > 20, "{before:?}");
    let copied = sqlite.store.copy_into(&postgres.store, &|_, _| {}).expect("copied");
    assert_eq!(copied, before.len() as u64);
    assert_eq!((rows(&postgres.store), rows(&sqlite.store)), (before.clone(), before.clone()));
    assert!(matches!(
        sqlite.store.copy_into(&postgres.store, &|_, _| {}),
        Err(StoreError::NotEmpty("inbox"))
    ));
    postgres.store.copy_into(&back.store, &|_, _| {}).expect("copied");
    assert_eq!(rows(&back.store), before);
    // It goes on where it was: behind what came along.
    for store in [&sqlite.store, &postgres.store, &back.store] {
        store.persist(CHANNEL, vec![new(8, None)]).await.expect("kept");
        store.note_move(CHANNEL, "d".into(), "e".into()).await.expect("noted");
        store.add_line(&whose("s", "later"), 0, "x".into(), 0).await.expect("added");
        assert_eq!(ids(&store.pending(CHANNEL, None, 9).await.expect("asked")), [1, 2, 3, 4, 5, 8]);
        let moves: Vec<_> =
            store.load_moves(CHANNEL).await.expect("read").into_iter().map(|(from, _)| from).collect();
        assert_eq!(moves, ["a", "b", "c", "d"]);
    }
}

/// An engine takes as long as its disk does, and who is told may be a terminal that is stopped.
#[tokio::test]
async fn a_server_waits_for_the_other_engine_while_a_store_is_copied() {
    if !Schema::is_there("a_server_waits_for_the_other_engine") {
        return;
    }
    let (sqlite, postgres, back) =
        (Fixture::<Files>::new(), Fixture::<Schema>::new(), Fixture::<Files>::new());
    fill(&sqlite.store).await;
    // Longer than the server waits for a node that stands still.
    let slow = |table: &'static str, _: u64| {
        if table == "inbox" {
            std::thread::sleep(LEASE_LEAST + std::time::Duration::from_millis(500));
        }
    };
    sqlite.store.copy_into(&postgres.store, &slow).expect("copied");
    postgres.store.copy_into(&back.store, &slow).expect("copied");
    assert_eq!(rows(&back.store), rows(&sqlite.store));
}

/// What a copy knows of the tables is what the engines have.
#[tokio::test]
async fn both_engines_have_the_tables_that_are_copied() {
    if !Schema::is_there("both_engines_have_the_tables_that_are_copied") {
        return;
    }
    let (sqlite, postgres) = (Fixture::<Files>::new(), Fixture::<Schema>::new());
    let known = crate::copy::columns();
    let of_sqlite = sqlite.store.write_here(|tx| {
        tx.query_rows(
            "SELECT t.name, c.name FROM sqlite_master AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table'",
            params![],
            |row| Ok(format!("{}.{}", row.get::<String>(0)?, row.get::<String>(1)?)),
        )
    });
    let sorted = |mut list: Vec<String>| {
        list.sort();
        list
    };
    assert_eq!(sorted(of_sqlite.expect("read")), sorted(known.clone()));
    let of_postgres = postgres.sql(&format!(
        "SELECT table_name || '.' || column_name FROM information_schema.columns WHERE table_schema = '{}'
         AND column_name <> 'rowid' AND table_name NOT IN ('audit_head', 'claim', 'duty', 'node', 'schema_version')
         AND (table_name, column_name) <> ('reply', 'holder')",
        postgres.schema()
    ));
    assert_eq!(sorted(of_postgres.lines().map(str::to_owned).collect()), sorted(known));
}
