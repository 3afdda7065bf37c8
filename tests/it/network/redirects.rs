//! Redirects: each under the rules of the first address.

use super::server::{Server, ok, to};
use super::{ask, granting, named, outcome, reaching, requests};

#[test]
fn redirects_are_followed_up_to_three_and_each_is_in_the_audit() {
    let server = Server::routing(|path| match path {
        "/1" => to(301, "/2"),
        "/2" => to(302, "/3?k=s3cret"),
        "/3?k=s3cret" => to(307, "/end"),
        "/0" => to(308, "/1"),
        _ => ok("", b"there"),
    });
    let home = reaching(&server);
    let ran = ask(&home, &[&server.asks("/1")]);
    assert_eq!(ran.json()["text"], "there", "{ran:?}");
    let told: Vec<_> = requests(&home)
        .iter()
        .map(|r| format!("{} {}", r["path"].as_str().unwrap_or_default(), r["status"]))
        .collect();
    assert_eq!(told, ["/1 301", "/2 302", "/3 307", "/end 200"]);
    let ran = ask(&home, &[&server.asks("/0")]);
    assert_eq!(
        (ran.error().as_str(), outcome(&home).as_str()),
        ("network_denied", "network_denied"),
        "{ran:?}"
    );
    assert!(ran.message().contains("redirects more than 3 times"), "{ran:?}");
    assert!(
        server
            .asked()
            .iter()
            .all(|asked| asked.header("cookie").is_none() && asked.header("referer").is_none())
    );
}

#[test]
fn a_redirect_leads_to_no_host_that_was_not_granted() {
    let other = Server::saying(ok("", b"secret"));
    let lead = other.url("/x?k=s3cret");
    let server = Server::routing(move |path| match path {
        "/other" => to(302, &lead),
        "/metadata" => to(302, "http://169.254.169.254/latest/meta-data/"),
        "/decimal" => to(302, "http://2852039166/"),
        "/mapped" => to(302, "https://[::ffff:169.254.169.254]/"),
        "/user" => to(302, "http://me:pa55@127.0.0.1/"),
        "/file" => to(302, "file:///etc/passwd"),
        _ => ok("", b""),
    });
    // The operator names the other one, too, for another profile.
    let home = granting(&super::network(&server)).config(&named(&[&server, &other]));
    for (path, says) in [
        ("/other", "is not among the hosts of the profile"),
        ("/metadata", "redirects, and http://169.254.169.254/"),
        ("/decimal", "spelled unusually"),
        ("/mapped", "is not public"),
        ("/user", "user name or password"),
        ("/file", "the scheme file is not contacted"),
    ] {
        let ran = ask(&home, &[&server.asks(path)]);
        assert_eq!(ran.error(), "network_denied", "{path}: {ran:?}");
        assert!(ran.message().contains(says) && !ran.message().contains("s3cret"), "{path}: {ran:?}");
        let record = requests(&home).pop().expect("in the audit");
        assert_eq!(record["code"], "network_denied", "{record}");
        assert!(!record.to_string().contains("s3cret") && !record.to_string().contains("pa55"), "{record}");
    }
    assert!(other.asked().is_empty());
}

#[test]
fn see_other_becomes_a_get_if_that_is_granted() {
    let server = Server::routing(|path| match path {
        "/303" => to(303, "/end"),
        "/307" => to(307, "/end"),
        _ => ok("", b"there"),
    });
    let home = reaching(&server);
    let arguments = ["method=POST", "body=123", "header=content-type: text/plain"];
    let ran = ask(&home, &[&[&*server.asks("/303")][..], &arguments].concat());
    assert_eq!(ran.json()["text"], "there", "{ran:?}");
    let end = server.asked().pop().expect("asked");
    assert!(
        end.head.starts_with("GET /end ") && end.body.is_empty() && end.header("content-type").is_none(),
        "{end:?}"
    );
    let ran = ask(&home, &[&[&*server.asks("/307")][..], &arguments].concat());
    assert_eq!(ran.json()["text"], "there", "{ran:?}");
    let end = server.asked().pop().expect("asked");
    assert!(end.head.starts_with("POST /end ") && end.body == b"123", "{end:?}");
    let home = granting(&super::network(&server).replace("\"GET\", ", "")).config(&named(&[&server]));
    let ran = ask(&home, &[&[&*server.asks("/303")][..], &arguments].concat());
    assert_eq!(ran.error(), "network_denied", "{ran:?}");
    assert!(ran.message().contains("the method \"GET\""), "{ran:?}");
}

#[test]
fn what_lets_a_guest_in_at_one_host_is_not_told_to_another() {
    let other = Server::saying(ok("", b"there"));
    let lead = other.url("/");
    let server = Server::routing(move |path| if path == "/here" { to(302, "/away") } else { to(302, &lead) });
    let network =
        format!("hosts = [{:?}, {:?}], methods = [\"GET\"], bytes = \"1 MiB\"", server.host(), other.host());
    let home = granting(&network).config(&named(&[&server, &other]));
    let ran = ask(&home, &[&server.asks("/here"), "header=Authorization: mine"]);
    assert_eq!(ran.json()["text"], "there", "{ran:?}");
    assert!(server.asked().iter().all(|asked| asked.header("authorization") == Some("mine")));
    assert_eq!(other.asked()[0].header("authorization"), None);
}
