//! One client over standard input and output: a line each message, and nothing else is ever written
//! there.

use crate::lines::{InputLine, LINE_BYTES_MAX, LineReader};
use crate::message::{RefusedMessage, RpcFrame, read};
use crate::server::McpServer;
use crate::streams::{Input, Output};
use cofferdam_core::lock::lock;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ErrorCode, ErrorData, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::service::{QuitReason, RoleServer, serve_directly_with_ct};
use rmcp::transport::Transport;
use std::collections::{HashSet, VecDeque};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Requests of a client that may be under way; one more is refused.
pub const REQUESTS_MAX: usize = 256;
/// Cancelled requests whose ids are not taken again yet: their last words would pass for an answer.
const CANCELLED_MAX: usize = 1024;
/// Calls that were cancelled get so long to end.
const CALLS_END: Duration = Duration::from_secs(3);
/// A client that does not read gets so long for what is still to be written.
const WRITING_ENDS: Duration = Duration::from_secs(1);

/// Serves the client until its input ends or `stop` is cancelled. What is under way when its input
/// ends gets 5 s to be answered.
///
/// # Errors
/// A stream that cannot be waited for; a thread that does not start.
pub async fn serve_stdio(
    server: McpServer,
    input: OwnedFd,
    output: OwnedFd,
    stop: CancellationToken,
) -> io::Result<()> {
    let (output, all_written) = Output::new(output)?;
    let transport = Stdio {
        input: Input::new(input)?,
        lines: LineReader::new(LINE_BYTES_MAX),
        output: Some(output),
        requests: Arc::default(),
        pending: None,
    };
    let serving = serve_directly_with_ct(server.clone(), transport, None, stop);
    if let Ok(QuitReason::JoinError(error)) = serving.waiting().await {
        tracing::error!(%error, "the server ended");
    }
    server.wait_idle(CALLS_END).await;
    let _ = tokio::time::timeout(WRITING_ENDS, all_written).await;
    Ok(())
}

struct Stdio {
    input: Input,
    lines: LineReader,
    output: Option<Output>,
    requests: Arc<Mutex<Requests>>,
    /// An answer that is still to be written: the reader who waits for a message may stop waiting.
    pending: Option<Vec<u8>>,
}

/// The ids that are taken.
#[derive(Default)]
struct Requests {
    open: HashSet<RequestId>,
    cancelled: VecDeque<RequestId>,
}

impl Requests {
    fn begin(&mut self, id: &RequestId) -> Result<(), ErrorData> {
        if self.open.contains(id) || self.cancelled.contains(id) {
            let said = "this id belongs to an earlier request; give each request one of its own";
            return Err(ErrorData::invalid_request(said, None));
        }
        if self.open.len() >= REQUESTS_MAX {
            let said = format!("{REQUESTS_MAX} requests are under way; wait for an answer");
            return Err(ErrorData::new(ErrorCode::INTERNAL_ERROR, said, None));
        }
        self.open.insert(id.clone());
        Ok(())
    }

    fn cancel(&mut self, id: &RequestId) {
        if self.open.remove(id) {
            if self.cancelled.len() >= CANCELLED_MAX {
                self.cancelled.pop_front();
            }
            self.cancelled.push_back(id.clone());
        }
    }
}

impl Stdio {
    /// The message in a line, or its answer.
    fn accept_line(&self, line: InputLine) -> Result<Option<ClientJsonRpcMessage>, RefusedMessage> {
        let bytes = match line {
            InputLine::Whole(bytes) => bytes,
            InputLine::TooLong => {
                let said = format!("a message has at most {LINE_BYTES_MAX} bytes; send less at once");
                return Err(RefusedMessage::new(None, ErrorData::invalid_request(said, None)));
            }
        };
        let message = match read(&bytes) {
            RpcFrame::Message(message) => *message,
            RpcFrame::Refused(refusal) => return Err(refusal),
            RpcFrame::Ignored => return Ok(None),
        };
        match &message {
            JsonRpcMessage::Request(request) => {
                let begun = lock(&self.requests).begin(&request.id);
                begun.map_err(|error| RefusedMessage::new(Some(request.id.clone()), error))?;
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    lock(&self.requests).cancel(id);
                }
            }
            _ => {}
        }
        Ok(Some(message))
    }
}

impl Transport<RoleServer> for Stdio {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let answered = match &message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        if let Some(id) = answered {
            lock(&self.requests).open.remove(id);
        }
        let (line, output) = (line(&message), self.output.clone());
        async move { output.ok_or(io::ErrorKind::BrokenPipe)?.put(line?).await }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if self.pending.is_some() {
                // Cancelled here, nothing is lost; nobody reads, and nothing is to be said.
                let room = self.output.as_ref()?.reserve().await;
                if let (Ok(room), Some(pending)) = (room, self.pending.take()) {
                    room.put(pending);
                }
            }
            let line_read = match self.input.take(|source| self.lines.next(source)).await {
                Ok(line_read) => line_read?,
                Err(error) => {
                    tracing::error!(%error, "standard input cannot be read");
                    return None;
                }
            };
            match self.accept_line(line_read) {
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err(RefusedMessage { id, error }) => {
                    self.pending = line(&ServerJsonRpcMessage::error(*error, id)).ok();
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.output = None;
        Ok(())
    }
}

fn line(message: &ServerJsonRpcMessage) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}
