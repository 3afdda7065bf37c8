//! A delivery against a platform that fails as told.

use super::*;
use crate::outbound::{BundledFile, MediaKind};
use cofferdam_core::id::SessionId;
use cofferdam_core::message::OutgoingAttachment;
use cofferdam_store::{Headers, NewPart, NewReply, NewUpdate, QueueMode, UpdateClaim, UpdateFate};
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

/// Answers from a script, then with message ids from 1.
#[derive(Default)]
struct Scripted {
    script: Mutex<VecDeque<SendError>>,
    sent: Mutex<Vec<String>>,
    /// A part whose body has this in it never gets through, by this error.
    poison: Option<(&'static str, SendError)>,
    /// How often it does not even answer, from the first question on.
    silent: AtomicU32,
    /// How often the poison was tried.
    failed: AtomicU32,
    /// The store of a node that is taken out as soon as the last attempt of the script has failed.
    goes: Option<Store>,
}

#[async_trait]
impl Router for Scripted {
    async fn send(&self, sending: SendingPart<'_>) -> Result<String, SendError> {
        let SendingPart { target, part, after, .. } = sending;
        let (error, is_last) = {
            let mut script = self.script.lock().expect("script");
            (script.pop_front(), script.is_empty())
        };
        if let Some(error) = error {
            self.goes.iter().filter(|_| is_last).for_each(Store::note_taken_over);
            return Err(error);
        }
        if let Some((_, error)) = self.poison.as_ref().filter(|(words, _)| part.body.contains(words)) {
            self.failed.fetch_add(1, Ordering::Relaxed);
            return Err(error.clone());
        }
        let mut sent = self.sent.lock().expect("sent");
        sent.push(match part.kind {
            PartKind::Attachment => format!("{target}:files after {}", after.unwrap_or("nothing")),
            _ => format!("{target}:{}", part.body),
        });
        Ok(sent.len().to_string())
    }

    async fn answers(&self) -> bool {
        self.silent.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err()
    }
}

struct Fixture {
    _dir: tempfile::TempDir,
    store: Store,
    reply: StoredReply,
    router: Scripted,
}

fn texts(bodies: &[&str]) -> Vec<NewPart> {
    bodies.iter().map(|b| NewPart { kind: PartKind::Text, body: (*b).into() }).collect()
}

fn file(caption: Option<&str>, refused: Option<&str>) -> NewPart {
    let file = OutgoingAttachment {
        sha256: "ab".into(),
        name: "a.txt".into(),
        mime_type: "text/plain".into(),
        bytes: 1,
    };
    let files = vec![BundledFile { media: MediaKind::Document, file }];
    let owned = |text: Option<&str>| text.map(str::to_owned);
    FileBundle { caption: owned(caption), caption_spans: Vec::new(), files, refused: owned(refused) }.part()
}

async fn fixture(bodies: &[&str], script: impl IntoIterator<Item = SendError>) -> Fixture {
    of_parts(texts(bodies), script).await
}

async fn of_parts(parts: Vec<NewPart>, script: impl IntoIterator<Item = SendError>) -> Fixture {
    let dir = tempfile::tempdir().expect("a directory");
    let store = Store::open(dir.path()).expect("a store");
    let headers =
        Headers { session: SessionId::new("s"), sender: "1".into(), queue: QueueMode::Turn, answers: None };
    let fate = UpdateFate::Pending(headers);
    let update = NewUpdate { update_id: 1, album: None, message: None, raw: "{}".into(), fate };
    store.persist("c", vec![update]).await.expect("persisted");
    let turn = store.claim("c", UpdateClaim::Update(1)).await.expect("claimed").expect("bound").turn;
    let reply = store.end("c", &turn, NewReply { target: "t".into(), parts }).await.expect("ended");
    let router = Scripted { script: Mutex::new(script.into_iter().collect()), ..Scripted::default() };
    Fixture { _dir: dir, store, reply, router }
}

impl Fixture {
    async fn deliver(&self, stop: &CancellationToken) -> Option<()> {
        let at_once = (Duration::ZERO, Duration::ZERO);
        deliver(&self.store, &self.router, self.reply.clone(), (stop, at_once)).await
    }

