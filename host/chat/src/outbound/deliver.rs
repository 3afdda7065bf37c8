//! Sends what is left of a stored reply, part by part, and records what became of each.
//!
//! Best effort: a part that is refused does not keep the next one back. What cannot be sent now is
//! tried until it is sent, refused, or the program stops; then it waits in the store for the next
//! start. A platform that fails as a whole is waited for, however long; a part that fails while
//! everything else gets through is given up in time.

use super::lost::{notice, replacement_parts};
use super::{FileBundle, SendError};
use async_trait::async_trait;
use cofferdam_agent::server::Backoff;
use cofferdam_core::counts::COUNTS;
use cofferdam_core::id::TurnId;
use cofferdam_core::text::one_line;
use cofferdam_store::{PartKind, PartsInstead, ReplyPart, Store, StoreError, StoreRetry, StoredReply};
use futures_util::FutureExt;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// Marks a part that could not be sent, in the log and in the store.
pub const ROUTING_ERROR: &str = "ROUTING_ERROR";

/// Sends single parts to where a channel reaches people.
#[async_trait]
pub trait Router: Send + Sync {
    /// Sends one part and returns the platform's id of the message; of several, all ids with commas
    /// between.
    ///
    /// # Errors
    /// [`SendError`], which says whether trying again can help.
    async fn send(&self, sending: SendingPart<'_>) -> Result<String, SendError>;

    /// Whether the platform answers a request that sends nothing: then what fails fails by itself.
    async fn answers(&self) -> bool;
}

/// A part on its way.
#[derive(Clone, Copy, Debug)]
pub struct SendingPart<'a> {
    /// The turn that it answers: with the part's number it names the message, however often it is
    /// sent.
    pub turn: &'a TurnId,
    /// Where it goes.
    pub target: &'a str,
    /// The part.
    pub part: &'a ReplyPart,
    /// The last message of the reply that is out: files answer it.
    pub after: Option<&'a str>,
}

impl<'a> SendingPart<'a> {
    fn new(reply: &'a StoredReply, part: &'a ReplyPart) -> Self {
        Self { turn: &reply.turn, target: &reply.target, part, after: reply.last_sent.as_deref() }
    }
}

/// Failures of one part, each while the platform answered another request, until the person is told
/// instead.
pub const PART_FAILURES_MAX: u32 = 8;
/// The same of failures that took all the time that the part's length allows.
pub const PART_TIMEOUTS_MAX: u32 = 3;

/// The first and the longest pause between two attempts that the platform did not ask for.
pub const SENDING_PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// Sends what is left of a reply, until every part is sent or recorded as failed. `None` where the
/// program stops, or other nodes have taken this one out: then the rest waits in the store. `stop`
/// ends the waiting, not a request that is under way; `pauses` are [`SENDING_PAUSES`], for each
/// part anew.
///
/// What a person would miss of a part that is refused is told in a text at the end.
pub async fn deliver(
    store: &Store,
    router: &dyn Router,
    mut reply: StoredReply,
    (stop, pauses): (&CancellationToken, (Duration, Duration)),
) -> Option<()> {
    let mut gone: Option<String> = None;
    let mut parts: VecDeque<ReplyPart> = std::mem::take(&mut reply.parts).into();
    let store_retry = StoreRetry::new(stop.clone(), |_| {});
    // What led to the reply and the reply itself, before anybody sees of it.
    until_done(&store_retry, "settle a reply", || store.settle()).await?;
    while let Some(part) = parts.pop_front() {
        let sent = match gone.clone().or_else(|| planned_refusal(&part)) {
            Some(reason) => Err((SendError::Refused(reason), None)),
            None => {
                let with = (store, &store_retry, router);
                send_until_settled(with, &reply, &part, (stop, pauses)).await?
            }
        };
        if let Err((SendError::Gone(reason), _)) = &sent {
            gone = Some(reason.clone());
        }
        let instead = match (&sent, &gone) {
            (Err((error, told)), None) => replacements(&part, parts.front(), (error, told.as_deref())),
            _ => PartsInstead::default(),
        };
        match record((store, &store_retry), &reply, &part, (&sent, instead)).await {
            Some(left) if sent.is_err() => parts = left.into(),
            Some(_) => {}
            None => {
                tracing::error!(turn = %reply.turn, part = part.n, "what became of a message is not recorded; the next start may send it again");
                return None;
            }
        }
        reply.last_sent = sent.map_or_else(|(_, told)| told, Some).or(reply.last_sent);
    }
    Some(())
}

/// What is said in place of a part: the first piece of a text right before what is behind it.
fn replacements(
    part: &ReplyPart,
    behind: Option<&ReplyPart>,
    (error, told): (&SendError, Option<&str>),
) -> PartsInstead {
    let mut last = replacement_parts(part, (&error.to_string(), told));
    let next = (is_first_piece(part, behind) && !last.is_empty()).then(|| last.remove(0));
    PartsInstead { next, last }
}

/// Whether the words of files are the first piece of a text that goes on with the part behind.
fn is_first_piece(part: &ReplyPart, behind: Option<&ReplyPart>) -> bool {
    let is_text = |part: &ReplyPart| matches!(part.kind, PartKind::Text | PartKind::Rich);
    let has_words = || FileBundle::read(&part.body).is_some_and(|bundle| bundle.caption.is_some());
    behind.is_some_and(is_text) && has_words()
}

