//! The bounds on clients, small enough to be met: real connections to a server without a tool.

use super::*;
use rmcp::model::{ErrorData, InitializeRequestParams, InitializeResult};
use rmcp::service::{RequestContext, RoleServer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinHandle;

/// Longer than anything takes that is not stuck, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// What a test waits out, and far longer than a turn of the runtime.
const SHORT: Duration = Duration::from_millis(100);

/// A server that offers nothing.
#[derive(Clone)]
struct Empty;

impl ServerHandler for Empty {}

/// A server that answers what is slow only where a test lets it.
#[derive(Clone)]
struct Gated {
    /// One for each that waits.
    waiting: Arc<Semaphore>,
    /// One for each that may go on.
    going: Arc<Semaphore>,
}

impl Gated {
    fn new() -> Self {
        let closed = || Arc::new(Semaphore::new(0));
        Self { waiting: closed(), going: closed() }
    }

    async fn wait(&self) {
        self.waiting.add_permits(1);
        self.going.acquire().await.expect("it is never closed").forget();
    }

    /// Returns when one more waits.
    async fn waits(&self) {
        let waits = tokio::time::timeout(PATIENCE, self.waiting.acquire()).await;
        waits.expect("in time").expect("it is never closed").forget();
    }

    /// A client whose request waits.
    async fn pinged(&self, server: &Serving, session: &str, ping: &str) -> Client {
        let mut client = server.connect().await;
        client.send(&request("POST", Some(session), "Connection: close\r\n", ping)).await;
        self.waits().await;
        client
    }

    /// Lets one go on.
    fn let_go(&self) {
        self.going.add_permits(1);
    }
}

impl ServerHandler for Gated {
    async fn initialize(
        &self,
        request: InitializeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        if request.client_info.name == "slow" {
            self.wait().await;
        }
        self.negotiate_initialize(&request)
    }

    async fn ping(&self, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        self.wait().await;
        Ok(())
    }
}

/// A server with these bounds.
struct Serving {
    port: u16,
    stop: CancellationToken,
    task: JoinHandle<io::Result<()>>,
}

impl Serving {
    fn start(bounds: ClientBounds) -> Self {
        Self::with(Empty, bounds)
    }

    fn with(server: impl ServerHandler + Clone, bounds: ClientBounds) -> Self {
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let listening = BoundListener::open(Config { address, token: None, hosts: Vec::new(), bounds });
        let listening = listening.expect("a free port");
        let port = listening.address().expect("bound").port();
        let stop = CancellationToken::new();
        let task = tokio::spawn(listening.accept(server, stop.clone()));
        Self { port, stop, task }
    }

    async fn connect(&self) -> Client {
        Client(TcpStream::connect(("127.0.0.1", self.port)).await.expect("it listens"))
    }

    /// The answer to one request on a connection of its own.
    async fn ask(&self, method: &str, session: Option<&str>, body: &str) -> String {
        let mut client = self.connect().await;
        client.send(&request(method, session, "Connection: close\r\n", body)).await;
        client.rest().await
    }

    /// Begins a session: its id, or the refusal.
    async fn begin(&self) -> Result<String, String> {
        let answer = self.ask("POST", None, INITIALIZE).await;
        let id = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        id.map(str::to_owned).ok_or(answer)
    }

    /// A session that is ready.
    async fn session(&self) -> String {
        let session = self.begin().await.expect("room");
        assert_eq!(self.status(&session).await, 202);
        session
    }

    /// The status of a request in a session.
    async fn status(&self, session: &str) -> u16 {
        status(&self.ask("POST", Some(session), INITIALIZED).await)
    }

    async fn end(self) {
        self.stop.cancel();
        let ended = tokio::time::timeout(PATIENCE, self.task).await.expect("it ends");
        ended.expect("no panic").expect("no failure");
    }
}

struct Client(TcpStream);

impl Client {
    async fn send(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).await.expect("it is open");
    }

    /// All that comes until the server closes the connection; nothing where it cuts it off.
    async fn rest(mut self) -> String {
        let mut bytes = Vec::new();
        let read = tokio::time::timeout(PATIENCE, self.0.read_to_end(&mut bytes)).await;
        match read.expect("the connection is closed") {
            Ok(_) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(_) => String::new(),
        }
    }

    /// Waits for an answer, and leaves the connection open.
    async fn answered(&mut self) {
        let mut byte = [0];
        let read = tokio::time::timeout(PATIENCE, self.0.read_exact(&mut byte)).await;
        read.expect("in time").expect("an answer");
    }
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a test","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const PING: &str = r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;

fn ping(id: &str) -> String {
    PING.replace(r#""p""#, &format!("{id:?}"))
}

fn request(method: &str, session: Option<&str>, more: &str, body: &str) -> String {
    let session = session.map(|id| format!("Mcp-Session-Id: {id}\r\n")).unwrap_or_default();
    format!(
        "{method} /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{session}{more}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
}

#[test]
fn a_name_that_lets_nobody_in_is_refused() {
    let open = |host: &str| {
        let (address, bounds) = (SocketAddr::from(([127, 0, 0, 1], 0)), ClientBounds::default());
        BoundListener::open(Config { address, token: None, hosts: vec![host.to_owned()], bounds })
    };
    assert!(open("tools.example:8443").is_ok());
    let refused = open("https://tools.example").map(drop).expect_err("no name");
    assert!(matches!(&refused, ListenError::BadHost(host) if host == "https://tools.example"), "{refused}");
    assert!(refused.to_string().contains("--allow-host"), "{refused}");
}

#[tokio::test]
async fn a_head_that_does_not_come_closes_its_connection() {
    let server = Serving::start(ClientBounds { head: SHORT, ..ClientBounds::default() });
    for begun in ["", "POST /mcp HTTP/1.1\r\nHost: local"] {
        let mut client = server.connect().await;
        client.send(begun).await;
        assert!(!client.rest().await.contains("200 OK"), "{begun:?}");
    }
    // One that was answered, and then says nothing more, is closed as well.
    let mut client = server.connect().await;
    client.send(&request("POST", None, "", INITIALIZE)).await;
    assert_eq!(status(&client.rest().await), 200);
    server.end().await;
}

#[tokio::test]
async fn a_body_that_does_not_come_is_408_and_its_connection_closed() {
    let server = Serving::start(ClientBounds { body: SHORT, ..ClientBounds::default() });
    let whole = request("POST", None, "", INITIALIZE);
    for cut in [INITIALIZE.len(), 1] {
        let mut client = server.connect().await;
        client.send(&whole[..whole.len() - cut]).await;
        let answer = client.rest().await;
        assert_eq!(status(&answer), 408, "{answer}");
        assert!(answer.to_lowercase().contains("connection: close"), "{answer}");
    }
    assert!(server.begin().await.is_ok());
    server.end().await;
}

#[tokio::test]
async fn a_connection_too_many_is_closed_and_the_next_one_served_where_one_ended() {
    let server = Serving::start(ClientBounds { connections: 2, ..ClientBounds::default() });
    let mut kept = Vec::new();
    for _ in 0..2 {
        let mut client = server.connect().await;
        client.send(&request("PUT", None, "", "")).await;
        client.answered().await;
        kept.push(client);
    }
    for _ in 0..3 {
        assert_eq!(server.connect().await.rest().await, "", "one too many");
    }
    drop(kept.pop());
    // The server learns of the end in its own time.
    let served = async {
        while server.begin().await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, served).await.expect("there is room again");
    drop(kept);
    server.end().await;
}

#[tokio::test]
async fn the_system_is_told_to_drop_a_client_that_takes_nothing() {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    let (client, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
    let (_client, (stream, _)) = (client.expect("it listens"), accepted.expect("a client"));
    set_options(&stream).expect("it is open");
    let unread = rustix::net::sockopt::tcp_user_timeout(&stream).expect("it is open");
    assert_eq!(Duration::from_millis(unread.into()), UNREAD_MAX);
    assert!(stream.nodelay().expect("it is open"));
}

#[tokio::test]
async fn a_session_too_many_waits_for_an_end() {
    let server = Serving::start(ClientBounds { sessions: 2, ..ClientBounds::default() });
    let (first, _) = (server.begin().await.expect("room"), server.begin().await.expect("room"));
    let refused = server.begin().await.expect_err("one too many");
    assert!(status(&refused) == 503 && refused.to_lowercase().contains("retry-after: 60"), "{refused}");
    assert_eq!(server.status(&first).await, 202, "those that are there go on");
    server.ask("DELETE", Some(&first), "").await;
    assert!(server.begin().await.is_ok());
    assert_eq!(server.status(&first).await, 404);
    server.end().await;
}

#[tokio::test]
async fn a_session_that_does_not_begin_has_its_place_and_holds_up_no_other() {
    let gated = Gated::new();
    let server = Serving::with(gated.clone(), ClientBounds { sessions: 2, ..ClientBounds::default() });
    let session = server.begin().await.expect("room");
    let mut slow = server.connect().await;
    slow.send(&request("POST", None, "Connection: close\r\n", &INITIALIZE.replace("a test", "slow"))).await;
    gated.waits().await;
    assert_eq!(server.status(&session).await, 202, "it is not held up");
    assert_eq!(status(&server.begin().await.expect_err("one too many")), 503);
    gated.let_go();
    assert!(slow.rest().await.contains("mcp-session-id: "), "it has begun");
    assert_eq!(status(&server.begin().await.expect_err("one too many")), 503);
    server.ask("DELETE", Some(&session), "").await;
    assert!(server.begin().await.is_ok());
    server.end().await;
}

#[tokio::test]
async fn a_session_whose_client_left_while_it_began_counts_all_the_same() {
    let gated = Gated::new();
    // The next connection is served when the one before is over, and has given its place back.
    let bounds = ClientBounds { sessions: 1, connections: 1, ..ClientBounds::default() };
    let server = Serving::with(gated.clone(), bounds);
    let mut slow = server.connect().await;
    slow.send(&request("POST", None, "", &INITIALIZE.replace("a test", "slow"))).await;
    gated.waits().await;
    drop(slow);
    let answered = async {
        loop {
            match server.begin().await {
                Err(closed) if closed.is_empty() => tokio::task::yield_now().await,
                answered => return answered,
            }
        }
    };
    let answered = tokio::time::timeout(PATIENCE, answered).await.expect("the connection is over");
    let refused = answered.expect_err("one too many");
    assert_eq!(status(&refused), 503, "{refused}");
    gated.let_go();
    server.end().await;
}

#[tokio::test]
async fn what_would_begin_a_session_within_one_begins_none() {
    let server = Serving::start(ClientBounds { sessions: 1, ..ClientBounds::default() });
    let session = server.begin().await.expect("room");
    assert_eq!(server.status(&session).await, 202);
    // There is no room for another one, which neither needs.
    for (within, expected) in [("made-up", 404), (&*session, 200)] {
        let answer = server.ask("POST", Some(within), INITIALIZE).await;
        assert_eq!(status(&answer), expected, "{answer}");
        assert!(!answer.contains("mcp-session-id: "), "{answer}");
    }
    assert_eq!(server.status(&session).await, 202);
    server.end().await;
}

#[tokio::test]
async fn an_id_is_taken_in_its_session_while_its_request_is_under_way() {
    let gated = Gated::new();
    let server = Serving::with(gated.clone(), ClientBounds::default());
    let (one, other) = (server.begin().await.expect("room"), server.begin().await.expect("room"));
    assert_eq!((server.status(&one).await, server.status(&other).await), (202, 202));
    // Each session has ids of its own.
    let under_way = [gated.pinged(&server, &one, PING).await, gated.pinged(&server, &other, PING).await];
    let refused = server.ask("POST", Some(&one), PING).await;
    assert_eq!(status(&refused), 400, "{refused}");
    assert!(refused.contains("-32600") && refused.contains(r#""id":"p""#), "{refused}");
    gated.let_go();
    gated.let_go();
    for client in under_way {
        let answer = client.rest().await;
        assert!(status(&answer) == 200 && answer.contains(r#""result""#), "{answer}");
    }
    gated.let_go();
    assert_eq!(status(&server.ask("POST", Some(&one), PING).await), 200, "it is free again");
    gated.waits().await;
    // It goes on for a client that is gone, and its id is free when it is over.
    drop(gated.pinged(&server, &one, PING).await);
    assert_eq!(status(&server.ask("POST", Some(&one), PING).await), 400);
    gated.let_go();
    gated.let_go();
    let free = async {
        while status(&server.ask("POST", Some(&one), PING).await) != 200 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, free).await.expect("it is free again");
    server.end().await;
}

#[tokio::test]
async fn a_request_too_many_is_refused_also_where_the_clients_of_the_others_are_gone() {
    let gated = Gated::new();
    let bounds = ClientBounds { requests: 2, session_requests: 3, ..ClientBounds::default() };
    let server = Serving::with(gated.clone(), bounds);
    let (one, other) = (server.session().await, server.session().await);
    let check = async |session: &str, id: &str, said: &str| {
        let refused = server.ask("POST", Some(session), &ping(id)).await;
        assert!(status(&refused) == 200 && refused.contains("-32603"), "{refused}");
        assert!(refused.contains(said), "{refused}");
    };
    for id in ["a", "b"] {
        drop(gated.pinged(&server, &one, &ping(id)).await);
    }
    check(&one, "c", "2 requests are under way").await;
    drop(gated.pinged(&server, &other, &ping("a")).await);
    check(&other, "b", "3 requests are under way").await;
    // Those that wait, and the next one.
    for _ in 0..4 {
        gated.let_go();
    }
    let free = async {
        while !server.ask("POST", Some(&one), &ping("c")).await.contains(r#""result""#) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, free).await.expect("there is room again");
    server.end().await;
}

#[tokio::test]
async fn a_long_body_waits_for_those_that_are_held_and_a_short_one_does_not() {
    let gated = Gated::new();
    let bounds = ClientBounds { large_bodies: 100_000, body: SHORT * 5, ..ClientBounds::default() };
    let server = Serving::with(gated.clone(), bounds);
    let session = server.session().await;
    let blanks = " ".repeat(60_000);
    let long = |id: &str| ping(id) + &blanks;
    // Its client is gone, and it is held.
    drop(gated.pinged(&server, &session, &long("a")).await);
    let whole = request("POST", Some(&session), "", &long("b"));
    let cut_off = async || {
        let mut client = server.connect().await;
        client.send(&whole[..whole.len() - blanks.len()]).await;
        status(&client.rest().await)
    };
    assert_eq!(cut_off().await, 503, "there is no room");
    let short = gated.pinged(&server, &session, &ping("c")).await;
    gated.let_go();
    gated.let_go();
    assert_eq!(status(&short.rest().await), 200);
    let free = async { while cut_off().await != 408 {} };
    tokio::time::timeout(PATIENCE, free).await.expect("there is room again, and the rest does not come");
    server.end().await;
}

#[test]
fn clients_without_a_session_are_told_apart_by_the_addresses_of_other_machines() {
    let of = |peer: &str| client_of(peer.parse().expect("an address"));
    for here in ["127.0.0.1", "127.0.0.2", "::1", "::ffff:127.0.0.1"] {
        assert_eq!(of(here), None, "{here}");
    }
    assert!(of("10.1.2.3").is_some() && of("10.1.2.3") == of("::ffff:10.1.2.3"));
    assert!(of("10.1.2.3") != of("10.1.2.4") && of("2001:db8::1") != of("2001:db8::2"));
}

#[tokio::test]
async fn a_session_ends_at_its_age_also_where_it_is_used() {
    let server =
        Serving::start(ClientBounds { session_age: Duration::ZERO, sessions: 1, ..ClientBounds::default() });
    let old = server.begin().await.expect("room");
    assert_eq!(server.status(&old).await, 404);
    // It takes nobody's place either.
    for _ in 0..3 {
        server.begin().await.expect("the one before is too old");
    }
    server.end().await;
}

#[test]
fn a_session_outlasts_the_wait_for_a_person() {
    let idle = |question: Duration| ClientBounds::default().outlasting(question).session_idle;
    assert_eq!(idle(Duration::from_secs(10 * 60)), SESSION_IDLE_MAX);
    let day = Duration::from_secs(24 * 60 * 60);
    assert!(idle(day) > day);
}

#[tokio::test]
async fn a_session_that_nobody_uses_ends() {
    let server = Serving::start(ClientBounds { session_idle: SHORT, ..ClientBounds::default() });
    let session = server.begin().await.expect("room");
    // Each look is a use; between them it is idle for longer than it may be.
    let mut pause = SHORT * 2;
    while server.status(&session).await != 404 {
        assert!(pause < Duration::from_secs(1), "it does not end");
        tokio::time::sleep(pause).await;
        pause += SHORT;
    }
    let kept = Serving::start(ClientBounds::default());
    let session = kept.begin().await.expect("room");
    tokio::time::sleep(SHORT * 2).await;
    assert_eq!(kept.status(&session).await, 202);
    kept.end().await;
    server.end().await;
}
