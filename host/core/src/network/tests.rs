//! Which hosts can be granted, what a grant stands for, and which addresses are held against it.

use super::*;

#[test]
fn what_is_no_host_cannot_be_granted() {
    for text in ["*", "*:443", "*.com", "*.localhost"] {
        assert!(matches!(text.parse::<HostPattern>(), Err(BadHostPattern::TooWide(_))), "{text}");
    }
    for text in [
        "",
        ".",
        "a..b",
        "a.",
        ".a",
        "A.example.com",
        "https://a.example.com",
        "a.example.com/x",
        "me@a.example.com",
        "a.example.com:",
        "a.example.com:0",
        "a.example.com:065",
        "a.example.com:99999",
        "a.example.com:+1",
        "-a.example",
        "1.2.3",
        "0x7f.1",
        "127.1",
        "2130706433",
        "a.0x1",
        "[::1",
        "[0:0::1]",
        "::1",
        "a b",
        "ä.example",
        "*example.com",
        "a.*.example.com",
        "**.example.com",
        "*.1.2",
        "*.127.0.0.1",
        "*.[::1]",
    ] {
        assert!(matches!(text.parse::<HostPattern>(), Err(BadHostPattern::Malformed(_))), "{text}");
    }
}

#[test]
fn a_grant_stands_for_its_host_and_port_alone() {
    let check = |pattern: &str, host: &str, port, expected| {
        let parsed: HostPattern = pattern.parse().expect(pattern);
        assert_eq!(parsed.to_string(), pattern);
        assert_eq!(parsed.matches(host, port), expected, "{pattern} {host}:{port}");
    };
    check("api.example.com", "api.example.com", 443, true);
    check("api.example.com", "api.example.com", 80, false);
    check("api.example.com", "xapi.example.com", 443, false);
    check("api.example.com", "api.example.com.evil.test", 443, false);
    check("api.example.com:8443", "api.example.com", 8443, true);
    check("api.example.com:8443", "api.example.com", 443, false);
    check("*.example.com", "a.example.com", 443, true);
    check("*.example.com", "a.b.example.com", 443, true);
    check("*.example.com", "example.com", 443, false);
    check("*.example.com", ".example.com", 443, false);
    check("*.example.com", "notexample.com", 443, false);
    check("*.example.com:8443", "a.example.com", 443, false);
    check("192.0.2.1", "192.0.2.1", 443, true);
    check("[2001:db8::1]:8443", "[2001:db8::1]", 8443, true);
}

#[test]
fn a_pattern_covers_what_stands_for_less() {
    let check = |wide: &str, narrow: &str, expected| {
        let parse = |text: &str| text.parse::<HostPattern>().expect(text);
        assert_eq!(parse(wide).covers(&parse(narrow)), expected, "{wide} {narrow}");
    };
    check("a.example.com", "a.example.com", true);
    check("*.example.com", "a.example.com", true);
    check("*.example.com", "*.a.example.com", true);
    check("*.example.com", "*.example.com", true);
    check("*.a.example.com", "*.example.com", false);
    check("*.example.com", "*.notexample.com", false);
    check("*.example.com", "a.example.com:8443", false);
    check("a.example.com", "*.a.example.com", false);
}

#[test]
fn an_address_is_read_strictly() {
    for (text, bad) in [
        ("", BadAddress::Malformed),
        ("example.com", BadAddress::Malformed),
        ("https:example.com", BadAddress::Malformed),
        ("https:/example.com", BadAddress::Malformed),
        ("https://", BadAddress::Malformed),
        ("https:///x", BadAddress::Malformed),
        ("https:\\\\example.com", BadAddress::Malformed),
        ("https://example.com\\@evil.test", BadAddress::Malformed),
        ("https://exam\u{200b}ple.com", BadAddress::Malformed),
        ("https://example.com/a b", BadAddress::Malformed),
        ("https://example.com:/", BadAddress::Malformed),
        ("https://example.com:99999/", BadAddress::Malformed),
        ("https://example.com:+1/", BadAddress::Malformed),
        ("ftp://example.com/", BadAddress::Scheme),
        ("file:///etc/passwd", BadAddress::Scheme),
        ("https://me@example.com/", BadAddress::User),
        ("https://me:s3cret@example.com/", BadAddress::User),
        ("https://@example.com/", BadAddress::User),
        ("https://2130706433/", BadAddress::Host),
        ("https://0x7f000001/", BadAddress::Host),
        ("https://0177.0.0.1/", BadAddress::Host),
        ("https://127.1/", BadAddress::Host),
        ("https://[::ffff:7f00:1]x/", BadAddress::Malformed),
        ("https://example.com./", BadAddress::Host),
        ("https://ex%61mple.com/", BadAddress::Host),
        ("https://münchen.example/", BadAddress::Host),
        ("https://１２７.0.0.1/", BadAddress::Host),
    ] {
        assert_eq!(text.parse::<Address>(), Err(bad), "{text}");
    }
    let long = format!("https://example.com/{}", "x".repeat(ADDRESS_BYTES_MAX));
    assert_eq!(long.parse::<Address>(), Err(BadAddress::TooLong));
}

#[test]
fn an_address_is_shown_without_its_query() {
    for (text, host, port, shown) in [
        ("https://Example.COM", "example.com", 443, "https://example.com/"),
        ("HTTP://example.com/a?k=s3cret#f", "example.com", 80, "http://example.com/a?[redacted]"),
        ("https://example.com:8443?k=s3cret", "example.com", 8443, "https://example.com:8443/?[redacted]"),
        ("https://[2001:db8::1]/x#?y", "[2001:db8::1]", 443, "https://[2001:db8::1]/x"),
        ("https://[2001:db8::1]:8443/x", "[2001:db8::1]", 8443, "https://[2001:db8::1]:8443/x"),
    ] {
        let address: Address = text.parse().expect(text);
        assert_eq!(
            (address.host.as_str(), address.port, address.redacted().as_str()),
            (host, port, shown),
            "{text}"
        );
    }
}
