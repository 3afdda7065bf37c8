//! What must hold for any text that is an address, or a redirect from one: it is refused in plain
//! words, or nothing but the host that stands in it can be contacted, and only if it may be.
//!
//! The bytes are lines: an address, then where it redirects to, and where that does.

use crate::host::HostPort;
use crate::range::range_of;
use crate::target::{AddressRules, CheckedUrl, HTTPS_PORT};
use cofferdam_core::text::is_deceptive;
use url::Url;

/// Hosts that an operator names.
const NAMED: [&str; 3] = ["files.internal:8080", "10.0.0.5:443", "[fd00::1]:80"];

/// Reads the address, and follows the redirects on paper.
pub(crate) fn addresses(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let named: Vec<HostPort> = NAMED.iter().filter_map(|name| name.parse().ok()).collect();
    let mut lines = text.split('\n');
    let first = lines.next().unwrap_or_default();
    let mut target = match CheckedUrl::parse(first, &named) {
        Ok(target) => target,
        Err(refused) => return assert_plain(&refused.to_string()),
    };
    check(&target);
    assert_eq!(host_by_hand(first), Some(host_of(&target)), "another host than the text has: {first:?}");
    for location in lines.take(4) {
        let next = match target.redirect(location, AddressRules::for_attachments(&named)) {
            Ok(next) => next,
            Err(refused) => return assert_plain(&refused.to_string()),
        };
        check(&next);
        assert!(
            next.is_https() || !target.is_https(),
            "{} leads to {}",
            target.display_redacted(),
            next.display_redacted()
        );
        target = next;
    }
}

/// What holds for each target, wherever it came from.
fn check(target: &CheckedUrl) {
    let url = target.url();
    assert_plain(&target.display_redacted());
    assert!(url.username().is_empty() && url.password().is_none() && url.fragment().is_none(), "{url}");
    let query = url.query().unwrap_or_default();
    assert!(
        query.len() < 4 || !target.display_redacted().contains(&format!("?{query}")),
        "{}",
        target.display_redacted()
    );
    let port = url.port_or_known_default();
    let is_named = NAMED.contains(&format!("{}:{}", host_of(target), port.unwrap_or(0)).as_str());
    if is_named {
        return;
    }
    assert!(target.is_https() && port == Some(HTTPS_PORT), "{url} is nobody's that was named");
    if let Some(address) = target.address() {
        assert!(range_of(address).is_none() && target.check(address).is_ok(), "{url} is not public");
    }
    let private = std::net::IpAddr::from([10, 0, 0, 6]);
    assert!(target.check(private).is_err(), "{url} may be at {private}");
    // The parser reads what it writes as it read it first.
    let again = CheckedUrl::parse(url.as_str(), &[]).map(|again| again.url().clone());
    assert_eq!(again.as_ref(), Ok(url));
}

fn host_of(target: &CheckedUrl) -> String {
    target.url().host_str().unwrap_or_default().to_owned()
}

/// The host of an address as a person reads it: what stands between `//` and the next `/`, `?`, `#`
/// or the port. None where reading it takes more than that.
fn host_by_hand(text: &str) -> Option<String> {
    let rest = text.split_once("://")?.1;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    if host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_')) {
        return Some(host.to_ascii_lowercase());
    }
    // International names and IPv6 have more than one spelling: the library's.
    Url::parse(&format!("https://{authority}/")).ok()?.host_str().map(str::to_owned)
}

fn assert_plain(said: &str) {
    assert!(!said.chars().any(is_deceptive), "not plain: {said:?}");
}

#[cfg(test)]
mod tests {
    use cofferdam_checks::corpus;

    #[test]
    fn any_text_is_refused_or_means_the_host_that_stands_in_it() {
        assert!(corpus::run("addresses", super::addresses) > corpus::MUTATIONS);
    }
}
