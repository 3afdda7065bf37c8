//! The network of guests, by the real program: what is sent, what never is, and what the audit says
//! of it.

mod answers;
mod bounds;
mod judged;
mod pages;
mod redirects;
mod refused;
mod secrets;
mod server;
mod trust;

use serde_json::Value;
use server::Server;
use support::home::{Home, Ran};

/// What the policies of the tool `network` have in common.
const TOOL: &str = "safety = \"side-effecting\"\n[arguments]\nurl = { url = \"read\" }\nunjudged = \"value\"\nmethod = \"value\"\n\
    header = \"value\"\nbody = \"content\"\n";

/// A home with the tool `network`, whose profile has this `network`.
fn granting(network: &str) -> Home {
    let profile = format!(
        "schema = 1\nprofile = \"net\"\nwhy = \"a test\"\nmounts = []\nnetwork = {{ {network} }}\n[limits]\ndeadline = \"20s\"\n"
    );
    Home::new().policy("profiles/net.toml", &profile).tool("network", "net", "network", TOOL)
}

/// One that may GET and POST from this server, which the operator names as well.
fn reaching(server: &Server) -> Home {
    granting(&network(server)).config(&named(&[server]))
}

fn network(server: &Server) -> String {
    format!("hosts = [{:?}], methods = [\"GET\", \"POST\"], bytes = \"1 MiB\"", server.host())
}

fn named(servers: &[&Server]) -> String {
    named_hosts(&servers.iter().map(|server| server.host()).collect::<Vec<_>>())
}

fn named_hosts(hosts: &[String]) -> String {
    format!("[network]\nallowed_private_hosts = {hosts:?}\n")
}

/// Calls the tool.
fn ask(home: &Home, arguments: &[&str]) -> Ran {
    home.call(&[&["network"], arguments].concat())
}

/// The records of requests, in order.
fn requests(home: &Home) -> Vec<Value> {
    home.audit().into_iter().filter(|record| record["event"] == "network").collect()
}

/// The one that there is.
fn request(home: &Home) -> Value {
    let mut all = requests(home);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

/// The code of the last outcome.
fn outcome(home: &Home) -> String {
    let last = home.audit().into_iter().rfind(|record| record["event"] == "outcome").expect("an outcome");
    last["code"].as_str().unwrap_or_default().to_owned()
}
