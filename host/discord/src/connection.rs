//! One connection to the gateway, from its hello to its end: heartbeats, identify or resume, and
//! events in order. It reads at once what comes, however long events take to be kept; what a
//! number was seen as is told by `taken`.

use super::payload::{GatewayEvent, GatewayPayload};
use super::socket::Socket;
use super::token::BotToken;
use cofferdam_agent::server::Backoff;
use cofferdam_store::StreamPosition;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::tungstenite::Message as Frame;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_util::sync::CancellationToken;

/// Hello comes within this, and READY or RESUMED within this again.
const HELLO_MAX: Duration = Duration::from_secs(20);
/// Events that wait to be kept; of more the connection is left, and resumed once these are.
pub(super) const EVENTS_MAX: usize = 4096;
/// A close that keeps the session: neither 1000 nor 1001.
const KEEPS_SESSION: u16 = 4900;
/// Between two heartbeats at least, also where hello says less.
const INTERVAL_MIN: Duration = Duration::from_millis(20);

/// What begins a session, with these intents.
pub(super) fn identify(token: &BotToken, intents: u64) -> Value {
    json!({ "op": 2, "d": {
        "token": token.reveal(), "intents": intents, "compress": false,
        "properties": { "os": "linux", "browser": "cofferdam", "device": "cofferdam" } } })
}

/// What a session goes on with.
pub(super) fn resume(token: &BotToken, at: &StreamPosition) -> Value {
    json!({ "op": 6, "d": { "token": token.reveal(), "session_id": at.session, "seq": at.number } })
}

/// How a connection has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ConnectionEnd {
    /// The program stops.
    Stopped,
    /// The session goes on over another connection.
    Resume(String),
    /// The session is over.
    Anew(String),
    /// Trying again would end the same way.
    Fatal(u16),
}

/// A connection that is up.
pub(super) struct Connection<'a> {
    pub(super) socket: Socket,
    /// The number of the last event that was taken; negative before the first.
    pub(super) taken: &'a AtomicI64,
    pub(super) events: mpsc::Sender<GatewayEvent>,
    pub(super) stop: &'a CancellationToken,
}

/// What is waited for of the gateway.
struct AwaitedSigns {
    is_acknowledged: bool,
    /// Until when the session begins, or another event of one that goes on comes; none once it has
    /// begun.
    begins_by: Option<Instant>,
}

