//! Which PostgreSQL the store is in, and how it is spoken to: over TLS wherever others could
//! listen.

use cofferdam_core::secret::{Secret, redact};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

/// How long a server may take to accept a connection.
const CONNECT_DEADLINE: Duration = Duration::from_secs(5);
/// Characters of a schema's name: PostgreSQL cuts longer ones.
const SCHEMA_NAME_MAX: usize = 63;
/// The schema where none is named.
pub const DEFAULT_SCHEMA: &str = "cofferdam";

/// Where a store in PostgreSQL is. It shows no password.
#[derive(Clone)]
pub struct PostgresConfig {
    pub(super) client: tokio_postgres::Config,
    pub(super) schema: String,
    /// None where the server is on this machine, unless its URL asks for it.
    pub(super) tls: Option<Arc<ClientConfig>>,
    server: String,
    /// Names the node whose workspace this process has, where each has one of its own.
    home: Option<String>,
    /// Held alone, so that the log goes on to know it.
    _password: Option<Secret>,
}

/// Why a store in PostgreSQL cannot be where it was said to be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PostgresConfigError {
    /// It is not the URL of a database.
    #[error(
        "the URL of the database is not understood ({0}); write postgres://USER:PASSWORD@HOST/DATABASE (sslmode may be disable or require; certificates are always verified, by [network] ca_file too)"
    )]
    Url(String),
    /// It would send everything readable.
    #[error(
        "the URL of the database says sslmode=disable, and {0} is not on this machine: what is stored would be readable on the way; leave sslmode out"
    )]
    Readable(String),
    /// It is no name that a schema has here.
    #[error(
        "schema = {0:?} is no name that is taken: up to {SCHEMA_NAME_MAX} of a-z, 0-9 and _, and no digit first"
    )]
    Schema(String),
    /// An authority of the operator's own is none.
    #[error("TLS to the database cannot be set up: {0}")]
    Tls(String),
}

impl PostgresConfig {
    /// The database of a URL, and a schema in it. `authorities` are certificates (PEM) that are
    /// trusted besides those of the public authorities.
    ///
    /// # Errors
    /// [`PostgresConfigError`], which shows no password.
    pub fn new(url: &Secret, schema: &str, authorities: &[u8]) -> Result<Self, PostgresConfigError> {
        check_schema(schema)?;
        let mut client: tokio_postgres::Config =
            url.reveal().parse().map_err(|error: tokio_postgres::Error| {
                let said = cofferdam_core::text::with_causes(&error);
                // Of a URL that is spelled wrongly all up to a = passes for an option's name.
                let known = said.split_inclusive("unknown option").next().unwrap_or_default();
                PostgresConfigError::Url(redact(known).into_owned())
            })?;
        // The log may be told the password alone.
        let password = client.get_password().and_then(|bytes| std::str::from_utf8(bytes).ok());
        let password = password.map(Secret::new);
        if client.get_hosts().is_empty() && client.get_hostaddrs().is_empty() {
            return Err(PostgresConfigError::Url("it names no host".to_owned()));
        }
        if client.get_hosts().iter().any(|host| matches!(host, Host::Tcp(name) if name.contains('@'))) {
            // The rest of a password, which would be shown and looked up.
            let said = "its host has an @ in it; write an @ of the password as %40";
            return Err(PostgresConfigError::Url(said.to_owned()));
        }
        let (server, wants_tls) = (describe(&client), client.get_ssl_mode());
        let tls = match (wants_tls, is_on_this_machine(&client)) {
            (SslMode::Disable, false) => return Err(PostgresConfigError::Readable(server)),
            (SslMode::Disable | SslMode::Prefer, true) => None,
            (_, _) => Some(tls_client(authorities).map_err(PostgresConfigError::Tls)?),
        };
        client.ssl_mode(if tls.is_some() { SslMode::Require } else { SslMode::Disable });
        client.application_name("cofferdam");
        client.connect_timeout(CONNECT_DEADLINE);
        client.keepalives_idle(Duration::from_secs(30));
        client.tcp_user_timeout(super::QUERY_DEADLINE);
        if client.get_hosts().len() > 1 {
            // Of a primary and its standbys the one that takes what is written.
            client.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        Ok(Self { client, schema: schema.to_owned(), tls, server, home: None, _password: password })
    }

    /// The same for a process that has the workspace of this node, where each node has one of its
    /// own: it begins nothing for people whose files another one has.
    #[must_use]
    pub fn with_home(self, node: &str) -> Self {
        Self { home: Some(node.to_owned()), ..self }
    }

    /// The node whose workspace this process has, where each has one of its own.
    pub(super) fn home(&self) -> Option<&str> {
        self.home.as_deref()
    }

    /// Host, port and database, for people.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The schema of the tables.
    pub fn schema(&self) -> &str {
        &self.schema
    }

    /// The TCP ports that are connected to.
    pub fn ports(&self) -> Vec<u16> {
        let of_tcp = !self.client.get_hostaddrs().is_empty()
            || self.client.get_hosts().iter().any(|host| matches!(host, Host::Tcp(_)));
        let named = self.client.get_ports();
        match (of_tcp, named) {
            (false, _) => Vec::new(),
            (true, []) => vec![DEFAULT_PORT],
            (true, named) => named.to_vec(),
        }
    }
}

const DEFAULT_PORT: u16 = 5432;

impl fmt::Debug for PostgresConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgreSQL at {}, schema {}", self.server, self.schema)
    }
}

impl PartialEq for PostgresConfig {
    fn eq(&self, other: &Self) -> bool {
        (&self.client, &self.schema) == (&other.client, &other.schema)
    }
}

