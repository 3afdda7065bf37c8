//! Addresses in arguments: judged before anything runs, and what a reviewer is told of hosts.

use super::server::{Server, ok};
use super::{TOOL, ask, granting, named, outcome, requests};
use support::home::Home;

#[test]
fn an_address_is_judged_before_anything_runs() {
    let server = Server::saying(ok("", b""));
    let home = granting("hosts = [\"api.example.com\"], methods = [\"GET\"], bytes = \"1 MiB\"")
        .config(&named(&[&server]));
    for (url, line) in [
        (server.url("/a?k=s3cret"), format!("hosts = [\"api.example.com\", \"{}\"]", server.host())),
        (
            "https://www.example.com/".to_owned(),
            "hosts = [\"api.example.com\", \"www.example.com\"]".to_owned(),
        ),
        ("http://api.example.com/".to_owned(), "; or write https://".to_owned()),
    ] {
        let ran = ask(&home, &[&format!("url={url}")]);
        assert_eq!((ran.code, ran.error().as_str()), (Some(1), "network_denied"), "{ran:?}");
        assert!(ran.message().contains(&line) && ran.message().contains("profiles/net.toml"), "{ran:?}");
        assert!(!ran.message().contains("s3cret"), "{ran:?}");
        assert_eq!(outcome(&home), "network_denied");
    }
    // Nothing ran, so nothing was asked for; and the audit has no query.
    assert!(requests(&home).is_empty() && server.asked().is_empty());
    let log = std::fs::read_to_string(home.state().join("audit.jsonl")).expect("written");
    assert!(!log.contains("s3cret") && log.contains("/a?[redacted]"), "{log}");
}

