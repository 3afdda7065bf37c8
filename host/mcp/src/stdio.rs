//! One client over standard input and output: a line each message, and nothing else is ever written
//! there.

use crate::lines::{InputLine, LINE_BYTES_MAX, LineReader};
use crate::message::{RpcFrame, read};
use crate::requests::{Requests, line};
use crate::server::McpServer;
use crate::streams::{Input, MessageRoom, Output};
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ErrorData, GetExtensions, JsonRpcError, JsonRpcMessage,
    JsonRpcRequest, ServerJsonRpcMessage,
};
use rmcp::service::{QuitReason, RoleServer, serve_directly_with_ct};
use rmcp::transport::Transport;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

/// Calls that were cancelled get so long to end.
const CALLS_END: Duration = Duration::from_secs(3);
/// A client that does not read gets so long for what is still to be written.
const WRITING_ENDS: Duration = Duration::from_secs(1);
/// Messages for a client that takes none, beside the few that are on their way to it: nothing more
/// of what it says is read until it has taken some.
pub const UNTAKEN_MAX: usize = 256;

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
        requests: Requests::new(output, stop.child_token()),
        held: None,
        pending: None,
        untaken: Arc::default(),
        untaken_before: 0,
        waits_until: None,
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
    requests: Requests,
    /// A request that came before the library heard that its like is answered.
    held: Option<ClientJsonRpcMessage>,
    /// An answer that is still to be written: the reader who waits for a message may stop waiting.
    pending: Option<Vec<u8>>,
    /// Each message of the library that waits for room has a clone.
    untaken: Arc<()>,
    /// How many had one at the last look.
    untaken_before: usize,
    /// How long room is waited for, where the client has closed its end.
    waits_until: Option<Instant>,
}

impl Stdio {
    /// The message in a line, or its answer. None where there is nothing to hand on, or not yet.
    fn accept_line(&mut self, line: InputLine) -> Result<Option<ClientJsonRpcMessage>, Box<JsonRpcError>> {
        let bytes = match line {
            InputLine::Whole(bytes) => bytes,
            InputLine::TooLong => {
                let said = format!("a message has at most {LINE_BYTES_MAX} bytes; send less at once");
                return Err(Box::new(JsonRpcError::new(None, ErrorData::invalid_request(said, None))));
            }
        };
        match read(&bytes) {
            RpcFrame::Message(message) => self.accept(*message),
            RpcFrame::Refused(refusal) => Err(refusal),
            RpcFrame::Ignored => Ok(None),
        }
    }

    /// The next line; none at the end of the input.
    async fn read_line(&mut self) -> Option<InputLine> {
        match self.input.take(|source| self.lines.next(source)).await {
            Ok(line) => line,
            Err(error) => {
                tracing::error!(%error, "standard input cannot be read");
                None
            }
        }
    }

    /// Whether as many messages wait for room as may. Where fewer do than before, the client has
    /// taken some, and is waited for anew.
    fn note_untaken(&mut self) -> bool {
        let untaken = Arc::strong_count(&self.untaken);
        if untaken < self.untaken_before {
            self.waits_until = None;
        }
        self.untaken_before = untaken;
        untaken > UNTAKEN_MAX
    }

    /// Room for an answer; none where the client has closed its end and takes none either. What
    /// begins this anew waits no longer for that, unless the client has taken some meanwhile.
    async fn wait_room(&mut self) -> Option<io::Result<MessageRoom>> {
        let output = self.requests.output()?;
        let room = output.reserve();
        tokio::pin!(room);
        if self.waits_until.is_none() {
            tokio::select! {
                room = &mut room => return Some(room),
                () = self.input.wait_closed() => {}
            }
        }
        let until = *self.waits_until.get_or_insert_with(|| Instant::now() + WRITING_ENDS);
        let room = timeout_at(until, room).await.ok();
        if room.is_some() {
            self.waits_until = None;
        }
        room
    }

