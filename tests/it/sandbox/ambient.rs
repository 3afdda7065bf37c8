//! What surrounds a guest: nothing of the host's environment, input or network.

use super::{answered, finished, hostile};
use std::net::TcpListener;
use std::process::Stdio;

#[test]
fn the_environment_is_empty() {
    let home = hostile();
    let mut command = home.command(&["call", "hostile", "behaviour=env"]);
    let said = finished(command.env("SECRET", "of the host")).json();
    assert_eq!(said["variables"], serde_json::json!([]));
    assert_eq!(said["arguments"], serde_json::json!([]));
    assert_eq!(said["directory"], "/");
}

#[test]
fn standard_input_is_closed() {
    let home = hostile();
    let file = std::fs::File::open(home.file("input", b"of the host")).expect("ours");
    let mut command = home.command(&["call", "hostile", "behaviour=stdin"]);
    assert_eq!(finished(command.stdin(Stdio::from(file))).json()["bytes"], 0);
}

#[test]
fn there_is_no_network() {
    let home = hostile();
    // The port that the guest tries answers, if somebody lets it through.
    let _listener = TcpListener::bind("127.0.0.1:1");
    for behaviour in ["connect", "listen", "udp"] {
        let said = answered(&home, &[&format!("behaviour={behaviour}")]);
        assert_eq!(said["error"], "PermissionDenied", "{behaviour}: {said}");
    }
    // It has no error to return: the first call of it ends the guest.
    let ran = home.call(&["hostile", "behaviour=resolve"]);
    assert_eq!((ran.code, ran.error().as_str()), (Some(1), "trapped"), "{ran:?}");
    assert!(ran.message().contains("instance-network"), "{ran:?}");
}
