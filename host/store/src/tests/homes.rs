//! Nodes that have a workspace each, over one store in PostgreSQL.

use super::postgres::nodes::{join, of};
use super::postgres::{look, said};
use super::*;
use std::collections::BTreeSet;

/// The place of a store for a process that has the workspace of this node.
fn with_home(location: &StoreLocation, name: &str) -> StoreLocation {
    let StoreLocation::Postgres(config) = location else { unreachable!("a schema of PostgreSQL") };
    StoreLocation::Postgres(Box::new(config.as_ref().clone().with_home(name)))
}

fn join_with_home(location: &StoreLocation, name: &str) -> Result<Store, StoreError> {
    join(&with_home(location, name), name)
}

/// The nodes that are not there, as `status` finds them.
fn away(location: &StoreLocation) -> Vec<AwayHome> {
    let found = look(|| {
        DatabaseView::open(with_home(location, "a"))?.map_or(Ok(Vec::new()), |view| view.homes_away())
    });
    found.expect("read")
}

/// A run of somebody, without a task.
fn run_of(owner: RunOwner, run: &str, sender: &str) -> NewRun {
    NewRun {
        run: run.to_owned(),
        workflow: "w".to_owned(),
        by: caller(sender),
        began_with: "{}".to_owned(),
        file_sha256: String::new(),
        tasks: Vec::new(),
        owner,
        answer_to: None,
        answers: false,
    }
}

/// A message of somebody in a session.
fn of_sender(session: &str, sender: &str, id: i64) -> NewUpdate {
    let UpdateFate::Pending(headers) = of(session, id).fate else { unreachable!("it waits") };
    NewUpdate { fate: UpdateFate::Pending(Headers { sender: sender.to_owned(), ..headers }), ..new(id, None) }
}

#[tokio::test]
async fn what_is_said_by_a_person_is_worked_on_where_their_files_are() {
    if !Schema::is_there("what_is_said_by_a_person") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    let location = &fixture.engine.location;
    let (a, b) = (join_with_home(location, "a").expect("it"), join_with_home(location, "b").expect("it"));
    assert!(said(join(location, "c")).contains("node \"a\" has another [workspace] affinity"));
    // The first of two goes to a, the next to b, which has fewer people.
    let persisted = a.persist(CHANNEL, vec![of_sender("s1", "1", 1), of_sender("s2", "2", 2)]).await;
    let persisted = persisted.expect("kept");
    let named = |session: &str| SessionId::new(session);
    assert_eq!((persisted.claimed, persisted.is_for_others), (vec![named("s1")], true));
    assert_eq!(fixture.sql("SELECT person || node FROM home ORDER BY person"), "telegram:1a\ntelegram:2b");
    let sessions = async |store: &Store| store.sessions(CHANNEL, 9, 9).await.expect("asked");
    assert_eq!((sessions(&a).await, sessions(&b).await), (vec![named("s1")], vec![named("s2")]));
    // In one place two people have their turns in order, each at their own node.
    let group = [("1", 3), ("2", 4), ("1", 5)].map(|(sender, id)| of_sender("g", sender, id));
    let persisted = b.persist(CHANNEL, group.to_vec()).await.expect("kept");
    assert!(persisted.is_for_others && persisted.claimed.is_empty() && persisted.pending.is_empty());
    let waiting = async |store: &Store| {
        let waiting = store.load_waiting(CHANNEL, &named("g"), 9).await.expect("asked");
        waiting.iter().map(|update| update.update_id).collect::<Vec<_>>()
    };
    assert_eq!((waiting(&a).await, waiting(&b).await), (vec![], vec![]), "nobody has it");
    assert_eq!((sessions(&b).await, sessions(&a).await), (vec![named("s2")], vec![named("s1"), named("g")]));
    assert_eq!((waiting(&a).await, waiting(&b).await), (vec![3], vec![]), "what is behind another's waits");
    let work = async |store: &Store, id| {
        let claim = store.claim(CHANNEL, UpdateClaim::Update(id)).await.expect("it").expect("it waits");
        store.release(CHANNEL, BTreeSet::new()).await.expect("asked");
        assert_eq!(fixture.sql("SELECT count(*) FROM claim WHERE session = 'g'"), "1", "its turn runs");
        store.dismiss(&claim.turn).await.expect("it");
        store.release(CHANNEL, BTreeSet::new()).await.expect("asked");
    };
    work(&a, 3).await;
    assert_eq!(sessions(&a).await, [named("s1")]);
    assert_eq!(sessions(&b).await, [named("s2"), named("g")], "it was left to the other one");
    assert_eq!((waiting(&a).await, waiting(&b).await), (vec![], vec![4]));
    work(&b, 4).await;
    assert_eq!(sessions(&a).await, [named("s1"), named("g")]);
    // What was begun waits for its node, but for a reply that is there.
    let turn = a.claim(CHANNEL, UpdateClaim::Update(1)).await.expect("it").expect("it waits").turn;
    let told = a.claim(CHANNEL, UpdateClaim::Update(5)).await.expect("it").expect("it waits").turn;
    a.end(CHANNEL, &told, text_reply(&["one"])).await.expect("kept");
    a.leave().expect("it is there");
    let gone = b.gone_nodes(CHANNEL).await.expect("asked");
    let LeftWork { replies, turns } = b.take_over(CHANNEL, &gone).await.expect("it");
    assert_eq!((replies.len(), turns.len()), (1, 0));
    b.mark_part_sent(&told, 0, "m").await.expect("it is out");
    assert_eq!(b.gone_nodes(CHANNEL).await.expect("asked"), [""; 0], "nothing is left that is for it");
    assert_eq!(away(location), [AwayHome { node: "a".to_owned(), people: 1, runs: 0 }]);
    assert!(said(look(|| b.move_homes("b", "a"))).contains("another serve uses the store"));
    // Another process of its name goes on.
    let a = join_with_home(location, "a").expect("again");
    let gone = a.gone_nodes(CHANNEL).await.expect("asked");
    let left = a.take_over(CHANNEL, &gone).await.expect("it");
    assert_eq!(left.turns.iter().map(|left| &left.turn).collect::<Vec<_>>(), [&turn]);
    // Or another node does that has its files now.
    a.leave().expect("it is there");
    assert_eq!(look(|| b.move_homes("a", "b")).expect("moved"), (1, 0));
    let gone = b.gone_nodes(CHANNEL).await.expect("asked");
    assert_eq!(b.take_over(CHANNEL, &gone).await.expect("it").turns.len(), 1);
}

