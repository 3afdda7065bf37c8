//! Requests of guests, with a resolver of the tests' own: what the program's tests on loopback
//! cannot have.

use super::GuestWeb;
use crate::HostPort;
use cofferdam_core::limits::ByteSize;
use cofferdam_core::network::{METHODS, Network};
use cofferdam_core::web::{
    Allowance, FailureKind, HttpFailure, HttpRequest, RequestFate, RequestRecord, Terms, Web,
};
use flate2::Compression;
use flate2::write::GzEncoder;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::collections::{BTreeMap, VecDeque};
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Each look-up gets the next answer; without one it never ends.
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
}

impl Resolve for Answers {
    fn resolve(&self, name: Name) -> Resolving {
        self.asked.lock().expect("whole").push(name.as_str().to_owned());
        let answer = self.next.lock().expect("whole").pop_front();
        Box::pin(async {
            match answer {
                Some(found) => {
                    Ok(Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs)
                }
                None => std::future::pending().await,
            }
        })
    }
}

fn terms(hosts: &[&str], time: Duration) -> Terms {
    let network = Network {
        hosts: hosts.iter().map(|host| host.parse().expect("a host")).collect(),
        methods: METHODS.iter().map(|method| (*method).to_owned()).collect(),
        bytes: ByteSize::mib(1),
        headers: BTreeMap::new(),
    };
    let deadline = Instant::now() + time;
    Terms {
        allowance: Allowance::new(network.bytes.0),
        network,
        stopped: Arc::new(move || Instant::now() >= deadline),
    }
}

/// Far longer than anything here takes.
const LATER: Duration = Duration::from_secs(60);

/// The requests that were told, in order.
type Witnessed = Vec<(RequestRecord, RequestFate)>;

fn resolving(named: Vec<HostPort>, resolver: Arc<Answers>) -> GuestWeb {
    GuestWeb { named, secrets: BTreeMap::new(), resolver }
}

/// The answer's body, and what was witnessed.
fn ask(web: &GuestWeb, url: &str, terms: &Terms) -> (Result<Vec<u8>, HttpFailure>, Witnessed) {
    let request = HttpRequest { method: "GET".into(), url: url.into(), headers: Vec::new() };
    let mut seen = Vec::new();
    let answered = web.send(request, Vec::new(), terms, &mut |asked: &RequestRecord, fate: RequestFate| {
        seen.push((asked.clone(), fate));
        Ok(())
    });
    let body = answered.and_then(|answered| {
        let pieces: Result<Vec<_>, _> = answered.body.collect();
        pieces.map(|pieces| pieces.concat())
    });
    (body, seen)
}

/// One connection that is answered with this.
fn server(answer: impl Into<Vec<u8>>) -> u16 {
    let answer = answer.into();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    std::thread::spawn(move || {
        let Ok((mut stream, _)) = listener.accept() else { return };
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
            head.push(byte[0]);
        }
        drop(stream.write_all(&answer));
        drop(stream.shutdown(std::net::Shutdown::Write));
        drop(stream.read(&mut byte));
    });
    port
}

