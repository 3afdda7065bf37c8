//! What one call may take of the network: bytes, time, requests.

use super::server::{Server, ok, to};
use super::{ask, granting, named, outcome, reaching, request, requests};
use std::io::Write;
use std::time::{Duration, Instant};
use support::home::Home;

/// A profile that may GET so many bytes from this server.
fn bytes(server: &Server, bytes: &str) -> Home {
    let network = format!("hosts = [{:?}], methods = [\"GET\", \"POST\"], bytes = {bytes:?}", server.host());
    granting(&network).config(&named(&[server]))
}

#[test]
fn an_endless_body_ends_at_the_bytes_of_the_call() {
    let server = Server::start(|asked, stream| {
        let chunked = asked.path() == "/chunked";
        let head = if chunked { "Transfer-Encoding: chunked\r\n" } else { "" };
        let mut sent = stream.write_all(format!("HTTP/1.1 200 OK\r\n{head}\r\n").as_bytes());
        while sent.is_ok() {
            sent = stream.write_all(if chunked { b"4\r\nxxxx\r\n" } else { b"xxxxxxxxx" });
        }
    });
    for path in ["/chunked", "/until-the-end"] {
        let home = bytes(&server, "64 KiB");
        let ran = ask(&home, &[&server.asks(path)]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        let record = request(&home);
        assert_eq!((&record["code"], &record["status"]), (&"too_large".into(), &200.into()), "{record}");
        assert!(record["bytes"].as_u64().is_some_and(|bytes| bytes <= 64 << 10), "{record}");
        assert!(record["reason"].as_str().is_some_and(|reason| reason.contains("65536 bytes")), "{record}");
    }
}

#[test]
fn what_a_small_body_unpacks_to_counts() {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let mebibyte = vec![0; 1 << 20];
    for _ in 0..64 {
        packer.write_all(&mebibyte).expect("memory");
    }
    let packed = packer.finish().expect("memory");
    assert!(packed.len() < 1 << 20);
    let server = Server::saying(ok("Content-Encoding: gzip\r\n", &packed));
    let home = bytes(&server, "2 MiB");
    let ran = ask(&home, &[&server.asks("/")]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let record = request(&home);
    assert_eq!(record["code"], "too_large", "{record}");
    assert!(record["bytes"].as_u64().is_some_and(|bytes| bytes <= 2 << 20), "{record}");
}

#[test]
fn a_body_that_a_redirect_sends_again_counts_again() {
    let server = Server::routing(|path| match path {
        "/" => to(307, "/next"),
        _ => ok("", b"there"),
    });
    let home = bytes(&server, "250 B");
    let post =
        |body: usize| ask(&home, &[&server.asks("/"), "method=POST", &format!("body={}", "x".repeat(body))]);
    assert_eq!(post(100).code, Some(0));
    assert_eq!(server.asked().len(), 2);
    assert_eq!(post(150).code, Some(1));
    assert_eq!(server.asked().len(), 3, "the second hop is not asked");
    assert_eq!(outcome(&home), "write_failed");
    assert_eq!(requests(&home).pop().expect("noted")["code"], "too_large");
}

#[test]
fn the_bytes_are_those_of_all_requests_and_of_what_is_sent() {
    let server = Server::saying(ok("", &[b'x'; 100]));
    let home = bytes(&server, "250 B");
    assert_eq!(ask(&home, &[&server.asks("/"), "times=2"]).code, Some(0));
    assert_eq!(ask(&home, &[&server.asks("/"), "times=3"]).code, Some(1));
    assert_eq!(requests(&home).pop().expect("noted")["code"], "too_large");
    let body = format!("body={}", "y".repeat(251));
    let before = server.asked().len();
    assert_eq!(ask(&home, &[&server.asks("/"), "method=POST", &body]).code, Some(1));
    assert_eq!(requests(&home).pop().expect("noted")["code"], "too_large");
    assert_eq!(server.asked().len(), before, "nothing was sent");
}

#[test]
fn a_server_that_is_slow_ends_with_the_call() {
    let server = Server::start(|asked, stream| {
        let head: &[u8] = if asked.path() == "/body" {
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"
        } else {
            b"HTTP/1.1 200 OK\r\nX-A: "
        };
        let mut sent = stream.write_all(head);
        // One byte at a time, for ever.
        while sent.is_ok() && asked.path() != "/body" {
            std::thread::sleep(Duration::from_millis(50));
            sent = stream.write_all(b"x");
        }
        while asked.path() == "/body" {
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    for path in ["/headers", "/body"] {
        let home = reaching(&server);
        let policy = home.policies_dir().join("profiles/net.toml");
        let text = std::fs::read_to_string(&policy).expect("there").replace("20s", "5s");
        std::fs::write(policy, text).expect("writable");
        let started = Instant::now();
        let ran = ask(&home, &[&server.asks(path)]);
        assert_eq!(ran.error(), "timed_out", "{path}: {ran:?}");
        assert!(started.elapsed() < crate::sandbox::SOON, "{:?}", started.elapsed());
        assert_eq!(requests(&home).len(), 1, "it is in the audit");
    }
}

#[test]
fn a_call_makes_so_many_requests_and_no_more() {
    let server = Server::saying(ok("", b""));
    let home = reaching(&server);
    let ran = ask(&home, &[&server.asks("/"), "times=201"]);
    assert_eq!(ran.error(), "network_denied", "{ran:?}");
    assert!(ran.message().contains("200 requests"), "{ran:?}");
    assert_eq!((server.asked().len(), requests(&home).len()), (200, 201));
}

#[test]
fn a_call_reads_so_many_answers_at_once_and_no_more() {
    let server = Server::saying(ok("", b"x"));
    let home = reaching(&server);
    let ran = ask(&home, &[&server.asks("/"), "times=17", "held=true"]);
    assert_eq!(ran.error(), "network_denied", "{ran:?}");
    assert!(ran.message().contains("16 answers at once"), "{ran:?}");
    assert_eq!((server.asked().len(), requests(&home).len()), (16, 17));
}

#[test]
fn bodies_that_are_not_sent_are_bounded_together_and_given_back() {
    let server = Server::saying(ok("", b""));
    let home = reaching(&server);
    let ran = ask(&home, &[&server.asks("/"), "method=POST", "body=x", "unsent=8"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(server.asked()[0].body, b"x", "there is room for it again");
    let ran = ask(&home, &[&server.asks("/"), "unsent=9"]);
    assert_eq!(ran.error(), "write_failed", "{ran:?}");
    assert!(ran.message().contains("8 bodies are kept"), "{ran:?}");
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn a_server_that_is_gone_is_told_of() {
    let home = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let host = listener.local_addr().expect("bound").to_string();
        drop(listener);
        let network = format!("hosts = [{host:?}], methods = [\"GET\"], bytes = \"1 MiB\"");
        let home = granting(&network).config(&format!("[network]\nallowed_private_hosts = [{host:?}]\n"));
        let ran = ask(&home, &[&format!("url=http://{host}/?k=s3cret")]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.message().contains("cannot be asked") && !ran.message().contains("s3cret"), "{ran:?}");
        home
    };
    let record = request(&home);
    assert!(record["status"].is_null() && record["reason"].is_string(), "{record}");
    assert_eq!(outcome(&home), "write_failed", "the guest's own word");
}