/// Two nodes with a home each, and the session `g` of two people: `1` is at home at `a`, `2` at
/// `b`.
async fn two(fixture: &Fixture<Schema>) -> (Store, Store) {
    let location = &fixture.engine.location;
    let (a, b) = (join_with_home(location, "a").expect("it"), join_with_home(location, "b").expect("it"));
    let first = vec![of_sender("s1", "1", 1), of_sender("s2", "2", 2)];
    a.persist(CHANNEL, first).await.expect("kept");
    (a, b)
}

#[tokio::test]
async fn who_stops_a_turn_of_another_node_leaves_its_session_to_that_one() {
    if !Schema::is_there("who_stops_a_turn_of_another_node") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    let (a, b) = two(&fixture).await;
    b.persist(CHANNEL, vec![of_sender("g", "2", 3), of_sender("g", "1", 4)]).await.expect("kept");
    let claim =
        async |id| b.claim(CHANNEL, UpdateClaim::Update(id)).await.expect("it").expect("it waits").turn;
    let turns = [claim(3).await, claim(4).await];
    b.leave().expect("it is there");
    let gone = async |store: &Store| store.gone_nodes(CHANNEL).await.expect("asked");
    assert_eq!(gone(&a).await, [""; 0], "its first turn is not for this one");
    let b = join_with_home(&fixture.engine.location, "b").expect("again");
    let left = b.take_over(CHANNEL, &gone(&b).await).await.expect("it");
    assert_eq!(left.turns.iter().map(|left| &left.turn).collect::<Vec<_>>(), turns.each_ref());
}

