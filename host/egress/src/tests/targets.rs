//! Which addresses are contacted, as far as their text tells.

use crate::{AddressRules, CheckedUrl, HostPort, Ports};
use cofferdam_core::network::Address;
use proptest::prelude::*;

const NAMED: [&str; 3] = ["files.internal:8080", "10.0.0.5:443", "[fd00::1]:80"];

fn named() -> Vec<HostPort> {
    NAMED.map(|name| name.parse().expect(name)).into()
}

fn refusal(text: &str) -> String {
    CheckedUrl::parse(text, &named()).expect_err(text).to_string()
}

#[test]
fn what_is_no_plain_https_address_is_refused_with_what_to_write() {
    for (text, said) in [
        ("", "is not spelled as addresses are"),
        ("example.com/a", "is not spelled as addresses are"),
        ("//example.com/a", "is not spelled as addresses are"),
        ("/a", "is not spelled as addresses are"),
        ("https:example.com", "is not spelled as addresses are"),
        ("https:/example.com", "is not spelled as addresses are"),
        ("https:///example.com", "is not spelled as addresses are"),
        ("https:\\\\example.com", "is not spelled as addresses are"),
        ("https://example.com\\@evil.example/", "is not spelled as addresses are"),
        ("https://exam\tple.com/", "is not spelled as addresses are"),
        ("https://example.com/a b", "is not spelled as addresses are"),
        (" https://example.com/", "is not spelled as addresses are"),
        ("https://example.com/\u{202e}", "is not spelled as addresses are"),
        ("https://exa\u{200b}mple.com/", "is not spelled as addresses are"),
        ("https://", "is not spelled as addresses are"),
        ("https://example.com:99999/", "is not spelled as addresses are"),
        ("https://[::1", "is not spelled as addresses are"),
        ("https://[fe80::1%25eth0]/", "is not spelled as addresses are"),
        ("ftp://example.com/", "the scheme ftp is not contacted"),
        ("file:///etc/passwd", "the scheme file is not contacted"),
        ("data:text/plain,x", "the scheme data is not contacted"),
        ("unix:/run/x", "the scheme unix is not contacted"),
        ("https://user@example.com/", "example.com:443 comes with a user name or password"),
        ("https://user:s3cret@example.com/", "example.com:443 comes with a user name or password"),
        ("https://@example.com/", "example.com:443 comes with a user name or password"),
        ("https://example.com@10.0.0.5/", "10.0.0.5:443 comes with a user name or password"),
        ("http://example.com/", "allowed_private_hosts = [\"example.com:80\"]"),
        ("HTTP://example.com/?k=s3cret", "http://example.com/?[redacted] is not https"),
        ("https://example.com:8443/", "is at port 8443, and only 443 is contacted"),
        ("https://example.com:80/", "allowed_private_hosts = [\"example.com:80\"]"),
        ("https://example.com./", "its host is spelled unusually; write example.com"),
        ("https://127.0.0.1/", "is at 127.0.0.1, which is not public (loopback)"),
        ("https://127.0.0.1/", "allowed_private_hosts = [\"127.0.0.1:443\"]"),
        ("https://[::1]/", "is at ::1, which is not public (loopback)"),
        ("https://[::1]/", "allowed_private_hosts = [\"[::1]:443\"]"),
        ("https://[::ffff:7f00:1]/", "not public (loopback)"),
        ("https://[64:ff9b::a9fe:a9fe]/", "not public (link-local)"),
        ("https://[fd00::1]/", "not public (unique local)"),
        ("https://2130706433/", "write 127.0.0.1"),
        ("https://0x7f000001/", "write 127.0.0.1"),
        ("https://0x7f.1/", "write 127.0.0.1"),
        ("https://0177.0.0.1/", "write 127.0.0.1"),
        ("https://127.1/", "write 127.0.0.1"),
        ("https://127.0.0.1./", "write 127.0.0.1"),
        ("https://134744072/", "write 8.8.8.8"),
        ("https://\u{ff11}27.0.0.1/", "write 127.0.0.1"),
        ("https://%31%32%37.0.0.1/", "write 127.0.0.1"),
        ("https://127\u{3002}0\u{3002}0\u{3002}1/", "write 127.0.0.1"),
        ("https://10.0.0.6/", "not public (private)"),
        ("https://10.0.0.5:444/", "is at port 444"),
        ("http://files.internal/", "is not https"),
        ("http://files.internal:8081/", "is not https"),
        ("http://sub.files.internal:8080/", "is not https"),
        ("https://files.internal:8081/", "is at port 8081"),
    ] {
        let found = refusal(text);
        assert!(found.contains(said), "{text}: {said:?} in {found:?}");
        assert!(!found.contains("s3cret"), "{text}: {found}");
    }
    assert!(
        refusal(&format!("https://example.com/{}", "a".repeat(8 << 10))).contains("longer than 8192 bytes")
    );
}

#[test]
fn what_is_contacted_is_shown_without_its_query() {
    for (text, shown) in [
        ("https://example.com", "https://example.com/"),
        ("HTTPS://EXAMPLE.com:443/a%20b?k=v#f", "https://example.com/a%20b?[redacted]"),
        ("https://8.8.8.8/", "https://8.8.8.8/"),
        ("https://[2606:4700::1]/", "https://[2606:4700::1]/"),
        ("https://b\u{fc}cher.example/", "https://xn--bcher-kva.example/"),
        ("http://files.internal:8080/x", "http://files.internal:8080/x"),
        ("https://files.internal:8080/x", "https://files.internal:8080/x"),
        ("https://10.0.0.5/", "https://10.0.0.5/"),
        ("http://[fd00::1]/", "http://[fd00::1]/"),
        ("http://[FD00:0::1]/", "http://[fd00::1]/"),
    ] {
        assert_eq!(
            CheckedUrl::parse(text, &named()).map(|target| target.display_redacted()).as_deref(),
            Ok(shown),
            "{text}"
        );
    }
}

