//! The store across restarts: everything that was reported as done is there again, and only once.

mod history;
mod look;
mod used;

use super::*;
use cofferdam_core::id::TurnId;
use cofferdam_core::journal::Journal;
use cofferdam_core::message::OutgoingAttachment;
use cofferdam_core::tool::Answer;
use serde_json::json;
use std::os::unix::fs::PermissionsExt;

const CHANNEL: &str = "telegram-1";

fn new(update_id: i64, album: Option<&str>) -> NewUpdate {
    NewUpdate {
        update_id,
        album: album.map(Into::into),
        raw: format!("raw {update_id}"),
        fate: Fate::Pending,
    }
}

fn stranger(update_id: i64, sender: &str) -> NewUpdate {
    let stranger = Stranger { sender: sender.into(), reply: text_reply(&["who are you?"]) };
    NewUpdate { update_id, album: None, raw: "secret".into(), fate: Fate::Stranger(stranger) }
}

fn text_reply(texts: &[&str]) -> NewReply {
    let parts = texts.iter().map(|text| NewPart { kind: PartKind::Text, body: (*text).into() }).collect();
    NewReply { target: "there".into(), parts }
}

fn ids(updates: &[Update]) -> Vec<i64> {
    updates.iter().map(|update| update.update_id).collect()
}

struct Fixture {
    dir: tempfile::TempDir,
    store: Store,
}

impl Fixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let store = Store::open(dir.path()).expect("a store");
        Self { dir, store }
    }

    /// As after kill -9: nothing of the old handle is used any more.
    fn restart(self) -> Self {
        let store = Store::open(self.dir.path()).expect("a store");
        Self { dir: self.dir, store }
    }

    fn sql<T: rusqlite::types::FromSql>(&self, query: &str) -> T {
        let connection = self.store.connection.lock().expect("a connection");
        connection.query_row(query, [], |row| row.get(0)).expect(query)
    }
}

#[test]
fn the_file_is_private_even_if_it_was_not() {
    let fixture = Fixture::new();
    let path = fixture.dir.path().join(FILE_NAME);
    let mode = || std::fs::metadata(&path).expect("metadata").permissions().mode() & 0o777;
    assert_eq!(mode(), 0o600);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).expect("chmod");
    Store::open(fixture.dir.path()).expect("a store");
    assert_eq!(mode(), 0o600);
    assert_eq!(fixture.sql::<i64>("PRAGMA synchronous"), 2);
    assert_eq!(fixture.sql::<String>("PRAGMA journal_mode"), "wal");
}

#[test]
fn a_newer_version_is_refused_and_untouched() {
    let fixture = Fixture::new();
    fixture.store.connection.lock().expect("it").pragma_update(None, "user_version", 9).expect("set");
    let refused = Store::open(fixture.dir.path()).map(|_| ()).expect_err("refused").to_string();
    let known = schema::VERSION;
    let expected = format!(
        "the database has version 9, this program knows {known}; run the newer release, or restore a backup"
    );
    assert_eq!(refused, expected);
    assert_eq!(fixture.sql::<i64>("PRAGMA user_version"), 9);
}

#[tokio::test]
async fn a_known_update_is_never_taken_twice() {
    let fixture = Fixture::new();
    let first =
        fixture.store.persist(CHANNEL, vec![new(7, None), new(7, None), new(8, None)]).await.expect("it");
    assert_eq!(ids(&first.pending), [7, 8]);
    let fixture = fixture.restart();
    let again = fixture.store.persist(CHANNEL, vec![new(8, None), new(9, None)]).await.expect("it");
    assert_eq!(ids(&again.pending), [9]);
    let other = fixture.store.persist("telegram-2", vec![new(8, None)]).await.expect("it");
    assert_eq!(ids(&other.pending), [8], "another bot counts for itself");
    assert_eq!(ids(&fixture.store.pending(CHANNEL, None, 2).await.expect("it")), [7, 8]);
    assert_eq!(ids(&fixture.store.pending(CHANNEL, Some(8), 2).await.expect("it")), [9]);
}

