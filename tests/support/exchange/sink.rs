//! Where redirects lead: another loopback listener that answers everything with 200 and records
//! what it was told, to prove that no token and no Referer gets there.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use super::wire::{Answer, Delivery, Next};
use crate::http::{Connection, Request};
use crate::loopback::{Tasks, accept, listen};

/// Requests kept; a sink that receives more has long proved its point.
const MAX_REQUESTS: usize = 1000;

/// A foreign server. Clones are handles of the same one; it ends with the last of them.
#[derive(Clone)]
pub struct RedirectSink {
    address: SocketAddr,
    received: Arc<Mutex<Vec<String>>>,
    _tasks: Arc<Tasks>,
}

impl RedirectSink {
    /// Starts on a free port of 127.0.0.1.
    ///
    /// # Errors
    /// If no port can be bound.
    pub async fn start() -> anyhow::Result<Self> {
        let (listener, address) = listen().await?;
        let received = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&received);
        let tasks = accept(listener, move |connection| answer_all(connection, Arc::clone(&shared)));
        Ok(Self { address, received, _tasks: Arc::new(tasks) })
    }

    /// An address of this server, for [`Fault::redirect`](super::Fault::redirect).
    pub fn url(&self) -> String {
        format!("http://{}/elsewhere", self.address)
    }

    /// What arrived: each request as text, its request line, headers and body. None at all is what
    /// a client achieves that follows no redirects.
    pub fn received(&self) -> Vec<String> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn answer_all(mut connection: Connection, received: Arc<Mutex<Vec<String>>>) {
    while let Ok(Some(request)) = connection.next_request().await {
        record(&received, &request);
        let answer = Answer::new(200, "application/octet-stream", "bytes from elsewhere");
        let delivery = Delivery::plain(answer, request.keep_alive);
        if !matches!(delivery.send(&mut connection).await, Ok(Next::Request)) {
            return;
        }
    }
}

fn record(received: &Mutex<Vec<String>>, request: &Request) {
    let mut all = received.lock().unwrap_or_else(PoisonError::into_inner);
    if all.len() < MAX_REQUESTS {
        all.push(as_text(request));
    }
}

fn as_text(request: &Request) -> String {
    let mut text = format!("{} {}\r\n", request.verb, request.target);
    for (name, value) in &request.headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    text.push_str(&String::from_utf8_lossy(&request.body));
    text
}
