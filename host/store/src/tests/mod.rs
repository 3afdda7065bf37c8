//! The store across restarts: everything that was reported as done is there again, and only once.
//! What every engine owes is in `conformance`; what only one has is in `sqlite`, `postgres` and
//! `doubt`.

mod conformance;
mod doubt;
mod homes;
mod look;
mod people;
mod postgres;
mod sqlite;
mod turns;

use super::*;
use cofferdam_core::id::{Caller, SessionId, TurnId};
use cofferdam_core::journal::Journal;
use cofferdam_core::message::OutgoingAttachment;
use cofferdam_core::tool::ToolAnswer;
use postgres::Schema;
use serde_json::json;
use sqlite::Files;
use std::path::Path;

const CHANNEL: &str = "telegram-1";

/// An engine that is held to the suite. Opened again it has what was kept, as after kill -9:
/// nothing of an older handle is used any more.
trait Engine: Send + Sync {
    fn new() -> Self;
    fn open(&self) -> Store;

    /// Whether the machine has it.
    fn is_there(_test: &str) -> bool {
        true
    }
}

/// The engine in memory; the same one, opened again.
struct Memory(Store);

impl Engine for Memory {
    fn new() -> Self {
        Self(Store::in_memory().expect("a store"))
    }

    fn open(&self) -> Store {
        self.0.clone()
    }
}

/// A store that a check works on.
struct Fixture<E> {
    engine: E,
    store: Store,
}

impl<E: Engine> Fixture<E> {
    fn new() -> Self {
        let engine = E::new();
        let store = engine.open();
        Self { engine, store }
    }

    fn restart(self) -> Self {
        let store = self.engine.open();
        Self { engine: self.engine, store }
    }

    async fn bound(&self, id: i64) -> TurnId {
        self.store.persist(CHANNEL, vec![new(id, None)]).await.expect("it");
        self.store.claim(CHANNEL, UpdateClaim::Update(id)).await.expect("it").expect("bound").turn
    }

    async fn ends(&self, id: i64, noting: NewRecent) {
        let turn = self.bound(id).await;
        self.store.end_noting(CHANNEL, &turn, text_reply(&["x"]), Some(noting)).await.expect("it");
    }

    async fn recent(&self, conversation: &str, sender: &str) -> Option<String> {
        Some(self.store.recent(CHANNEL, conversation, sender).await.expect("it")?.files)
    }

    async fn says(&self, session: &str, turn: &str, n: usize, body: &str) {
        self.store.add_line(&whose(session, turn), n, body.into(), 0).await.expect("added");
    }

    /// The lines of a session, with those of a turn that runs.
    async fn said(&self, session: &str, turn: &str) -> String {
        let lines = self.store.lines(&SessionId::new(session), &TurnId::new(turn)).await.expect("lines");
        lines.iter().map(|line| format!("{}:{}", line.turn, line.body)).collect::<Vec<_>>().join(" ")
    }

    async fn used(&self, sender: &str) -> (u64, u64) {
        let UsedToday { tokens, written_bytes } =
            self.store.load_usage(&caller(sender), now_ms()).await.expect("known");
        (tokens, written_bytes)
    }
}

/// Has what is claimed count as claimed before, and nobody was told what came of it.
fn lose_answer(store: &Store, claim: UpdateClaim) {
    store.database.unsure_claims.lock().expect("sound").push((CHANNEL.to_owned(), claim));
}

fn headers(session: &str, sender: &str, queue: QueueMode) -> Headers {
    Headers { session: SessionId::new(session), sender: sender.into(), queue, answers: None }
}

fn new(update_id: i64, album: Option<&str>) -> NewUpdate {
    NewUpdate {
        update_id,
        album: album.map(Into::into),
        message: Some(format!("there/{update_id}")),
        raw: format!("raw {update_id}"),
        fate: UpdateFate::Pending(headers("s", "ann", QueueMode::Turn)),
    }
}

fn stranger(update_id: i64, sender: &str) -> NewUpdate {
    let stranger = Stranger { sender: sender.into(), since: 0, reply: text_reply(&["who are you?"]) };
    NewUpdate {
        update_id,
        album: None,
        message: None,
        raw: "secret".into(),
        fate: UpdateFate::Stranger(stranger),
    }
}

fn text_reply(texts: &[&str]) -> NewReply {
    let parts = texts.iter().map(|text| NewPart { kind: PartKind::Text, body: (*text).into() }).collect();
    NewReply { target: "there".into(), parts }
}

fn ids(updates: &[Update]) -> Vec<i64> {
    updates.iter().map(|update| update.update_id).collect()
}

fn caller(sender: &str) -> Caller {
    Caller { channel: "telegram".into(), sender: sender.into() }
}

fn whose(session: &str, turn: &str) -> WhoseTurn {
    WhoseTurn { session: SessionId::new(session), turn: TurnId::new(turn), caller: caller("ann") }
}

/// References to files that Ann sent.
fn files(conversation: &str, album: Option<&str>, files: &str) -> NewRecent {
    let recent = RecentFiles { album: album.map(Into::into), files: files.into() };
    NewRecent { conversation: conversation.into(), sender: "ann".into(), recent }
}

fn file(sha256: &str) -> OutgoingAttachment {
    OutgoingAttachment {
        sha256: sha256.into(),
        name: "a.txt".into(),
        mime_type: "text/plain".into(),
        bytes: 3,
    }
}

fn answer(attachments: Vec<OutgoingAttachment>) -> ToolAnswer {
    ToolAnswer { result: json!({ "saved": true }), attachments, delivery: None }
}

/// Longer than anything that is done is kept.
fn much_later() -> i64 {
    now_ms() + i64::try_from(DONE_AGE_MAX.as_millis()).expect("small") + 120_000
}
