//! Open requests: who is being answered now, and how far one request may reach another. Commands
//! and what they come to are rows of the store ([`cofferdam_store`]), which outlive the process;
//! nothing is kept here.
//!
//! | Command | Waits as | Taken up by |
//! |---|---|---|
//! | `cmd.request.message` | an update of the inbox | a turn of its own, or the one it is said to |
//! | `cmd.attachment.add` | a file of a reply, or a delivery | the turn that answers the request |
//!
//! What a request comes to are the parts of its reply, in order.
//!
//! A call names a request by its id or by its session, or none and means its own; one that it does
//! not reach looks to it as if it were not there.

use cofferdam_core::id::{Caller, SessionId, TurnId};
use cofferdam_core::lock::lock;
use cofferdam_core::message::Address;
use cofferdam_core::text::one_line;
use cofferdam_core::tool::{ErrorCode, ToolError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// How far a call reaches beyond the request that it belongs to: not at all, unless the operator
/// says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallScope {
    /// No further: its own request alone.
    #[default]
    Own,
    /// Every request that the same person has begun, in any conversation.
    Person,
    /// Every request.
    Everyone,
}

/// The requests that are being answered, each from its turn's begin to its end.
#[derive(Debug, Default)]
pub struct Requests {
    reach: CallScope,
    open: Mutex<BTreeMap<TurnId, Arc<OpenRequest>>>,
}

#[derive(Debug)]
struct OpenRequest {
    origin: CallOrigin,
    /// Held while something is handed to it, and by its end: one of the two comes first.
    is_open: Mutex<bool>,
    /// Something was handed to it, or may have been.
    was_reached: AtomicBool,
}

/// Where a call comes from.
#[derive(Clone, Debug)]
pub struct CallOrigin {
    /// The request that it belongs to.
    pub request: TurnId,
    /// The session of that.
    pub session: Option<SessionId>,
    /// Who began it.
    pub caller: Caller,
}

impl CallOrigin {
    /// Whether an address names this request, or nothing.
    fn is_meant_by(&self, to: &Address) -> bool {
        let session = self.session.as_ref().map(SessionId::as_str);
        to.request.as_deref().is_none_or(|wanted| wanted == self.request.as_str())
            && to.session.as_deref().is_none_or(|wanted| session == Some(wanted))
    }
}

/// To a call that may add to its own request alone.
const OWN_REQUEST_ALONE: &str = "this call may add files only to the reply of its own message; leave out \"session\" and \"request\" (an operator \
    widens that with [turns] reach)";
/// To a call whose own request is answered by no message.
pub(crate) const NO_REPLY: &str = "a task of a workflow has no reply that files are added to; the workflow's file sends files of the workspace \
    with `send`";

/// The error of a call where nothing that it reaches is being answered.
pub(crate) fn nothing_open_error(named: &str) -> ToolError {
    let said = format!(
        "no message is being answered in {named}, so nothing can be added to its reply; wait until one is, or leave out \
         \"session\" and \"request\" to send it with this reply"
    );
    ToolError::new(ErrorCode::NotFound, said)
}

impl Requests {
    /// None yet; calls reach so far.
    pub fn new(reach: CallScope) -> Self {
        Self { reach, open: Mutex::default() }
    }

    /// Notes that a request is being answered, until what comes back is dropped.
    pub fn begin(self: &Arc<Self>, origin: CallOrigin) -> OpenGuard {
        let was_reached = AtomicBool::new(false);
        let entry = Arc::new(OpenRequest { origin, is_open: Mutex::new(true), was_reached });
        lock(&self.open).insert(entry.origin.request.clone(), entry.clone());
        OpenGuard { requests: self.clone(), entry }
    }

