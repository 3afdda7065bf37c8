//! One more attempt at a turn that its channel keeps: counted before it begins, so that a message
//! which brings the gateway down is given up in the end.

use crate::words;
use cofferdam_agent::tools::follow_work;
use cofferdam_core::id::{Caller, TurnId};
use cofferdam_core::message::OutgoingResponse;
use cofferdam_store::{Store, StoreRetry};

/// A turn that was begun so often and never ended is not run any more. A message that kills the
/// gateway cannot be told from one that was under way whenever something else did, so the number is
/// not small.
const ATTEMPTS_MAX: u32 = 16;

/// What the work of a turn comes to, unless it was begun too often and never ended; `None` when it
/// was cut off, so that the next start runs it again.
///
/// The work is a task of its own: should anything in it panic, the person is told, and the gateway
/// goes on.
pub(crate) async fn attempt<F>(
    (store, store_retry): (&Store, &StoreRetry),
    turn: &TurnId,
    caller: &Caller,
    work: F,
) -> Option<OutgoingResponse>
where
    F: Future<Output = Option<OutgoingResponse>> + Send + 'static,
{
    let count = store_retry.store_until_done("count an attempt", || store.attempt(turn, caller)).await?;
    if count > ATTEMPTS_MAX {
        tracing::error!(%turn, "a turn was begun {ATTEMPTS_MAX} times, never ended, and is given up");
        return Some(OutgoingResponse::text(words::gave_up(ATTEMPTS_MAX)));
    }
    // Dropped with this, it ends.
    let response = follow_work(work).await.unwrap_or_else(|_| {
        tracing::error!(%turn, "a turn failed; the panic is told above");
        Some(OutgoingResponse::text(words::BROKEN))
    });
    if response.is_none()
        && let Err(error) = store.withdraw_attempt(turn).await
    {
        tracing::warn!(%turn, %error, "a turn that the stop cut off counts as one that failed");
    }
    response
}
