//! What a profile grants of the network: hosts, methods and bytes. Pure: who is asked and what is
//! sent is the gateway's egress, which holds every address against these words.

use crate::as_text::serialized_as_shown;
use crate::limits::ByteSize;
use crate::text::{is_deceptive, one_line};
use core::net::{Ipv4Addr, Ipv6Addr};
use serde::{Deserialize, Deserializer, Serialize, de};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// Hosts that one profile may name.
pub const HOSTS_MAX: usize = 64;
/// Bytes of bodies that a profile may allow one call.
pub const NETWORK_BYTES_MAX: ByteSize = ByteSize::mib(256);
/// The port of an entry that names none.
pub const HTTPS_PORT: u16 = 443;
/// Methods that a profile can grant: a tunnel, and what repeats a request back, are none of them.
pub const METHODS: &[&str] = &["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// What a call may reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    /// Who may be asked; nobody where it is empty.
    pub hosts: Vec<HostPattern>,
    /// How, in capitals.
    pub methods: Vec<String>,
    /// Bytes of all bodies of one call, sent and received, unpacked.
    pub bytes: ByteSize,
    /// Headers that the gateway adds, in small letters, each with the name of its secret.
    pub headers: BTreeMap<String, String>,
}

impl Network {
    /// Every method and nobody to ask: what a component is linked with where nothing runs.
    pub fn nobody() -> Self {
        let methods = METHODS.iter().map(|method| (*method).to_owned()).collect();
        Self { hosts: Vec::new(), methods, bytes: ByteSize(0), headers: BTreeMap::new() }
    }

    /// In words, for people: `network api.example.com (GET), 10 MiB a call`.
    pub fn describe(&self) -> String {
        if self.hosts.is_empty() {
            return "network off".to_owned();
        }
        let hosts: Vec<_> = self.hosts.iter().map(ToString::to_string).collect();
        format!("network {} ({}), {} a call", hosts.join(", "), self.methods.join(", "), self.bytes)
    }

    /// Whether this host may be asked at this port. The host is spelled as a parsed address has
    /// it.
    pub fn allows(&self, host: &str, port: u16) -> bool {
        self.hosts.iter().any(|pattern| pattern.matches(host, port))
    }
}

/// A host with its port, or all names below one: `api.example.com`, `api.example.com:8443`,
/// `*.wikipedia.org`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostPattern {
    /// Whether it stands for every name below `host`, and not for `host` itself.
    below: bool,
    host: String,
    port: u16,
}

/// Why a text is no host that can be granted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadHostPattern {
    /// Neither a name nor an address.
    #[error(
        "{0:?} is no host; write a name in small letters, an address, or all names below one: \"api.example.com\", \
         \"api.example.com:8443\" or \"*.example.com\""
    )]
    Malformed(String),
    /// It would let the whole network in, or a whole top-level domain.
    #[error(
        "{0:?} is as good as every host; name the hosts, or a domain with at least two labels: \"*.example.com\""
    )]
    TooWide(String),
}

impl HostPattern {
    /// This host alone.
    pub fn new_exact(host: &str, port: u16) -> Self {
        Self { below: false, host: host.to_owned(), port }
    }

    /// Whether it stands for this host at this port.
    pub fn matches(&self, host: &str, port: u16) -> bool {
        if port != self.port {
            return false;
        }
        match self.below {
            true => host
                .strip_suffix(self.host.as_str())
                .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
            false => host == self.host,
        }
    }

    /// Whether it stands for more than one host.
    pub fn is_wildcard(&self) -> bool {
        self.below
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether this one stands for all that `other` stands for.
    pub fn covers(&self, other: &Self) -> bool {
        match other.below {
            false => self.matches(&other.host, other.port),
            true => {
                self.below
                    && self.port == other.port
                    && (self.host == other.host || other.host.ends_with(&format!(".{}", self.host)))
            }
        }
    }
}

impl FromStr for HostPattern {
    type Err = BadHostPattern;

    fn from_str(text: &str) -> Result<Self, BadHostPattern> {
        let malformed = || BadHostPattern::Malformed(one_line(text, 200));
        let (host, port) = split_port(text).ok_or_else(malformed)?;
        let Some(name) = host.strip_prefix('*') else {
            return if is_host(host) { Ok(Self::new_exact(host, port)) } else { Err(malformed()) };
        };
        if name.is_empty() {
            return Err(BadHostPattern::TooWide(one_line(text, 200)));
        }
        let name = name.strip_prefix('.').filter(|name| is_name(name)).ok_or_else(malformed)?;
        if !name.contains('.') {
            return Err(BadHostPattern::TooWide(one_line(text, 200)));
        }
        Ok(Self { below: true, host: name.to_owned(), port })
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.below { "*." } else { "" })?;
        f.write_str(&self.host)?;
        if self.port == HTTPS_PORT { Ok(()) } else { write!(f, ":{}", self.port) }
    }
}