/// It was taken back, so nobody else's message is before it any more.
#[tokio::test]
async fn what_was_behind_anothers_message_comes_before_what_comes_later() {
    if !Schema::is_there("what_was_behind_anothers_message") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    let (a, _b) = two(&fixture).await;
    let group = [("1", 3), ("2", 4), ("1", 5)].map(|(sender, id)| of_sender("g", sender, id));
    a.persist(CHANNEL, group.to_vec()).await.expect("kept");
    fixture.sql("UPDATE inbox SET done_at = 1 WHERE update_id = 4");
    let persisted = a.persist(CHANNEL, vec![of_sender("g", "1", 6)]).await.expect("kept");
    assert_eq!(persisted.claimed, [SessionId::new("g")], "its queue is read first");
    assert_eq!(ids(&persisted.pending), [6]);
}

#[tokio::test]
async fn who_has_files_somewhere_is_at_home_there_and_who_gave_them_away_is_out() {
    if !Schema::is_there("who_has_files_somewhere") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    let location = &fixture.engine.location;
    let a = join_with_home(location, "a").expect("it");
    let b = join_with_home(location, "b").expect("it");
    look(|| b.note_homes(&["telegram:1".to_owned()])).expect("noted");
    look(|| a.note_homes(&["telegram:1".to_owned(), "telegram:2".to_owned()])).expect("noted");
    assert_eq!(fixture.sql("SELECT person || node FROM home ORDER BY person"), "telegram:1b\ntelegram:2a");
    let settled =
        async |store: &Store| store.settled_here().await.expect("asked").expect("of some").into_iter();
    assert!(settled(&a).await.eq(["a"]) && settled(&b).await.eq(["b"]));
    // It is silent, and nobody has taken it out.
    fixture.sql("UPDATE node SET until = 0 WHERE name = 'b'");
    assert_eq!(look(|| a.move_homes("b", "a")).expect("moved"), (1, 0));
    assert!(settled(&a).await.eq(["a", "b"]), "what its calls have published is here now");
    let late = said(b.persist(CHANNEL, vec![of_sender("s", "1", 1)]).await);
    assert!(late.contains("others took its work over"), "{late}");
    let again = join_with_home(location, "b").expect("without files");
    assert!(settled(&a).await.eq(["a"]) && settled(&again).await.eq(["b"]));
}

/// Those of `cofferdam run` belong to the node where it was called, for anybody.
#[tokio::test]
async fn runs_that_have_not_ended_are_told_of_a_node_that_is_away() {
    if !Schema::is_there("runs_that_have_not_ended") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    let location = &fixture.engine.location;
    let (a, b) = two(&fixture).await;
    let c = join_with_home(location, "c").expect("it");
    for (at, new) in [
        (&a, run_of(RunOwner::Serve, "w-1", "1")),
        (&a, run_of(RunOwner::Serve, "w-2", "2")),
        (&b, run_of(RunOwner::Command, "w-3", "1")),
        (&b, run_of(RunOwner::Serve, "w-4", "2")),
        (&c, run_of(RunOwner::Command, "w-5", "1")),
        (&c, run_of(RunOwner::Serve, "w-6", "3")),
    ] {
        assert!(at.begin_run(new, 9).await.expect("asked"));
    }
    assert!(a.end_run("w-4", Ok("1".to_owned())).await.expect("ended"));
    assert!(away(location).is_empty(), "{:?}", away(location));
    b.leave().expect("it is there");
    c.leave().expect("it is there");
    let told = |node: &str, people, runs| AwayHome { node: node.to_owned(), people, runs };
    assert_eq!(away(location), [told("b", 1, 1), told("c", 1, 1)], "what a command does waits for nobody");
}

