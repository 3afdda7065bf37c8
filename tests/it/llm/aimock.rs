//! The providers against a model's server that nobody here wrote, so that our own server and they do not merely
//! agree: `@copilotkit/aimock`, which `cargo xtask test` installs where npm is.

use super::world::replies;
use serde_json::json;
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
    fn start(home: &Home, fixtures: &serde_json::Value) -> anyhow::Result<Self> {
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

#[test]
fn an_unrelated_server_is_understood_and_understands() -> anyhow::Result<()> {
    let there = needs::program("node") && program().exists();
    if !needs::available("llm::aimock", "node and npm", there) {
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
        let home = Home::new();
        let server = Aimock::start(&home, &fixtures)?;
        let base_url = match dialect {
            Dialect::Anthropic => server.address.clone(),
            Dialect::Chat | Dialect::Responses => format!("{}/v1", server.address),
        };
        let kind = dialect.kind();
        let home =
            home.config(&format!("[provider]\nkind = {kind:?}\nbase_url = {base_url:?}\nmodel = \"m\"\n"));
        let (one, two) = (home.file("one", b"eins"), home.file("two", b"zwei"));
        let flags = ["--attach", &*one, "--attach", &*two];
        let ran = replies(&home, &flags, "bitte beide speichern\n");
        assert!(ran.stdout.ends_with("Beide sind gespeichert. 📎\n"), "{dialect:?}: {ran:?}");
        assert_eq!(std::fs::read(home.host("/shared/Müller – 写真.txt"))?, b"eins");
        assert_eq!(std::fs::read(home.host("/shared/b"))?, b"zwei");
    }
    Ok(())
}
