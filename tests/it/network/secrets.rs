//! Secrets that the gateway adds: sent to one host, never seen by the guest, and taken out of
//! whatever comes back.

use super::server::{Server, ok, to};
use super::{ask, granting, named, outcome, reaching, requests};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use support::guests;
use support::home::Home;

const SECRET: &str = "Bearer s3cr/et-t0ken+x";
const TOKEN: &str = "s3cr/et-t0ken+x";
/// One that may stand in a name of a host, long enough to be cut where messages are.
const LABEL: &str = "0123456789abcDEF0123456789abcdef0123456789ABCDEF";

/// A home whose profile sends a secret to this server; `source` is where it is.
fn home(server: &Server, source: &str) -> Home {
    with_secret(server, source, SECRET)
}

fn with_secret(server: &Server, source: &str, secret: &str) -> Home {
    let network =
        format!("{}, headers = {{ Authorization = {{ secret = \"KEY\" }} }}", super::network(server));
    let home = granting(&network).config(&format!("{}[secrets.KEY]\n{source}\n", named(&[server])));
    let file = home.dir().join("key");
    std::fs::write(&file, format!("{secret}\n")).expect("writable");
    std::fs::set_permissions(file, PermissionsExt::from_mode(0o600)).expect("ours");
    home
}

/// That no part of the secret is where anybody reads.
fn nowhere(home: &Home, ran: &support::home::Ran) {
    let log = std::fs::read_to_string(home.state().join("audit.jsonl")).expect("written");
    for text in [&ran.stdout, &ran.stderr, &log] {
        assert!(!text.contains(TOKEN) && !text.contains("s3cr%2Fet"), "{text}");
    }
}

#[test]
fn a_secret_is_sent_and_never_seen() {
    let server = Server::start(|asked, stream| {
        let sent = asked.header("authorization").unwrap_or_default().to_owned();
        let headers = format!("X-Echo: <{sent}>\r\n");
        let body = format!("[{sent}] [{TOKEN}] [s3cr%2Fet-t0ken%2Bx] {}", asked.head);
        drop(stream.write_all(&ok(&headers, body.as_bytes())));
    });
    let home = home(&server, "file = \"key\"");
    let mut command = home.command(&["call", "network", &server.asks("/")]);
    let ran: support::home::Ran = command.env("COFFERDAM_LOG", "trace").output().expect("it runs").into();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(server.asked()[0].header("authorization"), Some(SECRET));
    assert!(
        ran.json()["text"].as_str().is_some_and(|text| text.starts_with("[***] [***] [***] GET ")),
        "{ran:?}"
    );
    assert_eq!(ran.json()["echo"], "<***>");
    nowhere(&home, &ran);
    // A header of the guest's own does not stand in its place.
    for header in ["Authorization: mine", "AUTHORIZATION: mine"] {
        assert_eq!(ask(&home, &[&server.asks("/"), &format!("header={header}")]).code, Some(0));
    }
    assert!(server.asked().iter().all(|asked| asked.header("authorization") == Some(SECRET)));
    assert!(server.asked().iter().all(|asked| !asked.head.contains("mine")));
}

