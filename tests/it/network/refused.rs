//! What is never sent: hosts and methods that nobody granted, addresses that are not public, and
//! every way to spell them.

use super::server::{Server, ok};
use super::{ask, granting, named, outcome, reaching, request, requests};
use support::home::Home;

/// The guest is told no more than that it was refused, and who reads the answer what to do.
fn denied(home: &Home, arguments: &[&str], says: &str) {
    let ran = ask(home, arguments);
    assert_eq!((ran.code, ran.error().as_str()), (Some(1), "network_denied"), "{arguments:?}: {ran:?}");
    assert!(ran.message().contains(says), "{arguments:?} does not say {says:?}: {}", ran.message());
    let record = requests(home).pop().expect("it is in the audit");
    assert_eq!(record["code"], "network_denied", "{record}");
    assert!(record["reason"].as_str().is_some_and(|reason| reason.contains(says)), "{record}");
    assert_eq!(outcome(home), "network_denied");
}

#[test]
fn a_host_that_the_profile_does_not_name_is_not_asked() {
    let (server, other) = (Server::saying(ok("", b"")), Server::saying(ok("", b"")));
    // The operator names both; the profile one.
    let home = granting(&super::network(&server)).config(&named(&[&server, &other]));
    let url = format!("unjudged={}", other.url("/a?k=s3cret"));
    denied(&home, &[&url], &format!("hosts = [\"{}\"]", other.host()));
    assert!(other.asked().is_empty() && server.asked().is_empty());
    let record = request(&home);
    assert_eq!((&record["host"], &record["path"]), (&other.host().into(), &"/a".into()), "{record}");
    assert!(!record.to_string().contains("s3cret"), "{record}");
}

#[test]
fn a_private_host_that_the_operator_does_not_name_is_not_asked() {
    let server = Server::saying(ok("", b""));
    let home = granting(&super::network(&server));
    let says = format!("[network] allowed_private_hosts = [\"{}\"]", server.host());
    denied(&home, &[&server.asks("/")], &says);
    denied(&home, &[&format!("url={}", server.url("/").replace("http:", "https:"))], &says);
    assert!(server.asked().is_empty());
}

#[test]
fn no_spelling_of_an_address_gets_past_the_hosts() {
    let server = Server::saying(ok("", b""));
    let home = reaching(&server);
    let port = server.host().rsplit_once(':').expect("a port").1.to_owned();
    for host in [
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "017700000001",
        "0177.0.0.1",
        "127.1",
        "127.0.0.1.",
        "127.0.0.2",
        "localhost",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::7f00:1]",
        "[::]",
        "0.0.0.0",
        "0",
        "169.254.169.254",
        "metadata.google.internal",
        "%31%32%37.0.0.1",
        "127。0。0。1",
        "１２７.0.0.1",
        "me@127.0.0.1",
        "me:pa55@127.0.0.1",
        "127.0.0.1@evil.test",
    ] {
        for scheme in ["http", "https"] {
            let url = format!("{scheme}://{host}:{port}/");
            for argument in ["url", "unjudged"] {
                let ran = ask(&home, &[&format!("{argument}={url}")]);
                assert_eq!((ran.code, ran.error().as_str()), (Some(1), "network_denied"), "{url}: {ran:?}");
                assert!(!ran.message().contains("pa55"), "{ran:?}");
            }
        }
    }
    for url in [
        "ftp://127.0.0.1/",
        "file:///etc/passwd",
        "gopher://127.0.0.1/x",
        "http:\\\\127.0.0.1/",
        "//127.0.0.1/",
    ] {
        let ran = ask(&home, &[&format!("url={url}")]);
        assert_eq!(ran.error(), "network_denied", "{url}: {ran:?}");
    }
    assert!(server.asked().is_empty(), "{:?}", server.asked());
}

#[test]
fn only_methods_that_the_profile_names_are_sent() {
    let server = Server::saying(ok("", b""));
    let home = reaching(&server);
    for method in ["CONNECT", "TRACE", "PUT", "get", "POST /evil HTTP/1.1\r\nX: y"] {
        let method_argument = format!("method={method}");
        denied(
            &home,
            &[&server.asks("/"), &method_argument],
            "is not among those of the profile (GET, POST)",
        );
    }
    assert!(server.asked().is_empty());
}

#[test]
fn a_component_that_asks_without_a_grant_does_not_load() {
    let home = Home::new().tool(
        "network",
        "file-read-only",
        "network",
        &format!(
            "imports = \"strict\"\n{}",
            super::TOOL.replace("{ url = \"read\" }", "\"value\"").replace("side-effecting", "read-only")
        ),
    );
    let ran = ask(&home, &["url=https://example.com/"]);
    assert_eq!(ran.error(), "tool_unavailable", "{ran:?}");
    assert!(
        ran.message().contains("wasi:http/outgoing-handler") && ran.message().contains("network = { hosts"),
        "{ran:?}"
    );
}

#[test]
fn a_profile_that_names_nobody_reaches_nobody() {
    let server = Server::saying(ok("", b""));
    let home = granting("hosts = [], methods = [\"GET\"], bytes = \"1 MiB\"").config(&named(&[&server]));
    let ran = ask(&home, &[&server.asks("/")]);
    assert_eq!(ran.error(), "tool_unavailable", "{ran:?}");
    assert!(ran.message().contains("is off: its profile net names no hosts"), "{ran:?}");
    assert!(server.asked().is_empty());
}
