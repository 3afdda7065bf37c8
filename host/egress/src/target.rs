//! An address that is about to be contacted: parsed strictly, and checked as far as its text tells.

use crate::error::RefusedAddress;
use crate::host::HostPort;
use crate::range::range_of;
use cofferdam_core::text::{is_deceptive, one_line};
use std::net::IpAddr;
use url::{Host, Url};

/// A longer address is refused.
pub const URL_BYTES_MAX: usize = 8 << 10;
/// The port that is contacted where the operator names no other.
pub const HTTPS_PORT: u16 = 443;

/// What holds for an address besides its spelling.
#[derive(Clone, Copy, Debug)]
pub struct AddressRules<'a> {
    /// Hosts that the operator names.
    pub named: &'a [HostPort],
    /// The section of the configuration that names them.
    pub section: &'static str,
    /// Which ports of public hosts are contacted.
    pub ports: Ports,
}

/// Ports of public hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ports {
    /// That of https.
    Https,
    /// Any: somebody else holds the address against ports that are granted.
    Granted,
}

impl<'a> AddressRules<'a> {
    /// Those of attachments.
    pub fn for_attachments(named: &'a [HostPort]) -> Self {
        Self { named, section: "attachments", ports: Ports::Https }
    }
}

/// A checked address: http or https, a host, nothing else that a server would be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedUrl {
    url: Url,
    host: Host<String>,
    name: HostPort,
    is_named: bool,
    section: &'static str,
}

impl CheckedUrl {
    /// The target that a text is; `named` are the hosts that the operator names.
    ///
    /// # Errors
    /// [`RefusedAddress`].
    pub fn parse(text: &str, named: &[HostPort]) -> Result<Self, RefusedAddress> {
        Self::parse_under(text, AddressRules::for_attachments(named))
    }

    /// The same under these rules.
    ///
    /// # Errors
    /// [`RefusedAddress`].
    pub fn parse_under(text: &str, rules: AddressRules<'_>) -> Result<Self, RefusedAddress> {
        let scheme = check_text(text)?.ok_or(RefusedAddress::Malformed)?;
        let url = Url::parse(text).map_err(|_| RefusedAddress::Malformed)?;
        debug_assert!(url.scheme().eq_ignore_ascii_case(scheme), "the parser reads the same scheme");
        Self::from_url(url, authority(text), rules)
    }

    /// The target that this one redirects to.
    ///
    /// # Errors
    /// [`RefusedAddress`].
    pub fn redirect(&self, location: &str, rules: AddressRules<'_>) -> Result<Self, RefusedAddress> {
        check_text(location)?;
        let url = self.url.join(location).map_err(|_| RefusedAddress::Malformed)?;
        let next = Self::from_url(url, authority(location), rules)?;
        if self.is_https() && !next.is_https() {
            return Err(RefusedAddress::Downgrade(next.display_redacted()));
        }
        Ok(next)
    }

    /// What the parser made of a text, whose authority was written so.
    fn from_url(
        mut url: Url,
        written: Option<&str>,
        rules: AddressRules<'_>,
    ) -> Result<Self, RefusedAddress> {
        // It is never sent, and no server's business.
        url.set_fragment(None);
        let host = url.host().ok_or(RefusedAddress::Malformed)?.to_owned();
        let port = url.port_or_known_default().ok_or(RefusedAddress::Malformed)?;
        let name = HostPort::new(&host, port);
        if !url.username().is_empty() || url.password().is_some() || written.is_some_and(|w| w.contains('@'))
        {
            return Err(RefusedAddress::User(name.to_string()));
        }
        check_spelling(&host, written)?;
        let is_named = rules.named.contains(&name);
        let target = Self { url, host, name, is_named, section: rules.section };
        if !is_named {
            target.check_unnamed(rules.ports)?;
        }
        Ok(target)
    }

    /// What holds for hosts that the operator does not name.
    fn check_unnamed(&self, ports: Ports) -> Result<(), RefusedAddress> {
        if !self.is_https() {
            return Err(RefusedAddress::Scheme(self.display_redacted(), self.permission()));
        }
        let port = self.name.port();
        if ports == Ports::Https && port != HTTPS_PORT {
            return Err(RefusedAddress::Port(self.display_redacted(), port, self.permission()));
        }
        self.address().map_or(Ok(()), |address| self.check(address))
    }