#[test]
fn a_secret_that_comes_back_in_pieces_is_taken_out() {
    let server = Server::start(|asked, stream| {
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let mut sent = stream.write_all(chunked.as_bytes());
        for byte in format!("a {TOKEN} b {SECRET} c {}", &TOKEN[..9]).bytes() {
            sent = sent.and_then(|()| stream.write_all(&[b"1\r\n", &[byte][..], b"\r\n"].concat()));
            if asked.path() == "/slow" {
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
        }
        drop(sent.and_then(|()| stream.write_all(b"0\r\n\r\n")));
    });
    let home = home(&server, "file = \"key\"");
    for (path, piece) in [("/", "1"), ("/", "7"), ("/slow", "3"), ("/slow", "1000")] {
        let ran = ask(&home, &[&server.asks(path), &format!("piece={piece}")]);
        let expected = format!("a *** b *** c {}", &TOKEN[..9]);
        assert_eq!(ran.json()["text"], *expected, "{path} {piece}: {ran:?}");
        nowhere(&home, &ran);
    }
}

#[test]
fn a_secret_in_a_packed_body_is_taken_out() {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packer.write_all(format!("a {SECRET} b").as_bytes()).expect("memory");
    let server = Server::saying(ok("Content-Encoding: gzip\r\n", &packer.finish().expect("memory")));
    let home = home(&server, "file = \"key\"");
    let ran = ask(&home, &[&server.asks("/")]);
    assert_eq!(ran.json()["text"], "a *** b", "{ran:?}");
}

/// No part of it is told, in letters of any case.
#[test]
fn a_secret_in_a_redirect_is_not_followed_and_in_no_record() {
    let server = Server::routing(|path| match path {
        "/path" => to(302, &format!("/next/{LABEL}?k=1")),
        "/query" => to(302, &format!("/next?k={LABEL}")),
        "/away" => to(302, &format!("https://evil.test/{LABEL}")),
        "/host" => to(302, &format!("https://{LABEL}.evil.test/")),
        "/user" => to(302, &format!("https://{LABEL}@evil.test/")),
        "/scheme" => to(302, &format!("a{LABEL}:x")),
        "/long" => to(302, &format!("/{}{LABEL}", "a".repeat(380))),
        "/upper" => to(302, &format!("/{}", LABEL.to_uppercase())),
        "/packed" => ok(&format!("Content-Encoding: {LABEL}\r\n"), b"x"),
        "/near" => to(302, &format!("/next/{}", &LABEL[..20])),
        _ => ok("", b"there"),
    });
    let home = with_secret(&server, "file = \"key\"", &format!("Bearer {LABEL}"));
    let nowhere = |ran: &support::home::Ran| {
        let log = std::fs::read_to_string(home.state().join("audit.jsonl")).expect("written");
        for text in [&ran.stdout, &ran.stderr, &log] {
            let text = text.to_lowercase();
            assert!(
                LABEL
                    .to_lowercase()
                    .as_bytes()
                    .windows(8)
                    .all(|part| !text.as_bytes().windows(8).any(|w| w == part)),
                "{text}"
            );
        }
    };
    for path in ["/path", "/query", "/away", "/host", "/user", "/scheme", "/long", "/upper", "/packed"] {
        let asked = server.asked().len();
        let ran = ask(&home, &[&server.asks(path)]);
        assert_eq!(ran.code, Some(1), "{path}: {ran:?}");
        nowhere(&ran);
        assert_eq!(server.asked().len(), asked + 1, "{path} is followed");
        if path != "/packed" {
            assert_eq!(
                (ran.error().as_str(), requests(&home).pop().expect("noted")["path"].as_str()),
                ("network_denied", Some(path))
            );
            assert!(ran.message().contains("an address that has a secret of the profile in it"), "{ran:?}");
        }
    }
    let ran = ask(&home, &[&server.asks("/there")]);
    assert_eq!(ran.json()["text"], "there", "{ran:?}");
    nowhere(&ran);
    assert_eq!(ask(&home, &[&server.asks("/near")]).json()["text"], "there", "a part of it is none");
}

#[test]
fn a_secret_may_be_in_a_variable() {
    let server = Server::saying(ok("", b""));
    let home = home(&server, "env = \"NET_KEY\"");
    let mut command = home.command(&["call", "network", &server.asks("/")]);
    let ran: support::home::Ran = command.env("NET_KEY", SECRET).output().expect("it runs").into();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(server.asked()[0].header("authorization"), Some(SECRET));
}

#[test]
fn a_missing_secret_sends_nothing() {
    let server = Server::saying(ok("", b""));
    for source in
        ["env = \"NET_KEY\"", "file = \"nowhere\"", "env = \"NET_KEY\"\n[secrets.OTHER]\nfile = \"key\""]
    {
        let home = home(&server, source);
        let ran = ask(&home, &[&server.asks("/")]);
        assert_eq!(ran.error(), "network_denied", "{source}: {ran:?}");
        assert!(ran.message().contains("the secret KEY of the header authorization is missing"), "{ran:?}");
        assert_eq!(outcome(&home), "network_denied");
    }
    // Too short to be taken out of anything, and one that others may read.
    let home = home(&server, "file = \"key\"");
    std::fs::write(home.dir().join("key"), "short").expect("writable");
    assert_eq!(ask(&home, &[&server.asks("/")]).error(), "network_denied");
    std::fs::write(home.dir().join("key"), SECRET).expect("writable");
    std::fs::set_permissions(home.dir().join("key"), PermissionsExt::from_mode(0o644)).expect("ours");
    assert_eq!(ask(&home, &[&server.asks("/")]).error(), "network_denied");
    assert!(server.asked().is_empty());
}

/// The folder of a tool may come from a stranger, and its policies with it.
#[test]
fn a_policy_that_comes_with_a_tool_gets_a_secret_only_where_it_is_named() {
    let server = Server::saying(ok("", b""));
    let home = home(&server, "file = \"key\"");
    make_tool_folder(&home, &server, "failed");
    let ran = home.run(&["tool", "test"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("came with the tool and gets no secret"), "{ran:?}");
    assert!(ran.stdout.contains("the policy came with the tool: read it, then give it with --policy FILE"));
    assert!(!format!("{ran:?}").contains("in the configuration"), "{ran:?}");
    assert!(server.asked().is_empty(), "{ran:?}");
    let given = home.run(&["tool", "test", "--policy", "policies"]);
    assert!(!given.stderr.contains("gets no secret"), "{given:?}");
    assert_eq!(server.asked()[0].header("authorization"), Some(SECRET), "{given:?}");
}

#[test]
fn a_policy_that_comes_with_a_tool_reaches_a_private_host_only_where_it_is_named() {
    let server = Server::saying(ok("", b""));
    let home = reaching(&server);
    make_tool_folder(&home, &server, "network_denied");
    let ran = home.run(&["tool", "test"]);
    assert!(
        ran.code == Some(0) && ran.stderr.contains("no host of [network] allowed_private_hosts"),
        "{ran:?}"
    );
    assert!(server.asked().is_empty(), "{ran:?}");
    let given = home.run(&["tool", "test", "--policy", "policies"]);
    assert!(!given.stderr.contains("came with the tool"), "{given:?}");
    assert_eq!(server.asked().len(), 1, "{given:?}");
}

/// The folder of a tool that asks this server, beside the policies of the home, with one case that
/// expects this error.
fn make_tool_folder(home: &Home, server: &Server, error: &str) {
    let built = home.dir().join("target/wasm32-wasip2/release");
    let cases = home.dir().join("cases");
    for folder in [&built, &cases] {
        std::fs::create_dir_all(folder).expect("writable");
    }
    std::fs::write(home.dir().join("Cargo.toml"), "[package]\nname = \"network\"\n").expect("writable");
    std::fs::copy(guests::path("network"), built.join("network.wasm")).expect("writable");
    let case = format!(
        r#"{{ "arguments": {{ "url": {:?} }}, "expect": {{ "error": {error:?} }} }}"#,
        server.url("/")
    );
    std::fs::write(cases.join("a.json"), case).expect("writable");
}

/// Before anybody calls the tool: what is wrong with its secret, and what mends it.
#[test]
fn doctor_tells_of_each_secret_that_is_not_there() {
    let server = Server::saying(ok("", b""));
    let found = |home: &Home| {
        let ran = home.run(&["doctor", "--json", "--offline"]);
        let diagnosis = ran.json();
        let findings = diagnosis["findings"].as_array().expect("a list");
        let found: Vec<_> = findings.iter().filter(|found| found["section"] == "secrets").cloned().collect();
        assert!(found.is_empty() || ran.code == Some(3), "{ran:?}");
        assert!(!ran.stdout.contains(TOKEN), "{ran:?}");
        found
    };
    let sound = home(&server, "file = \"key\"");
    assert!(found(&sound).is_empty());
    let exposed = home(&server, "file = \"key\"");
    std::fs::set_permissions(exposed.dir().join("key"), PermissionsExt::from_mode(0o644)).expect("ours");
    let pipe = home(&server, "file = \"pipe\"");
    rustix::fs::mkfifoat(rustix::fs::CWD, pipe.dir().join("pipe"), 0o600.into()).expect("ours");
    let short = home(&server, "file = \"short\"");
    std::fs::write(short.dir().join("short"), "short").expect("writable");
    std::fs::set_permissions(short.dir().join("short"), PermissionsExt::from_mode(0o600)).expect("ours");
    let network = "hosts = [\"a.test\"], methods = [\"GET\"], bytes = \"1 MiB\", headers = { X-Key = { secret = \"KEY\" } }";
    for (home, what, mend) in [
        (exposed, "can be read by others (mode 644)", "chmod 600 "),
        (pipe, "it is not a regular file", "(umask 077; cat > "),
        (short, "it has not between 8 and", "write the whole value"),
        (home(&server, "file = \"nowhere\""), "KEY: cannot read ", "(umask 077; cat > "),
        (
            home(&server, "env = \"NET_KEY\""),
            "the environment variable NET_KEY is not set",
            "export NET_KEY=…",
        ),
        (granting(network), "and the configuration does not", "[secrets.KEY] file = \"…\""),
    ] {
        let found = found(&home);
        let [found] = &found[..] else { panic!("{what}: {found:?}") };
        let text = |key: &str| found[key].as_str().expect("text").to_owned();
        assert_eq!(found["weight"], "problem", "{found}");
        assert!(text("what").starts_with("network sends nothing: KEY: "), "{found}");
        assert!(text("what").contains(what) && text("mend").starts_with(mend), "{found}");
    }
}

#[test]
fn secrets_are_configured_strictly() {
    for (config, says) in [
        ("[secrets.KEY]\n", "needs one of file"),
        ("[secrets.KEY]\nfile = \"a\"\nenv = \"B\"\n", "needs one of file"),
        ("[secrets.\"a-b\"]\nenv = \"B\"\n", "no name of a secret"),
        ("[secrets.KEY]\nvalue = \"s3cret-value\"\n", "unknown field"),
        ("[secrets.KEY]\nfile = \"workspace/shared/key\"\n", "where tools read and write"),
        ("[network]\nallowed_private_hosts = [\"10.0.0.1\"]\n", "no host and port"),
        ("[network]\nhosts = [\"10.0.0.1\"]\n", "unknown field"),
    ] {
        let ran = Home::new().config(config).run(&["tools"]);
        assert_eq!(ran.code, Some(2), "{config}: {ran:?}");
        assert!(ran.stderr.contains(says) && !ran.stderr.contains("s3cret-value"), "{says:?}: {ran:?}");
    }
    let many: String = (0..33).map(|n| format!("[secrets.KEY{n}]\nenv = \"B\"\n")).collect();
    let ran = Home::new().config(&many).run(&["tools"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("at most 32"), "{ran:?}");
}
