//! A gateway whose store is in a real PostgreSQL.

use crate::home::Home;
pub use cofferdam_postgres::{PostgresServer, new_schema, shared};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::Shutdown;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// The password in every URL. The server asks for none, and nobody may show it.
pub const PASSWORD: &str = "open-sesame-5741";

/// A socket from which a server is reached, until it is cut off.
pub struct Relay {
    dir: tempfile::TempDir,
    url: String,
    is_cut: Arc<AtomicBool>,
    /// The socket of the server, when somebody comes.
    behind: Arc<Mutex<PathBuf>>,
    open: Arc<Mutex<Vec<UnixStream>>>,
}

impl Relay {
    /// Hands on what is said on a socket of its own.
    ///
    /// # Errors
    /// Where there can be none.
    ///
    /// # Panics
    /// Where the URL of the server names no socket.
    pub fn start(server: &PostgresServer) -> std::io::Result<Self> {
        let (dir, url) = (tempfile::tempdir()?, server.url());
        let words: BTreeMap<_, _> = url.split_whitespace().filter_map(|word| word.split_once('=')).collect();
        let name = format!(".s.PGSQL.{}", words["port"]);
        let behind = Arc::new(Mutex::new(Path::new(words["host"]).join(&name)));
        let listener = UnixListener::bind(dir.path().join(&name))?;
        let url = url.replace(words["host"], &dir.path().display().to_string());
        let to = behind.clone();
        let relay = Self { dir, url, is_cut: Arc::default(), behind, open: Arc::default() };
        let (is_cut, open) = (relay.is_cut.clone(), relay.open.clone());
        std::thread::spawn(move || {
            for from in listener.incoming().map_while(Result::ok) {
                let to = to.lock().expect("no panic").clone();
                let Ok(to) = UnixStream::connect(to) else { continue };
                if is_cut.load(Ordering::SeqCst) {
                    continue;
                }
                for (from, to) in [(&from, &to), (&to, &from)] {
                    let (Ok(mut from), Ok(mut to)) = (from.try_clone(), to.try_clone()) else { continue };
                    std::thread::spawn(move || {
                        let _ = std::io::copy(&mut from, &mut to);
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
                open.lock().expect("no panic").extend([from, to]);
            }
        });
        Ok(relay)
    }

    /// The server's URL by way of this.
    pub fn url(&self) -> String {
        assert!(self.dir.path().exists(), "it lives as long as this");
        format!("{} password={PASSWORD}", self.url)
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

    /// From here on everybody does.
    pub fn mend(&self) {
        self.is_cut.store(false, Ordering::SeqCst);
    }
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
