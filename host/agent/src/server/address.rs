//! The address of a server that is sent a token or a key: https, or plain http on this machine.
//! Anything else is refused before it is contacted.

use cofferdam_core::text::one_line;
use std::net::IpAddr;
use url::Url;

/// A server's address, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The address, without a slash at its end, a query or a fragment.
    pub url: Url,
    /// Where it is.
    pub reach: ServerScope,
}

/// Where a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerScope {
    /// On this machine: no proxy stands between.
    Loopback,
    /// Elsewhere: the environment's proxy is used.
    Remote,
}

impl Address {
    /// The checked address.
    ///
    /// # Errors
    /// Why the text is no such address; it repeats no user name, no password, and no query, which
    /// often is a key.
    pub fn parse(text: &str) -> Result<Self, String> {
        let refuse = |why: &str| format!("{:?} {why}", redact(text));
        let url = Url::parse(text.trim_end_matches('/')).map_err(|_| refuse("is not an address"))?;
        let host = url.host_str().unwrap_or_default();
        let ip = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        let loopback = host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback());
        let reach = if loopback { ServerScope::Loopback } else { ServerScope::Remote };
        if !url.username().is_empty() || url.password().is_some() {
            // Not repeated: what is there is meant to be secret.
            return Err(format!("{host:?} comes with a user name or password"));
        }
        match url.scheme() {
            _ if host.is_empty() => Err(refuse("names no host")),
            _ if url.query().is_some() || url.fragment().is_some() => Err(refuse("has a query or fragment")),
            "https" => Ok(Self { url, reach }),
            "http" if loopback => Ok(Self { url, reach }),
            "http" => Err(refuse("is plain http, which only loopback may be")),
            _ => Err(refuse("is not https")),
        }
    }

    /// The TCP port.
    pub fn port(&self) -> Option<u16> {
        self.url.port_or_known_default()
    }

    /// The address of something below this one.
    pub fn join(&self, path: &str) -> Url {
        let mut url = self.url.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path.split('/'));
        }
        url
    }
}

/// What may be repeated of a text that is no address.
fn redact(text: &str) -> String {
    let (before, rest) = text.split_at(text.find(['?', '#']).unwrap_or(text.len()));
    // A password may have such a character in it, and then begins before it.
    let before = if rest.contains('@') { "" } else { before };
    one_line(before.rsplit('@').next().unwrap_or_default(), 200)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_below_keeps_the_base() {
        for (base, below) in [
            ("https://api.example.org", "https://api.example.org/v1/messages"),
            ("http://127.0.0.1:8/base/", "http://127.0.0.1:8/base/v1/messages"),
        ] {
            let address = Address::parse(base).expect("an address");
            assert_eq!(address.join("v1/messages").as_str(), below);
        }
    }

    #[test]
    fn what_is_refused_is_repeated_without_what_may_be_secret() {
        for (text, said) in [
            ("https://a.example/v1?key=secret", "\"https://a.example/v1\" has a query or fragment"),
            ("https://a.example/v1#secret", "\"https://a.example/v1\" has a query or fragment"),
            ("https://secret:secret@a.example", "\"a.example\" comes with a user name or password"),
            ("secret:secret@a.example:x", "\"a.example:x\" names no host"),
            ("//secret@a.example", "\"a.example\" is not an address"),
            ("https://a:secret#secret@a.example", "\"\" is not an address"),
            ("https://a:secret?@a.example", "\"\" is not an address"),
            ("http://a.example", "\"http://a.example\" is plain http, which only loopback may be"),
        ] {
            let refused = Address::parse(text).expect_err(text);
            assert_eq!(refused, said);
        }
    }

    #[test]
    fn the_port_is_the_written_one_or_that_of_the_scheme() {
        for (text, port) in [("https://a.example", 443), ("http://localhost", 80), ("http://[::1]:81/x", 81)]
        {
            assert_eq!(Address::parse(text).expect("an address").port(), Some(port), "{text}");
        }
    }
}
