//! The monitor: `/healthz` and `/metrics` over HTTP on loopback, for anyone who watches the
//! gateway; and what a service manager is told (`manager`).
//!
//! It answers from numbers and from what [`Watched`] says, changes nothing, and holds nothing that
//! a person said. It takes few connections, short requests and little time, so that nobody on this
//! machine can wear the gateway out through it.

mod config;
mod exposition;
mod manager;
mod request;

pub use config::Config;
pub use manager::ServiceManager;

use cofferdam_core::counts::COUNTS;
use request::{BodyChoice, MonitorPath};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Connections at once; one more is closed as it comes.
pub const CONNECTIONS_MAX: usize = 8;
/// A connection takes at most so long, from its first byte to its last.
pub const CONNECTION_TIME_MAX: Duration = Duration::from_secs(5);
/// What is looked at gets so long of that: a database from which nothing comes back takes longer.
const LOOK_TIME_MAX: Duration = Duration::from_secs(4);

/// How the gateway stands, as far as numbers tell.
#[derive(Clone, Debug, Default)]
pub struct Gauges {
    /// Tool calls that wait for a thread.
    pub calls_waiting: usize,
    /// Tasks of the async runtime that are alive; none outside of one.
    pub tasks: Option<usize>,
    /// The last record of the audit.
    pub audit_seq: u64,
    /// Since the channel last answered a poll, of several the one that has been silent for the
    /// longest; none before the first time.
    pub last_poll: Option<Duration>,
    /// The same of each channel, by name.
    pub channels: Vec<(&'static str, Option<Duration>)>,
    /// Bytes in the workspace; none before it was measured.
    pub workspace_bytes: Option<u64>,
    /// The quota over it.
    pub workspace_max_bytes: u64,
    /// Resident memory of the process.
    pub resident_bytes: Option<u64>,
    /// Descriptors that it has open.
    pub open_descriptors: Option<u64>,
}

/// What the monitor looks at. Its methods may block.
pub trait Watched: Send + Sync {
    /// How things stand; none while the gateway starts.
    fn gauges(&self) -> Option<Gauges>;

    /// What keeps the gateway from its work, a line each, without secrets or host paths; nothing
    /// when all is well.
    fn problems(&self) -> Vec<String>;

    /// How long ago the channel should have gone on; zero while it does, or waits for others. Never
    /// blocks.
    fn overdue_by(&self) -> Duration;
}

/// The monitor's place, taken and not served yet.
#[derive(Debug)]
pub struct Monitor(std::net::TcpListener);

impl Monitor {
    /// Takes the configured place; `None` when there is none. Legal before the process is confined,
    /// and no longer after that.
    ///
    /// # Errors
    /// The key, and what to do.
    pub fn bind(config: &Config) -> Result<Option<Self>, String> {
        let Some(address) = config.address()? else { return Ok(None) };
        let bound = std::net::TcpListener::bind(address);
        let listening = bound.and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
        let refused =
            |error: io::Error| format!("listen: cannot listen on {address}: {error}; write another port");
        Ok(Some(Self(listening.map_err(refused)?)))
    }

    /// Looks whether the configured place could be taken, and takes it for no longer than that.
    /// `is_ours` says of an address whether the gateway that runs already has it.
    ///
    /// # Errors
    /// As [`Monitor::bind`].
    pub fn check_bind(config: &Config, is_ours: impl FnOnce(SocketAddr) -> bool) -> Result<(), String> {
        match config.address()? {
            Some(address) if is_ours(address) => Ok(()),
            _ => Self::bind(config).map(drop),
        }
    }

    /// Where it can be asked.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    /// Answers for as long as it is polled.
    ///
    /// # Errors
    /// When the runtime does not take the place over.
    pub async fn serve(self, watched: Arc<dyn Watched>) -> io::Result<()> {
        let listener = TcpListener::from_std(self.0)?;
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                // First: one that has ended holds no place.
                biased;
                Some(_) = connections.join_next() => {}
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) if connections.len() < CONNECTIONS_MAX => {
                        let answering = answer(stream, watched.clone(), LOOK_TIME_MAX);
                        connections.spawn(async { drop(timeout(CONNECTION_TIME_MAX, answering).await) });
                    }
                    Ok(_) => {}
                    // No descriptor is left, perhaps; that may pass.
                    Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
                },
            }
        }
    }
}

/// Answers one request, and closes.
async fn answer(mut stream: TcpStream, watched: Arc<dyn Watched>, look_max: Duration) -> Option<()> {
    let (status, kind, body, wanted) = match request::read(&mut stream).await? {
        Err((status, said)) => (status, PLAIN, said.to_owned(), BodyChoice::Whole),
        Ok((asked, wanted)) => {
            // What it looks at may wait for a disk.
            let looking = tokio::task::spawn_blocking(move || page(asked, watched.as_ref()));
            let (status, kind, body) = match timeout(look_max, looking).await {
                Ok(page) => page.ok()?,
                Err(_) => (UNAVAILABLE, PLAIN, format!("{STUCK}\n")),
            };
            (status, kind, body, wanted)
        }
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.ok()?;
    if wanted == BodyChoice::Whole {
        stream.write_all(body.as_bytes()).await.ok()?;
    }
    stream.shutdown().await.ok()
}

const PLAIN: &str = "text/plain; charset=utf-8";
const UNAVAILABLE: &str = "503 Service Unavailable";
/// What is told while the look takes too long.
pub const STUCK: &str = "health: what is looked at has not answered for some seconds; see the log";

/// Status, type and body of a page.
fn page(asked: MonitorPath, watched: &dyn Watched) -> (&'static str, &'static str, String) {
    match asked {
        MonitorPath::Metrics => {
            ("200 OK", exposition::CONTENT_TYPE, exposition::exposition(&COUNTS, watched.gauges().as_ref()))
        }
        MonitorPath::Health => match watched.problems() {
            problems if problems.is_empty() => ("200 OK", PLAIN, "ok\n".to_owned()),
            problems => (UNAVAILABLE, PLAIN, problems.join("\n") + "\n"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use std::sync::mpsc::{Receiver, channel};
    use tokio::io::AsyncReadExt;

    /// Looks until the other end is dropped.
    struct Stuck(Mutex<Receiver<()>>);

    impl Watched for Stuck {
        fn gauges(&self) -> Option<Gauges> {
            None
        }

        fn problems(&self) -> Vec<String> {
            let ended = self.0.lock().expect("nobody panics").recv();
            vec![format!("{ended:?}")]
        }

        fn overdue_by(&self) -> Duration {
            Duration::ZERO
        }
    }

    #[tokio::test]
    async fn who_asks_is_answered_though_the_look_is_stuck() {
        let (end, ended) = channel();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let mut asking = TcpStream::connect(address).await.expect("it listens");
        let (stream, _) = listener.accept().await.expect("it comes");
        let asked = format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\n\r\n");
        asking.write_all(asked.as_bytes()).await.expect("sent");
        let watched = Arc::new(Stuck(Mutex::new(ended)));
        answer(stream, watched, Duration::from_millis(1)).await.expect("answered");
        let mut told = String::new();
        asking.read_to_string(&mut told).await.expect("text");
        assert!(told.starts_with("HTTP/1.1 503 ") && told.ends_with(&format!("{STUCK}\n")), "{told}");
        drop(end);
    }
}
