//! A real PostgreSQL for tests: one server for each test binary, on a UNIX socket in a temporary
//! folder, that ends with the tests. The tests tell their data apart by schemas.

use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// What the tests need, for those who tell that it is missing.
pub const NEEDED: &str = "PostgreSQL's server (on Debian: apt-get install postgresql)";
/// The superuser of each server.
const USER: &str = "cofferdam";
/// PostgreSQL refuses to run as root.
const NOBODY: u32 = 65_534;
const START_DEADLINE: Duration = Duration::from_secs(60);

/// A server that runs.
#[derive(Debug)]
pub struct PostgresServer {
    programs: PathBuf,
    /// Removed with it, where it is not the one of all tests.
    _folder: Option<tempfile::TempDir>,
    dir: PathBuf,
    data: PathBuf,
    watch: Option<Child>,
    removes: bool,
    port: u16,
}

/// Where Debian and others have the programs of the server.
pub fn programs() -> Option<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .map(|version| version.path().join("bin"))
        .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()))
        .filter(|dir| ["initdb", "postgres", "psql"].iter().all(|program| dir.join(program).exists()))
        .collect();
    found.sort();
    found.pop()
}

/// The server of this test binary, started once; none where there is no PostgreSQL, which is told.
///
/// # Panics
/// In CI, which skips no test; and where the server does not start.
pub fn shared(test: &str) -> Option<&'static PostgresServer> {
    static SHARED: OnceLock<Option<PostgresServer>> = OnceLock::new();
    let server = SHARED.get_or_init(|| Some(PostgresServer::start_in(None, programs()?, None))).as_ref();
    or_skipped(server, test)
}

/// What a test needs of PostgreSQL; that it is not there is told, and CI skips no test.
fn or_skipped<T>(found: Option<T>, test: &str) -> Option<T> {
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "{test} needs {NEEDED}, and CI skips no test");
        note_skipped(test);
    }
    found
}

/// The runner of all tests lists this file at its end, which lies beside the programs.
fn note_skipped(test: &str) {
    let program = std::env::current_exe().expect("a test has a program");
    let folder = program.ancestors().nth(2).expect("target/debug/deps/PROGRAM");
    let list = std::fs::File::options().create(true).append(true).open(folder.join("skipped-tests.txt"));
    writeln!(list.expect("the target folder can be written"), "{test}: needs {NEEDED}").expect("writable");
}

/// A name of a schema that no other test has.
pub fn new_schema() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