    /// The request that an address means to a call.
    ///
    /// # Errors
    /// `invalid_arguments` where the call may not reach it, `not_found` where nothing is being
    /// answered.
    pub fn resolve(&self, from: &CallOrigin, to: &Address) -> Result<TurnId, ToolError> {
        if from.is_meant_by(to) {
            return Ok(from.request.clone());
        }
        let found = match self.reach {
            CallScope::Own => return Err(ToolError::new(ErrorCode::InvalidArguments, OWN_REQUEST_ALONE)),
            CallScope::Person => self.find_open(to, |origin| origin.caller == from.caller),
            CallScope::Everyone => self.find(to),
        };
        Ok(found?.request)
    }

    /// The request that an address means to the operator, who reaches every one.
    ///
    /// # Errors
    /// `not_found` where nothing is being answered.
    pub fn find(&self, to: &Address) -> Result<CallOrigin, ToolError> {
        self.find_open(to, |_| true)
    }

    fn find_open(
        &self,
        to: &Address,
        reached: impl Fn(&CallOrigin) -> bool,
    ) -> Result<CallOrigin, ToolError> {
        let open = lock(&self.open);
        let mut origins = open.values().map(|request| &request.origin);
        let found = origins.find(|origin| origin.is_meant_by(to) && reached(origin));
        found.cloned().ok_or_else(|| Self::not_open_error(to))
    }

    /// What is said where nothing is being answered.
    pub fn not_open_error(to: &Address) -> ToolError {
        let named = to.request.as_ref().or(to.session.as_ref());
        nothing_open_error(&one_line(named.map_or("", String::as_str), 120))
    }

    /// Does work while a request stays open: it does not end before the work has. `None` when it
    /// has ended.
    pub fn run_while_open<T>(&self, request: &TurnId, work: impl FnOnce() -> T) -> Option<T> {
        let entry = lock(&self.open).get(request).cloned()?;
        let is_open = lock(&entry.is_open);
        is_open.then(|| {
            entry.was_reached.store(true, Ordering::Release);
            work()
        })
    }
}

/// A request that is being answered. Dropped, nothing is added to it any more.
#[derive(Debug)]
pub struct OpenGuard {
    requests: Arc<Requests>,
    entry: Arc<OpenRequest>,
}

impl OpenGuard {
    /// Ends the request; whether something was handed to it. What is being handed to it is waited
    /// for, which takes as long as the store is away, so that is done on no async thread.
    pub async fn end(self) -> bool {
        let entry = self.entry.clone();
        let is_ended = entry.is_open.try_lock().map(|mut is_open| *is_open = false).is_ok();
        if !is_ended {
            let _ = tokio::task::spawn_blocking(move || drop(self)).await;
        }
        entry.was_reached.load(Ordering::Acquire)
    }
}

