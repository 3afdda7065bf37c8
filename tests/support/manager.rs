//! A service manager's end of sd_notify(3): a datagram socket, in a file or with an abstract name,
//! that keeps what a gateway says.

use anyhow::{Context, bail};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Longer than anything that is told takes to be told, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(100);

/// A manager that listens.
pub struct Manager {
    socket: UnixDatagram,
    name: String,
}

impl Manager {
    /// Listens at a file of this folder.
    ///
    /// # Errors
    /// What the system says.
    pub fn in_folder(dir: &Path) -> anyhow::Result<Self> {
        let path = dir.join("notify");
        let socket = UnixDatagram::bind(&path)?;
        Ok(Self { socket, name: path.to_str().context("text")?.to_owned() })
    }

    /// Listens under a name that no file has.
    ///
    /// # Errors
    /// What the system says.
    pub fn abstractly() -> anyhow::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("cofferdam-test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
        Ok(Self { socket, name: format!("@{name}") })
    }

    /// The value of `NOTIFY_SOCKET`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What is said next.
    ///
    /// # Errors
    /// When nothing is said in time.
    pub fn next(&self) -> anyhow::Result<String> {
        let mut datagram = [0; 4096];
        self.socket.set_read_timeout(Some(PATIENCE))?;
        let length = self.socket.recv(&mut datagram).context("nothing more is said")?;
        Ok(String::from_utf8(datagram[..length].to_vec())?)
    }

    /// Waits until something that begins like this is said; it comes last of all that was said
    /// since.
    ///
    /// # Errors
    /// When it is not said in time.
    pub fn until(&self, beginning: &str) -> anyhow::Result<Vec<String>> {
        let started = Instant::now();
        let mut said = Vec::new();
        loop {
            said.push(self.next()?);
            if said.last().is_some_and(|last| last.starts_with(beginning)) {
                return Ok(said);
            }
            if started.elapsed() > PATIENCE {
                bail!("{beginning:?} is not among {said:?}");
            }
        }
    }

    /// Waits until this was not said for so long.
    ///
    /// # Errors
    /// When it is said again and again.
    pub fn quiet(&self, said: &str, long: Duration) -> anyhow::Result<()> {
        let started = Instant::now();
        let mut datagram = [0; 4096];
        let mut last = started;
        while last.elapsed() < long {
            if started.elapsed() > PATIENCE {
                bail!("{said:?} does not end");
            }
            self.socket.set_read_timeout(Some(long))?;
            // Nothing was said, perhaps.
            let Ok(length) = self.socket.recv(&mut datagram) else { continue };
            if &datagram[..length] == said.as_bytes() {
                last = Instant::now();
            }
        }
        Ok(())
    }

    /// What was said and not read yet.
    ///
    /// # Errors
    /// What the system says.
    pub fn rest(&self) -> anyhow::Result<Vec<String>> {
        self.socket.set_nonblocking(true)?;
        let mut said = Vec::new();
        let mut datagram = [0; 4096];
        while let Ok(length) = self.socket.recv(&mut datagram) {
            said.push(String::from_utf8(datagram[..length].to_vec())?);
        }
        self.socket.set_nonblocking(false)?;
        Ok(said)
    }
}
