//! Sends what is left of a stored reply, part by part, and records what became of each.
//!
//! Best effort: a part that is refused does not keep the next one back. What cannot be sent now is tried
//! until it is sent, refused, or the program stops; then it waits in the store for the next start.

use super::lost::instead;
use super::{Backoff, Bundle};
use crate::store::{NewPart, Part, PartKind, Reply, Store, StoreError};
use async_trait::async_trait;
use cofferdam_core::counts::COUNTS;
use cofferdam_core::text::one_line;
use std::collections::VecDeque;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Marks a part that could not be sent, in the log and in the store.
pub const ROUTING_ERROR: &str = "ROUTING_ERROR";

/// Sends single parts to where a channel reaches people.
#[async_trait]
pub trait Router: Send + Sync {
    /// Sends one part and returns the platform's id of the message; of several, all ids with commas between. Files
    /// answer the message `after`, the last one of the reply that is out.
    ///
    /// # Errors
    /// [`SendError`], which says whether trying again can help.
    async fn send(&self, target: &str, part: &Part, after: Option<&str>) -> Result<String, SendError>;
}

/// Why a part was not sent. The texts hold no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The platform will never accept this part.
    #[error("{0}")]
    Refused(String),
    /// The platform will never accept anything for this target.
    #[error("{0}")]
    Gone(String),
    /// The platform says when to try again.
    #[error("the platform asks to wait {} s", .0.as_secs())]
    Later(Duration),
    /// The platform is not reached, or fails.
    #[error("{0}")]
    Unreachable(String),
}

/// How a delivery ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Every part is sent or recorded as failed.
    Settled,
    /// The program stops; the rest waits in the store.
    Left,
}

/// The longest pause between two attempts that the platform did not ask for.
const PAUSE_MAX: Duration = Duration::from_secs(30);
const PAUSE_FIRST: Duration = Duration::from_millis(500);

/// Sends what is left of a reply. `stop` ends the waiting, not a request that is under way.
///
/// What a person would miss of a part that is refused is told in a text at the end.
pub async fn deliver(
    store: &Store,
    router: &dyn Router,
    mut reply: Reply,
    stop: &CancellationToken,
) -> Delivery {
    let mut gone: Option<String> = None;
    let mut parts: VecDeque<Part> = std::mem::take(&mut reply.parts).into();
    // What led to the reply and the reply itself, before anybody sees of it.
    if until_stored(&reply, stop, || store.settle()).await.is_err() {
        return Delivery::Left;
    }
    while let Some(part) = parts.pop_front() {
        let sent = match gone.clone().or_else(|| refused_before(&part)) {
            Some(reason) => Err(reason),
            None => match send_until_settled(router, &reply, &part, stop).await {
                Ok(message) => Ok(message),
                Err(SendError::Gone(reason)) => {
                    gone = Some(reason.clone());
                    Err(reason)
                }
                Err(SendError::Refused(reason)) => Err(reason),
                Err(SendError::Later(_) | SendError::Unreachable(_)) => return Delivery::Left,
            },
        };
        let lost = match (&sent, &gone) {
            (Err(reason), None) => instead(&part, reason),
            _ => Vec::new(),
        };
        match record(store, &reply, &part, (&sent, lost), stop).await {
            Ok(added) => parts.extend(added),
            Err(error) => {
                tracing::error!(turn = %reply.turn, part = part.n, %error, "what became of a message is not recorded; the next start may send it again");
                return Delivery::Left;
            }
        }
        reply.last_sent = sent.ok().or(reply.last_sent);
    }
    Delivery::Settled
}

/// Why a part was refused when it was planned.
fn refused_before(part: &Part) -> Option<String> {
    if part.kind == PartKind::Attachment { Bundle::read(&part.body)?.refused } else { None }
}

