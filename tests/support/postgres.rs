//! A gateway whose store is in a real PostgreSQL.

use crate::home::Home;
pub use cofferdam_postgres::{PostgresServer, new_schema, shared};
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// The password in every URL. The server asks for none, and nobody may show it.
pub const PASSWORD: &str = "open-sesame-5741";

/// A socket or a port from which a server is reached, until it is cut off.
pub struct Relay {
    /// Where the socket is, which lives as long as this.
    _dir: Option<tempfile::TempDir>,
    url: String,
    port: Option<u16>,
    is_cut: Arc<AtomicBool>,
    is_silent: Arc<AtomicBool>,
    /// The socket of the server, when somebody comes.
    behind: Arc<Mutex<PathBuf>>,
    open: Arc<Mutex<Vec<UnixStream>>>,
}

impl Relay {
    /// Hands on what is said on a socket of its own.
    ///
    /// # Errors
    /// Where there can be none.
    pub fn start(server: &PostgresServer) -> std::io::Result<Self> {
        let (dir, behind) = (tempfile::tempdir()?, socket_of(server));
        let listener = UnixListener::bind(dir.path().join(behind.file_name().expect("a socket")))?;
        let [here, there] = [dir.path(), server.dir()].map(|dir| dir.display().to_string());
        let url = server.url().replace(&there, &here);
        let come = move || listener.accept().map(|(stream, _)| stream);
        Ok(Self::hand_on((Some(dir), url, None), behind, come))
    }

    /// Hands on what is said on a port of loopback. It may be that of another network namespace,
    /// which the server itself need not be in.
    ///
    /// # Errors
    /// Where it is no port.
    pub fn start_on(listener: TcpListener, server: &PostgresServer) -> std::io::Result<Self> {
        let port = listener.local_addr()?.port();
        let url = server.url();
        let is_place = |word: &&str| word.starts_with("host=") || word.starts_with("port=");
        let rest: Vec<_> = url.split_whitespace().filter(|word| !is_place(word)).collect();
        let url = format!("host=127.0.0.1 port={port} {}", rest.join(" "));
        let come = move || {
            let (stream, _) = listener.accept()?;
            // A missing nodelay costs milliseconds, never correctness.
            let _ = stream.set_nodelay(true);
            // Either is a stream to who only reads and writes.
            Ok(UnixStream::from(OwnedFd::from(stream)))
        };
        Ok(Self::hand_on((None, url, Some(port)), socket_of(server), come))
    }

    fn hand_on(
        (dir, url, port): (Option<tempfile::TempDir>, String, Option<u16>),
        behind: PathBuf,
        come: impl Fn() -> std::io::Result<UnixStream> + Send + 'static,
    ) -> Self {
        let behind = Arc::new(Mutex::new(behind));
        let to = behind.clone();
        let (is_cut, is_silent, open) = (Arc::default(), Arc::default(), Arc::default());
        let relay = Self { _dir: dir, url, port, is_cut, is_silent, behind, open };
        let (is_cut, is_silent) = (relay.is_cut.clone(), relay.is_silent.clone());
        let open = relay.open.clone();
        std::thread::spawn(move || {
            while let Ok(from) = come() {
                let to = to.lock().expect("no panic").clone();
                let Ok(to) = UnixStream::connect(to) else { continue };
                if is_cut.load(Ordering::SeqCst) {
                    continue;
                }
                for (from, to) in [(&from, &to), (&to, &from)] {
                    let (Ok(mut from), Ok(mut to)) = (from.try_clone(), to.try_clone()) else { continue };
                    let is_silent = is_silent.clone();
                    std::thread::spawn(move || {
                        let mut bytes = [0; 8192];
                        while let Ok(count @ 1..) = from.read(&mut bytes) {
                            let is_lost = is_silent.load(Ordering::SeqCst);
                            if !is_lost && to.write_all(&bytes[..count]).is_err() {
                                break;
                            }
                        }
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
                open.lock().expect("no panic").extend([from, to]);
            }
        });
        relay
    }

    /// The server's URL by way of this.
    pub fn url(&self) -> String {
        format!("{} password={PASSWORD}", self.url)
    }

    /// Its port, where it is not a socket.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// From here on whoever comes gets to this server, of the same port.
    ///
    /// # Panics
    /// When a thread of it has.
    pub fn lead_to(&self, server: &PostgresServer) {
        let mut behind = self.behind.lock().expect("no panic");
        *behind = server.dir().join(behind.file_name().expect("a socket"));
    }

    /// From here on nobody gets through.
    ///
    /// # Panics
    /// When a thread of it has.
    pub fn cut(&self) {
        self.is_cut.store(true, Ordering::SeqCst);
        for stream in self.open.lock().expect("no panic").drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// From here on what is said is lost, either way, and nobody is told.
    pub fn lose(&self) {
        self.is_silent.store(true, Ordering::SeqCst);
    }

    /// From here on everybody does.
    pub fn mend(&self) {
        self.is_cut.store(false, Ordering::SeqCst);
    }
}

/// The socket of a server.
fn socket_of(server: &PostgresServer) -> PathBuf {
    let url = server.url();
    let port = url.split_whitespace().find_map(|word| word.strip_prefix("port=")).expect("a port");
    server.dir().join(format!(".s.PGSQL.{port}"))
}

impl Home {
    /// With its store in this schema; the URL is in a file of the gateway's folder.
    ///
    /// # Panics
    /// When the file cannot be written.
    #[must_use]
    pub fn postgres(self, server: &PostgresServer, schema: &str) -> Self {
        self.postgres_at(&format!("{} password={PASSWORD}", server.url()), schema)
    }

    /// The same with this URL.
    ///
    /// # Panics
    /// When the file cannot be written.
    #[must_use]
    pub fn postgres_at(self, url: &str, schema: &str) -> Self {
        self.write_url("store-url", url);
        self.config(&format!(
            "[store]\nengine = \"postgres\"\nurl_file = \"store-url\"\nschema = {schema:?}\n"
        ))
    }

    /// A file of the gateway's folder with the URL of a database.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn write_url(&self, name: &str, url: &str) {
        let mut options = std::fs::File::options();
        let file = options.create(true).write(true).truncate(true).mode(0o600).open(self.dir().join(name));
        file.and_then(|mut file| file.write_all(url.as_bytes())).expect("writable");
    }
}