impl PostgresServer {
    /// One for a test that stops it; none where there is no PostgreSQL, which is told.
    ///
    /// # Panics
    /// As [`shared`] does.
    pub fn start(test: &str) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        Some(Self::start_in(Some(folder), or_skipped(programs(), test)?, None))
    }

    /// The same without a word, with its data in this folder, which the server makes, as nobody
    /// where root starts it. Its log of changes is elsewhere: a server that has no room for that
    /// ends.
    pub fn start_on(data: &Path) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        Some(Self::start_in(Some(folder), programs()?, Some(data)))
    }

    fn start_in(folder: Option<tempfile::TempDir>, programs: PathBuf, elsewhere: Option<&Path>) -> Self {
        let removes = folder.is_none();
        let dir = match &folder {
            Some(folder) => folder.path().to_owned(),
            None => tempfile::tempdir().expect("a folder").keep(),
        };
        if rustix::process::geteuid().is_root() {
            chown(&dir, Some(NOBODY), Some(NOBODY)).expect("root may");
        }
        let data = elsewhere.map_or_else(|| dir.join("data"), Path::to_owned);
        let mut server = Self { programs, _folder: folder, dir, data, watch: None, removes, port: 5432 };
        let mut initdb = server.command("initdb");
        initdb.args(["-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]);
        if elsewhere.is_some() {
            initdb.arg("-X").arg(server.dir.join("wal"));
        }
        let made = initdb.arg("-D").arg(&server.data).output().expect("initdb starts");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        server.configure(&format!(
            "listen_addresses = ''\nunix_socket_directories = '{}'\nfsync = off\nmax_connections = 400\n",
            server.dir.display()
        ));
        server.begin();
        server
    }

    /// A standby that has each commit before it is told as done.
    ///
    /// # Panics
    /// When it does not come up.
    pub fn add_standby(&self) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let dir = folder.path().to_owned();
        if rustix::process::geteuid().is_root() {
            chown(&dir, Some(NOBODY), Some(NOBODY)).expect("root may");
        }
        let (programs, data, port) = (self.programs.clone(), dir.join("data"), self.port);
        let mut standby =
            Self { programs, _folder: Some(folder), dir, data, watch: None, removes: false, port };
        let mut backup = standby.command("pg_basebackup");
        backup.args([
            "-U",
            USER,
            "-R",
            "-X",
            "stream",
            "-c",
            "fast",
            "--no-sync",
            "-p",
            &self.port.to_string(),
        ]);
        let made = backup.arg("-h").arg(&self.dir).arg("-D").arg(&standby.data).output();
        let made = made.expect("pg_basebackup starts");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        standby.configure(&format!("unix_socket_directories = '{}'\n", standby.dir.display()));
        standby.begin();
        self.set("synchronous_standby_names", "*");
        let since = Instant::now();
        while self.sql("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") != "1" {
            assert!(since.elapsed() < START_DEADLINE, "the standby is not in step");
            std::thread::sleep(Duration::from_millis(20));
        }
        standby
    }

    /// Makes a standby the one that takes changes.
    ///
    /// # Panics
    /// When it refuses.
    pub fn promote(&self) {
        self.sql("SELECT pg_promote()");
    }

    /// Changes a setting of the running server.
    ///
    /// # Panics
    /// When it refuses.
    pub fn set(&self, name: &str, value: &str) {
        // Each in a transaction of its own.
        self.sql(&format!("ALTER SYSTEM SET {name} = '{value}'"));
        self.sql("SELECT pg_reload_conf()");
    }

    /// Adds lines to what it reads when it starts; of one that is set twice the last one counts.
    fn configure(&self, lines: &str) {
        let file = std::fs::File::options().append(true).open(self.data.join("postgresql.conf"));
        file.and_then(|mut file| file.write_all(lines.as_bytes())).expect("writable");
    }

    /// Starts it anew on loopback, where it takes nobody without TLS; its port.
    pub fn encrypt(&mut self, certificate: &str, key: &str) -> u16 {
        self.stop();
        let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        self.port = free.expect("a free port").port();
        let data = self.data.clone();
        let hba = "local all all trust\nhostssl all all 127.0.0.1/32 trust\n";
        for (name, text) in [("server.crt", certificate), ("server.key", key), ("pg_hba.conf", hba)] {
            let file = data.join(name);
            std::fs::write(&file, text).expect("writable");
            std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).expect("ours");
            if rustix::process::geteuid().is_root() {
                chown(&file, Some(NOBODY), Some(NOBODY)).expect("root may");
            }
        }
        self.configure(&format!("listen_addresses = '127.0.0.1'\nport = {}\nssl = on\n", self.port));
        self.begin();
        self.port
    }

    /// Starts it, or starts it again.
    pub fn begin(&mut self) {
        // It ends with its standard input: that of a test that was killed is closed as well. One
        // that just begins does not hear a signal yet.
        let script = "\"$1/postgres\" -D \"$3\" >\"$2/log\" 2>&1 <&- & server=$!
             cat >/dev/null; while kill -INT $server; do sleep 0.05; done; test -z \"$4\" || rm -rf \"$2\"";
        let mut watch = self.unprivileged(Command::new("sh"));
        watch.args(["-c", script, "sh"]).arg(&self.programs).arg(&self.dir).arg(&self.data);
        watch.arg(if self.removes { "remove" } else { "" });
        watch.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        self.watch = Some(watch.spawn().expect("a shell"));
        let since = Instant::now();
        while self.try_sql("SELECT 1").is_err() {
            let log = || std::fs::read_to_string(self.dir.join("log")).unwrap_or_default();
            assert!(since.elapsed() < START_DEADLINE, "PostgreSQL does not start: {}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Stops it, with all that is connected.
    pub fn stop(&mut self) {
        let Some(mut watch) = self.watch.take() else { return };
        drop(watch.stdin.take());
        watch.wait().expect("the shell ends");
    }

    /// Ends it as a crash does: what is not on its disk is gone.
    ///
    /// # Panics
    /// When it does not end.
    pub fn crash(&mut self) {
        let mut stop = self.command("pg_ctl");
        stop.args(["stop", "-m", "immediate", "-D"]).arg(&self.data).stdout(Stdio::null());
        assert!(stop.status().expect("pg_ctl starts").success());
        self.stop();
    }

    /// Where the server's socket and its data are.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// For a client on this machine.
    pub fn url(&self) -> String {
        format!("host={} port={} user={USER} dbname=postgres", self.dir.display(), self.port)
    }

    /// The same for one that may be on either server.
    pub fn url_with(&self, other: &Self) -> String {
        let (here, there) = (self.dir.display(), other.dir.display());
        format!("host={here},{there} port={},{} user={USER} dbname=postgres", self.port, other.port)
    }

    /// What an SQL statement answers, a row a line.
    ///
    /// # Panics
    /// When it is refused.
    pub fn sql(&self, statement: &str) -> String {
        self.try_sql(statement).unwrap_or_else(|error| panic!("{statement}: {error}"))
    }

    fn try_sql(&self, statement: &str) -> Result<String, String> {
        let mut psql = self.command("psql");
        psql.args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-U", USER, "-d", "postgres", "-p"]);
        let output = psql
            .arg(self.port.to_string())
            .arg("-h")
            .arg(&self.dir)
            .args(["-c", statement])
            .output()
            .expect("psql starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    fn command(&self, program: &str) -> Command {
        self.unprivileged(Command::new(self.programs.join(program)))
    }

    fn unprivileged(&self, mut command: Command) -> Command {
        if rustix::process::geteuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command.current_dir(&self.dir);
        command
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.stop();
    }
}
