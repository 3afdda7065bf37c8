//! What a service manager is told over the socket that it names in the environment (sd_notify(3)):
//! that the gateway is up, reloads or stops, how it is, and that it goes on. It answers nothing,
//! and what is said decides nothing here.
//!
//! The socket is connected before the process is confined: Landlock leaves such a one alone, and
//! lets no other reach an abstract socket. That it goes on is said by the runtime and of the
//! poller: a standstill of either is not told.

use super::Watched;
use cofferdam_core::lock::lock;
use cofferdam_core::secret::redact;
use cofferdam_core::text::one_line;
use rustix::time::{ClockId, clock_gettime};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{MissedTickBehavior, interval, sleep};

/// A manager that does not read is waited for so long, and then goes without.
const SENDING_MAX: Duration = Duration::from_secs(1);
/// How often it is looked how the gateway is while it starts, and afterwards.
const LOOK_EVERY: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(30)];
/// A status is cut here.
const STATUS_BYTES_MAX: usize = 300;
/// The status of a gateway that nothing ails.
const SERVING: &str = "serving";

/// The manager of this process, or nobody.
#[derive(Debug, Default)]
pub struct ServiceManager {
    socket: Option<UnixDatagram>,
    /// It ends a process that does not say for so long that it goes on.
    watchdog: Option<Duration>,
    stage: Mutex<ServiceState>,
}

/// How far the process is, as the manager knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ServiceState {
    #[default]
    Starting,
    Up,
    Stopping,
}

