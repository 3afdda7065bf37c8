//! Clients over HTTP, at one path. `rmcp` speaks the protocol; what is here decides who gets that
//! far, and how much they may send, before anything is read into memory.

mod admission;
mod body;
mod sessions;

pub use body::{BODY_BYTES_MAX, LARGE_BODIES_BYTES_MAX, SMALL_BODY_BYTES_MAX};
pub use sessions::{SESSION_AGE_MAX, SESSION_IDLE_MAX, SESSION_REQUESTS_MAX, SESSIONS_MAX};

use crate::message::{RpcFrame, read, take_arguments};
use crate::requests::REQUESTS_MAX;
use crate::server::{ClientKey, McpServer};
use bytes::Bytes;
use cofferdam_core::secret::Secret;
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::ServerHandler;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorCode, JsonRpcError, JsonRpcMessage};
use rustix::net::sockopt::set_tcp_user_timeout;
use sessions::{Sessions, session_id};
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// The variable that holds the token.
pub const TOKEN_VARIABLE: &str = "COFFERDAM_MCP_TOKEN";
/// The one path.
pub const PATH: &str = "/mcp";
/// Connections at once; one more is closed as soon as it comes.
pub const CONNECTIONS_MAX: usize = 1024;
/// What was sent and is not taken for so long ends the connection.
pub const UNREAD_MAX: Duration = Duration::from_secs(60);
/// A connection that sends no whole head of a request for so long is closed.
const HEAD_PATIENCE: Duration = Duration::from_secs(30);
/// A body that takes longer than this is not waited for.
const BODY_PATIENCE: Duration = Duration::from_secs(60);
/// A question that nobody answered gets so long to end before its session does.
const QUESTION_ENDS: Duration = Duration::from_secs(60);
/// Calls that were cancelled get so long to end.
const CALLS_END: Duration = Duration::from_secs(5);
/// The methods of the path.
const METHODS: &str = "GET, POST, DELETE";

/// Where the server listens and who may come.
#[derive(Clone, Debug)]
pub struct Config {
    /// The address.
    pub address: SocketAddr,
    /// What every request must bring, if anything.
    pub token: Option<Secret>,
    /// Names under which clients may reach it, beside loopback's and the address itself.
    pub hosts: Vec<String>,
    /// How many may come, and how long they may take.
    pub bounds: ClientBounds,
}

/// How many clients there may be at once, and how long each may take; tests have smaller ones.
#[derive(Clone, Copy, Debug)]
pub struct ClientBounds {
    connections: usize,
    head: Duration,
    body: Duration,
    large_bodies: usize,
    sessions: usize,
    /// Of one session.
    requests: usize,
    /// Of all sessions.
    session_requests: usize,
    session_idle: Duration,
    session_age: Duration,
}

impl Default for ClientBounds {
    /// Those of `docs/limits.md`.
    fn default() -> Self {
        Self {
            connections: CONNECTIONS_MAX,
            head: HEAD_PATIENCE,
            body: BODY_PATIENCE,
            large_bodies: LARGE_BODIES_BYTES_MAX,
            sessions: SESSIONS_MAX,
            requests: REQUESTS_MAX,
            session_requests: SESSION_REQUESTS_MAX,
            session_idle: SESSION_IDLE_MAX,
            session_age: SESSION_AGE_MAX,
        }
    }
}

impl ClientBounds {
    /// The same, with sessions that last while a person is waited for so long: nothing may be said
    /// in them meanwhile.
    fn outlasting(mut self, question: Duration) -> Self {
        self.session_idle = self.session_idle.max(question + QUESTION_ENDS);
        self
    }
}

/// Why the server does not listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// All who reach a machine's address would be served.
    #[error(
        "{0} is reached from other machines, so a token is needed: set {TOKEN_VARIABLE} or give --token-file FILE, or \
         listen on 127.0.0.1"
    )]
    NoToken(SocketAddr),
    /// The token cannot be sent in a header.
    #[error(
        "the token has a character that no header can have; use letters, digits and punctuation, no space"
    )]
    BadToken,
    /// No client sends that as its `Host`, so nobody would be let in by it.
    #[error(
        "--allow-host {0:?} is no name that a client sends as Host; write the name alone, or with its port: \
         tools.example or tools.example:8443"
    )]
    BadHost(String),
    /// The system refuses the address.
    #[error("cannot listen on {0}: {1}; give another address or port, or stop what listens there")]
    Taken(SocketAddr, io::Error),
}

/// A server that listens and does not answer yet.
pub struct BoundListener {
    listener: TcpListener,
    config: Config,
}