#[tokio::test]
async fn runs_of_a_node_go_on_at_the_one_that_has_its_files_now() {
    if !Schema::is_there("runs_of_a_node_go_on") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    let (a, b) = two(&fixture).await;
    for (at, new) in [
        (&a, run_of(RunOwner::Serve, "w-1", "2")),
        (&a, run_of(RunOwner::Serve, "w-2", "1")),
        (&b, run_of(RunOwner::Command, "w-3", "1")),
    ] {
        assert!(at.begin_run(new, 9).await.expect("asked"));
    }
    // Tests beside this one set the clock of the process.
    fixture.sql("UPDATE run SET began_at = began_at - 60000 WHERE run = 'w-1'");
    let here = async |store: &Store| store.runs_to_go_on(now_ms(), 60_000).await.expect("asked").runs;
    let elsewhere = async |run: &str| a.run_elsewhere(run).await.expect("asked");
    assert_eq!((here(&a).await, here(&b).await), (vec!["w-2".to_owned()], vec!["w-1".to_owned()]));
    assert_eq!((elsewhere("w-2").await, elsewhere("w-3").await), (None, Some("b".to_owned())));
    b.leave().expect("it is there");
    assert_eq!(here(&a).await, ["w-2"], "that it is away changes nothing");
    assert_eq!(look(|| a.move_homes("b", "a")).expect("moved"), (1, 1));
    assert_eq!(here(&a).await, ["w-1", "w-2"], "the oldest first");
    // Who goes on with them has to know whose audit tells of their calls.
    let of = async |store: &Store| store.runs_to_go_on(now_ms(), 60_000).await.expect("asked").nodes;
    let both = std::collections::BTreeSet::from(["a", "b"].map(str::to_owned));
    assert_eq!(of(&a).await, Some(both));
    assert_eq!(elsewhere("w-3").await, None, "who called `cofferdam run` there resumes it here");
    let again = join_with_home(&fixture.engine.location, "b").expect("without files");
    assert_eq!(here(&again).await, [""; 0], "it comes back to nothing of that");
}

#[tokio::test]
async fn three_nodes_have_people_each_and_one_takes_over_those_of_another() {
    if !Schema::is_there("three_nodes_have_people_each") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    let location = &fixture.engine.location;
    let [a, b, c] = ["a", "b", "c"].map(|name| join_with_home(location, name).expect("it"));
    let named = |n: &[i64]| n.iter().map(|n| SessionId::new(format!("s{n}"))).collect::<Vec<_>>();
    let six = (1_i64..=6).map(|n| of_sender(&format!("s{n}"), &n.to_string(), n)).collect();
    let persisted = a.persist(CHANNEL, six).await.expect("kept");
    assert_eq!((persisted.claimed, persisted.is_for_others), (named(&[1, 4]), true));
    let homes = fixture.sql("SELECT node || person FROM home ORDER BY person").replace("telegram:", "");
    assert_eq!(homes, "a1\nb2\nc3\na4\nb5\nc6");
    let sessions = async |store: &Store| store.sessions(CHANNEL, 9, 9).await.expect("asked");
    let waiting = async |store: &Store, n: i64| {
        let waiting = store.load_waiting(CHANNEL, &named(&[n])[0], 9).await.expect("asked");
        waiting.iter().map(|update| update.update_id).collect::<Vec<_>>()
    };
    // Nobody has taken the sessions of the third one's people, and nobody else may.
    assert_eq!((sessions(&a).await, sessions(&b).await), (named(&[1, 4]), named(&[2, 5])));
    assert_eq!((waiting(&a, 3).await, waiting(&b, 3).await), (vec![], vec![]));
    assert_eq!((sessions(&c).await, waiting(&c, 3).await), (named(&[3, 6]), vec![3]));
    let turn = c.claim(CHANNEL, UpdateClaim::Update(6)).await.expect("it").expect("it waits").turn;
    c.leave().expect("it is there");
    // Who comes now gets one of the nodes that are there.
    let more = [(7, "7"), (8, "8")].map(|(n, sender)| of_sender(&format!("s{n}"), sender, n));
    a.persist(CHANNEL, more.to_vec()).await.expect("kept");
    let homes = fixture.sql("SELECT node || person FROM home WHERE person > 'telegram:6' ORDER BY person");
    assert_eq!(homes, "atelegram:7\nbtelegram:8");
    // What it had is free, and waits for it.
    for (store, own) in [(&a, [1, 4, 7]), (&b, [2, 5, 8])] {
        let gone = store.gone_nodes(CHANNEL).await.expect("asked");
        assert_eq!(store.take_over(CHANNEL, &gone).await.expect("it"), LeftWork::default());
        assert_eq!(sessions(store).await, named(&own));
    }
    let claimed = fixture.sql("SELECT session FROM claim WHERE session IN ('s3', 's6')");
    assert_eq!(claimed, "s6", "its turn has begun");
    // Until another one has its files.
    assert_eq!(look(|| a.move_homes("c", "b")).expect("moved"), (2, 0));
    let gone = async |store: &Store| store.gone_nodes(CHANNEL).await.expect("asked");
    assert_eq!(gone(&a).await, [""; 0], "it is not for this one");
    let left = b.take_over(CHANNEL, &gone(&b).await).await.expect("it");
    assert_eq!(left.turns.iter().map(|left| &left.turn).collect::<Vec<_>>(), [&turn]);
    assert_eq!(sessions(&a).await, named(&[1, 4, 7]));
    assert_eq!((sessions(&b).await, waiting(&b, 3).await), (named(&[2, 5, 8, 3]), vec![3]));
}

