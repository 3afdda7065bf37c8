//! The gateway's side of a call in a worker: answers the guest's requests from the call's
//! authority.
//!
//! The worker is not trusted: what it sends is decoded under bounds and reaches [`HostCalls`]
//! alone.

use super::processor::SharedProcessor;
use crate::sandbox::clock::CallClock;
use cofferdam_core::host_call::{Notification, Reply, Request};
use cofferdam_core::tool::ToolError;
use cofferdam_ipc::{Broken, FromWorker, REQUEST_BYTES_MAX, Socket, decode};
use std::borrow::Cow;
use std::cell::Cell;
use std::ops::ControlFlow::{Break, Continue};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

#[cfg(test)]
mod tests;

/// How long after its end a call's worker may still answer before it is killed: a guest that waits
/// in the worker ends by itself, and its worker lives on.
pub const KILL_GRACE: Duration = Duration::from_millis(50);

/// The answer to a request of a guest.
pub(in crate::sandbox) struct Answer {
    pub(in crate::sandbox) reply: Result<Reply, ToolError>,
    /// What travels beside it, without any right to write.
    pub(in crate::sandbox) descriptor: Option<OwnedFd>,
}

/// Who answers a running guest. Nothing is granted but by an answer.
pub(in crate::sandbox) trait HostCalls {
    /// Answers a request.
    fn handle(&mut self, request: Request<'_>) -> Answer;

    /// Takes what is told.
    fn note(&mut self, notification: Notification<'_>);
}

/// Answers until the call is over. `result_bytes_max` bounds the guest's text, which is returned.
/// The processor is shared until the guest asks for something, or the call is no short one.
///
/// # Errors
/// [`Broken`]: the worker is of no use any more.
pub(super) fn converse(
    socket: &mut Socket,
    calls: &mut dyn HostCalls,
    clock: &CallClock,
    result_bytes_max: usize,
    shared: Option<SharedProcessor<'_>>,
) -> Result<Result<String, ToolError>, Broken> {
    let shared = Cell::new(shared);
    let release_if = |is_due: fn(&SharedProcessor<'_>) -> bool| match shared.take() {
        Some(processor) if is_due(&processor) => processor.release(),
        kept => shared.set(kept),
    };
    let late = || {
        release_if(|processor| processor.is_late());
        clock.stop().is_some() && clock.overdue_by() >= KILL_GRACE
    };
    let bytes_max = REQUEST_BYTES_MAX + result_bytes_max;
    loop {
        // Here too, or a guest that never stops asking would never be late.
        if late() {
            return Err(Broken::Stopped);
        }
        let next = socket.receive(bytes_max, late, |bytes| {
            Ok(match decode(bytes)? {
                FromWorker::Request(request) => {
                    // The answer may start threads, which would be restricted as this one is.
                    release_if(|_| true);
                    Continue(Some(calls.handle(request)))
                }
                FromWorker::Notification(notification) => {
                    calls.note(notification);
                    Continue(None)
                }
                FromWorker::Ended(said) => Break(
                    // Made anew: the words of one that was decoded may be any, and of any length.
                    said.map(Cow::into_owned).map_err(|error| ToolError::new(error.code, error.message)),
                ),
            })
        })?;
        match next {
            Continue(None) => {}
            Continue(Some(Answer { reply, descriptor })) => {
                let descriptor = descriptor.as_ref().map(AsFd::as_fd);
                socket.send(&reply, descriptor.as_slice(), late)?;
            }
            Break(said) => return Ok(said),
        }
    }
}