/// TLS that trusts the public authorities, and those of this PEM; certificates are verified in any
/// case.
fn tls_client(authorities: &[u8]) -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for certificate in CertificateDer::pem_slice_iter(authorities) {
        let certificate = certificate.map_err(|error| error.to_string())?;
        roots.add(certificate).map_err(|error| error.to_string())?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let client = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let client = client.map_err(|error| error.to_string())?;
    Ok(Arc::new(client.with_root_certificates(roots).with_no_client_auth()))
}

fn check_schema(schema: &str) -> Result<(), PostgresConfigError> {
    let letters = schema.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    let is_sound = letters
        && (1..=SCHEMA_NAME_MAX).contains(&schema.len())
        && !schema.starts_with(|c: char| c.is_ascii_digit())
        // The server's own.
        && !schema.starts_with("pg_")
        && schema != "information_schema";
    if is_sound { Ok(()) } else { Err(PostgresConfigError::Schema(schema.to_owned())) }
}

/// Whether nobody else can listen. A name is taken at its word where it is this machine's by every
/// convention.
fn is_on_this_machine(client: &tokio_postgres::Config) -> bool {
    let addresses = client.get_hostaddrs();
    if !addresses.is_empty() {
        return addresses.iter().all(IpAddr::is_loopback);
    }
    client.get_hosts().iter().all(|host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost"
                || name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
        }
    })
}

fn describe(client: &tokio_postgres::Config) -> String {
    let ports = client.get_ports();
    let hosts: Vec<String> = match client.get_hosts() {
        [] => client.get_hostaddrs().iter().map(ToString::to_string).collect(),
        named => named
            .iter()
            .map(|host| match host {
                Host::Tcp(name) if name.contains(':') => format!("[{name}]"),
                Host::Tcp(name) => name.clone(),
                Host::Unix(folder) => folder.display().to_string(),
            })
            .collect(),
    };
    let with_ports = hosts.iter().enumerate().map(|(n, host)| {
        let port = ports.get(n).or(ports.first()).copied().unwrap_or(DEFAULT_PORT);
        format!("{host}:{port}")
    });
    let database = client.get_dbname().or(client.get_user()).unwrap_or_default();
    format!("{}/{database}", with_ports.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_core::secret::KNOWN_MAX;

    fn config(url: &str) -> Result<PostgresConfig, PostgresConfigError> {
        PostgresConfig::new(&Secret::new(url), "cofferdam", b"")
    }

    #[test]
    fn tls_is_used_wherever_somebody_could_listen() {
        for (url, server, encrypted) in [
            ("postgres://u@localhost/d", "localhost:5432/d", false),
            ("postgres://u@127.0.0.1:1/d", "127.0.0.1:1/d", false),
            ("postgres://u@[::1]/d", "[::1]:5432/d", false),
            ("host=/run/postgresql user=u dbname=d", "/run/postgresql:5432/d", false),
            ("postgres://u@localhost/d?sslmode=require", "localhost:5432/d", true),
            ("postgres://u@db.example/d", "db.example:5432/d", true),
            ("postgres://u@10.0.0.1/d?sslmode=prefer", "10.0.0.1:5432/d", true),
            ("host=localhost hostaddr=10.0.0.1 user=u dbname=d", "localhost:5432/d", true),
            ("postgres://u@localhost,db.example/d", "localhost:5432,db.example:5432/d", true),
        ] {
            let config = config(url).unwrap_or_else(|error| panic!("{url}: {error}"));
            assert_eq!((config.server(), config.tls.is_some()), (server, encrypted), "{url}");
        }
        let readable = config("postgres://u@db.example/d?sslmode=disable").expect_err("refused");
        assert_eq!(readable, PostgresConfigError::Readable("db.example:5432/d".into()));
    }

    #[test]
    fn no_error_shows_a_password() {
        for url in [
            "postgres://u:opensesame@db.example/d?nonsense=1",
            "postgres://u:opensesame@db.example/d?sslmode=verify-full",
            "mysql://u:opensesame@db.example/d",
            "postgresql+asyncpg://u:opensesame@db.example/d?ssl=require",
            "postgres:/u:opensesame@db.example/d?sslmode=require",
            "postgres://u:open@opensesame@db.example/d",
            "host=db.example user=u password=open opensesame=1",
            "postgres://u:opensesame@db.example/d?sslmode=disable",
            "postgres://u:opensesame@db.example:port/d",
            "opensesame",
            "postgres://",
        ] {
            let said = config(url).expect_err(url).to_string();
            assert!(!said.contains("opensesame"), "{said}");
        }
        let sound = config("postgres://u:opensesame@localhost/d").expect("sound");
        assert!(!format!("{sound:?}").contains("opensesame"));
    }

    #[test]
    fn the_password_of_a_store_in_use_is_not_forgotten_for_newer_secrets() {
        let config = config("postgres://u:a-password-in-use@localhost/d").expect("sound");
        for n in 0..KNOWN_MAX {
            drop(Secret::new(format!("newer-secret-{n:04}")));
        }
        assert_eq!(redact("a-password-in-use"), "***");
        drop(config);
    }

    #[test]
    fn a_schema_has_a_plain_name() {
        let longest = "s".repeat(SCHEMA_NAME_MAX);
        for name in ["cofferdam", "_a1", longest.as_str()] {
            assert_eq!(check_schema(name), Ok(()), "{name}");
        }
        let longer = "s".repeat(SCHEMA_NAME_MAX + 1);
        for name in ["", "1a", "A", "a-b", "a\"b", "pg_x", "information_schema", longer.as_str()] {
            assert!(check_schema(name).is_err(), "{name}");
        }
    }
}