serialized_as_shown! { HostPattern }

impl<'de> Deserialize<'de> for HostPattern {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(de::Error::custom)
    }
}

/// Host and port of an entry; the port of https where none is written.
fn split_port(text: &str) -> Option<(&str, u16)> {
    let digits =
        |port: &str| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) && !port.starts_with('0');
    match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => {
            Some((host, port.parse().ok().filter(|_| digits(port))?))
        }
        _ => Some((text, HTTPS_PORT)),
    }
}

/// Whether a text is a name or an address as parsed addresses spell them.
fn is_host(text: &str) -> bool {
    let v6 = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    match v6 {
        // Of one that holds an IPv4 address there are two spellings, and the sender has the other.
        Some(v6) => {
            v6.parse::<Ipv6Addr>().is_ok_and(|address| address.to_string() == v6 && !v6.contains('.'))
        }
        None => text.parse::<Ipv4Addr>().is_ok() || is_name(text),
    }
}

/// Whether a text is a name of small letters, whose last label is not read as a number.
fn is_name(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(plain)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let is_number = |label: &str| {
        label.bytes().all(|b| b.is_ascii_digit())
            || label.strip_prefix("0x").is_some_and(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()))
    };
    text.len() <= 253 && text.split('.').all(label) && !text.rsplit('.').next().is_some_and(is_number)
}

/// Scheme, host, port and path of an address, as strictly as a grant is held against it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Whether it begins with `https`.
    pub https: bool,
    /// The host, spelled as parsed addresses have it.
    pub host: String,
    /// The port, that of the scheme where none is written.
    pub port: u16,
    /// What follows, without query and fragment.
    path: String,
    has_query: bool,
}

/// A longer address is refused.
pub const ADDRESS_BYTES_MAX: usize = 8 << 10;

/// Why a text is no address that is contacted. It repeats nothing of a user, a password or a
/// query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAddress {
    /// It does not parse strictly.
    #[error("the address is not spelled as addresses are; write e.g. https://example.com/page")]
    Malformed,
    /// It is longer than anybody's.
    #[error("the address is longer than {ADDRESS_BYTES_MAX} bytes")]
    TooLong,
    /// Neither https nor http.
    #[error("the address is not contacted by its scheme; write https://")]
    Scheme,
    /// A user name or password.
    #[error("the address comes with a user name or password, which is not sent; take it out")]
    User,
    /// A host that is spelled to look like another one, or that some programs read otherwise.
    #[error(
        "its host is spelled unusually; write a plain name, or an address such as 192.0.2.1 or [2001:db8::1]"
    )]
    Host,
}

impl FromStr for Address {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<Self, BadAddress> {
        if text.len() > ADDRESS_BYTES_MAX {
            return Err(BadAddress::TooLong);
        }
        if text.chars().any(|c| c.is_whitespace() || is_deceptive(c) || c == '\\') {
            return Err(BadAddress::Malformed);
        }
        let (scheme, rest) = text.split_once(':').ok_or(BadAddress::Malformed)?;
        let https = scheme.eq_ignore_ascii_case("https");
        if !https && !scheme.eq_ignore_ascii_case("http") {
            let is_scheme = scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
            return Err(if is_scheme { BadAddress::Scheme } else { BadAddress::Malformed });
        }
        let rest = rest.strip_prefix("//").ok_or(BadAddress::Malformed)?;
        let (authority, tail) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(BadAddress::User);
        }
        let default = if https { HTTPS_PORT } else { 80 };
        let written = authority.rsplit_once(':').filter(|(_, port)| !port.ends_with(']'));
        let (host, port) = match written {
            Some(_) => split_port(authority).ok_or(BadAddress::Malformed)?,
            None => (authority, default),
        };
        let host = host.to_ascii_lowercase();
        if host.is_empty() {
            return Err(BadAddress::Malformed);
        }
        if !is_host(&host) {
            return Err(BadAddress::Host);
        }
        let path = tail.split(['?', '#']).next().unwrap_or_default();
        let has_query = tail.split('#').next().is_some_and(|before| before.contains('?'));
        let path = if path.is_empty() { "/".to_owned() } else { path.to_owned() };
        Ok(Self { https, host, port, path, has_query })
    }
}

impl Address {
    /// The pattern that stands for its host at its port alone.
    pub fn pattern(&self) -> HostPattern {
        HostPattern::new_exact(&self.host, self.port)
    }

    /// As messages and the audit have it: with `?[redacted]` for a query, without a fragment.
    pub fn redacted(&self) -> String {
        let scheme = if self.https { "https" } else { "http" };
        let default = if self.https { HTTPS_PORT } else { 80 };
        let port = if self.port == default { String::new() } else { format!(":{}", self.port) };
        let query = if self.has_query { "?[redacted]" } else { "" };
        one_line(&format!("{scheme}://{}{port}{}{query}", self.host, self.path), 400)
    }
}

#[cfg(test)]
mod tests;
