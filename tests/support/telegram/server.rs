//! The handle of a running server, and the server's lifetime: it ends with its last handle.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Context;
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;
use tokio::task::{AbortHandle, JoinSet};

use super::connection::serve;
use super::http::Connection;
use super::state::State;

/// Connections at once; further ones are closed as they come.
pub(super) const MAX_CONNECTIONS: usize = 256;

/// A Bot API server on loopback. Clones are handles of the same server; when the last one is dropped,
/// the listener and all its connections close.
#[derive(Clone)]
pub struct TelegramServer {
    pub(super) state: Arc<State>,
    address: SocketAddr,
    _tasks: Arc<Tasks>,
}

impl TelegramServer {
    /// Starts a server on a free port of 127.0.0.1, inside a tokio runtime.
    ///
    /// # Errors
    /// If no port can be bound.
    pub async fn start() -> anyhow::Result<Self> {
        let (listener, address) = listen().await?;
        let state = Arc::new(State::new(new_token(address)));
        let shared = Arc::clone(&state);
        let tasks = accept(listener, move |connection| serve(Arc::clone(&shared), connection));
        Ok(Self { state, address, _tasks: Arc::new(tasks) })
    }

    /// The base address, such as `http://127.0.0.1:40001`, without a slash at its end.
    pub fn api_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The bot's token. It has the form of a real one, and every server has its own: wherever it turns
    /// up besides URLs of this server, it has leaked.
    pub fn token(&self) -> &str {
        &self.state.token
    }
}

/// The tasks of a listener; dropping them ends it and every connection.
pub(super) struct Tasks(AbortHandle);

impl Drop for Tasks {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A listener on a free loopback port.
pub(super) async fn listen() -> anyhow::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
    let listener = listener.context("binding a port of 127.0.0.1")?;
    let address = listener.local_addr().context("asking for the bound port")?;
    Ok((listener, address))
}

/// Serves every connection of a listener in a task of its own.
pub(super) fn accept<F>(listener: TcpListener, serve: impl Fn(Connection) -> F + Send + 'static) -> Tasks
where
    F: Future<Output = ()> + Send + 'static,
{
    let accepting = tokio::spawn(async move {
        // Owned by this task: aborting it aborts the connections, too.
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = listener.accept() => {
                    let Ok((stream, _)) = accepted else { continue };
                    // A missing nodelay costs milliseconds, never correctness.
                    let _ = stream.set_nodelay(true);
                    if connections.len() < MAX_CONNECTIONS {
                        connections.spawn(serve(Connection::new(stream)));
                    }
                }
                Some(_) = connections.join_next() => {}
            }
        }
    });
    Tasks(accepting.abort_handle())
}

/// A token of the real form: a number, a colon, 35 letters and digits.
fn new_token(address: SocketAddr) -> String {
    static STARTED: AtomicU64 = AtomicU64::new(0);
    let number = STARTED.fetch_add(1, Ordering::Relaxed);
    let seed = format!("{address} {} {number}", std::process::id());
    let digits = hex::encode(Sha256::digest(seed.as_bytes()));
    format!("123456:TEST-{}", &digits[..30])
}
