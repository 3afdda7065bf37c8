//! Who gets an answer: no page of a browser that came from elsewhere, nobody who was told another
//! name for this machine, and with a token nobody without it. Looked at before anything of a
//! request is read but its head.

use super::{Answer, Config, text_response, with_header};
use cofferdam_core::secret::Secret;
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use std::net::IpAddr;
use subtle::ConstantTimeEq;

/// Names that a machine has for itself.
const LOOPBACK: &str = "localhost";

/// Why a request is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RefusedRequest {
    /// A name under which nobody reaches this server: a page whose name was pointed here has it.
    Host,
    /// A page of somewhere else.
    Origin,
    /// No token, or a wrong one.
    Token,
}

impl RefusedRequest {
    pub(super) fn answer(self) -> Answer {
        match self {
            Self::Host => text_response(StatusCode::FORBIDDEN, "the Host header names another machine"),
            Self::Origin => text_response(StatusCode::FORBIDDEN, "the Origin header names another place"),
            Self::Token => {
                let said = "send the token as Authorization: Bearer";
                with_header(text_response(StatusCode::UNAUTHORIZED, said), header::WWW_AUTHENTICATE, "Bearer")
            }
        }
    }
}

/// Whether a header can carry the token, and it is one.
pub(super) fn is_sendable(token: &Secret) -> bool {
    !token.reveal().is_empty() && token.reveal().bytes().all(|byte| byte.is_ascii_graphic())
}

/// Whether a client can send this as its `Host`: a name or an address, with a port or without.
pub(super) fn can_be_host(name: &str) -> bool {
    let is_authority = Authority::try_from(name).is_ok_and(|authority| {
        let host = authority.host();
        !host.is_empty() && (host == name || authority.port_u16().is_some())
    });
    (is_authority && !name.contains(['@', '*'])) || name.parse::<IpAddr>().is_ok()
}

/// An address without its brackets, as a `Host` of any port is held against it.
fn without_brackets(name: &str) -> &str {
    name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name)
}

impl Config {
    /// Looks at the head of a request that came to this address of the machine.
    pub(super) fn admit(&self, uri: &Uri, headers: &HeaderMap, local: IpAddr) -> Result<(), RefusedRequest> {
        let host = host(uri, headers).ok_or(RefusedRequest::Host)?;
        if !self.is_own(&host, local) {
            return Err(RefusedRequest::Host);
        }
        let mut origins = headers.get_all(header::ORIGIN).iter();
        if let Some(origin) = origins.next() {
            let same = origins.next().is_none() && is_of(origin, &host);
            if !same {
                return Err(RefusedRequest::Origin);
            }
        }
        if self.is_token(headers) { Ok(()) } else { Err(RefusedRequest::Token) }
    }

    /// A name of this machine as the server is reached: loopback's, the address that the connection
    /// came to, or one that the operator gave.
    fn is_own(&self, host: &Authority, local: IpAddr) -> bool {
        let name = host.host().to_ascii_lowercase();
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        // A socket of both families tells an address of the older one in the newer one's form.
        let local = local.to_canonical();
        let address = bare.parse::<IpAddr>().map(|ip| ip.to_canonical());
        let is_address = address.is_ok_and(|ip| ip.is_loopback() || ip == local);
        let is_named = |known: &String| {
            let known = without_brackets(known);
            known.eq_ignore_ascii_case(bare) || known.eq_ignore_ascii_case(host.as_str())
        };
        bare == LOOPBACK || is_address || self.hosts.iter().any(is_named)
    }

    fn is_token(&self, headers: &HeaderMap) -> bool {
        let Some(token) = &self.token else { return true };
        let mut given = headers.get_all(header::AUTHORIZATION).iter();
        let (Some(first), None) = (given.next(), given.next()) else { return false };
        let Some((scheme, rest)) = first.as_bytes().split_at_checked("Bearer ".len()) else { return false };
        // Its length may be told by the time; its bytes are not.
        scheme.eq_ignore_ascii_case(b"Bearer ")
            && bool::from(rest.trim_ascii().ct_eq(token.reveal().as_bytes()))
    }
}

/// The one host that a request names.
fn host(uri: &Uri, headers: &HeaderMap) -> Option<Authority> {
    let mut given = headers.get_all(header::HOST).iter();
    let named = given.next().map(|named| Authority::try_from(named.as_bytes()).ok());
    if given.next().is_some() {
        return None;
    }
    match (named, uri.authority()) {
        (Some(named), None) => named.filter(|named| !named.as_str().contains('@')),
        (Some(named), Some(target)) => named.filter(|named| named == target),
        (None, _) => None,
    }
}

/// Whether a page of this very server sent it, as far as the server has pages.
fn is_of(origin: &HeaderValue, host: &Authority) -> bool {
    let Ok(origin) = Uri::try_from(origin.as_bytes()) else { return false };
    let is_http = matches!(origin.scheme_str(), Some("http" | "https"));
    is_http && origin.authority().is_some_and(|of| of.as_str().eq_ignore_ascii_case(host.as_str()))
}

#[cfg(test)]
mod tests {
    use super::super::ClientBounds;
    use super::*;
    use std::time::Instant;

    /// What becomes of a request with these headers, one `Name: value` a line.
    fn check(headers: &str, expected: Result<(), RefusedRequest>) {
        check_at("10.1.2.3", headers, expected);
    }

