//! One fetch against a server on loopback, with a resolver of the tests' own.

use crate::{Egress, EgressError, FetchLimits, HostPort};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Each look-up gets the next answer; the names that were asked for.
#[derive(Default)]
struct Answers {
    next: Mutex<VecDeque<Vec<IpAddr>>>,
    asked: Mutex<Vec<String>>,
}

impl Answers {
    fn of(answers: &[&[&str]]) -> Arc<Self> {
        let parse = |answer: &&[&str]| answer.iter().map(|ip| ip.parse().expect("an address")).collect();
        Arc::new(Self { next: Mutex::new(answers.iter().map(parse).collect()), asked: Mutex::default() })
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("whole").clone()
    }
}

impl Resolve for Answers {
    fn resolve(&self, name: Name) -> Resolving {
        self.asked.lock().expect("whole").push(name.as_str().to_owned());
        let next = self.next.lock().expect("whole").pop_front();
        Box::pin(async {
            let found = next.ok_or("no such name")?;
            Ok(Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs)
        })
    }
}

/// Says one thing to each connection, and then waits for its end.
struct Server {
    port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn saying(answers: Vec<Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let heads: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = heads.clone();
        tokio::spawn(async move {
            for answer in answers {
                let Ok((stream, _)) = listener.accept().await else { return };
                tokio::spawn(answer_one(stream, answer, kept.clone()));
            }
        });
        Self { port, heads }
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().expect("whole").clone()
    }
}

async fn answer_one(mut stream: TcpStream, answer: Vec<u8>, heads: Arc<Mutex<Vec<String>>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    heads.lock().expect("whole").push(String::from_utf8_lossy(&head).to_ascii_lowercase());
    // Who has read enough is gone.
    let _ = stream.write_all(&answer).await;
    let _ = stream.read(&mut [0]).await;
}