#[test]
fn a_name_is_resolved_once_and_the_checked_address_is_asked() {
    let port = server(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwhole");
    let host = format!("files.test:{port}");
    let named: Vec<HostPort> = vec![host.parse().expect("a host and a port")];
    // Who would look up again would be led elsewhere.
    let answers = Answers::of(&[&["127.0.0.1"], &["127.0.0.99"]]);
    let web = resolving(named, answers.clone());
    let (body, seen) = ask(&web, &format!("http://{host}/a?k=v"), &terms(&[&host], LATER));
    assert_eq!(body.as_deref(), Ok(&b"whole"[..]));
    assert_eq!(*answers.asked.lock().expect("whole"), ["files.test"]);
    assert!(
        matches!(&seen[..], [(asked, RequestFate::Sending)] if asked.path == "/a" && asked.host == host),
        "{seen:?}"
    );
}

#[test]
fn one_answer_that_is_not_public_refuses_the_name() {
    for answer in [
        &["127.0.0.1"][..],
        &["8.8.8.8", "10.0.0.1"],
        &["2606:4700::1", "fe80::1"],
        &["169.254.169.254"],
        &["::ffff:192.168.0.1"],
        &["64:ff9b::7f00:1"],
        &["0.0.0.0"],
        &["100.64.0.1"],
    ] {
        for host in ["rebinding.test", "rebinding.test:8443", "*.rebinding.test"] {
            let web = resolving(Vec::new(), Answers::of(&[answer]));
            let url = format!("https://{}/a?k=s3cret", host.replace('*', "a"));
            let (body, seen) = ask(&web, &url, &terms(&[host], LATER));
            let failure = body.expect_err("refused");
            assert_eq!(failure.kind, FailureKind::Denied, "{failure}");
            assert!(failure.message.contains("which is not public"), "{failure}");
            assert!(failure.message.contains("[network] allowed_private_hosts"), "{failure}");
            assert!(!failure.message.contains("s3cret"), "{failure}");
            // Nobody was asked.
            assert!(matches!(&seen[..], [(_, RequestFate::Failed(_))]), "{seen:?}");
        }
    }
}

#[test]
fn who_never_resolves_ends_with_the_call() {
    let web = resolving(Vec::new(), Answers::of(&[]));
    let (body, seen) =
        ask(&web, "https://silent.test/", &terms(&["silent.test"], Duration::from_millis(100)));
    assert_eq!(body.map_err(|failure| failure.kind), Err(FailureKind::Late));
    assert_eq!(seen.len(), 1, "{seen:?}");
    // A call that is cancelled has no deadline to wait for.
    let stopped = Terms { stopped: Arc::new(|| true), ..terms(&["silent.test"], LATER) };
    let web = resolving(Vec::new(), Answers::of(&[]));
    let (body, _) = ask(&web, "https://silent.test/", &stopped);
    assert_eq!(body.map_err(|failure| failure.kind), Err(FailureKind::Late));
}

/// Each of these packed by itself, in a row.
fn packed(members: &[&[u8]]) -> Vec<u8> {
    let pack = |member: &&[u8]| {
        let mut packer = GzEncoder::new(Vec::new(), Compression::best());
        packer.write_all(member).expect("memory");
        packer.finish().expect("memory")
    };
    members.iter().flat_map(pack).collect()
}

/// What a guest hears of this packed body.
fn unpacked(body: &[u8]) -> Result<Vec<u8>, HttpFailure> {
    unpacked_within(ByteSize::mib(1), body)
}

/// The same of a call that may have so many bytes.
fn unpacked_within(bytes: ByteSize, body: &[u8]) -> Result<Vec<u8>, HttpFailure> {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n", body.len());
    let host = format!("files.test:{}", server([head.as_bytes(), body].concat()));
    let named: Vec<HostPort> = vec![host.parse().expect("a host and a port")];
    let web = resolving(named, Answers::of(&[&["127.0.0.1"]]));
    let mut terms = terms(&[&host], LATER);
    (terms.network.bytes, terms.allowance) = (bytes, Allowance::new(bytes.0));
    ask(&web, &format!("http://{host}/"), &terms).0
}

#[test]
fn all_members_of_a_packed_body_are_unpacked() {
    let (long, nothing) = ([b'x'; 5000], b"");
    let members: [&[u8]; 4] = [b"one, ", nothing, &long, b", two"];
    assert_eq!(unpacked(&packed(&members)), Ok(members.concat()));
    let mut other = packed(&members);
    other.extend(b"no member");
    assert_eq!(unpacked(&other).map_err(|failure| failure.kind), Err(FailureKind::Broken));
}

#[test]
fn a_packed_body_that_is_cut_anywhere_is_no_whole_one() {
    let (first, both) = (packed(&[b"one"]).len(), packed(&[b"one", b"two"]));
    for cut in 0..=both.len() {
        let heard = unpacked(&both[..cut]).map_err(|failure| failure.kind);
        let expected = match cut {
            // As of an answer without a body.
            0 => Ok(Vec::new()),
            _ if cut == first => Ok(b"one".to_vec()),
            _ if cut == both.len() => Ok(b"onetwo".to_vec()),
            _ => Err(FailureKind::Broken),
        };
        assert_eq!(heard, expected, "cut at {cut}");
    }
}

#[test]
fn the_members_of_a_packed_body_count_together() {
    let half = vec![0; 512 << 10];
    assert_eq!(unpacked(&packed(&[&half, &half])).map(|body| body.len()), Ok(1 << 20));
    let failure = unpacked(&packed(&[&half, &half, b"x"])).expect_err("too much");
    assert_eq!(failure.kind, FailureKind::TooLarge);
}

/// Each member costs work and brings nothing that would count.
#[test]
fn a_body_that_is_packed_as_nothing_over_and_over_is_given_up() {
    let nothing = packed(&[b""]);
    let members = |bytes: usize| nothing.repeat(bytes / nothing.len());
    let bytes = ByteSize(1000);
    assert_eq!(unpacked_within(bytes, &members(2000 + (64 << 10))), Ok(Vec::new()));
    let failure = unpacked_within(bytes, &members(3000 + (64 << 10))).expect_err("without end");
    assert_eq!(failure.kind, FailureKind::TooLarge);
}
