//! Nodes that share a store: who serves, whose a session is, and who is taken out.

use super::*;
use std::collections::BTreeSet;

pub(in super::super) fn join(location: &StoreLocation, name: &str) -> Result<Store, StoreError> {
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
    for (node, stranger) in [(elsewhere, Some("b")), (node("d"), None)] {
        let seen = look(|| DatabaseView::open(location)?.expect("tables").find_stranger(&node));
        assert_eq!(seen.expect("read").as_deref(), stranger);
    }
    b.leave().expect("it is there");
    let alone = Store::open_alone(location, &node("a")).expect("nobody is there");
    assert!(said(join(location, "b")).contains("another serve uses the store"));
    let renewing = alone.downgrade();
    drop(alone);
    // Its thread may be about to say once more that it is there.
    while renewing.0.strong_count() > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let since = std::time::Instant::now();
    let next = join(location, "a").expect("its time is over");
    let waited = since.elapsed();
    assert!(waited > LEASE_LEAST / 4 && waited < LEASE_LEAST * 2, "{waited:?}");
    next.leave().expect("it is there");
    assert!(nodes(location).is_empty());
}

/// A renewal that waited for a standby is there when the process that sent it is gone.
#[tokio::test]
async fn a_renewal_of_a_process_that_died_refuses_no_later_one() {
    if !Schema::is_there("a_renewal_of_a_process_that_died") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    let location = &fixture.engine.location;
    let died = join(location, "a").expect("the first");
    let renewing = died.downgrade();
    drop(died);
    while renewing.0.strong_count() > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let next = {
        let location = location.clone();
        std::thread::spawn(move || join(&location, "a"))
    };
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    fixture.sql("UPDATE node SET until = until + 500");
    let next = next.join().expect("no panic").expect("nobody is there");
    next.leave().expect("it is there");
}

#[tokio::test]
async fn a_lease_is_renewed_over_another_connection_where_one_stands_still() {
    let Some(server) = PostgresServer::start("a_lease_is_renewed_over_another_connection") else { return };
    let store = Store::open(location(&server, "s")).expect("a store");
    // Shorter than a statement may take.
    let lease = std::time::Duration::from_secs(11);
    store.join(&ClusterNode { lease, ..node("a") }).expect("a node");
    let renewing = |only: &str| {
        let found = "SELECT pid FROM pg_stat_activity WHERE application_name = 'cofferdam'
             AND query LIKE '%UPDATE node SET until%'";
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
    // One change of which nobody asks what came of it.
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
pub(in super::super) fn of(session: &str, id: i64) -> NewUpdate {
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
    // Nor does one that has room again take what comes alone.
    let alone = a.persist(CHANNEL, vec![of("s9", 22)]).await.expect("kept");
    assert!(alone.is_for_others && alone.pending.is_empty() && alone.claimed.is_empty());
    assert_eq!((alone.kept, sessions(&a, 9).await.contains(&9)), (1, false));
}

#[tokio::test]
async fn a_message_that_is_known_claims_nothing() {
    if !Schema::is_there("a_message_that_is_known_claims_nothing") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    let a = join(&fixture.engine.location, "a").expect("a node");
    a.persist(CHANNEL, vec![of("s1", 1)]).await.expect("kept");
    // Delivered again, the other time under the name that its group has since.
    let again = a.persist(CHANNEL, vec![of("s1", 1), of("s2", 1)]).await.expect("kept");
    assert_eq!((again.kept, again.pending, again.claimed), (0, Vec::new(), Vec::new()));
    assert_eq!(fixture.sql("SELECT session, messages FROM claim"), "s1|0");
    // Between new ones, and twice in one batch.
    let batch = vec![of("s1", 1), of("s1", 2), of("s2", 2), of("s2", 3)];
    let some = a.persist(CHANNEL, batch).await.expect("kept");
    assert_eq!((some.kept, ids(&some.pending), some.claimed), (2, vec![2], vec![SessionId::new("s2")]));
    let claims = "SELECT string_agg(session || ' ' || messages, ', ' ORDER BY session) FROM claim";
    assert_eq!(fixture.sql(claims), "s1 1, s2 0");
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
    a.ensure_own().expect_err("what it is still at goes on elsewhere");
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
    // What waits behind it in its session is the same node's, and what comes behind a reply that is
    // not sent.
    c.persist(CHANNEL, vec![of("s1", 5)]).await.expect("kept");
    assert_eq!(c.sessions(CHANNEL, 9, 9).await.expect("asked"), []);
    assert_eq!(b.sessions(CHANNEL, 9, 0).await.expect("asked"), ["s2", "s1"].map(SessionId::new));
}

#[tokio::test]
async fn nodes_tell_each_other_how_far_their_audits_are() {
    if !Schema::is_there("nodes_tell_each_other") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    let location = &fixture.engine.location;
    let (a, b) = (join(location, "a").expect("the first"), join(location, "b").expect("another"));
    let rest = "9".repeat(62);
    let whole = |short: &str| format!("{short}{rest}");
    let short = |head: &str| head.strip_suffix(&rest).unwrap_or(head).to_owned();
    let exchange = async |store: &Store, own: Option<&str>| {
        let heads = store.exchange_heads(own.map(whole)).await.expect("told");
        heads.others.iter().map(|(node, head)| format!("{node} {}", short(head))).collect::<Vec<_>>()
    };
    assert_eq!(exchange(&a, Some("1:ab")).await, [""; 0], "its own is no news");
    assert_eq!(exchange(&b, None).await, ["a 1:ab"], "who has nothing to tell learns all the same");
    assert_eq!(exchange(&b, Some("7:cd")).await, ["a 1:ab"]);
    assert_eq!(exchange(&a, Some("2:ef")).await, ["b 7:cd"]);
    // A chain only grows. What is told twice is no step back, and 10 comes after 2.
    for (own, taken) in [("1:ab", "2:ef"), ("2:00", "2:ef"), ("10:aa", "10:aa"), ("10:aa", "10:aa")] {
        let heads = a.exchange_heads(Some(whole(own))).await.expect("asked");
        assert_eq!(heads.own.as_deref().map(short).as_deref(), Some(taken), "{own}");
    }
    // What is no head is in no head's way, however large its number.
    for no_head in ["x", "99999999999999999999:00"] {
        fixture.sql(&format!("UPDATE audit_head SET head = '{no_head}' WHERE node = 'a'"));
        assert_eq!(a.exchange_heads(Some(whole("10:aa"))).await.expect("asked").own, Some(whole("10:aa")));
    }
    a.leave().expect("it is there");
    assert_eq!(exchange(&b, None).await, ["a 10:aa"], "what is gone was told");
    assert!(matches!(a.exchange_heads(Some(whole("11:00"))).await, Err(StoreError::TakenOver)));
    let at = location.clone();
    let look = move || DatabaseView::open(at).expect("opens").expect("there are tables").audit_heads();
    let told = tokio::task::spawn_blocking(look).await.expect("no panic").expect("told");
    assert_eq!(told.len(), 2);
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

pub(super) fn node(name: &str) -> ClusterNode {
    ClusterNode { name: name.to_owned(), lease: LEASE_LEAST, state: "here".to_owned() }
}

fn nodes(location: &StoreLocation) -> Vec<NodeRow> {
    let found = look(|| DatabaseView::open(location)?.map_or(Ok(Vec::new()), |view| view.nodes()));
    found.expect("read")
}