#[tokio::test]
async fn a_bound_turn_has_the_same_members_after_a_crash() {
    let fixture = Fixture::new();
    let batch = vec![new(1, Some("a")), new(2, None), new(3, Some("a")), new(4, Some("b"))];
    fixture.store.persist(CHANNEL, batch).await.expect("it");
    let album = fixture.store.claim(CHANNEL, Claim::Album("a".into())).await.expect("it").expect("bound");
    assert_eq!((album.turn.as_str(), ids(&album.updates)), ("telegram-1-1", vec![1, 3]));
    assert_eq!(album.standing, Standing::First);
    fixture.store.persist(CHANNEL, vec![new(5, Some("a"))]).await.expect("it");

    let fixture = fixture.restart();
    assert_eq!(fixture.store.bound(CHANNEL).await.expect("it"), std::slice::from_ref(&album));
    assert_eq!(ids(&fixture.store.pending(CHANNEL, None, 9).await.expect("it")), [2, 4, 5]);
    assert_eq!(fixture.store.claim(CHANNEL, Claim::Update(1)).await.expect("it"), None);
    let late = fixture.store.claim(CHANNEL, Claim::Album("a".into())).await.expect("it").expect("bound");
    assert_eq!(
        (late.turn.as_str(), ids(&late.updates), late.standing),
        ("telegram-1-5", vec![5], Standing::Late)
    );
    assert_eq!(fixture.store.claim(CHANNEL, Claim::Album("a".into())).await.expect("it"), None);
    let parts = fixture.store.album(CHANNEL, "a").await.expect("it");
    let parts: Vec<_> = parts.iter().map(|p| (p.update.update_id, p.turn.clone())).collect();
    assert_eq!(parts, [(1, Some(album.turn.clone())), (3, Some(album.turn.clone())), (5, Some(late.turn))]);

    fixture.store.end(CHANNEL, &album.turn, text_reply(&["done"])).await.expect("it");
    let standing: Vec<_> =
        fixture.store.bound(CHANNEL).await.expect("it").into_iter().map(|t| t.standing).collect();
    assert_eq!(standing, [Standing::Late], "it stays late when it is replayed");
}

#[tokio::test]
async fn dismissed_parts_join_a_later_part_that_carries_the_command() {
    let fixture = Fixture::new();
    fixture.store.persist(CHANNEL, vec![new(1, Some("a"))]).await.expect("it");
    let alone = fixture.store.claim(CHANNEL, Claim::Album("a".into())).await.expect("it").expect("bound");
    fixture.store.dismiss(&alone.turn).await.expect("it");
    assert_eq!(fixture.store.claim(CHANNEL, Claim::Album("a".into())).await.expect("it"), None);
    assert_eq!(fixture.store.bound(CHANNEL).await.expect("it"), []);
    fixture.store.persist(CHANNEL, vec![new(2, Some("a"))]).await.expect("it");
    let both = fixture.store.claim(CHANNEL, Claim::Album("a".into())).await.expect("it").expect("bound");
    assert_eq!((ids(&both.updates), both.standing), (vec![1, 2], Standing::First));
}