    /// The message, unless it is for nobody, or held to be looked at again.
    fn accept(
        &mut self,
        mut message: ClientJsonRpcMessage,
    ) -> Result<Option<ClientJsonRpcMessage>, Box<JsonRpcError>> {
        match &mut message {
            JsonRpcMessage::Request(JsonRpcRequest { id, request, .. }) => {
                let begun = self.requests.begin(id);
                if !begun.map_err(|error| Box::new(JsonRpcError::new(Some(id.clone()), error)))? {
                    self.held = Some(message);
                    return Ok(None);
                }
                request.extensions_mut().insert(self.requests.direct(id.clone()));
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                    && !self.requests.cancel(id)
                {
                    return Ok(None);
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
        let told = match answered.is_none_or(|id| self.requests.end(id)) {
            true => Some((line(&message), self.requests.output(), self.untaken.clone())),
            false => None,
        };
        async move {
            let Some((line, output, _untaken)) = told else { return Ok(()) };
            output.ok_or(io::ErrorKind::BrokenPipe)?.put(line?).await
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let is_untaken = self.note_untaken();
            if self.pending.is_some() || is_untaken {
                // Cancelled here, nothing is lost; nobody reads, and nothing is to be said.
                let Some(room) = self.wait_room().await else {
                    self.requests.end_input();
                    return None;
                };
                if let (Ok(room), Some(pending)) = (room, self.pending.take()) {
                    room.put(pending);
                }
            }
            let accepted = match self.held.take() {
                Some(message) => self.accept(message),
                None => {
                    let Some(line) = self.read_line().await else {
                        self.requests.end_input();
                        return None;
                    };
                    self.accept_line(line)
                }
            };
            match accepted {
                Ok(Some(message)) => return Some(message),
                // Asked again when the library has sent something, which it is about to.
                Ok(None) if self.held.is_some() => std::future::pending::<()>().await,
                Ok(None) => {}
                Err(refusal) => self.pending = line(&refusal).ok(),
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.requests.close();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{Read, Write};
    use tokio::time::timeout;

    /// A transport, what its client writes to, and what it would read from.
    fn stdio() -> (Stdio, File, OwnedFd) {
        let (input, client) = rustix::pipe::pipe().expect("a pipe");
        let (unread, output) = rustix::pipe::pipe().expect("a pipe");
        let (output, _all_written) = Output::new(output).expect("made");
        let stdio = Stdio {
            input: Input::new(input).expect("made"),
            lines: LineReader::new(LINE_BYTES_MAX),
            requests: Requests::new(output, CancellationToken::new()),
            held: None,
            pending: None,
            untaken: Arc::default(),
            untaken_before: 0,
            waits_until: None,
        };
        (stdio, File::from(client), unread)
    }

    /// The library stops waiting for a message whenever it has something else to do.
    #[tokio::test]
    async fn refusals_that_nobody_takes_hold_up_no_end_however_often_the_wait_begins_anew() {
        let (mut stdio, mut client, _unread) = stdio();
        // More refusals than the pipe and the server hold.
        client.write_all("nonsense\n".repeat(5000).as_bytes()).expect("room");
        drop(client);
        let ends = async {
            loop {
                if let Ok(message) = timeout(WRITING_ENDS / 10, stdio.receive()).await {
                    return message;
                }
            }
        };
        assert!(timeout(WRITING_ENDS * 10, ends).await.expect("it ends").is_none());
    }

    /// Sends so many messages, and has the client ask.
    fn send_many(stdio: &mut Stdio, client: &mut File, count: usize) {
        for _ in 0..count {
            // As long as what the pipe holds.
            let said = ErrorData::internal_error("x".repeat(1 << 16), None);
            tokio::spawn(stdio.send(ServerJsonRpcMessage::error(said, None)));
        }
        client.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").expect("room");
    }

    /// Returns when each message that was sent has asked for room.
    async fn await_asked() {
        for _ in 0..2 * UNTAKEN_MAX {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn nothing_more_is_read_of_a_client_until_it_takes_what_waits_for_it() {
        let (mut stdio, mut client, unread) = stdio();
        send_many(&mut stdio, &mut client, UNTAKEN_MAX - 1);
        let read = timeout(WRITING_ENDS * 10, stdio.receive()).await.expect("it reads on");
        assert!(matches!(read, Some(JsonRpcMessage::Request(_))));
        stdio.requests.end(&rmcp::model::RequestId::Number(1));
        // Some are on their way, and wait for no room.
        send_many(&mut stdio, &mut client, 64);
        await_asked().await;
        assert!(timeout(WRITING_ENDS / 10, stdio.receive()).await.is_err(), "so many wait");
        std::thread::spawn(move || io::copy(&mut File::from(unread), &mut io::sink()));
        let read = timeout(WRITING_ENDS * 10, stdio.receive()).await.expect("there is room again");
        assert!(matches!(read, Some(JsonRpcMessage::Request(_))));
    }

    /// Else what it said before would not be read, however steadily it takes the answers.
    #[tokio::test]
    async fn a_client_that_has_closed_its_end_is_waited_for_anew_when_it_takes_some() {
        let (mut stdio, mut client, unread) = stdio();
        send_many(&mut stdio, &mut client, UNTAKEN_MAX + 64);
        drop(client);
        await_asked().await;
        assert!(timeout(WRITING_ENDS / 10, stdio.receive()).await.is_err(), "so many wait");
        let until = stdio.waits_until.expect("its end is closed");
        let waiting = Arc::strong_count(&stdio.untaken);
        // More than one of them.
        File::from(unread.try_clone().expect("ours")).read_exact(&mut vec![0; 1 << 17]).expect("written");
        let taken = async {
            while Arc::strong_count(&stdio.untaken) >= waiting {
                tokio::task::yield_now().await;
            }
        };
        timeout(WRITING_ENDS * 10, taken).await.expect("another one has room");
        assert!(timeout(WRITING_ENDS / 10, stdio.receive()).await.is_err(), "too many wait still");
        assert!(stdio.waits_until.expect("its end is closed") > until);
    }
}
