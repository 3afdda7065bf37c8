//! The guest's way to the gateway, which alone has authority: every request is sent there and
//! answered.

use cofferdam_core::host_call::{Notification, Reply, Request};
use cofferdam_core::lock::lock;
use cofferdam_core::tool::{ErrorCode, ToolError};
use cofferdam_ipc::{Broken, FromWorker, REQUEST_BYTES_MAX, Socket, decode};
use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard};

/// Takes what an answer of this kind holds, and nothing of any other.
macro_rules! expect_reply {
    ($kind:ident) => {
        |reply| match reply {
            cofferdam_core::host_call::Reply::$kind(held) => Some(held),
            _ => None,
        }
    };
}
pub(crate) use expect_reply;

/// The way to the gateway; none while a component describes itself, which is granted nothing.
#[derive(Clone)]
pub(crate) struct GatewayLink(Option<Arc<Mutex<Socket>>>);

impl GatewayLink {
    pub(crate) fn new(socket: Arc<Mutex<Socket>>) -> Self {
        Self(Some(socket))
    }

    /// Nothing is granted there.
    pub(crate) fn detached() -> Self {
        Self(None)
    }

    fn socket(&self) -> Option<MutexGuard<'_, Socket>> {
        self.0.as_ref().map(|socket| lock(socket))
    }

    /// Asks, and takes what it wants of the answer.
    ///
    /// # Errors
    /// The gateway's refusal; one with a code that only the host may say ends the guest.
    pub(crate) fn ask<T>(
        &self,
        request: Request<'_>,
        take: impl FnOnce(Reply) -> Option<T>,
    ) -> Result<T, ToolError> {
        let mut socket = self.socket().ok_or_else(not_granted_error)?;
        let answer = socket.send(&FromWorker::Request(request), &[], || false).and_then(|()| {
            socket.receive(REQUEST_BYTES_MAX, || false, |bytes| decode::<Result<Reply, ToolError>>(bytes))
        });
        let reply = answer.unwrap_or_else(|broken| Err(gateway_gone_error(&broken)))?;
        take(reply).ok_or_else(|| ToolError::new(ErrorCode::Internal, "the gateway answers something else"))
    }

    /// The descriptor that came with the last answer.
    ///
    /// # Errors
    /// `internal` when none came.
    pub(crate) fn descriptor(&self) -> Result<File, ToolError> {
        let mut socket = self.socket().ok_or_else(not_granted_error)?;
        socket.descriptor().map(File::from).map_err(|broken| gateway_gone_error(&broken))
    }

    /// Whether the turn was cancelled; a gateway that does not answer waits for nothing.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.is_some() && self.ask(Request::Cancelled, expect_reply!(Cancelled)).unwrap_or(true)
    }

    pub(crate) fn notify(&self, notification: Notification<'_>) {
        if let Some(mut socket) = self.socket() {
            // A gateway that is gone is noticed by the next request, or at the end of the call.
            let _ = socket.send(&FromWorker::Notification(notification), &[], || false);
        }
    }
}

/// What is wanted of the answer to a request that only does something.
pub(crate) fn expect_done(reply: Reply) -> Option<()> {
    matches!(reply, Reply::Done).then_some(())
}

fn not_granted_error() -> ToolError {
    ToolError::new(ErrorCode::PathDenied, "nothing is granted here; the policy's profile grants it")
}

/// Only the host may say this code, so the guest ends.
fn gateway_gone_error(broken: &Broken) -> ToolError {
    ToolError::new(ErrorCode::Internal, format!("the gateway does not answer: {broken}"))
}