#[tokio::test]
async fn only_unsent_parts_come_back() {
    let fixture = Fixture::new();
    fixture.store.persist(CHANNEL, vec![new(1, None)]).await.expect("it");
    let turn = fixture.store.claim(CHANNEL, Claim::Update(1)).await.expect("it").expect("bound").turn;
    let reply = fixture.store.end(CHANNEL, &turn, text_reply(&["a", "b", "c"])).await.expect("it");
    assert_eq!(reply.parts.len(), 3);
    assert_eq!(fixture.sql::<String>("SELECT raw FROM inbox"), "", "what was said is forgotten");
    fixture.store.part_sent(&turn, 0, "100").await.expect("it");

    let fixture = fixture.restart();
    let unsent = fixture.store.unsent(CHANNEL).await.expect("it");
    assert_eq!(unsent.len(), 1);
    assert_eq!(
        unsent[0].parts.iter().map(|part| (part.n, part.body.as_str())).collect::<Vec<_>>(),
        [(1, "b"), (2, "c")]
    );
    let again = fixture.store.end(CHANNEL, &turn, text_reply(&["other"])).await.expect("it");
    assert_eq!(again, unsent[0], "a turn ends once");
    let sorry = vec![NewPart { kind: PartKind::Text, body: "sorry".into() }];
    let added = fixture.store.part_failed(&turn, 1, "blocked", sorry).await.expect("it");
    assert_eq!(added, [Part { n: 3, kind: PartKind::Text, body: "sorry".into() }]);
    let left = &fixture.store.unsent(CHANNEL).await.expect("it")[0];
    assert_eq!((left.last_sent.as_deref(), left.parts.len()), (Some("100"), 2));
    fixture.store.part_sent(&turn, 2, "101").await.expect("it");
    fixture.store.part_sent(&turn, 3, "102").await.expect("it");
    assert_eq!(fixture.store.unsent(CHANNEL).await.expect("it"), []);
    assert_eq!(fixture.store.bound(CHANNEL).await.expect("it"), []);
    assert_eq!(fixture.sql::<String>("SELECT group_concat(outcome) FROM part"), "100,blocked,101,102");
}

#[tokio::test]
async fn blobs_are_in_use_from_the_call_until_the_reply_is_out() {
    let fixture = Fixture::new();
    let file = |sha256: &str| OutgoingAttachment {
        sha256: sha256.into(),
        name: "a.txt".into(),
        mime_type: "text/plain".into(),
        bytes: 3,
    };
    let in_use = |fixture: &Fixture| {
        fixture.store.blobs_in_use().expect("it").into_iter().collect::<Vec<_>>().join(" ")
    };
    for (id, sha256) in [(1, "a"), (2, "b"), (3, "a")] {
        let turn = fixture.bound(id).await;
        let answer = Answer { result: json!({}), attachments: vec![file(sha256)] };
        fixture.store.record(turn.call(0).as_str(), "h", &answer, 0).expect("recorded");
    }
    let fixture = fixture.restart();
    assert_eq!(in_use(&fixture), "a b");
    let turns: Vec<_> =
        fixture.store.bound(CHANNEL).await.expect("it").into_iter().map(|bound| bound.turn).collect();
    fixture.store.end(CHANNEL, &turns[0], text_reply(&["x", "y"])).await.expect("it");
    fixture.store.part_sent(&turns[0], 0, "1").await.expect("it");
    fixture.store.dismiss(&turns[2]).await.expect("it");
    assert_eq!(in_use(&fixture), "a b", "something is still to be sent");
    fixture.store.part_failed(&turns[0], 1, "no", Vec::new()).await.expect("it");
    assert_eq!(in_use(&fixture), "b");
    fixture.store.end(CHANNEL, &turns[1], text_reply(&[])).await.expect("it");
    assert_eq!(in_use(&fixture), "", "nothing of it is sent");
}

#[tokio::test]
async fn strangers_are_told_once_and_their_words_are_not_kept() {
    let fixture = Fixture::new();
    let told = fixture.store.persist(CHANNEL, vec![stranger(1, "7"), stranger(2, "7")]).await.expect("it");
    assert_eq!(told.replies.len(), 1);
    let fixture = fixture.restart();
    let again = fixture.store.persist(CHANNEL, vec![stranger(1, "7"), stranger(3, "7")]).await.expect("it");
    assert!(again.replies.is_empty() && again.pending.is_empty());
    assert_eq!(fixture.store.unsent(CHANNEL).await.expect("it").len(), 1, "until it is sent");
    assert_eq!(fixture.sql::<i64>("SELECT count(*) FROM inbox WHERE raw <> ''"), 0);
}

#[tokio::test]
async fn a_crowd_of_strangers_is_told_slowly() {
    let fixture = Fixture::new();
    let crowd =
        (0..i64::from(STRANGERS_TOLD_PER_HOUR_MAX) + 5).map(|n| stranger(n, &n.to_string())).collect();
    let told = fixture.store.persist(CHANNEL, crowd).await.expect("it");
    assert_eq!(told.replies.len(), STRANGERS_TOLD_PER_HOUR_MAX as usize);
}