#[test]
fn policy_explain_tells_which_host_to_name_and_diff_what_that_widens() {
    let home = granting("hosts = [\"api.example.com\"], methods = [\"GET\"], bytes = \"1 MiB\"");
    let ran = home.run(&["policy", "explain", "network", "url=https://api.example.com/x"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("at api.example.com  profiles/net.toml:5"), "{}", ran.stdout);
    let ran = home.run(&["policy", "explain", "network", "url=https://www.example.com/x"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    for says in [
        "+ network = { hosts = [\"www.example.com\", \"api.example.com\"]",
        "widens: network: network host www.example.com",
    ] {
        assert!(ran.stdout.contains(says), "{says:?} in {}", ran.stdout);
    }
    let new = home.dir().join("new");
    let copied = std::process::Command::new("cp")
        .args(["-r".as_ref(), home.policies_dir().as_os_str(), new.as_os_str()])
        .status();
    assert!(copied.is_ok_and(|status| status.success()));
    let profile = std::fs::read_to_string(new.join("profiles/net.toml")).expect("there");
    let wider = profile
        .replace("\"api.example.com\"", "\"*.example.com\"")
        .replace("1 MiB", "2 MiB")
        .replace("\"GET\"", "\"GET\", \"POST\"");
    std::fs::write(new.join("profiles/net.toml"), wider).expect("writable");
    let (old, new) = (home.policies_dir().display().to_string(), new.display().to_string());
    let ran = home.run(&["policy", "diff", &old, &new]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    for line in [
        "widens: network: network host *.example.com: none → granted",
        "neutral: network: network host api.example.com: granted → none",
        "widens: network: network method POST: none → granted",
        "widens: network: network bytes: 1 MiB → 2 MiB",
    ] {
        assert!(ran.stdout.contains(line), "{line:?} in {}", ran.stdout);
    }
    let ran = home.run(&["policy", "diff", &new, &old]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("narrows: network: network host *.example.com"), "{}", ran.stdout);
}

#[test]
fn grants_that_are_too_wide_or_make_no_sense_do_not_load() {
    let secret = "headers = { Authorization = { secret = \"KEY\" } }";
    for (network, says) in [
        ("hosts = [\"*\"], methods = [\"GET\"], bytes = \"1 MiB\"", "as good as every host"),
        ("hosts = [\"*.com\"], methods = [\"GET\"], bytes = \"1 MiB\"", "as good as every host"),
        ("hosts = [\"https://a.example\"], methods = [\"GET\"], bytes = \"1 MiB\"", "is no host"),
        ("hosts = [\"me@a.example\"], methods = [\"GET\"], bytes = \"1 MiB\"", "is no host"),
        ("hosts = [\"0x7f000001\"], methods = [\"GET\"], bytes = \"1 MiB\"", "is no host"),
        ("hosts = [\"a.example\", \"a.example:443\"], methods = [\"GET\"], bytes = \"1 MiB\"", "twice"),
        ("hosts = [\"a.example\"], methods = [\"CONNECT\"], bytes = \"1 MiB\"", "cannot be granted"),
        ("hosts = [\"a.example\"], methods = [\"get\"], bytes = \"1 MiB\"", "cannot be granted"),
        ("hosts = [\"a.example\"], methods = [], bytes = \"1 MiB\"", "methods is empty"),
        ("hosts = [\"a.example\"], methods = [\"GET\"], bytes = \"1 GiB\"", "is not between"),
        ("hosts = [\"a.example\"], methods = [\"GET\"], bytes = \"0 B\"", "is not between"),
        ("hosts = [\"a.example\"], methods = [\"GET\"]", "missing field `bytes`"),
        (
            "hosts = [\"a.example\"], methods = [\"GET\"], bytes = \"1 MiB\", proxy = \"x\"",
            "unknown field `proxy`",
        ),
        (
            &format!(
                "hosts = [\"a.example\", \"b.example\"], methods = [\"GET\"], bytes = \"1 MiB\", {secret}"
            ),
            "exactly one host",
        ),
        (
            &format!("hosts = [\"*.a.example\"], methods = [\"GET\"], bytes = \"1 MiB\", {secret}"),
            "without a wildcard",
        ),
        (&format!("hosts = [], methods = [\"GET\"], bytes = \"1 MiB\", {secret}"), "exactly one host"),
        (
            &format!(
                "hosts = [\"a.example\"], methods = [\"GET\"], bytes = \"1 MiB\", {}",
                secret.replace("Authorization", "Host")
            ),
            "no header that can be set",
        ),
        (
            &format!(
                "hosts = [\"a.example\"], methods = [\"GET\"], bytes = \"1 MiB\", {}",
                secret.replace("KEY", "../KEY")
            ),
            "no name of a secret",
        ),
    ] {
        let ran = granting(network).run(&["policy", "check"]);
        assert_eq!(ran.code, Some(3), "{network}: {ran:?}");
        assert!(
            ran.stdout.contains(says) && ran.stdout.contains("profiles/net.toml:5"),
            "{says:?}: {}",
            ran.stdout
        );
    }
    let hosts: Vec<_> = (0..65).map(|n| format!("h{n}.example.com")).collect();
    let ran = granting(&format!("hosts = {hosts:?}, methods = [\"GET\"], bytes = \"1 MiB\""))
        .run(&["policy", "check"]);
    assert!(ran.code == Some(3) && ran.stdout.contains("at most 64"), "{ran:?}");
}

#[test]
fn an_address_without_a_network_does_not_load() {
    let home = Home::new().tool("network", "file-read-write", "network", TOOL);
    let ran = home.run(&["policy", "check"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stdout.contains("profile file-read-write grants no network"), "{}", ran.stdout);
}

#[test]
fn reviewers_read_hosts_methods_bytes_and_secrets() {
    let network = "hosts = [\"api.example.com:8443\"], methods = [\"GET\"], bytes = \"1 MiB\", headers = { Authorization = { secret = \"KEY\" } }";
    let home = granting(network);
    let ran = home.run(&["policy", "check"]);
    assert!(
        ran.stdout.contains("network: profile net: network api.example.com:8443 (GET), 1 MiB a call"),
        "{ran:?}"
    );
    let ran = home.run(&["policy", "report"]);
    for says in ["host api.example.com:8443", "1 MiB a call", "header authorization", "secret KEY"] {
        assert!(ran.stdout.contains(says), "{says:?} in {}", ran.stdout);
    }
}
