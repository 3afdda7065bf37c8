//! The handle of a running server, and the server's lifetime: it ends with its last handle.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};

use super::state::State;
use crate::exchange::serve;
use crate::loopback::{Tasks, accept, listen};

/// A Bot API server on loopback. Clones are handles of the same server; when the last one is
/// dropped, the listener and all its connections close.
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

    /// The bot's token. It has the form of a real one, and every server has its own: wherever it
    /// turns up besides URLs of this server, it has leaked.
    pub fn token(&self) -> &str {
        &self.state.token
    }
}

/// A token of the real form: a number, a colon, 35 letters and digits.
fn new_token(address: SocketAddr) -> String {
    static STARTED: AtomicU64 = AtomicU64::new(0);
    let number = STARTED.fetch_add(1, Ordering::Relaxed);
    let seed = format!("{address} {} {number}", std::process::id());
    let digits = hex::encode(Sha256::digest(seed.as_bytes()));
    format!("123456:TEST-{}", &digits[..30])
}
