//! `HOST:PORT` that an operator names: contacted although it is private, and over plain http if an
//! address says so.

use cofferdam_core::text::one_line;
use std::fmt;
use std::str::FromStr;
use url::Host;

/// A host and a port, spelled as an address has them after parsing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostPort {
    host: String,
    port: u16,
}

/// Why a text names no host and port.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadHost {
    /// Something is missing, or more than host and port.
    #[error("{0:?} is no host and port; write e.g. \"files.internal:443\" or \"[fd00::1]:8080\"")]
    Malformed(String),
    /// It means a host that is spelled otherwise.
    #[error("{0:?} is spelled unusually; write {1:?}")]
    Spelling(String, String),
}

impl HostPort {
    /// Of an address that was parsed.
    pub(crate) fn new(host: &Host<String>, port: u16) -> Self {
        Self { host: host.to_string(), port }
    }

    /// The host, without its port.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl FromStr for HostPort {
    type Err = BadHost;

    fn from_str(text: &str) -> Result<Self, BadHost> {
        let malformed = || BadHost::Malformed(one_line(text, 200));
        let (host, port) = text.rsplit_once(':').ok_or_else(malformed)?;
        let is_number = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
        let port: u16 = port.parse().ok().filter(|port| is_number && *port > 0).ok_or_else(malformed)?;
        let parsed = Host::parse(host).map_err(|_| malformed())?;
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
        if let Host::Domain(name) = &parsed
            && (name.ends_with('.') || !name.bytes().all(plain))
        {
            return Err(malformed());
        }
        let meant = Self::new(&parsed, port);
        if meant.to_string() != text {
            return Err(BadHost::Spelling(one_line(text, 200), meant.to_string()));
        }
        Ok(meant)
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}