#[test]
fn each_redirect_is_checked_as_the_first_address() {
    let check = |from: &str, location: &str, expected: Result<&str, &str>| {
        let from = CheckedUrl::parse(from, &named()).expect("it may be contacted");
        let next = from.redirect(location, crate::AddressRules::for_attachments(&named()));
        match (next, expected) {
            (Ok(next), Ok(shown)) => assert_eq!(next.display_redacted(), shown, "{location}"),
            (Err(refused), Err(said)) => {
                assert!(refused.to_string().contains(said), "{location}: {refused}");
            }
            (next, expected) => panic!("{location}: {next:?} and not {expected:?}"),
        }
    };
    let public = "https://example.com/a/b?q#f";
    check(public, "c", Ok("https://example.com/a/c"));
    check(public, "/c@d//e", Ok("https://example.com/c@d//e"));
    check(public, "c//d@e", Ok("https://example.com/a/c//d@e"));
    check(public, "?x=//u@h", Ok("https://example.com/a/b?[redacted]"));
    check(public, "//other.example/x", Ok("https://other.example/x"));
    check(public, "https://other.example/x", Ok("https://other.example/x"));
    check(public, "https://files.internal:8080/", Ok("https://files.internal:8080/"));
    check("http://files.internal:8080/", "https://example.com/", Ok("https://example.com/"));
    check("http://files.internal:8080/", "/b", Ok("http://files.internal:8080/b"));
    check(public, "http://example.com/", Err("is not https"));
    // Though its host is named: from https to http nothing leads.
    check(public, "http://files.internal:8080/", Err("leads to plain http, which is not followed"));
    check(public, "//10.0.0.6/x", Err("not public (private)"));
    check(public, "//2130706433/x", Err("write 127.0.0.1"));
    check(public, "https://[::ffff:169.254.169.254]/", Err("not public (link-local)"));
    check(public, "//u:p@other.example/", Err("comes with a user name or password"));
    check(public, "https://other.example:8443/", Err("only 443 is contacted"));
    check(public, "https:other.example", Err("is not spelled"));
    check(public, "https:/other.example", Err("is not spelled"));
    check(public, "/\\other.example", Err("is not spelled"));
    check(public, "\thttps://other.example", Err("is not spelled"));
    check(public, "file:///etc/passwd", Err("the scheme file is not contacted"));
    check(public, "gopher://other.example/", Err("the scheme gopher is not contacted"));
    check("http://files.internal:8080/", "http://example.com/", Err("is not https"));
}

#[test]
fn a_named_host_is_written_as_an_address_has_it() {
    for name in NAMED.into_iter().chain(["a_b.example:1", "localhost:65535", "xn--bcher-kva.example:443"]) {
        assert_eq!(name.parse::<HostPort>().map(|name| name.to_string()).as_deref(), Ok(name));
    }
    for (name, said) in [
        ("", "is no host and port"),
        ("files.internal", "is no host and port"),
        ("files.internal:", "is no host and port"),
        ("files.internal:0", "is no host and port"),
        ("files.internal:+80", "is no host and port"),
        ("files.internal:65536", "is no host and port"),
        ("*.internal:443", "is no host and port"),
        ("https://files.internal:443", "is no host and port"),
        ("files.internal:443/x", "is no host and port"),
        ("u@files.internal:443", "is no host and port"),
        ("files.internal.:443", "is no host and port"),
        ("fd00::1:443", "is no host and port"),
        (":443", "is no host and port"),
        ("Files.internal:443", "write \"files.internal:443\""),
        ("127.1:80", "write \"127.0.0.1:80\""),
        ("2130706433:80", "write \"127.0.0.1:80\""),
        ("[FD00::1]:80", "write \"[fd00::1]:80\""),
        ("files.internal:0443", "write \"files.internal:443\""),
    ] {
        let refused = name.parse::<HostPort>().expect_err(name).to_string();
        assert!(refused.contains(said), "{name}: {refused}");
    }
}

proptest! {
    /// The judge's parser and the one that sends: what both take, they read alike; and what the
    /// judge takes of a granted host is nobody else's.
    #[test]
    fn the_judge_and_the_sender_read_an_address_alike(
        scheme in "https?|HTTPS|htt",
        host in "([a-z0-9.%@\\[\\]:_-]{0,12}|[a-zA-Z]{1,4}\\.(com|test|127)|0x7f\\.1|127\\.[0-9.]{1,8}|\\[::ffff:[0-9.]{7,9}\\])",
        tail in "(:[0-9]{0,5})?([/?#][a-z?#@/:\\\\.]{0,8})?",
    ) {
        let text = format!("{scheme}://{host}{tail}");
        let rules = AddressRules { named: &[], section: "network", ports: Ports::Granted };
        if let (Ok(judged), Ok(sent)) = (text.parse::<Address>(), CheckedUrl::parse_under(&text, rules)) {
            prop_assert_eq!(&judged.host, sent.name().host(), "{}", text);
            prop_assert_eq!(judged.port, sent.name().port(), "{}", text);
        }
    }
}