    /// The same of one that came to this address.
    fn check_at(local: &str, headers: &str, expected: Result<(), RefusedRequest>) {
        let address = "10.1.2.3:8000".parse().expect("an address");
        let hosts = ["Tools.Example", "Other.Example:8443", "[2001:db8::7]"].map(str::to_owned).to_vec();
        let token = headers.contains("Authorization").then(|| Secret::new("a-token-of-a-test"));
        let config = Config { address, token, hosts, bounds: ClientBounds::default() };
        let mut map = HeaderMap::new();
        for line in headers.lines() {
            let (name, value) = line.trim().split_once(": ").expect("a header");
            let name = http::HeaderName::try_from(name).expect("a name");
            map.append(name, HeaderValue::try_from(value).expect("a value"));
        }
        let local = local.parse().expect("an address");
        assert_eq!(config.admit(&Uri::from_static("/mcp"), &map, local), expected, "{headers}");
    }

    #[test]
    fn a_host_that_is_not_this_machine_is_refused() {
        for host in [
            "evil.example",
            "evil.example:8000",
            "localhost.evil.example",
            "localhost@evil.example",
            "127.0.0.1.evil.example",
            "10.1.2.4",
            "0.0.0.0",
            "[::2]:8000",
            "tools.example.evil",
            "other.example",
            "other.example:8444",
        ] {
            check(&format!("Host: {host}"), Err(RefusedRequest::Host));
        }
        check("Accept: */*", Err(RefusedRequest::Host));
        check("Host: localhost\nHost: evil.example", Err(RefusedRequest::Host));
        for host in [
            "localhost",
            "LOCALHOST:8000",
            "127.0.0.1:8000",
            "[::1]:8000",
            "10.1.2.3:8000",
            "tools.example",
            "Tools.EXAMPLE:8000",
            "Other.example:8443",
            "[2001:db8::7]",
            "[2001:DB8::7]:8000",
        ] {
            check(&format!("Host: {host}"), Ok(()));
        }
    }

    #[test]
    fn what_no_client_sends_as_host_is_told_from_what_one_does() {
        for name in
            ["tools.example", "tools.example:8443", "10.1.2.4", "2001:db8::7", "[2001:db8::7]", "[::2]:80"]
        {
            assert!(can_be_host(name), "{name}");
        }
        for name in [
            "",
            "https://tools.example",
            "tools.example/mcp",
            "two names",
            "a@tools.example",
            "*.example",
            "*",
            ":8443",
            "tools.example:",
            "tools.example:https",
            "tools.example:84430",
        ] {
            assert!(!can_be_host(name), "{name}");
        }
    }

    #[test]
    fn an_address_of_a_socket_of_both_families_is_the_one_that_it_stands_for() {
        for local in ["10.1.2.3", "::ffff:10.1.2.3"] {
            for host in ["10.1.2.3:8000", "[::ffff:10.1.2.3]:8000", "127.0.0.1", "[::ffff:127.0.0.1]"] {
                check_at(local, &format!("Host: {host}"), Ok(()));
            }
            for host in ["10.1.2.4:8000", "[::ffff:10.1.2.4]:8000", "[::10.1.2.3]", "[::ffff:0.0.0.0]"] {
                check_at(local, &format!("Host: {host}"), Err(RefusedRequest::Host));
            }
        }
    }

    #[test]
    fn a_page_of_elsewhere_is_refused() {
        for origin in [
            "null",
            "http://evil.example",
            "https://localhost.evil.example:8000",
            "http://localhost",
            "http://localhost:8001",
            "http://127.0.0.1:8000",
            "file://localhost:8000",
            "localhost:8000",
            "http://localhost:8000\nOrigin: http://evil.example",
        ] {
            check(&format!("Host: localhost:8000\nOrigin: {origin}"), Err(RefusedRequest::Origin));
        }
        check("Host: localhost:8000\nOrigin: http://localhost:8000", Ok(()));
    }

    #[test]
    fn a_token_is_the_whole_token() {
        for given in [
            "Basic a-token-of-a-test",
            "Bearer",
            "Bearer ",
            "Bearer a-token-of-a-tes",
            "Bearer a-token-of-a-test2",
            "Bearer A-token-of-a-test",
            "a-token-of-a-test",
            "Bearer a-token-of-a-test\nAuthorization: Bearer a-token-of-a-test",
        ] {
            check(&format!("Host: localhost\nAuthorization: {given}"), Err(RefusedRequest::Token));
        }
        check("Host: localhost\nAuthorization: Bearer a-token-of-a-test", Ok(()));
        check("Host: localhost\nAuthorization: bearer  a-token-of-a-test", Ok(()));
        // Who has it is asked the rest all the same: a page may use a browser that does.
        let right = "Authorization: Bearer a-token-of-a-test";
        check(&format!("{right}\nHost: evil.example"), Err(RefusedRequest::Host));
        check(&format!("{right}\nHost: localhost\nOrigin: http://evil.example"), Err(RefusedRequest::Origin));
    }

    /// One long enough for its comparison to be most of the work: a comparison that ends at the
    /// first difference would be thousands of times as fast where that is at the beginning.
    #[test]
    fn how_much_of_a_token_is_right_is_not_told_by_the_time() {
        let token = "a".repeat(4 << 20);
        let address = "10.1.2.3:8000".parse().expect("an address");
        let bounds = ClientBounds::default();
        let config = Config { address, token: Some(Secret::new(token.as_str())), hosts: Vec::new(), bounds };
        let fastest = |wrong_at: usize| {
            let mut given = format!("Bearer {token}").into_bytes();
            given["Bearer ".len() + wrong_at] = b'b';
            let given = HeaderValue::try_from(given).expect("a value");
            let headers = HeaderMap::from_iter([(header::AUTHORIZATION, given)]);
            let times = (0..5).map(|_| {
                let began = Instant::now();
                assert!(!config.is_token(&headers));
                began.elapsed()
            });
            times.min().expect("five")
        };
        let (first, last) = (fastest(0), fastest(token.len() - 1));
        assert!(first * 10 > last, "{first:?} for the first byte, {last:?} for the last");
    }
}