/// References to files that Ann sent.
fn files(conversation: &str, album: Option<&str>, files: &str) -> NewRecent {
    let recent = Recent { album: album.map(Into::into), files: files.into() };
    NewRecent { conversation: conversation.into(), sender: "ann".into(), recent }
}

impl Fixture {
    async fn bound(&self, id: i64) -> TurnId {
        self.store.persist(CHANNEL, vec![new(id, None)]).await.expect("it");
        self.store.claim(CHANNEL, Claim::Update(id)).await.expect("it").expect("bound").turn
    }

    async fn ends(&self, id: i64, noting: NewRecent) {
        let turn = self.bound(id).await;
        self.store.end_noting(CHANNEL, &turn, text_reply(&["x"]), Some(noting)).await.expect("it");
    }

    async fn recent(&self, conversation: &str, sender: &str) -> Option<String> {
        Some(self.store.recent(CHANNEL, conversation, sender).await.expect("it")?.files)
    }
}

#[tokio::test]
async fn the_last_files_of_each_person_in_each_conversation_are_known_after_a_restart() {
    let fixture = Fixture::new();
    fixture.ends(1, files("here", None, "first")).await;
    fixture.ends(2, files("there", Some("a"), "other")).await;
    fixture.ends(3, files("here", None, "second")).await;
    let fixture = fixture.restart();
    assert_eq!(fixture.recent("here", "ann").await.as_deref(), Some("second"));
    assert_eq!(fixture.recent("there", "ann").await.as_deref(), Some("other"));
    assert_eq!((fixture.recent("here", "ben").await, fixture.recent("", "ann").await), (None, None));
    assert_eq!(fixture.store.recent("telegram-2", "here", "ann").await.expect("it"), None);
    // A turn that ended once notes nothing more, however often it is ended.
    let first = TurnId::new("telegram-1-1");
    let noting = Some(files("here", None, "first"));
    fixture.store.end_noting(CHANNEL, &first, text_reply(&["x"]), noting).await.expect("it");
    assert_eq!(fixture.recent("here", "ann").await.as_deref(), Some("second"));
}

#[tokio::test]
async fn references_are_forgotten_by_age_and_by_number() {
    let fixture = Fixture::new();
    fixture.ends(1, files("old", None, "x")).await;
    let later = now_ms() + i64::try_from(DONE_AGE_MAX.as_millis()).expect("small") + 1;
    fixture.store.prune(now_ms()).await.expect("it");
    assert!(fixture.recent("old", "ann").await.is_some());
    fixture.store.prune(later).await.expect("it");
    assert_eq!(fixture.recent("old", "ann").await, None);
    let many = i64::from(RECENT_ROWS_MAX) + 5;
    let insert = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
        INSERT INTO recent SELECT 'c', i, 's', NULL, '', ?2 + i FROM n";
    let inserted = |connection: &Connection| connection.execute(insert, [many, now_ms()]);
    inserted(&fixture.store.connection.lock().expect("a connection")).expect("inserted");
    fixture.store.prune(now_ms()).await.expect("it");
    assert_eq!(fixture.sql::<i64>("SELECT count(*) FROM recent"), i64::from(RECENT_ROWS_MAX));
    assert_eq!(
        fixture.sql::<i64>("SELECT min(CAST(conversation AS INTEGER)) FROM recent"),
        6,
        "the latest stay"
    );
}

