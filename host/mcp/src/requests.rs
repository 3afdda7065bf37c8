//! The requests of one client that are under way, and the answers that need not pass through the
//! library.
//!
//! A call ends on a thread of its own. To wake the thread that serves the client, which then hands
//! the answer from task to task, takes as long as a small call: so the call's thread writes the
//! answer itself. The library hears of it afterwards, and its own answer is dropped.

use crate::streams::Output;
use cofferdam_core::lock::lock;
use rmcp::model::{ErrorCode, ErrorData, JsonRpcResponse, JsonRpcVersion2_0, RequestId, ServerResult};
use serde::Serialize;
use std::collections::{HashSet, VecDeque};
use std::io;
use std::sync::{Arc, Mutex};
use tokio_util::sync::CancellationToken;

/// Requests of a client that may be under way, over HTTP those of a session; one more is refused.
pub const REQUESTS_MAX: usize = 256;
/// Cancelled requests whose ids are not taken again yet: their last words would pass for an answer.
const CANCELLED_MAX: usize = 1024;

/// Those of one client. A clone is the same.
#[derive(Clone)]
pub(crate) struct Requests(Arc<Mutex<RequestTable>>);

#[derive(Default)]
struct RequestTable {
    open: HashSet<RequestId>,
    cancelled: VecDeque<RequestId>,
    /// Answered, which the library does not know yet.
    answered: HashSet<RequestId>,
    /// Gone when the client is.
    output: Option<Output>,
    /// Cancelled when the library writes answers alone, and takes nothing else to write any more.
    closing: CancellationToken,
}

/// Writes the answer of one call.
#[derive(Clone)]
pub(crate) struct DirectAnswer {
    requests: Requests,
    id: RequestId,
}

impl Requests {
    /// `closing` is cancelled at the end of the client's input at the latest.
    pub(crate) fn new(output: Output, closing: CancellationToken) -> Self {
        let table = RequestTable { output: Some(output), closing, ..RequestTable::default() };
        Self(Arc::new(Mutex::new(table)))
    }

    /// Takes a request in. False for one that is to be looked at again when the library has heard
    /// of an answer.
    ///
    /// # Errors
    /// What to answer to one whose id is taken, or that is too much.
    pub(crate) fn begin(&self, id: &RequestId) -> Result<bool, ErrorData> {
        let mut table = lock(&self.0);
        if table.open.contains(id) || table.cancelled.contains(id) {
            return Err(taken_id());
        }
        if table.open.len() >= REQUESTS_MAX {
            return Err(too_many(REQUESTS_MAX));
        }
        if table.answered.contains(id) || table.open.len() + table.answered.len() >= REQUESTS_MAX {
            return Ok(false);
        }
        table.open.insert(id.clone());
        Ok(true)
    }

    /// Takes note that a request is cancelled. False for one that is answered.
    pub(crate) fn cancel(&self, id: &RequestId) -> bool {
        let mut table = lock(&self.0);
        if table.open.remove(id) {
            if table.cancelled.len() >= CANCELLED_MAX {
                table.cancelled.pop_front();
            }
            table.cancelled.push_back(id.clone());
        }
        !table.answered.contains(id)
    }

    /// Ends a request that the library answers. False where it is answered already.
    pub(crate) fn end(&self, id: &RequestId) -> bool {
        let mut table = lock(&self.0);
        table.open.remove(id);
        !table.answered.remove(id)
    }

    /// Where answers are written; none once the client is gone.
    pub(crate) fn output(&self) -> Option<Output> {
        lock(&self.0).output.clone()
    }

    /// Takes note that the client's input has ended.
    pub(crate) fn end_input(&self) {
        let closing = lock(&self.0).closing.clone();
        closing.cancel();
    }

    /// Nothing is written any more.
    pub(crate) fn close(&self) {
        lock(&self.0).output = None;
    }

    /// A way to answer this request, which has begun.
    pub(crate) fn direct(&self, id: RequestId) -> DirectAnswer {
        DirectAnswer { requests: self.clone(), id }
    }
}

impl DirectAnswer {
    /// Cancelled when nothing but answers is written any more: who waits for anything else to be
    /// written waits in vain.
    pub(crate) fn closing(&self) -> CancellationToken {
        lock(&self.requests.0).closing.clone()
    }

    /// Answers a call at once, without waiting for the client. False where that is not possible: the
    /// call was cancelled, or the client has gone, or too much waits to be written.
    pub(crate) fn answer(&self, result: &ServerResult) -> bool {
        let answer = JsonRpcResponse { jsonrpc: JsonRpcVersion2_0, id: self.id.clone(), result };
        let Ok(answer) = line(&answer) else { return false };
        let mut table = lock(&self.requests.0);
        let Some(room) = table.output.as_ref().and_then(Output::room_now) else { return false };
        if !table.open.remove(&self.id) {
            return false;
        }
        table.answered.insert(self.id.clone());
        drop(table);
        room.put(answer);
        true
    }
}