impl BoundListener {
    /// Listens, before the process is confined.
    ///
    /// # Errors
    /// [`ListenError`].
    pub fn open(config: Config) -> Result<Self, ListenError> {
        let address = config.address;
        match &config.token {
            None if !address.ip().is_loopback() => return Err(ListenError::NoToken(address)),
            Some(token) if !admission::is_sendable(token) => return Err(ListenError::BadToken),
            _ => {}
        }
        if let Some(host) = config.hosts.iter().find(|host| !admission::can_be_host(host)) {
            return Err(ListenError::BadHost(host.clone()));
        }
        let taken = |cause| ListenError::Taken(address, cause);
        let listener = TcpListener::bind(address).map_err(taken)?;
        listener.set_nonblocking(true).map_err(taken)?;
        Ok(Self { listener, config })
    }

    /// The address, with the port that the system chose where none was given.
    ///
    /// # Errors
    /// What the system says.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers until `stop` is cancelled.
    ///
    /// # Errors
    /// What the system says of the listener.
    pub async fn serve(mut self, server: McpServer, stop: CancellationToken) -> io::Result<()> {
        self.config.bounds = self.config.bounds.outlasting(server.0.parts.expires);
        self.accept(server.clone(), stop).await?;
        server.wait_idle(CALLS_END).await;
        Ok(())
    }

    async fn accept<S: ServerHandler + Clone>(self, server: S, stop: CancellationToken) -> io::Result<()> {
        let listener = tokio::net::TcpListener::from_std(self.listener)?;
        let bounds = self.config.bounds;
        let edge = Arc::new(ConnectionContext {
            sessions: Sessions::new(server, bounds, stop.clone()),
            large_bodies: Arc::new(Semaphore::new(bounds.large_bodies)),
            config: self.config,
        });
        let room = Arc::new(Semaphore::new(bounds.connections));
        loop {
            let Some(accepted) = stop.run_until_cancelled(listener.accept()).await else { break };
            let (stream, _) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Too many open files, say: others may end meanwhile.
                    tracing::warn!(%error, "a connection cannot be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let Ok(place) = room.clone().try_acquire_owned() else {
                tracing::debug!("a connection too many is closed");
                continue;
            };
            let edge = edge.clone();
            tokio::spawn(async move {
                edge.connection(stream).await;
                drop(place);
            });
        }
        Ok(())
    }
}

/// What holds for every connection that is accepted.
fn set_options(stream: &TcpStream) -> io::Result<()> {
    // An answer is small and waited for.
    stream.set_nodelay(true)?;
    // The system counts it also while the client says that it has no room for more.
    let unread = u32::try_from(UNREAD_MAX.as_millis()).unwrap_or(u32::MAX);
    Ok(set_tcp_user_timeout(stream, unread)?)
}

/// What tells a client without a session from others. Those of this machine have nothing.
fn client_of(peer: IpAddr) -> Option<ClientKey> {
    let peer = peer.to_canonical();
    (!peer.is_loopback()).then(|| ClientKey(peer.to_string().into()))
}

type Answer = Response<BoxBody<Bytes, Infallible>>;

/// What every connection shares.
struct ConnectionContext<S> {
    config: Config,
    sessions: Sessions<S>,
    /// Bytes of long bodies that there is room for.
    large_bodies: Arc<Semaphore>,
}

impl<S: ServerHandler + Clone> ConnectionContext<S> {
    async fn connection(self: Arc<Self>, stream: TcpStream) {
        let (Ok(local), Ok(peer)) = (stream.local_addr(), stream.peer_addr()) else { return };
        if let Err(error) = set_options(&stream) {
            tracing::debug!(%error, "a connection ended before it began");
            return;
        }
        let head = self.config.bounds.head;
        let client = client_of(peer.ip());
        let service = service_fn(move |mut request: Request<Incoming>| {
            if let Some(client) = &client {
                request.extensions_mut().insert(client.clone());
            }
            let edge = self.clone();
            async move { Ok::<_, Infallible>(edge.answer(request, local.ip()).await) }
        });
        let mut connection = hyper::server::conn::http1::Builder::new();
        connection.timer(TokioTimer::new()).header_read_timeout(head);
        if let Err(error) = connection.serve_connection(TokioIo::new(stream), service).await {
            tracing::debug!(%error, "a connection ended");
        }
    }