impl ServiceManager {
    /// The one that these variables of the environment name. Legal before the process is confined,
    /// and no longer after that.
    ///
    /// # Errors
    /// When its socket cannot be connected to.
    pub fn connect(variable: impl Fn(&str) -> Option<OsString>) -> io::Result<Self> {
        let Some(name) = variable("NOTIFY_SOCKET").filter(|name| !name.is_empty()) else {
            return Ok(Self::default());
        };
        let socket = UnixDatagram::unbound()?;
        socket.connect_addr(&address(&name)?)?;
        socket.set_write_timeout(Some(SENDING_MAX))?;
        let number = |name: &str| variable(name)?.to_str()?.parse::<u64>().ok();
        let ours = number("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
        let watchdog =
            number("WATCHDOG_USEC").filter(|micros| ours && *micros > 0).map(Duration::from_micros);
        Ok(Self { socket: Some(socket), watchdog, stage: Mutex::default() })
    }

    /// Tells how the gateway is for as long as it is polled; that it is `up` once it is, and from
    /// then on that it goes on, while it does.
    pub async fn watch(self: Arc<Self>, up: impl Future<Output = ()>, watched: Arc<dyn Watched>) {
        if self.socket.is_none() {
            return;
        }
        let beat = async {
            up.await;
            self.enter(ServiceState::Up, "READY=1");
            self.run_watchdog(watched.as_ref()).await;
        };
        tokio::join!(beat, self.tell(watched.clone()));
    }

    /// A reload begins.
    pub fn note_reloading(&self) {
        if self.stage() == ServiceState::Up {
            let now = clock_gettime(ClockId::Monotonic);
            let micros = i128::from(now.tv_sec) * 1_000_000 + i128::from(now.tv_nsec) / 1000;
            self.say(&format!("RELOADING=1\nMONOTONIC_USEC={micros}"));
        }
    }

    /// It has ended, and this is what came of it.
    pub fn note_reloaded(&self, told: &str) {
        if self.stage() == ServiceState::Up {
            self.say(&format!("READY=1\nSTATUS={}", status(told)));
        }
    }

    /// The gateway stops.
    pub fn note_stopping(&self) {
        self.enter(ServiceState::Stopping, "STOPPING=1\nSTATUS=stopping");
    }

    /// Tells that the gateway goes on, twice in the time after which it would be ended. A
    /// standstill is told instead.
    async fn run_watchdog(&self, watched: &dyn Watched) {
        let Some(limit) = self.watchdog else { return };
        let mut ticks = interval(limit / 2);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut stands = false;
        loop {
            ticks.tick().await;
            let overdue = watched.overdue_by();
            if overdue <= limit {
                if stands {
                    tracing::info!("the channel goes on");
                }
                stands = false;
                self.say("WATCHDOG=1");
                continue;
            }
            if !stands {
                tracing::error!(
                    ?overdue,
                    "the channel does not go on, which the service manager will notice"
                );
            }
            stands = true;
            self.say(&format!("STATUS=the channel has not gone on for {} s", overdue.as_secs()));
        }
    }

    /// Tells how the gateway is, whenever that changes.
    async fn tell(&self, watched: Arc<dyn Watched>) {
        let mut told = String::new();
        loop {
            let looking = watched.clone();
            // What it looks at may wait for a disk.
            let Ok(problems) = tokio::task::spawn_blocking(move || looking.problems()).await else { return };
            let now = if problems.is_empty() { SERVING.to_owned() } else { status(&problems.join("; ")) };
            if now != told && self.stage() != ServiceState::Stopping {
                self.say(&format!("STATUS={now}"));
                told = now;
            }
            let pause = if told == SERVING { LOOK_EVERY[1] } else { LOOK_EVERY[0] };
            sleep(pause).await;
        }
    }

    fn stage(&self) -> ServiceState {
        *lock(&self.stage)
    }

    /// Says that a stage begins, once, and nothing of the stages before it any more.
    fn enter(&self, stage: ServiceState, said: &str) {
        let mut now = lock(&self.stage);
        if (*now as u8) < stage as u8 {
            *now = stage;
            self.say(said);
        }
    }

    fn say(&self, said: &str) {
        let Some(socket) = &self.socket else { return };
        if let Err(error) = socket.send(said.as_bytes()) {
            tracing::warn!(%error, "the service manager was not told {:?}", one_line(said, 80));
        }
    }
}

/// One line without secrets.
fn status(text: &str) -> String {
    one_line(&redact(text), STATUS_BYTES_MAX)
}

/// `/run/…` is a file, `@…` an abstract name.
fn address(name: &OsStr) -> io::Result<SocketAddr> {
    match name.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
        [b'/', ..] => SocketAddr::from_pathname(name),
        _ => Err(io::Error::other("NOTIFY_SOCKET names neither a file nor an abstract socket")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Gauges;
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// A gateway whose channel is overdue by so many milliseconds.
    struct Late(AtomicU64);

    impl Watched for Late {
        fn gauges(&self) -> Option<Gauges> {
            None
        }

        fn problems(&self) -> Vec<String> {
            vec!["a\nb".to_owned()]
        }

        fn overdue_by(&self) -> Duration {
            Duration::from_millis(self.0.load(Ordering::Relaxed))
        }
    }

    fn manager(dir: &tempfile::TempDir, micros: &str, pid: &str) -> (UnixDatagram, ServiceManager) {
        let path = dir.path().join("notify");
        let socket = UnixDatagram::bind(&path).expect("writable");
        let (micros, pid) = (micros.to_owned(), pid.to_owned());
        let connected = ServiceManager::connect(|name| match name {
            "NOTIFY_SOCKET" => Some(path.clone().into()),
            "WATCHDOG_USEC" => Some(micros.clone().into()),
            "WATCHDOG_PID" => Some(pid.clone().into()),
            _ => None,
        });
        (socket, connected.expect("it listens"))
    }

    fn heard(socket: &UnixDatagram) -> String {
        let mut datagram = [0; 1024];
        let length = socket.recv(&mut datagram).expect("something is said");
        String::from_utf8_lossy(&datagram[..length]).into_owned()
    }

    #[test]
    fn nobody_is_told_where_nobody_asked_and_a_wrong_place_is_refused() {
        let connect = |name: Option<&str>| {
            ServiceManager::connect(|variable| {
                name.filter(|_| variable == "NOTIFY_SOCKET").map(OsString::from)
            })
        };
        for none in [None, Some("")] {
            let manager = connect(none).expect("nobody asked");
            manager.note_reloading();
            manager.note_stopping();
        }
        for wrong in ["relative", "vsock:2:1", "/nowhere/notify", "@"] {
            assert!(connect(Some(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn another_process_watchdog_is_none_of_ours() {
        let dir = tempfile::tempdir().expect("a folder");
        let (_, manager) = self::manager(&dir, "5000000", "1");
        assert_eq!(manager.watchdog, None);
        std::fs::remove_file(dir.path().join("notify")).expect("ours");
        let (_, manager) = self::manager(&dir, "5000000", &std::process::id().to_string());
        assert_eq!(manager.watchdog, Some(Duration::from_secs(5)));
    }

    /// Waits until this is said; of what was said before, that it was `before` alone.
    fn until(socket: &UnixDatagram, said: &str, before: &str) {
        loop {
            match heard(socket) {
                heard if heard == said => return,
                other => assert_eq!(other, before),
            }
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_standstill_is_told_and_that_it_goes_on_is_not() {
        const GOES_ON: &str = "WATCHDOG=1";
        const STANDS: &str = "STATUS=the channel has not gone on for 5 s";
        let dir = tempfile::tempdir().expect("a folder");
        let (socket, manager) = manager(&dir, "20000", "");
        let late = Arc::new(Late(AtomicU64::new(20)));
        let beating = tokio::spawn({
            let late = late.clone();
            async move { manager.run_watchdog(late.as_ref()).await }
        });
        assert_eq!(heard(&socket), GOES_ON, "late, and not too late");
        late.0.store(5000, Ordering::Relaxed);
        until(&socket, STANDS, GOES_ON);
        for _ in 0..3 {
            assert_eq!(heard(&socket), STANDS);
        }
        late.0.store(0, Ordering::Relaxed);
        until(&socket, GOES_ON, STANDS);
        beating.abort();
    }

    #[test]
    fn each_stage_is_said_once_and_in_order() {
        let dir = tempfile::tempdir().expect("a folder");
        let (socket, manager) = manager(&dir, "", "");
        // Not up: anyone who said so after a reload would lie.
        manager.note_reloading();
        manager.note_reloaded("done");
        manager.enter(ServiceState::Up, "READY=1");
        manager.enter(ServiceState::Up, "READY=1");
        assert_eq!(heard(&socket), "READY=1");
        manager.note_reloading();
        assert!(heard(&socket).starts_with("RELOADING=1\nMONOTONIC_USEC="));
        manager.note_reloaded("refused: line 1\nREADY=1");
        assert_eq!(heard(&socket), "READY=1\nSTATUS=refused: line 1 READY=1");
        manager.note_stopping();
        manager.note_stopping();
        manager.note_reloading();
        assert_eq!(heard(&socket), "STOPPING=1\nSTATUS=stopping");
        socket.set_nonblocking(true).expect("ours");
        assert!(socket.recv(&mut [0; 16]).is_err(), "that was all");
    }
}
