//! What is said to a turn that runs: heard before the next step, once, through a crash at any
//! point.

use super::resume::{Crash, dying};
use super::*;
use crate::turn::steering::STEERS_MAX;
use cofferdam_core::attachment::AttachmentInfo;
use cofferdam_store::{Headers, NewUpdate, QueueMode, TakeUpRequest, UpdateClaim, UpdateFate};
use cofferdam_warden::attachments::Attachment;

const CHANNEL: &str = "c";

/// Brings what waits in a store; each message has one file without bytes.
struct FromStore {
    store: Store,
    turn: TurnId,
}

fn file(name: &str) -> Attachments {
    let info = AttachmentInfo {
        index: 0,
        name: Some(name.into()),
        mime_type: "text/plain".into(),
        declared_mime_type: None,
        size: 0,
        sha256: String::new(),
        unavailable: Some("gone".into()),
        source: None,
    };
    Attachments::from(vec![Attachment { info, blob: None }])
}

#[async_trait]
impl Steering for FromStore {
    async fn next(&self, _: &Attachments) -> Option<SteeringMessage> {
        let steer = self.store.load_steers(CHANNEL, &self.turn).await.expect("known").into_iter().next()?;
        let taking =
            TakeUpRequest { channel: CHANNEL.into(), updates: vec![steer.update.update_id], noting: None };
        let attachments = file(&steer.update.raw);
        Some(SteeringMessage { text: steer.update.raw, attachments, taking })
    }

    async fn refetch_files(&self) -> Vec<Attachments> {
        let messages = self.store.load_taken_up(CHANNEL, &self.turn).await.expect("known");
        messages.iter().map(|message| file(&message[0].raw)).collect()
    }
}

/// A message of Ann's in the one session.
async fn comes(store: &Store, update_id: i64, queue: QueueMode, text: &str) {
    let fate = UpdateFate::Pending(Headers { session: session(), sender: "1".into(), queue, answers: None });
    let update = NewUpdate { update_id, album: None, message: None, raw: text.into(), fate };
    store.persist(CHANNEL, vec![update]).await.expect("kept");
}

/// A turn that an update has begun, with one file.
async fn begun(store: &Store, text: &str) -> TurnInput {
    comes(store, 1, QueueMode::Turn, text).await;
    let bound = store.claim(CHANNEL, UpdateClaim::Update(1)).await.expect("claimed").expect("bound");
    again(store, bound.turn, text)
}

fn again(store: &Store, id: TurnId, text: &str) -> TurnInput {
    let steering = Arc::new(FromStore { store: store.clone(), turn: id.clone() });
    TurnInput { id, attachments: file("first"), steering: Some(steering), ..turn("", text) }
}

async fn pending(store: &Store) -> Vec<String> {
    store.pending(CHANNEL, None, 9).await.expect("known").into_iter().map(|update| update.raw).collect()
}

#[tokio::test]
async fn what_is_said_meanwhile_is_heard_before_the_next_step() {
    let (_dir, store) = store();
    let mut world = World::new([Act::Call(vec![call("read")]), Act::Say("done")]);
    world.history = History::durable(store.clone());
    let turn = begun(&store, "go").await;
    comes(&store, 2, QueueMode::Steer, "and b").await;
    comes(&store, 3, QueueMode::Turn, "later").await;
    comes(&store, 4, QueueMode::Steer, "and c").await;
    let said = world.run(turn, &CancellationToken::new()).await;
    assert_eq!(said, "[0] first: gone.\n[1] and b: gone.\n[2] and c: gone.\ndone");
    let first = "u:go[1]! +:and b[1]! +:and c[1]!";
    assert_eq!(world.script.asked(), [first.to_owned(), format!("{first} a:read r")]);
    assert_eq!(pending(&store).await, ["later"], "what is no /steer waits for its turn");
}