#[tokio::test]
async fn a_placeholder_is_known_until_its_turn_ends() {
    let fixture = Fixture::new();
    let turn = fixture.bound(1).await;
    assert_eq!(fixture.store.placeholder(&turn).await.expect("it"), None);
    fixture.store.placeholder_begun(&turn).await.expect("it");
    let fixture = fixture.restart();
    assert_eq!(fixture.store.placeholder(&turn).await.expect("it"), Some(Placeholder::Unknown));
    fixture.store.placeholder_sent(&turn, "77").await.expect("it");
    fixture.store.placeholder_begun(&turn).await.expect("it");
    let fixture = fixture.restart();
    assert_eq!(fixture.store.placeholder(&turn).await.expect("it"), Some(Placeholder::Sent("77".into())));
    fixture.store.end(CHANNEL, &turn, text_reply(&["x"])).await.expect("it");
    assert_eq!(fixture.store.placeholder(&turn).await.expect("it"), None);
    let dismissed = fixture.bound(2).await;
    fixture.store.placeholder_begun(&dismissed).await.expect("it");
    fixture.store.dismiss(&dismissed).await.expect("it");
    assert_eq!(fixture.sql::<i64>("SELECT count(*) FROM placeholder"), 0);
}

/// Takes away what later versions than the third have.
const TO_VERSION_3: &str = "DROP TABLE line; DROP TABLE attempt; DROP TABLE usage; DROP TABLE approval;
    DROP TABLE approved_path; DROP TABLE outgoing; ALTER TABLE journal DROP COLUMN attachments;
    PRAGMA user_version = 3;";

#[tokio::test]
async fn a_database_of_the_first_version_is_taken_over() {
    let fixture = Fixture::new();
    fixture.store.persist(CHANNEL, vec![new(1, None)]).await.expect("it");
    let older = format!(
        "{TO_VERSION_3} DROP TABLE recent; DROP TABLE placeholder; ALTER TABLE journal DROP COLUMN written_bytes;
         PRAGMA user_version = 1"
    );
    fixture.store.connection.lock().expect("a connection").execute_batch(&older).expect("set");
    let fixture = fixture.restart();
    assert_eq!(fixture.sql::<i64>("PRAGMA user_version"), schema::VERSION);
    assert_eq!(ids(&fixture.store.pending(CHANNEL, None, 9).await.expect("it")), [1]);
    fixture.ends(2, files("here", None, "x")).await;
    assert!(fixture.recent("here", "ann").await.is_some());
}

#[tokio::test]
async fn what_is_done_is_forgotten_by_age_with_all_that_belongs_to_it() {
    let fixture = Fixture::new();
    fixture.store.persist(CHANNEL, vec![new(1, None), new(2, None), new(3, None)]).await.expect("it");
    for id in [1, 2] {
        let turn = fixture.store.claim(CHANNEL, Claim::Update(id)).await.expect("it").expect("bound").turn;
        fixture.store.record(turn.call(0).as_str(), "hash", &json!({}).into(), 0).expect("recorded");
        fixture.store.end(CHANNEL, &turn, text_reply(&["x"])).await.expect("it");
    }
    fixture.store.part_sent(&TurnId::new("telegram-1-1"), 0, "5").await.expect("it");
    assert_eq!(fixture.store.prune(now_ms()).await.expect("it"), 0);
    let later = now_ms() + i64::try_from(DONE_AGE_MAX.as_millis()).expect("small") + 1;
    assert_eq!(fixture.store.prune(later).await.expect("it"), 1);
    assert_eq!(
        fixture.sql::<String>("SELECT group_concat(update_id) FROM inbox"),
        "2,3",
        "unsent and pending stay"
    );
    assert_eq!(fixture.sql::<i64>("SELECT count(*) FROM part"), 1);
    assert_eq!(fixture.sql::<i64>("SELECT count(*) FROM reply"), 1);
}

#[tokio::test]
async fn what_is_done_is_forgotten_by_number() {
    let fixture = Fixture::new();
    let ignored = |id| NewUpdate { fate: Fate::Ignored, ..new(id, None) };
    let many = (1..=i64::from(DONE_ROWS_MAX) + 3).map(ignored).collect();
    fixture.store.persist(CHANNEL, many).await.expect("it");
    assert_eq!(fixture.store.prune(now_ms()).await.expect("it"), 3);
    assert_eq!(fixture.sql::<i64>("SELECT min(update_id) FROM inbox"), 4);
    assert_eq!(fixture.store.prune(now_ms()).await.expect("it"), 0);
}

