//! The handle of a running server, and the server's lifetime: it ends with its last handle.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::bot::BOT_ID;
use super::gateway::Gateway;
use super::state::State;
use crate::exchange::serve;
use crate::loopback::{Tasks, accept, listen};

/// Discord on loopback: REST, gateway and CDN. Clones are handles of the same server; when the last
/// one is dropped, the listeners and all their connections close.
#[derive(Clone)]
pub struct DiscordServer {
    pub(super) state: Arc<State>,
    address: SocketAddr,
    _tasks: Arc<[Tasks; 2]>,
}

impl DiscordServer {
    /// Starts a server on free ports of 127.0.0.1, inside a tokio runtime.
    ///
    /// # Errors
    /// If no port can be bound.
    pub async fn start() -> anyhow::Result<Self> {
        let (listener, address) = listen().await?;
        let (resuming, resume_address) = listen().await?;
        let gateway = Gateway::new(&format!("ws://{address}"), &format!("ws://{resume_address}"));
        let state = Arc::new(State::new(new_token(address), gateway));
        let (first, second) = (Arc::clone(&state), Arc::clone(&state));
        let tasks = [
            accept(listener, move |connection| serve(Arc::clone(&first), connection)),
            accept(resuming, move |connection| serve(Arc::clone(&second), connection)),
        ];
        Ok(Self { state, address, _tasks: Arc::new(tasks) })
    }

    /// The base address of REST, such as `http://127.0.0.1:40001/api/v10`.
    pub fn api_url(&self) -> String {
        format!("http://{}/api/v10", self.address)
    }

    /// What stands in for `https://cdn.discordapp.com`, without a slash at its end.
    pub fn cdn_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Where `GET /gateway/bot` sends clients.
    pub fn gateway_url(&self) -> String {
        self.state.read(|inner| inner.gateway.url.clone())
    }

    /// Where READY sends clients that resume.
    pub fn resume_url(&self) -> String {
        self.state.read(|inner| inner.gateway.resume_url.clone().unwrap_or_default())
    }

    /// The bot's token, without `Bot `. It has the form of a real one, and every server has its
    /// own: wherever it turns up besides requests to this server, it has leaked.
    pub fn token(&self) -> &str {
        &self.state.token
    }
}

/// A token of the real form: the bot's id, a time, and 38 letters and digits.
fn new_token(address: SocketAddr) -> String {
    static STARTED: AtomicU64 = AtomicU64::new(0);
    let number = STARTED.fetch_add(1, Ordering::Relaxed);
    let seed = format!("{address} {} {number}", std::process::id());
    let digits = hex::encode(Sha256::digest(seed.as_bytes()));
    format!("{}.G{}.{}", URL_SAFE_NO_PAD.encode(BOT_ID.to_string()), &digits[..5], &digits[5..43])
}