    fn sent(&self) -> Vec<String> {
        self.router.sent.lock().expect("sent").clone()
    }

    async fn unsent(&self) -> usize {
        self.store
            .take_over("c", &[])
            .await
            .expect("unsent")
            .replies
            .iter()
            .map(|reply| reply.parts.len())
            .sum()
    }
}

#[tokio::test]
async fn a_refused_part_does_not_keep_the_next_one_back() {
    let f = fixture(&["a", "b"], [SendError::Refused("no".into())]).await;
    assert_eq!(f.deliver(&CancellationToken::new()).await, Some(()));
    assert_eq!((f.sent(), f.unsent().await), (vec!["t:b".to_owned()], 0));
}

#[tokio::test]
async fn files_answer_the_last_message_that_is_out() {
    let parts = [texts(&["a", "b"]), vec![file(None, None), file(None, None)]].concat();
    let f = of_parts(parts, [SendError::Refused("no".into())]).await;
    assert_eq!(f.deliver(&CancellationToken::new()).await, Some(()));
    assert_eq!(f.sent(), ["t:b", "t:files after 1", "t:files after 2"]);
}

#[tokio::test]
async fn a_person_is_told_of_what_they_would_miss() {
    let no = || SendError::Refused("no".into());
    let voice = NewPart { kind: PartKind::Voice, body: "spoken".into() };
    let parts = vec![file(Some("the answer"), None), voice, file(None, Some("too large"))];
    let f = of_parts(parts, [no(), no()]).await;
    assert_eq!(f.deliver(&CancellationToken::new()).await, Some(()));
    let told = ["t:the answer", "t:1 file could not be sent: a.txt: no", "t:spoken"];
    assert_eq!((f.sent().as_slice(), f.unsent().await), (&told.map(str::to_owned)[..], 0));
    let f = of_parts(vec![file(Some("the answer"), None)], [SendError::Gone("blocked".into())]).await;
    f.deliver(&CancellationToken::new()).await;
    assert_eq!((f.sent().len(), f.unsent().await), (0, 0), "there is nobody to tell");
}

/// Files may carry the first piece of a text that is too long for one message.
#[tokio::test]
async fn a_text_whose_first_piece_was_refused_with_files_is_sent_in_order() {
    let parts = [vec![file(Some("one"), None)], texts(&["two", "three"]), vec![file(None, None)]].concat();
    let f = of_parts(parts, [SendError::Refused("no".into())]).await;
    assert_eq!(f.deliver(&CancellationToken::new()).await, Some(()));
    let told = "t:1 file could not be sent: a.txt: no";
    assert_eq!(f.sent(), ["t:one", "t:two", "t:three", "t:files after 3", told]);
}

#[tokio::test]
async fn a_text_whose_first_piece_was_refused_with_files_is_in_order_after_a_restart() {
    let parts = [vec![file(Some("one"), None)], texts(&["two", "three"])].concat();
    let script = [SendError::Refused("no".into()), SendError::Later(Duration::from_secs(3600))];
    let mut f = of_parts(parts, script).await;
    let stop = CancellationToken::new();
    stop.cancel();
    assert_eq!((f.deliver(&stop).await, f.sent().len()), (None, 0));
    f.reply = f.store.load_unsent(&f.reply.turn).await.expect("asked").expect("it is kept");
    assert_eq!(f.deliver(&CancellationToken::new()).await, Some(()));
    assert_eq!(f.sent(), ["t:one", "t:two", "t:three", "t:1 file could not be sent: a.txt: no"]);
}

#[tokio::test]
async fn nothing_more_is_tried_where_the_target_is_gone() {
    let f = fixture(&["a", "b"], [SendError::Gone("blocked".into())]).await;
    assert_eq!(f.deliver(&CancellationToken::new()).await, Some(()));
    assert_eq!((f.sent().len(), f.unsent().await), (0, 0));
}

#[tokio::test]
async fn what_time_may_heal_is_tried_again() {
    let pauses = [SendError::Later(Duration::from_millis(1)), SendError::Unreachable("down".into())];
    let f = fixture(&["a"], pauses).await;
    assert_eq!(f.deliver(&CancellationToken::new()).await, Some(()));
    assert_eq!((f.sent().len(), f.unsent().await), (1, 0));
}

#[tokio::test]
async fn a_part_that_fails_alone_is_given_up_and_told_of() {
    let parts = [vec![file(Some("the answer"), None)], texts(&["b"])].concat();
    for (error, tries) in [
        (SendError::Unreachable("status 502".into()), PART_FAILURES_MAX),
        (SendError::TooSlow("over 60 s".into()), PART_TIMEOUTS_MAX),
    ] {
        let mut f = of_parts(parts.clone(), []).await;
        let reason = error.to_string();
        f.router.poison = Some(("sha256", error));
        assert_eq!(f.deliver(&CancellationToken::new()).await, Some(()));
        let told = format!("t:1 file could not be sent: a.txt: {reason}");
        assert_eq!((f.sent(), f.unsent().await), (vec![told, "t:the answer".into(), "t:b".into()], 0));
        assert_eq!(f.router.failed.load(Ordering::Relaxed), tries);
    }
    let mut f = fixture(&["poison", "b"], []).await;
    f.router.poison = Some(("poison", SendError::Unreachable("status 500".into())));
    assert_eq!(f.deliver(&CancellationToken::new()).await, Some(()));
    assert_eq!(
        (f.sent(), f.unsent().await),
        (vec!["t:A message could not be sent: status 500".into(), "t:b".into()], 0)
    );
}

#[tokio::test]
async fn an_outage_is_waited_out_however_long() {
    let down = || SendError::Unreachable("down".into());
    let slow = || SendError::TooSlow("slow".into());
    let outage = (0..100).map(|n| if n % 2 == 0 { down() } else { slow() });
    let f = of_parts(vec![file(None, None)], outage).await;
    // It answers again a little before it takes messages.
    f.router.silent.store(98, Ordering::Relaxed);
    assert_eq!(f.deliver(&CancellationToken::new()).await, Some(()));
    assert_eq!((f.sent().as_slice(), f.unsent().await), (&["t:files after nothing".to_owned()][..], 0));
    // It answers, and takes no message at all: nor does it take the one that would say so.
    let f = fixture(&["a"], (0..99).map(|_| down())).await;
    assert_eq!(f.deliver(&CancellationToken::new()).await, Some(()));
    assert_eq!((f.sent().as_slice(), f.unsent().await), (&["t:a".to_owned()][..], 0));
}

/// Another node sends it then.
#[tokio::test]
async fn nothing_is_tried_again_by_a_node_that_was_taken_out_meanwhile() {
    for error in [SendError::Later(Duration::from_millis(1)), SendError::Unreachable("down".into())] {
        let mut f = fixture(&["a", "b"], [error]).await;
        f.router.goes = Some(f.store.clone());
        assert_eq!(f.deliver(&CancellationToken::new()).await, None);
        assert_eq!((f.sent().len(), f.unsent().await), (0, 2));
    }
}

/// Another node sends the part itself: nobody is told that it is given up.
#[tokio::test]
async fn nothing_is_given_up_by_a_node_that_was_taken_out_meanwhile() {
    let down = (0..PART_FAILURES_MAX).map(|_| SendError::Unreachable("down".into()));
    let mut f = fixture(&["a", "b"], down).await;
    f.router.goes = Some(f.store.clone());
    assert_eq!(f.deliver(&CancellationToken::new()).await, None);
    assert_eq!((f.sent(), f.unsent().await), (Vec::new(), 2));
}

#[tokio::test]
async fn a_stop_leaves_the_rest_in_the_store() {
    let f = fixture(&["a", "b"], [SendError::Later(Duration::from_secs(3600))]).await;
    let stop = CancellationToken::new();
    stop.cancel();
    assert_eq!(f.deliver(&stop).await, None);
    assert_eq!((f.sent().len(), f.unsent().await), (0, 2));
}
