//! What a guest says to a server that it may ask, and what it hears.

use super::server::{Server, ok};
use super::{ask, outcome, reaching, request, requests};
use std::io::Write;

#[test]
fn a_guest_asks_a_host_that_its_profile_names() {
    let server = Server::saying(ok("Set-Cookie: a=b\r\nX-Echo: seen\r\n", b"hello"));
    let home = reaching(&server);
    let asks = server.asks("/a/b?k=s3cret#f");
    let ran = ask(&home, &[&asks, "header=x-mine: yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let seen = ran.json();
    assert_eq!((&seen["status"], &seen["text"]), (&200.into(), &"hello".into()), "{seen}");
    assert_eq!((&seen["echo"], &seen["cookie"]), (&"seen".into(), &serde_json::Value::Null), "{seen}");
    let asked = &server.asked()[0];
    assert!(asked.head.starts_with("GET /a/b?k=s3cret HTTP/1.1\r\n"), "{asked:?}");
    assert_eq!((asked.header("host"), asked.header("x-mine")), (Some(&*server.host()), Some("yes")));
    for header in ["cookie", "referer", "authorization", "proxy-authorization"] {
        assert_eq!(asked.header(header), None, "{asked:?}");
    }
    let record = request(&home);
    assert_eq!((&record["tool"], &record["method"]), (&"network".into(), &"GET".into()), "{record}");
    assert_eq!((&record["host"], &record["path"]), (&server.host().into(), &"/a/b".into()), "{record}");
    assert_eq!((&record["status"], &record["bytes"]), (&200.into(), &5.into()), "{record}");
    assert!(record["call"].is_string() && record["code"].is_null(), "{record}");
    let log = std::fs::read_to_string(home.state().join("audit.jsonl")).expect("written");
    assert!(!log.contains("s3cret"), "{log}");
}

#[test]
fn what_is_the_gateways_to_say_is_not_the_guests() {
    let server = Server::saying(ok("", b""));
    let home = reaching(&server);
    for header in [
        "Host: evil.test",
        "Connection: upgrade",
        "Transfer-Encoding: chunked",
        "Proxy-Authorization: x",
        "X-HTTP-Method: DELETE",
        "X-HTTP-Method-Override: DELETE",
        "X-Method-Override: DELETE",
    ] {
        let ran = ask(&home, &[&server.asks("/"), &format!("header={header}")]);
        assert!(ran.message().contains("nothing was answered"), "{ran:?}");
    }
    assert!(server.asked().is_empty());
    for header in ["Cookie: a=b", "Accept-Encoding: br", "Content-Length: 5", "Expect: 100-continue"] {
        assert_eq!(ask(&home, &[&server.asks("/"), &format!("header={header}")]).code, Some(0), "{header}");
    }
    for asked in server.asked() {
        assert_eq!((asked.header("cookie"), asked.header("expect")), (None, None), "{asked:?}");
        assert_eq!(asked.header("accept-encoding"), Some("gzip"));
        assert_eq!(asked.header("content-length"), None, "{asked:?}");
    }
}

#[test]
fn what_may_change_something_there_is_in_the_audit_before_it_is_sent() {
    let server = Server::saying(ok("", b"taken"));
    let home = reaching(&server);
    let ran = ask(&home, &[&server.asks("/x"), "method=POST", "body=123"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(server.asked()[0].body, b"123");
    let records = requests(&home);
    assert_eq!(records.len(), 2, "{records:?}");
    assert_eq!((&records[0]["sending"], &records[0]["status"]), (&true.into(), &serde_json::Value::Null));
    assert_eq!((&records[1]["status"], &records[1]["bytes"]), (&200.into(), &8.into()), "{records:?}");
    assert!(records[1]["sending"].is_null());
}

#[test]
fn no_proxy_of_the_environment_is_used() {
    let server = Server::saying(ok("", b"direct"));
    let home = reaching(&server);
    let mut command = home.command(&["call", "network", &server.asks("/")]);
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        command.env(name, "http://127.0.0.1:9");
    }
    let ran: support::home::Ran = command.output().expect("it runs").into();
    assert_eq!(ran.json()["text"], "direct", "{ran:?}");
}

#[test]
fn an_answer_that_is_no_success_is_an_answer() {
    let server = Server::saying("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone");
    let home = reaching(&server);
    let ran = ask(&home, &[&server.asks("/")]);
    assert_eq!((&ran.json()["status"], &ran.json()["text"]), (&404.into(), &"none".into()), "{ran:?}");
    assert_eq!(request(&home)["status"], 404);
}

#[test]
fn a_packed_body_is_unpacked_and_an_unknown_packing_is_refused() {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(&b"plain text ".repeat(1000)).expect("memory");
    let packed = packer.finish().expect("memory");
    let half = packed[..packed.len() / 2].to_vec();
    let server = Server::routing(move |path| match path {
        "/gzip" => ok("Content-Encoding: gzip\r\n", &packed),
        "/half" => ok("Content-Encoding: gzip\r\n", &half),
        "/not" => ok("Content-Encoding: gzip\r\n", b"not packed"),
        "/twice" => ok("Content-Encoding: gzip, gzip\r\n", &packed),
        _ => ok("Content-Encoding: br\r\n", b"xxxx"),
    });
    let home = reaching(&server);
    let ran = ask(&home, &[&server.asks("/gzip")]);
    assert_eq!(ran.json()["bytes"], 11_000, "{ran:?}");
    assert_eq!(request(&home)["bytes"], 11_000);
    for path in ["/half", "/not", "/twice", "/br"] {
        let ran = ask(&home, &[&server.asks(path)]);
        assert_eq!(ran.code, Some(1), "{path}: {ran:?}");
        assert_eq!(outcome(&home), "write_failed", "{path}: the guest's own word");
    }
    let reasons: Vec<_> =
        requests(&home).iter().filter_map(|r| r["reason"].as_str().map(str::to_owned)).collect();
    assert_eq!(reasons.len(), 4, "{reasons:?}");
    assert!(reasons[2].contains("is not unpacked") && reasons[3].contains("packed as br"), "{reasons:?}");
}