/// The message's id, or why there is none. An error that time may heal is returned only on `stop`.
async fn send_until_settled(
    router: &dyn Router,
    reply: &Reply,
    part: &Part,
    stop: &CancellationToken,
) -> Result<String, SendError> {
    let mut backoff = Backoff::new(PAUSE_FIRST, PAUSE_MAX);
    loop {
        let error = match router.send(&reply.target, part, reply.last_sent.as_deref()).await {
            Ok(message) => {
                if backoff.is_failing() {
                    tracing::info!(turn = %reply.turn, part = part.n, "the reply is sent at last");
                }
                return Ok(message);
            }
            Err(error @ (SendError::Refused(_) | SendError::Gone(_))) => return Err(error),
            Err(error) => error,
        };
        if !backoff.is_failing() {
            tracing::warn!(turn = %reply.turn, part = part.n, %error, "a reply waits to be sent");
        }
        let pause = match &error {
            SendError::Later(pause) => (*pause).max(backoff.pause()),
            _ => backoff.pause(),
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = stop.cancelled() => return Err(error),
        }
    }
}

/// Records an outcome, on the disk, and what is to be sent instead, which comes back as parts. The message is out, so
/// recording is tried until it succeeds or the program stops.
async fn record(
    store: &Store,
    reply: &Reply,
    part: &Part,
    (sent, instead): (&Result<String, String>, Vec<NewPart>),
    stop: &CancellationToken,
) -> Result<Vec<Part>, StoreError> {
    let counted = if sent.is_ok() { &COUNTS.sends.sent } else { &COUNTS.sends.failed };
    counted.add(part.kind.as_str(), 1);
    if let Err(reason) = sent {
        tracing::error!(code = ROUTING_ERROR, turn = %reply.turn, part = part.n, kind = part.kind.as_str(), %reason, "a part of a reply was not sent");
    }
    let added = until_stored(reply, stop, || async {
        match sent {
            Ok(message) => store.part_sent(&reply.turn, part.n, message).await.map(|()| Vec::new()),
            Err(reason) => {
                let reason = format!("{ROUTING_ERROR}: {}", one_line(reason, 500));
                store.part_failed(&reply.turn, part.n, &reason, instead.clone()).await
            }
        }
    })
    .await?;
    until_stored(reply, stop, || store.settle()).await?;
    Ok(added)
}

