//! What a component imports and its profile does not grant is there, refuses when it is called, and
//! is reported; `imports = "strict"` refuses to load.

use super::{answers, does_not_load, refused, told, tool};
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpListener;
use support::guests;
use support::home::Home;

/// A tool that imports `backdoor:host/shell` and calls it when it is called.
fn shell(imports: &str) -> Home {
    tool("examples/unknown_import", "mounts = []", &format!("safety = \"read-only\"\n{imports}\n"))
}

#[test]
fn an_unknown_import_ends_the_guest_that_calls_it() {
    let said = "it called run of `backdoor:host/shell@0.1.0`, which is not granted to this tool";
    does_not_load(&shell(""), said);
}

#[test]
fn strict_refuses_to_load() {
    does_not_load(&shell("imports = \"strict\""), "it imports `backdoor:host/shell@0.1.0`");
}

/// One in the style of wassette's examples: functions of the world that ask for configuration and
/// pages.
const WEATHER: &str = "examples/weather";
const CONFIG: &str = "wasi:config/store@0.2.0-draft";

fn weather(profile: &str, head: &str, export: &str, argument: &str) -> Home {
    let policy = format!(
        "safety = \"side-effecting\"\n{head}\n[function]\nexport = {export:?}\nsummary = \"Asks.\"\n[arguments]\n{argument}\n"
    );
    tool(WEATHER, profile, &policy)
}

const CITY: &str = "city = \"value\"";
const URL: &str = "url = { url = \"read\" }";
const VALUE: &str = "url = \"value\"";

#[test]
fn http_and_configuration_refuse_when_they_are_called() {
    let home = weather("mounts = []", "", "get-weather", CITY);
    let says = format!("it called get of `{CONFIG}`, which is not granted to this tool");
    refused(&home, json!({ "city": "Delft" }), "failed", &says);
    let home = weather("mounts = []", "", "fetch", VALUE);
    refused(&home, json!({ "url": "https://example.com/" }), "failed", "HeaderError::Forbidden");
    assert!(home.audit().iter().all(|record| record["event"] != "network"), "nobody was asked");
}

#[test]
fn they_are_reported() {
    let home = weather("mounts = []", "", "fetch", VALUE);
    let said = told(&home);
    let file = guests::path(WEATHER).display().to_string();
    let inspected = home.run(&["tool", "inspect", &file]).stdout;
    for import in [CONFIG, "wasi:http/types@0.2.", "wasi:http/outgoing-handler@0.2."] {
        let warned =
            |line: &String| line.starts_with("warning: ") && line.contains(&format!("imports `{import}"));
        assert!(said.iter().any(warned), "{import}: {said:?}");
        let listed = |line: &str| line.contains(import) && line.contains("(refuses ");
        assert!(inspected.lines().any(listed), "{import}: {inspected}");
    }
    assert_eq!(home.run(&["policy", "check"]).code, Some(0), "it loads");
    let strict = weather("mounts = []", "imports = \"strict\"", "fetch", VALUE);
    does_not_load(&strict, &format!("it imports `{CONFIG}`"));
    does_not_load(&strict, "it imports `wasi:http/");
}

/// The same component, granted a network: its requests go the gateway's way.
#[test]
fn http_is_there_where_it_is_granted() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let host = listener.local_addr().expect("bound").to_string();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                if stream.read_exact(&mut byte).is_err() {
                    break;
                }
                head.push(byte[0]);
            }
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nsunny");
        }
    });
    let network =
        format!("mounts = []\nnetwork = {{ hosts = [{host:?}], methods = [\"GET\"], bytes = \"1 MiB\" }}");
    let home = weather(&network, "", "fetch", URL);
    let home = home.config(&format!("[network]\nallowed_private_hosts = [{host:?}]\n"));
    answers(&home, json!({ "url": format!("http://{host}/today") }), json!({ "value": "sunny" }));
    refused(&home, json!({ "url": "https://example.com/" }), "network_denied", "example.com");
}

/// A builtin that imports more needs a profile that grants more.
#[test]
fn every_builtin_imports_no_more_than_its_profile_grants() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../policies/tools");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).expect("there").flatten() {
        let text = std::fs::read_to_string(entry.path()).expect("readable");
        assert!(text.contains("\nimports = \"strict\"\n"), "{}", entry.path().display());
        seen += 1;
    }
    assert!(seen >= 20, "{seen}");
    let checked = Home::new().own_policies().run(&["policy", "check"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
}