impl Drop for OpenGuard {
    fn drop(&mut self) {
        lock(&self.requests.open).remove(&self.entry.origin.request);
        *lock(&self.entry.is_open) = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    fn origin(request: &str, session: &str, sender: &str) -> CallOrigin {
        CallOrigin {
            request: TurnId::new(request),
            session: Some(SessionId::new(session)),
            caller: Caller { channel: "c".into(), sender: sender.into() },
        }
    }

    /// What Ann's request 1 in session s reaches; her request 2 is in session t, Ben's 3 in session
    /// u.
    fn check(reach: CallScope, session: Option<&str>, request: Option<&str>, expected: Result<&str, &str>) {
        let requests = Arc::new(Requests::new(reach));
        let ann = origin("1", "s", "ann");
        let _open = [ann.clone(), origin("2", "t", "ann"), origin("3", "u", "ben")]
            .map(|origin| requests.begin(origin));
        let to = Address { session: session.map(Into::into), request: request.map(Into::into) };
        let found = requests.resolve(&ann, &to);
        match expected {
            Ok(id) => assert_eq!(found, Ok(TurnId::new(id)), "{reach:?} {to:?}"),
            Err(part) => {
                let said = found.expect_err("rejected").to_string();
                assert!(said.contains(part), "{reach:?} {to:?}: {said}");
            }
        }
    }

    #[test]
    fn a_call_reaches_its_own_request_and_no_other_without_leave() {
        for reach in [CallScope::Own, CallScope::Person, CallScope::Everyone] {
            check(reach, None, None, Ok("1"));
            check(reach, Some("s"), None, Ok("1"));
            check(reach, None, Some("1"), Ok("1"));
            check(reach, Some("s"), Some("1"), Ok("1"));
        }
        for (session, request) in [(Some("t"), None), (None, Some("2")), (Some("u"), None), (Some("x"), None)]
        {
            check(CallScope::Own, session, request, Err("only to the reply of its own message"));
        }
    }

    #[test]
    fn leave_reaches_active_requests_and_nobody_elses_look_as_if_they_were_not_there() {
        check(CallScope::Person, Some("t"), None, Ok("2"));
        check(CallScope::Person, None, Some("2"), Ok("2"));
        check(CallScope::Person, Some("s"), Some("2"), Err("no message is being answered in 2"));
        check(CallScope::Person, Some("u"), None, Err("no message is being answered in u"));
        check(CallScope::Person, Some("x"), None, Err("no message is being answered in x"));
        check(CallScope::Everyone, Some("u"), None, Ok("3"));
        check(CallScope::Everyone, None, Some("9"), Err("no message is being answered in 9"));
    }

    #[test]
    fn the_operator_reaches_every_request_that_is_open() {
        let requests = Arc::new(Requests::new(CallScope::Own));
        let open = requests.begin(origin("1", "s", "ann"));
        let find = |session: Option<&str>, request: Option<&str>| {
            let to = Address { session: session.map(Into::into), request: request.map(Into::into) };
            requests.find(&to).map(|origin| (origin.request.to_string(), origin.caller.sender))
        };
        let ann = Ok(("1".to_owned(), "ann".to_owned()));
        assert_eq!((find(Some("s"), None), find(None, Some("1"))), (ann.clone(), ann));
        assert_eq!(find(Some("t"), None), Err(nothing_open_error("t")));
        assert_eq!(find(Some("s"), Some("2")), Err(nothing_open_error("2")));
        drop(open);
        assert_eq!(find(Some("s"), None), Err(nothing_open_error("s")));
    }

    #[test]
    fn what_has_ended_takes_nothing_more() {
        let requests = Arc::new(Requests::new(CallScope::Everyone));
        let open = requests.begin(origin("1", "s", "ann"));
        assert_eq!(requests.run_while_open(&TurnId::new("1"), || 7), Some(7));
        drop(open);
        assert_eq!(requests.run_while_open(&TurnId::new("1"), || 7), None);
    }

    #[tokio::test]
    async fn who_ends_a_request_is_told_whether_it_was_handed_something() {
        let requests = Arc::new(Requests::new(CallScope::Everyone));
        let opened = ["1", "2"].map(|request| requests.begin(origin(request, "s", "ann")));
        assert_eq!(requests.run_while_open(&TurnId::new("1"), || 7), Some(7));
        let [reached, other] = opened;
        assert!(reached.end().await && !other.end().await);
    }

    #[tokio::test]
    async fn what_is_handed_over_to_a_request_that_ends_holds_no_async_thread_up() {
        let requests = Arc::new(Requests::new(CallScope::Everyone));
        let open = requests.begin(origin("1", "s", "ann"));
        let ((begin, begun), (end, ended)) = (channel(), channel());
        let handing = requests.clone();
        let handed = std::thread::spawn(move || {
            handing.run_while_open(&TurnId::new("1"), || {
                begin.send(()).expect("heard");
                ended.recv().expect("told");
                7
            })
        });
        begun.recv().expect("it begins");
        let ending = tokio::spawn(open.end());
        // There is one thread for both.
        tokio::task::yield_now().await;
        assert!(!ending.is_finished(), "it waits");
        end.send(()).expect("heard");
        assert!(ending.await.expect("no panic"), "something was handed to it");
        assert_eq!(handed.join().expect("no panic"), Some(7));
        assert_eq!(requests.run_while_open(&TurnId::new("1"), || 7), None);
    }
}
