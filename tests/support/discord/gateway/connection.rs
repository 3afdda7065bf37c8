//! One connection to the gateway: what comes is handled, and the events of its session and what a
//! test wants sent go out.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Map, Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role};

use super::compress::Packer;
use super::record::Closed;
use super::{Control, Outgoing, payload};
use crate::discord::params;
use crate::discord::state::State;
use crate::http::Connection;

/// How long a close frame's answer is waited for.
const CLOSING: Duration = Duration::from_secs(1);

/// Serves a connection whose handshake is answered.
pub(in crate::discord) async fn converse(
    state: Arc<State>,
    connection: Connection,
    call: &Map<String, Value>,
) {
    let (stream, rest) = connection.into_parts();
    let socket = WebSocketStream::from_partially_read(stream, rest.to_vec(), Role::Server, None).await;
    let packer = Packer::new(params::text(call, "compress"));
    let number = state.change(|inner| inner.gateway.add_connection(call));
    let mut link = Link { state, socket, number, packer, cursor: None };
    let closed = link.run().await;
    link.state.change(|inner| inner.gateway.end_connection(number, closed));
}

struct Link {
    state: Arc<State>,
    socket: WebSocketStream<TcpStream>,
    number: usize,
    packer: Packer,
    /// Where in the log of its session this connection is.
    cursor: Option<usize>,
}

impl Link {
    async fn run(&mut self) -> Closed {
        let mut changes = self.state.changes();
        let interval = self.state.read(|inner| inner.gateway.interval.as_millis());
        let interval = u64::try_from(interval).unwrap_or(u64::MAX);
        let hello =
            json!({ "op": 10, "s": null, "t": null, "d": { "heartbeat_interval": interval, "_trace": [] } });
        let silent = self.state.read(|inner| inner.gateway.withholds_hello);
        if !silent && self.send(&hello.to_string()).await.is_none() {
            return Closed::Broken;
        }
        loop {
            if let Some(closed) = self.flush().await {
                return closed;
            }
            let received = tokio::select! {
                received = self.socket.next() => received,
                _ = changes.changed() => continue,
            };
            let text = match received {
                Some(Ok(Message::Text(text))) => text.as_str().to_owned(),
                Some(Ok(Message::Binary(bytes))) => String::from_utf8_lossy(&bytes).into_owned(),
                Some(Ok(Message::Close(frame))) => {
                    self.drain().await;
                    return Closed::ByClient(frame.map(|frame| frame.code.into()));
                }
                Some(Ok(_)) => continue,
                Some(Err(_)) | None => return Closed::Broken,
            };
            let (token, number) = (self.state.token.clone(), self.number);
            self.state.change(|inner| payload::handle(inner, &token, number, &text));
        }
    }

    /// Sends what there is to send; returns how the connection ended, if it did.
    async fn flush(&mut self) -> Option<Closed> {
        let (number, cursor) = (self.number, self.cursor);
        // Looking comes first: every change wakes every connection.
        if self.state.read(|inner| !inner.gateway.has_outgoing(number, cursor)) {
            return None;
        }
        let outgoing = self.state.change(|inner| inner.gateway.take_outgoing(number, cursor));
        let Outgoing { controls, events, cursor, displaced } = outgoing;
        self.cursor = cursor;
        for text in events {
            if self.send(&text).await.is_none() {
                return Some(Closed::Broken);
            }
        }
        for control in controls {
            match control {
                Control::Text(text) => {
                    if self.send(&text).await.is_none() {
                        return Some(Closed::Broken);
                    }
                }
                Control::Drop => return Some(Closed::Broken),
                Control::Close(code, reason) => {
                    let frame = CloseFrame { code: CloseCode::from(code), reason: reason.into() };
                    // The client may have gone already.
                    let _ = self.socket.send(Message::Close(Some(frame))).await;
                    self.drain().await;
                    return Some(Closed::ByServer(code));
                }
            }
        }
        displaced.then_some(Closed::Broken)
    }

    async fn send(&mut self, text: &str) -> Option<()> {
        let message = self.packer.pack(text);
        self.socket.send(message).await.ok()
    }

    /// Lets the closing handshake come to its end.
    async fn drain(&mut self) {
        let draining = async { while let Some(Ok(_)) = self.socket.next().await {} };
        let _ = tokio::time::timeout(CLOSING, draining).await;
    }
}