    async fn answer(&self, request: Request<Incoming>, local: IpAddr) -> Answer {
        if let Err(refused) = self.config.admit(request.uri(), request.headers(), local) {
            return refused.answer();
        }
        if request.uri().path() != PATH {
            return text_response(StatusCode::NOT_FOUND, "MCP is at /mcp");
        }
        match *request.method() {
            Method::POST => self.post(request).await,
            Method::GET => self.sessions.answer(drop_body(request), None).await,
            Method::DELETE => {
                let mut answer = self.sessions.answer(drop_body(request), None).await;
                // Not accepted, but done: clients warn of anything else.
                if answer.status() == StatusCode::ACCEPTED {
                    *answer.status_mut() = StatusCode::NO_CONTENT;
                }
                answer
            }
            _ => {
                let answer = text_response(StatusCode::METHOD_NOT_ALLOWED, "use GET, POST or DELETE");
                with_header(answer, header::ALLOW, METHODS)
            }
        }
    }

    async fn post(&self, request: Request<Incoming>) -> Answer {
        let (mut head, body) = request.into_parts();
        if !is_json(head.headers.get(header::CONTENT_TYPE)) {
            return text_response(StatusCode::UNSUPPORTED_MEDIA_TYPE, "send application/json");
        }
        let read_body = body::read(&head.headers, body, self.config.bounds.body, &self.large_bodies).await;
        let (mut bytes, room) = match read_body {
            Ok(body) => body,
            Err((status, said)) => {
                // All else that comes on this connection is the rest of that body.
                return with_header(text_response(status, said), header::CONNECTION, "close");
            }
        };
        if let Some(room) = room {
            // The call's worker has it, and goes on in a session when the client is gone.
            head.extensions.insert(Arc::new(room));
        }
        // The library reads a message of its own and holds it while the call lasts, so this one is
        // gone before.
        let (begins, id) = {
            let mut message = match read(&bytes) {
                RpcFrame::Message(message) => *message,
                RpcFrame::Refused(refusal) => return refuse(&refusal),
                RpcFrame::Ignored => return text_response(StatusCode::BAD_REQUEST, "the body is no message"),
            };
            let arguments = take_arguments(&mut message);
            // An error may stand for an answer that it would not read.
            if arguments.is_some() || matches!(message, JsonRpcMessage::Error(_)) {
                match serde_json::to_vec(&message) {
                    Ok(taken) => bytes = taken.into(),
                    Err(error) => return text_response(StatusCode::BAD_REQUEST, &error.to_string()),
                }
            }
            if let Some(arguments) = arguments {
                // It refuses what it cannot hold as values: they go beside it, as text.
                head.extensions.insert(arguments);
            }
            // Within a session it begins none, and is answered as the library answers it.
            let begins = is_initialize(&message) && session_id(&head.headers).is_none();
            match message {
                JsonRpcMessage::Request(request) => (begins, Some(request.id)),
                _ => (begins, None),
            }
        };
        let request = Request::from_parts(head, Full::new(bytes));
        if begins { self.sessions.begin(request).await } else { self.sessions.answer(request, id).await }
    }
}

fn drop_body(request: Request<Incoming>) -> Request<Full<Bytes>> {
    request.map(|_| Full::new(Bytes::new()))
}

fn is_initialize(message: &ClientJsonRpcMessage) -> bool {
    matches!(message, JsonRpcMessage::Request(request)
        if matches!(request.request, ClientRequest::InitializeRequest(_)))
}

fn is_json(given: Option<&HeaderValue>) -> bool {
    let essence = given.and_then(|given| given.to_str().ok()).and_then(|given| given.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}

/// What is no message is a bad request; a call of a wrong shape is answered like any other, and so
/// is one too many.
fn refuse(refusal: &JsonRpcError) -> Answer {
    let status = match refusal.error.code {
        ErrorCode::INVALID_PARAMS | ErrorCode::INTERNAL_ERROR => StatusCode::OK,
        _ => StatusCode::BAD_REQUEST,
    };
    let text = serde_json::to_vec(refusal).unwrap_or_default();
    response(status, "application/json", text.into())
}

fn text_response(status: StatusCode, said: &str) -> Answer {
    response(status, "text/plain; charset=utf-8", format!("{said}\n").into())
}

fn response(status: StatusCode, kind: &'static str, body: Bytes) -> Answer {
    let mut answer = Response::new(Full::new(body).boxed());
    *answer.status_mut() = status;
    with_header(answer, header::CONTENT_TYPE, kind)
}

fn with_header(mut answer: Answer, name: HeaderName, value: &'static str) -> Answer {
    answer.headers_mut().insert(name, HeaderValue::from_static(value));
    answer
}

#[cfg(test)]
mod tests;