#[tokio::test]
async fn so_many_are_heard_and_the_others_wait_for_turns_of_their_own() {
    let (_dir, store) = store();
    let mut world = World::new([Act::Call(vec![call("read")]), Act::Say("done")]);
    world.history = History::durable(store.clone());
    let turn = begun(&store, "go").await;
    for n in 0..STEERS_MAX + 3 {
        comes(&store, update_of(n), QueueMode::Steer, &format!("and {n}")).await;
    }
    let said = world.run(turn, &CancellationToken::new()).await;
    assert!(said.ends_with("\ndone"), "{said}");
    let asked = world.script.asked();
    assert_eq!(asked.len(), 2);
    for heard in asked {
        // Before the second step there is no room for more either.
        assert_eq!(heard.matches("+:and ").count(), STEERS_MAX, "{heard}");
    }
    assert_eq!(pending(&store).await, ["and 32", "and 33", "and 34"]);
    store.end(CHANNEL, &TurnId::new("c-1"), NEW_REPLY).await.expect("ended");
    let next = store.claim(CHANNEL, UpdateClaim::Update(update_of(STEERS_MAX))).await.expect("claimed");
    assert_eq!(next.expect("bound").updates.len(), 1, "a turn of its own answers it");
}

/// The update that brings the `n`th of what is said, from 0.
fn update_of(n: usize) -> i64 {
    2 + i64::try_from(n).expect("small")
}

#[tokio::test]
async fn what_comes_too_late_keeps_waiting() {
    let (_dir, store) = store();
    let mut world = World::new([Act::Say("done")]);
    world.history = History::durable(store.clone());
    let turn = begun(&store, "go").await;
    assert_eq!(world.run(turn, &CancellationToken::new()).await, "[0] first: gone.\ndone");
    comes(&store, 2, QueueMode::Steer, "too late").await;
    let id = TurnId::new("c-1");
    store.end(CHANNEL, &id, NEW_REPLY).await.expect("ended");
    assert_eq!(pending(&store).await, ["too late"]);
    assert!(
        store.claim(CHANNEL, UpdateClaim::Update(2)).await.expect("claimed").is_some(),
        "as a turn of its own"
    );
}

const NEW_REPLY: cofferdam_store::NewReply =
    cofferdam_store::NewReply { target: String::new(), parts: Vec::new() };

#[tokio::test]
async fn wherever_a_crash_comes_it_is_heard_once() {
    // Request, what was said, step, result, answer.
    for (crash, at) in
        [Crash::Before, Crash::After].into_iter().flat_map(|crash| (0..5).map(move |at| (crash, at)))
    {
        let (_dir, store) = store();
        let dying = dying(&store, crash, at);
        let mut world = World::new([]);
        world.history = dying.clone();
        world.then((0..3).map(|_| Act::Call(vec![call("read")])));
        let turn = begun(&store, "go").await;
        let id = turn.id.clone();
        comes(&store, 2, QueueMode::Steer, "and b").await;
        if at < 4 {
            let cancel = CancellationToken::new();
            tokio::select! {
                said = world.run(turn, &cancel) => panic!("{crash:?} {at}: {said}"),
                () = dying.crash.died() => {}
            }
        }
        world.history = History::durable(store.clone());
        world.script.acts.lock().expect("acts").clear();
        let decided = world.kept().await.contains("a:read");
        world.then((!decided).then(|| Act::Call(vec![call("read")])));
        world.then([Act::Say("done")]);
        let said = world.run(again(&store, id, "go"), &CancellationToken::new()).await;
        assert_eq!(said, "[0] first: gone.\n[1] and b: gone.\ndone", "{crash:?} {at}");
        assert_eq!(world.kept().await, "u:go[1] +:and b[1] a:read r a:done", "{crash:?} {at}");
        assert_eq!(pending(&store).await, [""; 0], "{crash:?} {at}");
    }
}

#[tokio::test]
async fn nobody_steers_anothers_turn_or_session() {
    let (_dir, store) = store();
    let turn = begun(&store, "go").await;
    let other = |session: &str, sender: &str| Headers {
        session: SessionId::new(session),
        sender: sender.into(),
        queue: QueueMode::Steer,
        answers: None,
    };
    for (update_id, headers) in [(2, other("s", "2")), (3, other("t", "1"))] {
        let fate = UpdateFate::Pending(headers);
        let update = NewUpdate { update_id, album: None, message: None, raw: "hijack".into(), fate };
        store.persist(CHANNEL, vec![update]).await.expect("kept");
    }
    assert_eq!(store.load_steers(CHANNEL, &turn.id).await.expect("known"), []);
}
