//! What people read of a failure, and what is sent to them though nobody waits for it any more.

use super::*;
use async_trait::async_trait;
use cofferdam_agent::tools::Approver;
use cofferdam_chat::runs::{PrivateChat, Served};
use cofferdam_store::{NewPart, NewTelling, PartKind};
use cofferdam_warden::attachments::Attachments;
use cofferdam_warden::attachments::outgoing::Config;
use tokio::sync::{mpsc, oneshot};

/// They read the end of a run.
#[test]
fn people_are_not_told_where_the_database_is() {
    let lost = StoreError::Lost("db.example:5432/d".to_owned(), "reset".to_owned());
    assert_eq!(lost_problem(lost).message, "the connection to its database was lost");
}

/// Tells what it is to send.
struct Telling(mpsc::UnboundedSender<StoredReply>);

fn nobody() -> SendError {
    SendError::Refused("nobody is here".to_owned())
}

#[async_trait]
impl Messenger for Telling {
    fn channel(&self) -> String {
        "paper-1".to_owned()
    }

    fn served(&self, _: &str) -> Served {
        Served::Yes
    }

    fn served_at(&self, _: &str, _: &str) -> Served {
        Served::Yes
    }

    async fn open(&self, _: &str) -> Result<PrivateChat, SendError> {
        Err(nobody())
    }

    async fn fetch(&self, _: &str) -> Attachments {
        Attachments::default()
    }

    async fn arrive(&self) {}

    fn parts(&self, _: OutgoingResponse) -> Vec<NewPart> {
        Vec::new()
    }

    async fn send(&self, message: StoredReply) {
        self.0.send(message).expect("somebody hears it");
    }

    async fn answer(&self, _: StoredReply) {}

    async fn approver(&self, _: &str, _: Duration) -> Result<Arc<dyn Approver>, SendError> {
        Err(nobody())
    }

    fn approver_below(&self, _: &str, _: &str) -> Option<Arc<dyn Approver>> {
        None
    }
}

#[tokio::test]
async fn what_is_kept_is_sent_though_nobody_waits_for_it_any_more() {
    let dir = tempfile::tempdir().expect("a folder");
    let outgoing = Outgoing::open_beside(dir.path(), Config::default()).expect("it opens");
    let turn = TurnId::new("turn/send");
    let message =
        StoredReply { turn: turn.clone(), target: "ben".to_owned(), parts: Vec::new(), last_sent: None };
    let (telling, mut told) = mpsc::unbounded_channel();
    let (begin, begun) = oneshot::channel();
    let (keep, kept) = oneshot::channel();
    let keeping = async move {
        begin.send(()).expect("it is waited for");
        Ok::<_, StoreError>(Some(kept.await.expect("it is kept")))
    };
    let asked = (Store::in_memory().expect("it opens"), CancellationToken::new());
    let waiting = tokio::spawn(keep_and_send(Arc::new(Telling(telling)), (outgoing, turn), asked, keeping));
    begun.await.expect("it is being kept");
    waiting.abort();
    assert!(waiting.await.expect_err("it was cut off").is_cancelled());
    keep.send(message.clone()).expect("it is being kept still");
    assert_eq!(told.recv().await, Some(message));
}

#[tokio::test]
async fn a_message_of_which_nobody_knows_whether_it_is_kept_is_looked_for() {
    let dir = tempfile::tempdir().expect("a folder");
    let outgoing = Outgoing::open_beside(dir.path(), Config::default()).expect("it opens");
    let store = Store::in_memory().expect("it opens");
    let (telling, mut told) = mpsc::unbounded_channel();
    let messenger: Arc<dyn Messenger> = Arc::new(Telling(telling));
    for is_kept in [true, false] {
        let turn = TurnId::new(format!("turn/{is_kept}"));
        let part = NewPart { kind: PartKind::Text, body: "hello".to_owned() };
        let reply = NewReply { target: "ben".to_owned(), parts: vec![part] };
        let new = NewTelling { turn: turn.clone(), reply, files: Vec::new(), place: None };
        let (keeping, asked) = (store.clone(), (store.clone(), CancellationToken::new()));
        let keep = async move {
            if is_kept {
                keeping.tell_noting("paper-1", new).await.expect("it is kept");
            }
            Err::<Option<StoredReply>, _>(StoreError::Unknown("db".to_owned(), "reset".to_owned()))
        };
        let sent = keep_and_send(messenger.clone(), (outgoing.clone(), turn.clone()), asked, keep).await;
        if is_kept {
            assert!(sent.expect("it is found"));
            let message = told.recv().await.expect("it is sent");
            assert_eq!((message.turn, message.parts.len()), (turn, 1));
        } else {
            assert!(matches!(sent, Err(StoreError::Lost { .. })), "it is begun once more: {sent:?}");
            assert!(told.try_recv().is_err(), "nothing is sent");
        }
    }
}

#[tokio::test]
async fn a_message_that_is_out_is_found_once_the_store_is_back() {
    let store = Store::in_memory().expect("it opens");
    let turn = TurnId::new("turn/send");
    let part = NewPart { kind: PartKind::Text, body: "hello".to_owned() };
    let reply = NewReply { target: "ben".to_owned(), parts: vec![part] };
    let telling = NewTelling { turn: turn.clone(), reply, files: Vec::new(), place: None };
    store.tell_noting("paper-1", telling).await.expect("it is kept");
    store.mark_part_sent(&turn, 0, "77").await.expect("it is kept");
    let mut refusals = 2_u32;
    let store = store.with_refusals(move || {
        let refuses = refusals > 0;
        refusals = refusals.saturating_sub(1);
        refuses
    });
    store.load_send_state(&turn).await.expect_err("it is away");
    let chat = ("paper".to_owned(), "ben".to_owned());
    let sent = await_sent(&store, &turn, chat, &CancellationToken::new()).await;
    assert_eq!(sent.expect("it is out").message_id, "77");
}