impl Connection<'_> {
    /// Speaks until the end, after hello `first`. `beat` is told of each sign of life that came.
    pub(super) async fn run(mut self, first: Value, beat: impl Fn()) -> ConnectionEnd {
        let Err(ended) = self.speak(&first, beat).await;
        let close = match &ended {
            ConnectionEnd::Fatal(_) => return ended,
            ConnectionEnd::Stopped | ConnectionEnd::Resume(_) => {
                CloseFrame { code: CloseCode::from(KEEPS_SESSION), reason: "to be resumed".into() }
            }
            ConnectionEnd::Anew(_) => CloseFrame { code: CloseCode::Normal, reason: "".into() },
        };
        // Best effort: a connection that is gone is as good.
        let _ = timeout(Duration::from_secs(1), self.socket.close(Some(close))).await;
        ended
    }

    async fn speak(&mut self, first: &Value, beat: impl Fn()) -> Result<Infallible, ConnectionEnd> {
        let every = self.hello().await?;
        beat();
        self.say(first).await?;
        let mut next_beat = Instant::now() + jittered(every);
        let mut signs = AwaitedSigns { is_acknowledged: true, begins_by: Some(Instant::now() + HELLO_MAX) };
        loop {
            let came = tokio::select! {
                biased;
                () = self.stop.cancelled() => return Err(ConnectionEnd::Stopped),
                () = sleep_until(next_beat) => {
                    if !signs.is_acknowledged {
                        let said = "the gateway does not acknowledge heartbeats";
                        return Err(ConnectionEnd::Resume(said.into()));
                    }
                    (signs.is_acknowledged, next_beat) = (false, Instant::now() + every);
                    self.heartbeat().await?;
                    continue;
                }
                () = sleep_until(signs.begins_by.unwrap_or(next_beat)), if signs.begins_by.is_some() => {
                    return Err(ConnectionEnd::Resume("the gateway begins no session".into()));
                }
                came = self.socket.next() => came,
            };
            let text = match came {
                Some(Ok(Frame::Text(text))) => text,
                Some(Ok(Frame::Close(frame))) => return Err(closed(frame.as_ref())),
                Some(Ok(_)) => continue,
                Some(Err(_)) | None => return Err(broken_end()),
            };
            beat();
            self.take(text.as_str(), &mut signs).await?;
        }
    }

    async fn hello(&mut self) -> Result<Duration, ConnectionEnd> {
        let deadline = Instant::now() + HELLO_MAX;
        loop {
            let came = tokio::select! {
                () = self.stop.cancelled() => return Err(ConnectionEnd::Stopped),
                () = sleep_until(deadline) => return Err(ConnectionEnd::Resume("the gateway says no hello".into())),
                came = self.socket.next() => came,
            };
            match came {
                Some(Ok(Frame::Text(text))) => {
                    let said: Value = serde_json::from_str(text.as_str()).unwrap_or_default();
                    let every = said["d"]["heartbeat_interval"].as_u64().filter(|_| said["op"] == 10);
                    if let Some(every) = every {
                        return Ok(Duration::from_millis(every).max(INTERVAL_MIN));
                    }
                }
                Some(Ok(Frame::Close(frame))) => return Err(closed(frame.as_ref())),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Err(broken_end()),
            }
        }
    }

    /// Takes what has come, which may be one of the signs that are waited for; how the connection
    /// ends by it, if it does.
    async fn take(&mut self, text: &str, signs: &mut AwaitedSigns) -> Result<(), ConnectionEnd> {
        let Some(payload) = GatewayPayload::read(text) else {
            tracing::warn!("something that is not JSON came from the gateway and was passed over");
            return Ok(());
        };
        match payload.op.as_u64() {
            Some(0) => self.dispatch(&payload, signs)?,
            Some(1) => self.heartbeat().await?,
            Some(7) => return Err(ConnectionEnd::Resume("the gateway asks for another connection".into())),
            Some(9) => {
                let goes_on = payload.d.is_some_and(|d| d.get().trim() == "true");
                return Err(match goes_on {
                    true => ConnectionEnd::Resume("the gateway asks to resume".into()),
                    false => ConnectionEnd::Anew("the session is not valid any more".into()),
                });
            }
            Some(11) => signs.is_acknowledged = true,
            other => tracing::debug!(op = other, "an unknown opcode was passed over"),
        }
        Ok(())
    }

    fn dispatch(&self, payload: &GatewayPayload<'_>, signs: &mut AwaitedSigns) -> Result<(), ConnectionEnd> {
        let Some(event) = payload.to_event() else {
            tracing::warn!("an event without a number or a name was passed over");
            return Ok(());
        };
        if event.data.is_empty() {
            tracing::trace!(kind = event.kind, number = event.number, "an event that nobody here uses");
        }
        let waits_still = signs.begins_by.filter(|_| !event.has_begun_session());
        signs.begins_by = waits_still.map(|_| Instant::now() + HELLO_MAX);
        // Those that wait are kept first; then it goes on behind the last of them.
        self.events
            .try_send(event)
            .map_err(|_| ConnectionEnd::Resume("events come faster than they can be kept".into()))
    }

    async fn heartbeat(&mut self) -> Result<(), ConnectionEnd> {
        let taken = self.taken.load(Ordering::Acquire);
        let number = if taken < 0 { Value::Null } else { taken.into() };
        self.say(&json!({ "op": 1, "d": number })).await
    }

    async fn say(&mut self, payload: &Value) -> Result<(), ConnectionEnd> {
        let sent = self.socket.send(Frame::text(payload.to_string()));
        match timeout(HELLO_MAX, sent).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(broken_end()),
        }
    }
}

fn broken_end() -> ConnectionEnd {
    ConnectionEnd::Resume("the connection broke".into())
}

/// The first heartbeat comes after a part of the interval, so that clients that connect together do
/// not beat together.
fn jittered(every: Duration) -> Duration {
    Backoff::new(every, every).pause()
}

/// What a close asks for: <https://discord.com/developers/docs/topics/opcodes-and-status-codes>.
fn closed(frame: Option<&CloseFrame>) -> ConnectionEnd {
    match frame.map(|frame| u16::from(frame.code)) {
        Some(code @ (4004 | 4010..=4014)) => ConnectionEnd::Fatal(code),
        Some(code @ (4007 | 4009)) => ConnectionEnd::Anew(format!("the gateway ends the session ({code})")),
        Some(code) => ConnectionEnd::Resume(format!("the gateway closes the connection ({code})")),
        None => broken_end(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_close_says_what_to_do() {
        let of = |code: u16| closed(Some(&CloseFrame { code: code.into(), reason: "".into() }));
        for code in [1000, 1001, 1006, 4000, 4001, 4002, 4003, 4005, 4008, 4999] {
            assert!(matches!(of(code), ConnectionEnd::Resume(_)), "{code}");
        }
        for code in [4007, 4009] {
            assert!(matches!(of(code), ConnectionEnd::Anew(_)), "{code}");
        }
        for code in [4004, 4010, 4011, 4012, 4013, 4014] {
            assert_eq!(of(code), ConnectionEnd::Fatal(code));
        }
        assert!(matches!(closed(None), ConnectionEnd::Resume(_)));
    }
}