#[test]
fn a_call_is_remembered_with_its_arguments() {
    let fixture = Fixture::new();
    let file = OutgoingAttachment {
        sha256: "ab".repeat(32),
        name: "a.txt".into(),
        mime_type: "text/plain".into(),
        bytes: 3,
    };
    let answer = Answer { result: json!({ "saved": true }), attachments: vec![file] };
    let known =
        |fixture: &Fixture, hash: &str| fixture.store.earlier("t/0", hash).map(|earlier| earlier.answer);
    assert_eq!(known(&fixture, "h"), Ok(None));
    fixture.store.record("t/0", "h", &answer, 0).expect("recorded");
    let fixture = fixture.restart();
    assert_eq!(known(&fixture, "h"), Ok(Some(answer)));
    assert_eq!(known(&fixture, "other"), Ok(None));
    fixture.store.record("t/0", "other", &json!(1).into(), 0).expect("recorded");
    assert_eq!(known(&fixture, "other"), Ok(Some(json!(1).into())));
}

#[test]
fn what_a_turn_has_written_is_known_after_a_restart() {
    let fixture = Fixture::new();
    let written = |fixture: &Fixture, call: &str| fixture.store.earlier(call, "h").expect("it").written_bytes;
    let writes =
        |call: &str, bytes| fixture.store.record(call, "h", &json!({}).into(), bytes).expect("recorded");
    writes("t/0", 100);
    writes("t/1", 20);
    writes("other/0", 5000);
    // A call that runs again after a crash is counted once: its own bytes do not stand in its way.
    writes("t/1", 30);
    let fixture = fixture.restart();
    assert_eq!(
        (written(&fixture, "t/0"), written(&fixture, "t/1"), written(&fixture, "t/2")),
        (30, 100, 130)
    );
    assert_eq!(written(&fixture, "new/0"), 0);
}

fn approval(call: &str, sha256: &str) -> NewApproval {
    NewApproval {
        id: format!("id of {call} {sha256}"),
        call: call.into(),
        sha256: sha256.into(),
        place: "here".into(),
        expires_at: now_ms() + 60_000,
    }
}