/// What to answer to a request with an id that is not its own.
pub(crate) fn taken_id() -> ErrorData {
    let said = "this id belongs to an earlier request; give each request one of its own";
    ErrorData::invalid_request(said, None)
}

/// What to answer to one request more than `most`.
pub(crate) fn too_many(most: usize) -> ErrorData {
    let said = format!("{most} requests are under way; wait for an answer");
    ErrorData::new(ErrorCode::INTERNAL_ERROR, said, None)
}

/// A message as it is written.
///
/// # Errors
/// What cannot be JSON.
pub(crate) fn line(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::{CallToolResult, ContentBlock};
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::OwnedFd;

    fn id(n: i64) -> RequestId {
        RequestId::Number(n)
    }

    fn result(text: &str) -> ServerResult {
        ServerResult::CallToolResult(CallToolResult::success(vec![ContentBlock::text(text)]))
    }

    /// Requests, and what the client reads.
    fn requests() -> (Requests, OwnedFd) {
        let (read, write) = rustix::pipe::pipe().expect("a pipe");
        (Requests::new(Output::new(write).expect("made").0, CancellationToken::new()), read)
    }

    /// All that was written, once the client is gone.
    fn written(requests: Requests, read: OwnedFd) -> String {
        requests.close();
        drop(requests);
        let mut text = String::new();
        File::from(read).read_to_string(&mut text).expect("text");
        text
    }

    #[test]
    fn an_answer_is_written_once_and_as_the_library_would() {
        let (requests, read) = requests();
        assert_eq!(requests.begin(&id(1)), Ok(true));
        let direct = requests.direct(id(1));
        assert!(direct.answer(&result("one")) && !direct.answer(&result("again")));
        drop(direct);
        // The library's own answer to it is dropped, and nothing else is.
        assert!(!requests.end(&id(1)) && requests.end(&id(1)) && requests.end(&id(2)));
        let expected =
            line(&rmcp::model::ServerJsonRpcMessage::response(result("one"), id(1))).expect("JSON");
        assert_eq!(written(requests, read).into_bytes(), expected);
    }

    #[test]
    fn what_is_cancelled_or_has_no_client_is_not_answered() {
        let (requests, read) = requests();
        for n in [1, 2, 3] {
            requests.begin(&id(n)).expect("taken");
        }
        assert!(requests.cancel(&id(1)) && !requests.direct(id(1)).answer(&result("late")));
        assert!(!requests.direct(id(7)).answer(&result("never asked")));
        // One that is answered cannot be cancelled any more, which the library is not told of.
        assert!(requests.direct(id(2)).answer(&result("in time")) && !requests.cancel(&id(2)));
        requests.close();
        assert!(!requests.direct(id(3)).answer(&result("gone")));
        assert_eq!(written(requests, read).lines().count(), 1);
    }

    #[test]
    fn an_id_is_taken_again_when_the_library_has_heard_of_its_answer() {
        let (requests, _read) = requests();
        assert_eq!(requests.begin(&id(1)), Ok(true));
        assert!(requests.begin(&id(1)).is_err(), "it is under way");
        assert!(requests.direct(id(1)).answer(&result("one")));
        assert_eq!(requests.begin(&id(1)), Ok(false));
        requests.end(&id(1));
        assert_eq!(requests.begin(&id(1)), Ok(true));
        requests.cancel(&id(1));
        assert!(requests.begin(&id(1)).is_err(), "its last words may still come");
    }

    #[test]
    fn no_more_requests_are_under_way_than_may_be() {
        let (requests, _read) = requests();
        for n in 0..REQUESTS_MAX as i64 {
            assert_eq!(requests.begin(&id(n)), Ok(true));
        }
        assert!(requests.begin(&id(-1)).is_err());
        // It is answered, but the library holds it still.
        assert!(requests.direct(id(0)).answer(&result("done")));
        assert_eq!(requests.begin(&id(-1)), Ok(false));
        requests.end(&id(0));
        assert_eq!(requests.begin(&id(-1)), Ok(true));
    }

    #[test]
    fn a_client_that_does_not_read_is_not_waited_for() {
        let (requests, _read) = requests();
        let long = result(&"x".repeat(1 << 20));
        let answered = (0..100).take_while(|n| {
            requests.begin(&id(*n)).expect("taken");
            requests.direct(id(*n)).answer(&long)
        });
        // One is being written, and so many wait. The next one the library keeps.
        assert!((16..=18).contains(&answered.count()));
    }
}