/// Each look is over before the server ends it, however much waits in one session.
#[tokio::test]
async fn a_session_in_which_much_waits_is_found_at_once() {
    if !Schema::is_there("a_session_in_which_much_waits") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    let (a, b) = two(&fixture).await;
    fixture.sql(
        "INSERT INTO inbox (channel, update_id, received_at, raw, session, sender)
         SELECT 'telegram-1', 100 + n, 0, '', 'long', '1' FROM generate_series(1, 20000) AS n",
    );
    let sessions = async |store: &Store| store.sessions(CHANNEL, 9, 9).await.expect("asked");
    assert_eq!(sessions(&b).await, [SessionId::new("s2")]);
    assert_eq!(sessions(&a).await, [SessionId::new("s1"), SessionId::new("long")]);
    a.release(CHANNEL, BTreeSet::new()).await.expect("asked");
}

/// It sends it at once, or when the platform takes it; the next answer comes after it.
#[tokio::test]
async fn what_a_node_had_begun_waits_for_a_reply_that_another_one_sends() {
    if !Schema::is_there("what_a_node_had_begun_waits_for_a_reply") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    let (a, b) = two(&fixture).await;
    a.persist(CHANNEL, vec![of_sender("s1", "1", 3)]).await.expect("kept");
    let claim =
        async |id| a.claim(CHANNEL, UpdateClaim::Update(id)).await.expect("it").expect("it waits").turn;
    let told = claim(1).await;
    a.end(CHANNEL, &told, text_reply(&["one"])).await.expect("kept");
    // As the message is that stops a turn, beside it.
    let next = claim(3).await;
    a.leave().expect("it is there");
    let take_over = async |store: &Store| {
        let gone = store.gone_nodes(CHANNEL).await.expect("asked");
        store.take_over(CHANNEL, &gone).await.expect("it")
    };
    let LeftWork { replies, turns } = take_over(&b).await;
    assert_eq!((replies.len(), turns.len()), (1, 0));
    let again = join_with_home(&fixture.engine.location, "a").expect("it");
    assert_eq!(take_over(&again).await, LeftWork::default());
    b.mark_part_sent(&told, 0, "m").await.expect("it is out");
    let left = take_over(&again).await;
    assert_eq!(left.turns.iter().map(|left| &left.turn).collect::<Vec<_>>(), [&next]);
}

#[tokio::test]
async fn a_store_is_copied_once_no_other_node_has_files_of_people() {
    if !Schema::is_there("a_store_is_copied_once_no_other_node") {
        return;
    }
    let (fixture, back) = (Fixture::<Schema>::new(), Fixture::<Files>::new());
    let location = &fixture.engine.location;
    let (a, b) = (join_with_home(location, "a").expect("it"), join_with_home(location, "b").expect("it"));
    a.persist(CHANNEL, vec![of_sender("s1", "1", 1), of_sender("s2", "2", 2)]).await.expect("kept");
    assert_eq!(fixture.sql("SELECT person || node FROM home ORDER BY person"), "telegram:1a\ntelegram:2b");
    b.leave().expect("it is there");
    let refused = said(a.copy_into(&back.store, &|_, _| {}));
    let tells = refused.starts_with("node \"b\" has the files of people (1) and of runs that can go on (0)")
        && refused.contains("`cofferdam store rehome b a`");
    assert!(tells, "{refused}");
    assert!(back.store.pending(CHANNEL, None, 9).await.expect("asked").is_empty());
    assert_eq!(look(|| a.move_homes("b", "a")).expect("moved"), (1, 0));
    a.copy_into(&back.store, &|_, _| {}).expect("copied");
    assert_eq!(ids(&back.store.pending(CHANNEL, None, 9).await.expect("asked")), [1, 2]);
}