#[tokio::test]
async fn an_approval_waits_through_restarts_and_is_decided_once() {
    let fixture = Fixture::new();
    let (first, none) = fixture.store.ask(approval("t/0", "a")).await.expect("it");
    assert_eq!((first.state, first.message.clone(), none), (ApprovalState::Asked, None, vec![]));
    fixture.store.approval_shown(&first.id, "77").await.expect("it");
    let fixture = fixture.restart();
    // The same call again: the row that is there, whatever id the new one would have had.
    let (again, _) =
        fixture.store.ask(NewApproval { id: "x".into(), ..approval("t/0", "a") }).await.expect("it");
    assert_eq!((again.id.as_str(), again.message.as_deref()), (first.id.as_str(), Some("77")));
    let decided =
        fixture.store.decide(&first.id, ApprovalState::Approved, Some("7".into())).await.expect("it");
    assert_eq!(
        decided.map(|row| (row.state, row.decided_by)),
        Some((ApprovalState::Approved, Some("7".into())))
    );
    let late = fixture.store.decide(&first.id, ApprovalState::Denied, Some("8".into())).await.expect("it");
    assert_eq!(
        late.map(|row| (row.state, row.decided_by)),
        Some((ApprovalState::Approved, Some("7".into())))
    );
    let fixture = fixture.restart();
    let (known, _) = fixture.store.ask(approval("t/0", "a")).await.expect("it");
    assert_eq!(known.state, ApprovalState::Approved);
    assert_eq!(fixture.store.decide("nobody's", ApprovalState::Approved, None).await.expect("it"), None);
    assert_eq!(fixture.store.approval("nobody's").await.expect("it"), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_who_decide_at_once_one_does() {
    let fixture = Fixture::new();
    for round in 0..20 {
        let (asked, _) = fixture.store.ask(approval(&format!("t/{round}"), "a")).await.expect("it");
        let mut deciding = tokio::task::JoinSet::new();
        for n in 0..8 {
            let (store, id) = (fixture.store.clone(), asked.id.clone());
            let state = if n % 2 == 0 { ApprovalState::Approved } else { ApprovalState::Denied };
            deciding.spawn(async move { (n, state, store.decide(&id, state, Some(n.to_string())).await) });
        }
        let mut winners = 0;
        while let Some(decided) = deciding.join_next().await {
            let (n, state, row) = decided.expect("no panic");
            let row = row.expect("it").expect("there");
            winners += usize::from(row.decided_by == Some(n.to_string()) && row.state == state);
        }
        assert_eq!(winners, 1, "round {round}");
    }
}

#[tokio::test]
async fn an_answer_that_comes_too_late_is_none() {
    let fixture = Fixture::new();
    let late = NewApproval { expires_at: now_ms() - 1, ..approval("t/0", "a") };
    let (asked, _) = fixture.store.ask(late).await.expect("it");
    let decided =
        fixture.store.decide(&asked.id, ApprovalState::Approved, Some("7".into())).await.expect("it");
    assert_eq!(decided.map(|row| (row.state, row.decided_by)), Some((ApprovalState::Expired, None)));
}

#[tokio::test]
async fn what_a_call_asks_now_withdraws_what_it_asked_before() {
    let fixture = Fixture::new();
    let (old, _) = fixture.store.ask(approval("t/0", "a")).await.expect("it");
    fixture.store.ask(approval("t/1", "a")).await.expect("it");
    let (_, outdated) = fixture.store.ask(approval("t/0", "b")).await.expect("it");
    let outdated: Vec<_> = outdated.into_iter().map(|row| (row.id, row.state)).collect();
    assert_eq!(outdated, [(old.id.clone(), ApprovalState::Withdrawn)]);
    let late = fixture.store.decide(&old.id, ApprovalState::Approved, Some("7".into())).await.expect("it");
    assert_eq!(late.map(|row| row.state), Some(ApprovalState::Withdrawn));
}

#[tokio::test]
async fn approved_paths_are_each_persons_and_tools_own_and_forgotten_in_time() {
    let fixture = Fixture::new();
    let of = |sender: &str, tool: &str| ApprovedPaths {
        channel: CHANNEL.into(),
        sender: sender.into(),
        tool: tool.into(),
    };
    let known = |fixture: &Fixture, sender: &str, tool: &str| {
        fixture
            .store
            .approved_paths(&of(sender, tool), &["/shared/a".into(), "/shared/b".into()])
            .expect("it")
    };
    fixture.store.remember_paths(of("7", "t"), vec!["/shared/a".into()]).await.expect("it");
    let fixture = fixture.restart();
    assert_eq!(known(&fixture, "7", "t"), ["/shared/a"]);
    assert_eq!((known(&fixture, "8", "t"), known(&fixture, "7", "u")), (vec![], vec![]));
    fixture.store.ask(approval("t/0", "a")).await.expect("it");
    let age = i64::try_from(DONE_AGE_MAX.as_millis()).expect("small");
    fixture.store.prune(now_ms()).await.expect("it");
    assert_eq!(fixture.sql::<i64>("SELECT count(*) FROM approval"), 1);
    fixture.store.prune(now_ms() + age + 120_000).await.expect("it");
    assert_eq!(known(&fixture, "7", "t"), [""; 0]);
    assert_eq!(fixture.sql::<i64>("SELECT count(*) FROM approval"), 0);
    let insert = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
        INSERT INTO approved_path SELECT 'c', 's', 't', i, ?2 + i FROM n";
    let many = [i64::from(APPROVED_PATHS_MAX) + 5, now_ms()];
    fixture.store.connection.lock().expect("a connection").execute(insert, many).expect("inserted");
    fixture.store.prune(now_ms()).await.expect("it");
    assert_eq!(fixture.sql::<i64>("SELECT count(*) FROM approved_path"), i64::from(APPROVED_PATHS_MAX));
}