    /// Refuses an address that its name stands for, unless the operator names the host.
    ///
    /// # Errors
    /// [`RefusedAddress::NotPublic`].
    pub fn check(&self, address: IpAddr) -> Result<(), RefusedAddress> {
        match range_of(address) {
            Some(range) if !self.is_named => {
                let (shown, permission) = (self.display_redacted(), self.permission());
                Err(RefusedAddress::NotPublic(shown, address, range, permission))
            }
            _ => Ok(()),
        }
    }

    /// What the configuration says where the operator names the host.
    fn permission(&self) -> String {
        format!("[{}] allowed_private_hosts = [\"{}\"]", self.section, self.name)
    }

    /// The address that stands in place of a name.
    pub fn address(&self) -> Option<IpAddr> {
        match self.host {
            Host::Domain(_) => None,
            Host::Ipv4(address) => Some(address.into()),
            Host::Ipv6(address) => Some(address.into()),
        }
    }

    /// The name that is to be resolved.
    pub fn domain(&self) -> Option<&str> {
        match &self.host {
            Host::Domain(name) => Some(name),
            Host::Ipv4(_) | Host::Ipv6(_) => None,
        }
    }

    /// The address, to be contacted.
    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    /// Whether plain http is not even tried.
    pub(crate) fn is_https(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Host and port.
    pub fn name(&self) -> &HostPort {
        &self.name
    }

    /// The path, without the query.
    pub fn path(&self) -> &str {
        self.url.path()
    }

    /// As messages have it: with `?[redacted]` for a query.
    pub fn display_redacted(&self) -> String {
        let mut plain = self.url.clone();
        plain.set_query(None);
        let query = if self.url.query().is_some() { "?[redacted]" } else { "" };
        one_line(&format!("{plain}{query}"), 400)
    }
}

/// The scheme of an address, none of what is relative. Refuses what parsers read in more than one
/// way.
fn check_text(text: &str) -> Result<Option<&str>, RefusedAddress> {
    if text.len() > URL_BYTES_MAX {
        return Err(RefusedAddress::TooLong);
    }
    // A parser drops some of these; a backslash is a slash to some programs and none to others.
    if text.chars().any(|c| c.is_whitespace() || is_deceptive(c) || c == '\\') {
        return Err(RefusedAddress::Malformed);
    }
    let before = text.split(['/', '?', '#']).next().unwrap_or_default();
    let Some((scheme, _)) = before.split_once(':') else { return Ok(None) };
    if !scheme.eq_ignore_ascii_case("https") && !scheme.eq_ignore_ascii_case("http") {
        return Err(RefusedAddress::OtherScheme(one_line(scheme, 40)));
    }
    let rest = text[scheme.len()..].strip_prefix("://").unwrap_or_default();
    if rest.is_empty() || rest.starts_with('/') { Err(RefusedAddress::Malformed) } else { Ok(Some(scheme)) }
}

/// What stands between `//` and the path, as it was written; none in what is relative to a host.
fn authority(text: &str) -> Option<&str> {
    let (before, rest) = text.split_at(text.find(['/', '?', '#']).unwrap_or(text.len()));
    let rest = rest.strip_prefix("//").filter(|_| before.is_empty() || before.ends_with(':'))?;
    rest.split(['/', '?', '#']).next()
}

/// Refuses a number in disguise (decimal, octal, hexadecimal, shortened), and a dot at the end.
fn check_spelling(host: &Host<String>, written: Option<&str>) -> Result<(), RefusedAddress> {
    if let Host::Domain(name) = host
        && let Some(plain) = name.strip_suffix('.')
    {
        return Err(RefusedAddress::Spelling(one_line(plain, 200)));
    }
    let Some(written) = written else { return Ok(()) };
    let host_written = match written.strip_prefix('[') {
        // Of an IPv6 address each spelling is as plain as the next.
        Some(_) => return Ok(()),
        None => written.split(':').next().unwrap_or_default(),
    };
    match host {
        Host::Ipv4(address) if address.to_string() != host_written => {
            Err(RefusedAddress::Spelling(address.to_string()))
        }
        _ => Ok(()),
    }
}
