//! The server's own tests, over plain sockets: what the gateway's tests rely on holds.

mod cdn;
mod client;
mod commands;
mod faults;
mod gateway;
mod incoming;
mod interactions;
mod limits;
mod messages;
mod protocol;
mod uploads;
mod vertical;

use std::time::Duration;

use serde_json::Value;

use crate::exchange::client::Reply;

/// Longer than anything takes that works.
const SOON: Duration = Duration::from_secs(20);
/// Long enough to see that something does not happen; only a broken server can fail by it.
const A_MOMENT: Duration = Duration::from_millis(50);

/// The status and the code of a refusal.
fn refusal(reply: &Reply) -> (u16, u64) {
    (reply.status, reply.json()["code"].as_u64().unwrap())
}

/// The path of the first wrong field, and the code that says how it is wrong.
fn wrong_field(reply: &Reply) -> (String, String) {
    let json = reply.json();
    assert_eq!((reply.status, &json["code"]), (400, &Value::from(50035)), "{json}");
    let (mut path, mut at) = (Vec::new(), &json["errors"]);
    while at.get("_errors").is_none() {
        let (name, inner) = at.as_object().unwrap().iter().next().unwrap();
        path.push(name.clone());
        at = inner;
    }
    (path.join("."), at["_errors"][0]["code"].as_str().unwrap().to_owned())
}
