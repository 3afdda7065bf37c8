//! The providers against a model's server that nobody here wrote, so that our own server and they
//! do not merely agree: `@copilotkit/aimock`, which `cargo xtask test` installs where npm is.

use super::world::replies;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use support::home::Home;
use support::llm::Dialect;
use support::needs;

/// Where `cargo xtask test` installs it.
fn program() -> PathBuf {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools/aimock");
    tools.join("node_modules/@copilotkit/aimock/dist/cli.js")
}

/// A running server; killed when dropped.
struct Aimock {
    child: Child,
    address: String,
}

impl Aimock {
    /// Starts it with these fixtures, each text in events of three characters.
    fn start(home: &Home, fixtures: &Value) -> anyhow::Result<Self> {
        let fixtures = home.file("fixtures.json", json!({ "fixtures": fixtures }).to_string().as_bytes());
        let mut command = Command::new("node");
        command.arg(program()).args([
            "--port",
            "0",
            "--chunk-size",
            "3",
            "--strict",
            "--fixtures",
            &fixtures,
        ]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let said = BufReader::new(child.stdout.take().expect("piped"));
        let mut server = Self { child, address: String::new() };
        for line in said.lines() {
            if let Some((_, address)) = line?.split_once("listening on ") {
                server.address = address.trim().to_owned();
                return Ok(server);
            }
        }
        anyhow::bail!("aimock ended: {:?}", server.child.wait()?)
    }
}

impl Drop for Aimock {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether there is one to test against.
fn is_here() -> bool {
    let there = needs::program("node") && program().exists();
    needs::available("llm::aimock", "node and npm", there)
}

/// A gateway over this API, and the server of these fixtures.
fn pair(dialect: Dialect, fixtures: &Value) -> anyhow::Result<(Home, Aimock)> {
    let home = Home::new();
    let server = Aimock::start(&home, fixtures)?;
    let base_url = match dialect {
        Dialect::Anthropic => server.address.clone(),
        Dialect::Chat | Dialect::Responses => format!("{}/v1", server.address),
    };
    let kind = dialect.kind();
    let provider = format!("[provider]\nkind = {kind:?}\nbase_url = {base_url:?}\nmodel = \"m\"\n");
    Ok((home.config(&provider), server))
}

#[test]
fn an_unrelated_server_is_understood_and_understands() -> anyhow::Result<()> {
    if !is_here() {
        return Ok(());
    }
    let calls = json!([
        { "name": "attachment_save", "arguments": { "index": 0, "path": "/shared/Müller – 写真.txt" } },
        { "name": "attachment_save", "arguments": { "index": 1, "path": "/shared/b" } },
    ]);
    let fixtures = json!([
        { "match": { "hasToolResult": true }, "response": { "content": "Beide sind gespeichert. 📎" } },
        { "match": { "userMessage": "speichern" }, "response": { "toolCalls": calls } },
    ]);
    for dialect in Dialect::ALL {
        let (home, _server) = pair(dialect, &fixtures)?;
        let (one, two) = (home.file("one", b"eins"), home.file("two", b"zwei"));
        let flags = ["--attach", &*one, "--attach", &*two];
        let ran = replies(&home, &flags, "bitte beide speichern\n");
        assert!(ran.stdout.ends_with("Beide sind gespeichert. 📎\n"), "{dialect:?}: {ran:?}");
        assert_eq!(std::fs::read(home.host("/shared/Müller – 写真.txt"))?, b"eins");
        assert_eq!(std::fs::read(home.host("/shared/b"))?, b"zwei");
    }
    Ok(())
}

/// What goes wrong once, and the answer of the next attempt.
fn once(said: &str, wrong: &Value) -> [Value; 2] {
    let mut first =
        json!({ "match": { "userMessage": said, "sequenceIndex": 0 }, "response": { "content": "never" } });
    for (key, value) in wrong.as_object().expect("fields of a fixture") {
        first[key] = value.clone();
    }
    [first, json!({ "match": { "userMessage": said }, "response": { "content": format!("After {said}.") } })]
}

/// An answer of this status in the server's own form of an error.
fn error(status: u16, kind: &str, message: &str) -> Value {
    json!({ "response": { "status": status, "error": { "type": kind, "message": message } } })
}

#[test]
fn what_an_unrelated_server_does_wrong_is_told_from_what_it_says() -> anyhow::Result<()> {
    if !is_here() {
        return Ok(());
    }
    let mut busy = error(429, "rate_limit_error", "slow down");
    busy["response"]["retryAfter"] = 1.into();
    let passing = [
        once("busy", &busy),
        once("failing", &error(500, "server_error", "oops")),
        once("overloaded", &error(529, "overloaded_error", "Overloaded")),
        once("gone", &json!({ "chaos": { "disconnectRate": 1 } })),
    ];
    let lasting = [
        // Slowly enough that what comes before the break is heard.
        (
            json!({ "response": { "content": "one two three four five six" }, "truncateAfterChunks": 7, "latency": 20 }),
            "The model's answer broke off before its end",
        ),
        (json!({ "response": { "content": "x" }, "chaos": { "malformedRate": 1 } }), "was not found where"),
        (
            error(400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"),
            "too long for the model",
        ),
        (error(401, "authentication_error", "sk-wrong"), "does not accept this gateway's key"),
        (error(404, "not_found_error", "no model m"), "was not found where"),
    ];
    let mut fixtures: Vec<Value> = passing.into_iter().flatten().collect();
    for (n, (wrong, _)) in lasting.iter().enumerate() {
        let mut fixture = wrong.clone();
        fixture["match"] = json!({ "userMessage": format!("wrong {n}") });
        fixtures.push(fixture);
    }
    for dialect in Dialect::ALL {
        let (home, _server) = pair(dialect, &Value::Array(fixtures.clone()))?;
        let ran = replies(&home, &[], "busy\nfailing\noverloaded\ngone\n");
        let expected = "After busy.\nAfter failing.\nAfter overloaded.\nAfter gone.\n";
        assert_eq!(ran.stdout, expected, "{dialect:?}: {}", ran.stderr);
        let again = |line: &&str| line.contains("is asked again");
        assert_eq!(ran.stderr.lines().filter(again).count(), 4, "{dialect:?}: {}", ran.stderr);
        for (n, (_, told)) in lasting.iter().enumerate() {
            // Each in a chat of its own: what has no answer stays in a conversation.
            let ran = replies(&home, &[], &format!("wrong {n}\n"));
            assert!(ran.stdout.contains(told) && ran.stdout.lines().count() == 1, "{dialect:?} {n}: {ran:?}");
            assert!(!ran.stdout.contains("sk-wrong") && !ran.stdout.contains("one two"), "{}", ran.stdout);
        }
    }
    Ok(())
}