/// Repeats work in the store until it succeeds; the error is returned only on `stop`.
async fn until_stored<T, F>(
    reply: &Reply,
    stop: &CancellationToken,
    mut work: impl FnMut() -> F,
) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    let mut backoff = Backoff::new(PAUSE_FIRST, PAUSE_MAX);
    loop {
        let error = match work().await {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        if !backoff.is_failing() {
            tracing::error!(turn = %reply.turn, %error, "the store cannot be written");
        }
        tokio::select! {
            () = tokio::time::sleep(backoff.pause()) => {}
            () = stop.cancelled() => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outbound::{Media, Shown};
    use crate::store::{Claim, Fate, Headers, NewReply, NewUpdate, Queue};
    use cofferdam_core::id::SessionId;
    use cofferdam_core::message::OutgoingAttachment;
    use std::collections::VecDeque;
    use std::sync::Mutex;

    /// Answers from a script, then with message ids from 1.
    #[derive(Default)]
    struct Scripted {
        script: Mutex<VecDeque<SendError>>,
        sent: Mutex<Vec<String>>,
    }

    #[async_trait]
    impl Router for Scripted {
        async fn send(&self, target: &str, part: &Part, after: Option<&str>) -> Result<String, SendError> {
            if let Some(error) = self.script.lock().expect("script").pop_front() {
                return Err(error);
            }
            let mut sent = self.sent.lock().expect("sent");
            sent.push(match part.kind {
                PartKind::Attachment => format!("{target}:files after {}", after.unwrap_or("nothing")),
                _ => format!("{target}:{}", part.body),
            });
            Ok(sent.len().to_string())
        }
    }

    struct Fixture {
        _dir: tempfile::TempDir,
        store: Store,
        reply: Reply,
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
        let files = vec![Shown { media: Media::Document, file }];
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Bundle { caption: owned(caption), caption_spans: Vec::new(), files, refused: owned(refused) }.part()
    }

    async fn fixture(bodies: &[&str], script: impl IntoIterator<Item = SendError>) -> Fixture {
        of_parts(texts(bodies), script).await
    }

    async fn of_parts(parts: Vec<NewPart>, script: impl IntoIterator<Item = SendError>) -> Fixture {
        let dir = tempfile::tempdir().expect("a directory");
        let store = crate::store::open(dir.path()).expect("a store");
        let headers = Headers { session: SessionId::new("s"), sender: "1".into(), queue: Queue::Turn };
        let fate = Fate::Pending(headers);
        let update = NewUpdate { update_id: 1, album: None, message: None, raw: "{}".into(), fate };
        store.persist("c", vec![update]).await.expect("persisted");
        let turn = store.claim("c", Claim::Update(1)).await.expect("claimed").expect("bound").turn;
        let reply = store.end("c", &turn, NewReply { target: "t".into(), parts }).await.expect("ended");
        let router = Scripted { script: Mutex::new(script.into_iter().collect()), ..Scripted::default() };
        Fixture { _dir: dir, store, reply, router }
    }

    impl Fixture {
        async fn deliver(&self, stop: &CancellationToken) -> Delivery {
            deliver(&self.store, &self.router, self.reply.clone(), stop).await
        }

        fn sent(&self) -> Vec<String> {
            self.router.sent.lock().expect("sent").clone()
        }

        async fn unsent(&self) -> usize {
            self.store.unsent("c").await.expect("unsent").iter().map(|reply| reply.parts.len()).sum()
        }
    }

    #[tokio::test]
    async fn a_refused_part_does_not_keep_the_next_one_back() {
        let f = fixture(&["a", "b"], [SendError::Refused("no".into())]).await;
        assert_eq!(f.deliver(&CancellationToken::new()).await, Delivery::Settled);
        assert_eq!((f.sent(), f.unsent().await), (vec!["t:b".to_owned()], 0));
    }

    #[tokio::test]
    async fn files_answer_the_last_message_that_is_out() {
        let parts = [texts(&["a", "b"]), vec![file(None, None), file(None, None)]].concat();
        let f = of_parts(parts, [SendError::Refused("no".into())]).await;
        assert_eq!(f.deliver(&CancellationToken::new()).await, Delivery::Settled);
        assert_eq!(f.sent(), ["t:b", "t:files after 1", "t:files after 2"]);
    }

    #[tokio::test]
    async fn a_person_is_told_of_what_they_would_miss() {
        let no = || SendError::Refused("no".into());
        let voice = NewPart { kind: PartKind::Voice, body: "spoken".into() };
        let parts = vec![file(Some("the answer"), None), voice, file(None, Some("too large"))];
        let f = of_parts(parts, [no(), no()]).await;
        assert_eq!(f.deliver(&CancellationToken::new()).await, Delivery::Settled);
        let told = ["t:the answer", "t:1 file could not be sent: a.txt: no", "t:spoken"];
        assert_eq!((f.sent().as_slice(), f.unsent().await), (&told.map(str::to_owned)[..], 0));
        let f = of_parts(vec![file(Some("the answer"), None)], [SendError::Gone("blocked".into())]).await;
        f.deliver(&CancellationToken::new()).await;
        assert_eq!((f.sent().len(), f.unsent().await), (0, 0), "there is nobody to tell");
    }

    #[tokio::test]
    async fn nothing_more_is_tried_where_the_target_is_gone() {
        let f = fixture(&["a", "b"], [SendError::Gone("blocked".into())]).await;
        assert_eq!(f.deliver(&CancellationToken::new()).await, Delivery::Settled);
        assert_eq!((f.sent().len(), f.unsent().await), (0, 0));
    }

    #[tokio::test]
    async fn what_time_may_heal_is_tried_again() {
        let pauses = [SendError::Later(Duration::from_millis(1)), SendError::Unreachable("down".into())];
        let f = fixture(&["a"], pauses).await;
        assert_eq!(f.deliver(&CancellationToken::new()).await, Delivery::Settled);
        assert_eq!((f.sent().len(), f.unsent().await), (1, 0));
    }

    #[tokio::test]
    async fn a_stop_leaves_the_rest_in_the_store() {
        let f = fixture(&["a", "b"], [SendError::Later(Duration::from_secs(3600))]).await;
        let stop = CancellationToken::new();
        stop.cancel();
        assert_eq!(f.deliver(&stop).await, Delivery::Left);
        assert_eq!((f.sent().len(), f.unsent().await), (0, 2));
    }
}