fn ok(body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nSet-Cookie: a=b\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn to(location: &str) -> Vec<u8> {
    format!("HTTP/1.1 302 Found\r\nLocation: {location}\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n")
        .into()
}

fn limits(named: &[String]) -> FetchLimits {
    let parse = |name: &String| name.parse::<HostPort>().expect("a host and a port");
    FetchLimits {
        bytes_max: 100,
        time_max: Duration::from_secs(20),
        redirects_max: 2,
        named: named.iter().map(parse).collect(),
        section: "attachments",
    }
}

/// One that never ends would hold the tests up for ever.
async fn fetch(egress: &Egress, url: &str) -> Result<Vec<u8>, EgressError> {
    let whole = tokio::time::timeout(Duration::from_secs(60), fetch_all(egress, url)).await;
    whole.expect("it ends by its own time")
}

async fn fetch_all(egress: &Egress, url: &str) -> Result<Vec<u8>, EgressError> {
    let mut body = egress.get(url).await?;
    let mut bytes = Vec::new();
    while let Some(piece) = body.next().await? {
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

#[tokio::test]
async fn a_name_is_resolved_once_and_the_checked_address_is_connected_to() {
    let server = Server::saying(vec![ok(b"whole")]).await;
    // Who would look up again would be led elsewhere.
    let answers = Answers::of(&[&["127.0.0.1"], &["127.0.0.99"], &["127.0.0.99"]]);
    let egress = Egress::with_resolver(limits(&[format!("files.test:{}", server.port)]), answers.clone());
    let url = format!("http://files.test:{}/a?k=v", server.port);
    assert_eq!(fetch(&egress, &url).await.as_deref(), Ok(&b"whole"[..]));
    assert_eq!(answers.asked(), ["files.test"]);
    let heads = server.heads();
    assert!(heads.len() == 1 && heads[0].starts_with("get /a?k=v http/1.1\r\n"), "{heads:?}");
    for header in ["cookie:", "referer:", "authorization:", "accept-encoding:", "proxy-"] {
        assert!(!heads[0].contains(header), "{heads:?}");
    }
}

#[tokio::test]
async fn one_answer_that_is_not_public_refuses_the_name() {
    for answer in [
        &["127.0.0.1"][..],
        &["8.8.8.8", "10.0.0.1"],
        &["2606:4700::1", "fe80::1"],
        &["8.8.8.8", "::ffff:192.168.0.1"],
        &["64:ff9b::7f00:1"],
        &["0.0.0.0"],
    ] {
        let answers = Answers::of(&[answer]);
        let egress = Egress::with_resolver(limits(&[]), answers.clone());
        let refused = fetch(&egress, "https://rebinding.test/a?k=s3cret").await.expect_err("refused");
        let said = refused.to_string();
        assert!(said.contains("which is not public") && !said.contains("s3cret"), "{said}");
        assert!(said.contains("allowed_private_hosts = [\"rebinding.test:443\"]"), "{said}");
        assert_eq!(refused.code().as_str(), "network_denied");
        assert_eq!(answers.asked().len(), 1);
    }
    let egress = Egress::with_resolver(limits(&[]), Answers::of(&[&[]]));
    let nowhere = fetch(&egress, "https://nowhere.test/").await.expect_err("refused");
    assert!(matches!(nowhere, EgressError::NotFound(..)), "{nowhere}");
}

#[tokio::test]
async fn redirects_are_followed_up_to_a_number_and_checked_one_by_one() {
    let server = Server::saying(vec![to("/b"), to("//other.test:1/c?k=s3cret")]).await;
    let named = [format!("files.test:{}", server.port)];
    let answers = Answers::of(&[&["127.0.0.1"], &["127.0.0.1"]]);
    let egress = Egress::with_resolver(limits(&named), answers.clone());
    let url = format!("http://files.test:{}/a", server.port);
    let refused = fetch(&egress, &url).await.expect_err("refused");
    assert!(matches!(&refused, EgressError::Redirected(from, _) if from.ends_with("/b")), "{refused}");
    assert!(!refused.to_string().contains("s3cret"), "{refused}");
    assert_eq!(answers.asked(), ["files.test", "files.test"], "each hop is a host of its own");

    for (location, said) in [
        ("http://127.0.0.1:1/", "redirects, and http://127.0.0.1:1/ is not https"),
        (
            "https://127.0.0.1/x?k=s3cret",
            "redirects, and https://127.0.0.1/x?[redacted] is at 127.0.0.1, which is not public",
        ),
        ("https://169.254.169.254/", "not public (link-local)"),
        ("ftp://files.test/", "the scheme ftp is not contacted"),
    ] {
        let server = Server::saying(vec![to(location)]).await;
        let named = [format!("127.0.0.1:{}", server.port)];
        let egress = Egress::with_resolver(limits(&named), Answers::of(&[]));
        let refused =
            fetch(&egress, &format!("http://127.0.0.1:{}/", server.port)).await.expect_err("refused");
        assert!(refused.to_string().contains(said), "{refused}");
        assert!(!refused.to_string().contains("s3cret"));
        assert_eq!(refused.code().as_str(), "network_denied");
    }

    let moved =
        |status: u16| String::from_utf8_lossy(&to("/x")).replace("302", &status.to_string()).into_bytes();
    for status in [301, 302, 303, 307, 308] {
        let server = Server::saying(vec![moved(status), ok(b"there")]).await;
        let named = [format!("127.0.0.1:{}", server.port)];
        let egress = Egress::with_resolver(limits(&named), Answers::of(&[]));
        let url = format!("http://127.0.0.1:{}/", server.port);
        assert_eq!(fetch(&egress, &url).await.as_deref(), Ok(&b"there"[..]), "{status}");
    }
    for status in [201, 300, 304, 305, 401] {
        let server = Server::saying(vec![moved(status), ok(b"there")]).await;
        let named = [format!("127.0.0.1:{}", server.port)];
        let egress = Egress::with_resolver(limits(&named), Answers::of(&[]));
        let refused = fetch(&egress, &format!("http://127.0.0.1:{}/", server.port)).await;
        assert!(matches!(refused, Err(EgressError::Status(..))), "{status}: {refused:?}");
    }

    let server = Server::saying(vec![to("/1"), to("/2"), ok(b"there"), to("/1"), to("/2"), to("/3")]).await;
    let named = [format!("127.0.0.1:{}", server.port)];
    let egress = Egress::with_resolver(limits(&named), Answers::of(&[]));
    let url = format!("http://127.0.0.1:{}/", server.port);
    assert_eq!(fetch(&egress, &url).await.as_deref(), Ok(&b"there"[..]));
    let refused = fetch(&egress, &url).await.expect_err("one too many");
    assert!(matches!(refused, EgressError::Redirects(_, 2)), "{refused}");
    assert!(server.heads().iter().all(|head| !head.contains("cookie:") && !head.contains("referer:")));
}

#[tokio::test]
async fn nothing_but_a_whole_200_within_bytes_and_time_is_an_answer() {
    let line = |line: &str| format!("HTTP/1.1 {line}\r\n\r\n").into_bytes();
    let chunks = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n".iter().copied();
    let chunked: Vec<u8> = chunks.chain([b'x'; 0x65]).chain(*b"\r\n0\r\n\r\n").collect();
    for (answer, code, said) in [
        (
            line("404 Not Found\r\nContent-Length: 0"),
            "attachment_unavailable",
            "answers with HTTP status 404",
        ),
        (line("206 Partial Content\r\nContent-Length: 0"), "attachment_unavailable", "HTTP status 206"),
        (line("204 No Content"), "attachment_unavailable", "HTTP status 204"),
        (line("304 Not Modified"), "attachment_unavailable", "HTTP status 304"),
        (line("302 Found\r\nContent-Length: 0"), "attachment_unavailable", "HTTP status 302"),
        (line("200 OK\r\nContent-Length: 101"), "too_large", "has more than 100 bytes"),
        (chunked, "too_large", "has more than 100 bytes"),
        (ok(&[b'x'; 100]), "", ""),
        // Neither all of it nor its end.
        (line("200 OK\r\nContent-Length: 50"), "timed_out", "was not fetched within 300ms"),
        (Vec::new(), "timed_out", "was not fetched within 300ms"),
        (b"nonsense\r\n\r\n".to_vec(), "attachment_unavailable", "cannot be fetched"),
    ] {
        let server = Server::saying(vec![answer]).await;
        let mut limits = limits(&[format!("127.0.0.1:{}", server.port)]);
        if code == "timed_out" {
            limits.time_max = Duration::from_millis(300);
        }
        let egress = Egress::with_resolver(limits, Answers::of(&[]));
        let fetched = fetch(&egress, &format!("http://127.0.0.1:{}/", server.port)).await;
        match fetched {
            Ok(bytes) => assert!(code.is_empty() && bytes.len() == 100, "{said}"),
            Err(error) => {
                assert_eq!(error.code().as_str(), code, "{error}");
                assert!(error.to_string().contains(said), "{said:?} in {error}");
            }
        }
    }
    // Nobody listens there.
    let closed = TcpListener::bind("127.0.0.1:0").await.expect("a port").local_addr().expect("bound").port();
    let egress = Egress::with_resolver(limits(&[format!("127.0.0.1:{closed}")]), Answers::of(&[]));
    let broken = fetch(&egress, &format!("http://127.0.0.1:{closed}/?k=s3cret")).await.expect_err("closed");
    assert!(matches!(&broken, EgressError::Broken(..)) && !broken.to_string().contains("s3cret"), "{broken}");
}

/// A resolver that never answers.
struct Silent;

impl Resolve for Silent {
    fn resolve(&self, _: Name) -> Resolving {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn the_time_begins_with_the_look_up() {
    let limits = FetchLimits { time_max: Duration::from_millis(100), ..limits(&[]) };
    let late = fetch(&Egress::with_resolver(limits, Arc::new(Silent)), "https://silent.test/").await;
    assert!(matches!(late, Err(EgressError::TimedOut(..))), "{late:?}");
}
