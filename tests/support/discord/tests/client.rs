//! Bare clients of REST and of the gateway.

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

use crate::discord::DiscordServer;
use crate::exchange::client::{self, Reply, multipart};

/// What an honest client calls itself.
pub(super) const AGENT: &str = "DiscordBot (https://example.org, 1.0)";

/// A connection that is kept alive, and the headers of its requests.
pub(super) struct Rest {
    bare: client::Client,
    pub(super) authorization: Option<String>,
    pub(super) agent: String,
}

impl Rest {
    pub(super) async fn new(server: &DiscordServer) -> Self {
        let bare = client::Client::new(&server.api_url()).await;
        Self { bare, authorization: Some(format!("Bot {}", server.token())), agent: AGENT.to_owned() }
    }

    /// Asks for a path below the API, and reads the answer.
    pub(super) async fn call(&mut self, verb: &str, path: &str, body: Option<Value>) -> Reply {
        let body = body.map(|body| ("application/json", body.to_string().into_bytes()));
        self.ask(verb, &format!("/api/v10{path}"), body).await;
        self.bare.reply().await.unwrap()
    }

    pub(super) async fn get(&mut self, path: &str) -> Reply {
        self.call("GET", path, None).await
    }

    pub(super) async fn post(&mut self, path: &str, body: Value) -> Reply {
        self.call("POST", path, Some(body)).await
    }

    /// Sends JSON and files (field, name, bytes).
    pub(super) async fn upload(
        &mut self,
        verb: &str,
        path: &str,
        json: Value,
        files: &[(&str, &str, &[u8])],
    ) -> Reply {
        let body = multipart(&[("payload_json", &json.to_string())], files);
        let body = Some(("multipart/form-data; boundary=b0undary", body));
        self.ask(verb, &format!("/api/v10{path}"), body).await;
        self.bare.reply().await.unwrap()
    }

    /// Follows a link of the CDN, on this server.
    pub(super) async fn download(&mut self, url: &str) -> Reply {
        let path = url.strip_prefix("https://cdn.discordapp.com").unwrap();
        self.ask("GET", path, None).await;
        self.bare.reply().await.unwrap()
    }

    /// The next answer.
    pub(super) async fn reply(&mut self) -> Reply {
        self.bare.reply().await.unwrap()
    }

    /// Everything until the connection ends.
    pub(super) async fn rest(&mut self) -> String {
        self.bare.rest().await
    }

    /// Sends a request with any path and body; the answer is still to be read.
    pub(super) async fn ask(&mut self, verb: &str, path: &str, body: Option<(&str, Vec<u8>)>) {
        let mut head = format!("{verb} {path} HTTP/1.1\r\nHost: t\r\nUser-Agent: {}\r\n", self.agent);
        if let Some(authorization) = &self.authorization {
            head.push_str(&format!("Authorization: {authorization}\r\n"));
        }
        let (kind, body) = body.unwrap_or_default();
        if !kind.is_empty() {
            head.push_str(&format!("Content-Type: {kind}\r\nContent-Length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        self.bare.send_bytes(&[head.into_bytes(), body].concat()).await;
    }
}

/// A connection to the gateway.
pub(super) struct Gateway {
    pub(super) socket: WebSocketStream<TcpStream>,
    token: String,
}

impl Gateway {
    /// Opens a connection and reads hello.
    pub(super) async fn new(server: &DiscordServer, url: &str, query: &str) -> (Self, Value) {
        let stream = TcpStream::connect(url.strip_prefix("ws://").unwrap()).await.unwrap();
        let (socket, _) =
            tokio_tungstenite::client_async(format!("{url}/?v=10&encoding=json{query}"), stream)
                .await
                .unwrap();
        let mut gateway = Self { socket, token: server.token().to_owned() };
        let hello = if query.is_empty() { gateway.next().await } else { Value::Null };
        (gateway, hello)
    }

    /// Opens a connection and identifies with these intents; returns READY.
    pub(super) async fn identified(server: &DiscordServer, intents: u64) -> (Self, Value) {
        let (mut gateway, hello) = Self::new(server, &server.gateway_url(), "").await;
        assert_eq!(hello["op"], json!(10));
        gateway.identify(intents).await;
        let ready = gateway.event("READY").await;
        (gateway, ready)
    }

    pub(super) async fn identify(&mut self, intents: u64) {
        let properties = json!({ "os": "linux", "browser": "test", "device": "test" });
        let data = json!({ "token": self.token, "intents": intents, "properties": properties });
        self.send(json!({ "op": 2, "d": data })).await;
    }

    pub(super) async fn resume(&mut self, session: &Value, seq: u64) {
        let data = json!({ "token": self.token, "session_id": session, "seq": seq });
        self.send(json!({ "op": 6, "d": data })).await;
    }

    pub(super) async fn send(&mut self, payload: Value) {
        self.send_text(&payload.to_string()).await;
    }

    pub(super) async fn send_text(&mut self, text: &str) {
        self.socket.send(Message::text(text.to_owned())).await.unwrap();
    }

    /// The next payload.
    pub(super) async fn next(&mut self) -> Value {
        match tokio::time::timeout(super::SOON, self.socket.next()).await.unwrap() {
            Some(Ok(Message::Text(text))) => serde_json::from_str(&text).unwrap(),
            other => panic!("no payload: {other:?}"),
        }
    }

    /// The next payload, which is this event: its `d`.
    pub(super) async fn event(&mut self, name: &str) -> Value {
        let payload = self.next().await;
        assert_eq!(payload["t"], json!(name), "{payload}");
        payload["d"].clone()
    }

    /// The code of the close frame that comes next; `None` where the connection just ends.
    pub(super) async fn closed(&mut self) -> Option<u16> {
        match tokio::time::timeout(super::SOON, self.socket.next()).await.unwrap() {
            Some(Ok(Message::Close(frame))) => frame.map(|frame| frame.code.into()),
            Some(Err(_)) | None => None,
            other => panic!("it goes on: {other:?}"),
        }
    }

    pub(super) async fn close(mut self, code: u16) {
        let frame = CloseFrame { code: code.into(), reason: "".into() };
        self.socket.close(Some(frame)).await.unwrap();
    }
}
