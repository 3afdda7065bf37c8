//! The handle of a running server, and the server's lifetime: it ends with its last handle.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::connection::serve;
use super::dialect::Dialect;
use super::journal::RequestRecord;
use super::script::Turn;
use super::state::{Inner, State};
use crate::loopback::{Tasks, accept, listen};

/// A model's server on loopback. Clones are handles of the same one; when the last one is dropped,
/// the listener and all its connections close.
#[derive(Clone)]
pub struct LlmServer {
    state: Arc<State>,
    address: SocketAddr,
    _tasks: Arc<Tasks>,
}

impl LlmServer {
    /// Starts a server on a free port of 127.0.0.1, inside a tokio runtime.
    ///
    /// # Errors
    /// If no port can be bound.
    pub async fn start() -> anyhow::Result<Self> {
        Self::start_with(new_key).await
    }

    /// Starts a server that wants no key, as local ones do.
    ///
    /// # Errors
    /// If no port can be bound.
    pub async fn start_keyless() -> anyhow::Result<Self> {
        Self::start_with(|_| String::new()).await
    }

    async fn start_with(key: impl FnOnce(SocketAddr) -> String) -> anyhow::Result<Self> {
        let (listener, address) = listen().await?;
        let state = Arc::new(State::new(key(address)));
        let shared = Arc::clone(&state);
        let tasks = accept(listener, move |connection| serve(Arc::clone(&shared), connection));
        Ok(Self { state, address, _tasks: Arc::new(tasks) })
    }

    /// The base address of an API, as `[provider] base_url` takes it.
    pub fn base_url(&self, dialect: Dialect) -> String {
        format!("http://{}{}", self.address, dialect.base_path())
    }

    /// The key. Every server has its own: wherever it turns up besides the headers of requests to
    /// this server, it has leaked.
    pub fn key(&self) -> &str {
        &self.state.key
    }

    /// Adds turns, which requests take one by one, whichever API they ask.
    pub fn script(&self, turns: impl IntoIterator<Item = Turn>) {
        self.state.change(|inner| inner.script.extend(turns));
    }

    /// Decides what comes of each request from the end of the script on.
    pub fn otherwise(&self, decide: impl Fn(&RequestRecord) -> Turn + Send + Sync + 'static) {
        self.state.change(|inner| inner.otherwise = Some(Arc::new(decide)));
    }

    /// Shows its models to anybody, as some do.
    pub fn show_models_to_anybody(&self) {
        self.state.change(|inner| inner.models.to_anybody = true);
    }

    /// Shows its models in a list alone, whatever the API: Anthropic has a page of each as well.
    pub fn list_models_alone(&self) {
        self.state.change(|inner| inner.models.listed_alone = true);
    }

    /// Lists so many others before the one model, each in 100 bytes.
    pub fn list_others(&self, others: usize) {
        self.state.change(|inner| inner.models.others = others);
    }

    /// Has this time by its clock, as the `Date` header of HTTP writes it, when it shows its
    /// models.
    pub fn set_clock(&self, date: &str) {
        self.state.change(|inner| inner.models.date = Some(date.to_owned()));
    }

    /// Every request so far, in the order of arrival.
    pub fn requests(&self) -> Vec<RequestRecord> {
        self.state.read(|inner| inner.journal.clone())
    }

    /// What the real API would have refused, each with its request's number.
    pub fn violations(&self) -> Vec<String> {
        let told =
            |record: &RequestRecord| Some(format!("{}: {}", record.number, record.violation.as_ref()?));
        self.state.read(|inner| inner.journal.iter().filter_map(told).collect())
    }

    /// Forgets the requests so far, of which a long run has too many to be held, and every turn of
    /// the script that none has taken.
    pub fn forget(&self) {
        self.state.change(|inner| {
            inner.forgotten += inner.journal.len();
            inner.journal.clear();
            inner.script.clear();
        });
    }

    /// Turns of the script that no request has taken.
    pub fn left(&self) -> usize {
        self.state.read(|inner| inner.script.len())
    }

    /// The requests, once there are at least so many; received, perhaps not yet answered.
    ///
    /// # Errors
    /// After the timeout, with a list of what there was instead.
    pub async fn wait_for_requests(
        &self,
        timeout: Duration,
        count: usize,
    ) -> anyhow::Result<Vec<RequestRecord>> {
        let what = format!("{count} requests");
        let look = |inner: &Inner| (inner.journal.len() >= count).then(|| inner.journal.clone());
        self.state.wait(&what, timeout, look).await
    }

    /// Returns once no request is under way: clients have their answers or have gone.
    ///
    /// # Errors
    /// After the timeout, with a list of what there was instead.
    pub async fn wait_until_idle(&self, timeout: Duration) -> anyhow::Result<()> {
        let look = |inner: &Inner| (inner.under_way == 0).then_some(());
        self.state.wait("end of all requests", timeout, look).await
    }
}

/// A key in the form of real ones.
fn new_key(address: SocketAddr) -> String {
    static STARTED: AtomicU64 = AtomicU64::new(0);
    let number = STARTED.fetch_add(1, Ordering::Relaxed);
    let seed = format!("{address} {} {number}", std::process::id());
    format!("sk-test-{}", &hex::encode(Sha256::digest(seed.as_bytes()))[..40])
}