/// Why a part was refused when it was planned.
fn planned_refusal(part: &ReplyPart) -> Option<String> {
    if part.kind == PartKind::Attachment { FileBundle::read(&part.body)?.refused } else { None }
}

/// What came of sending a part: the platform's id of it; or why it will never be out, with the
/// platform's id of the message that has told so. `None` where the program stops before time has
/// healed it.
async fn send_until_settled(
    (store, store_retry, router): (&Store, &StoreRetry, &dyn Router),
    reply: &StoredReply,
    part: &ReplyPart,
    (stop, (first, longest)): (&CancellationToken, (Duration, Duration)),
) -> Option<Result<String, (SendError, Option<String>)>> {
    let (mut backoff, mut own) = (Backoff::new(first, longest), PartFailures::default());
    loop {
        // A pause may have been longer than the lease: then another node sends it.
        let asked = "ask whether this node is there";
        until_done(store_retry, asked, || store.ensure_lease()).await?;
        let error = match router.send(SendingPart::new(reply, part)).await {
            Ok(message) => {
                if backoff.is_failing() {
                    tracing::info!(turn = %reply.turn, part = part.n, "the reply is sent at last");
                }
                return Some(Ok(message));
            }
            Err(error @ (SendError::Refused(_) | SendError::Gone(_))) => return Some(Err((error, None))),
            Err(error) => error,
        };
        if !backoff.is_failing() {
            tracing::warn!(turn = %reply.turn, part = part.n, %error, "a reply waits to be sent");
        }
        let enough = stop.run_until_cancelled(own.are_enough(&error, router)).await?;
        if enough
            && store.has_lease()
            && let Some(lost) = give_up(router, reply, part, &error).await
        {
            return Some(Err(lost));
        }
        let pause = match &error {
            SendError::Later(pause) => backoff.pause_of_at_least(*pause),
            _ => backoff.pause(),
        };
        stop.run_until_cancelled(sleep(pause)).await?;
    }
}

/// Failures of one part while the platform answered other requests.
#[derive(Default)]
struct PartFailures {
    failed: u32,
    slow: u32,
}

impl PartFailures {
    /// Whether a further failure makes them enough to give the part up.
    async fn are_enough(&mut self, error: &SendError, router: &dyn Router) -> bool {
        let (count, max) = match error {
            SendError::TooSlow(_) => (&mut self.slow, PART_TIMEOUTS_MAX),
            SendError::Unreachable(_) => (&mut self.failed, PART_FAILURES_MAX),
            SendError::Later(_) | SendError::Refused(_) | SendError::Gone(_) => return false,
        };
        if router.answers().await {
            *count += 1;
        }
        *count >= max
    }
}

/// Tells the person that a part is not sent; returns why, and the platform's id of the message that
/// has told so. If not even that gets through, nothing is given up, and it is `None`.
async fn give_up(
    router: &dyn Router,
    reply: &StoredReply,
    part: &ReplyPart,
    error: &SendError,
) -> Option<(SendError, Option<String>)> {
    let told = router.send(SendingPart::new(reply, &notice(part, &error.to_string()))).await;
    match told {
        Ok(message) => Some((error.clone(), Some(message))),
        Err(SendError::Refused(_)) => Some((error.clone(), None)),
        Err(gone @ SendError::Gone(_)) => Some((gone, None)),
        Err(SendError::Later(_) | SendError::Unreachable(_) | SendError::TooSlow(_)) => None,
    }
}

/// Records an outcome, on the disk, and what is to be sent instead; of a part that is not sent,
/// what is left of the reply comes back. The message is out, so recording is tried until it
/// succeeds or the program stops.
async fn record(
    (store, store_retry): (&Store, &StoreRetry),
    reply: &StoredReply,
    part: &ReplyPart,
    (sent, instead): (&Result<String, (SendError, Option<String>)>, PartsInstead),
) -> Option<Vec<ReplyPart>> {
    let counted = if sent.is_ok() { &COUNTS.sent } else { &COUNTS.unsent };
    counted.add(part.kind.as_str(), 1);
    if let Err((error, _)) = sent {
        tracing::error!(code = ROUTING_ERROR, turn = %reply.turn, part = part.n, kind = part.kind.as_str(), reason = %error, "a part of a reply was not sent");
    }
    let note = || async {
        match sent {
            Ok(message) => store.mark_part_sent(&reply.turn, part.n, message).await.map(|()| Vec::new()),
            Err((error, _)) => {
                let reason = format!("{ROUTING_ERROR}: {}", one_line(&error.to_string(), 500));
                store.mark_part_failed(&reply.turn, part.n, &reason, instead.clone()).await
            }
        }
    };
    let left = until_done(store_retry, "note what became of a message", note).await?;
    until_done(store_retry, "settle what became of a message", || store.settle()).await?;
    Some(left)
}

/// What work in the store comes to; `None` once the program stops, and where this node was taken out:
/// it will never succeed.
async fn until_done<T, F>(store_retry: &StoreRetry, what: &str, mut work: impl FnMut() -> F) -> Option<T>
where
    F: Future<Output = Result<T, StoreError>>,
{
    let work = || {
        work().map(|done| match done {
            Err(StoreError::TakenOver) => Ok(None),
            done => done.map(Some),
        })
    };
    store_retry.store_until_done(what, work).await.flatten()
}

#[cfg(test)]
mod tests;
