//! A running `cofferdam mcp` and the client of a test: what it writes is what the test says, byte
//! for byte.

use super::{END_MAX, PATIENCE};
use anyhow::{Context, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use support::home::Home;

/// A version of each era.
pub(crate) const SESSIONS: &str = "2025-11-25";
pub(crate) const STATELESS: &str = "2026-07-28";

/// A server over standard input and output; killed when dropped.
pub(crate) struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    messages: Receiver<String>,
    /// Those that came before what a test waited for.
    earlier: VecDeque<Value>,
    log: Arc<Mutex<String>>,
    next: i64,
}

impl Server {
    /// One that nobody has spoken to yet.
    pub(crate) fn launch(home: &Home) -> anyhow::Result<Self> {
        Self::spawn(home.command(&["mcp"]))
    }

    /// One that was initialized by a client that can show forms or not.
    pub(crate) fn start(home: &Home, capabilities: Value) -> anyhow::Result<Self> {
        let mut server = Self::launch(home)?;
        server.initialize(SESSIONS, capabilities)?;
        Ok(server)
    }

    pub(crate) fn spawn(mut command: Command) -> anyhow::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let (tell, messages) = channel();
        let out = BufReader::new(child.stdout.take().context("piped")?);
        std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| tell.send(line)));
        let log = Arc::new(Mutex::new(String::new()));
        let (said, mut errors) = (log.clone(), child.stderr.take().context("piped")?);
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(read @ 1..) = errors.read(&mut piece) {
                said.lock().expect("sound").push_str(&String::from_utf8_lossy(&piece[..read]));
            }
        });
        let stdin = child.stdin.take();
        Ok(Self { child, stdin, messages, earlier: VecDeque::new(), log, next: 1 })
    }

    /// What it has said on standard error.
    pub(crate) fn log(&self) -> String {
        self.log.lock().expect("sound").clone()
    }

    /// Waits until standard error says this.
    pub(crate) fn logs(&self, words: &str) -> anyhow::Result<()> {
        let started = Instant::now();
        while !self.log().contains(words) {
            ensure!(started.elapsed() < PATIENCE, "{words:?} is not in {}", self.log());
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        let stdin = self.stdin.as_mut().context("it is open")?;
        stdin.write_all(bytes)?;
        Ok(stdin.flush()?)
    }

    pub(crate) fn send(&mut self, message: &Value) -> anyhow::Result<()> {
        self.write(format!("{message}\n").as_bytes())
    }

    /// The next message, whatever it is.
    pub(crate) fn next(&mut self) -> anyhow::Result<Value> {
        if let Some(message) = self.earlier.pop_front() {
            return Ok(message);
        }
        self.read()
    }

    fn read(&mut self) -> anyhow::Result<Value> {
        let line = match self.messages.recv_timeout(PATIENCE) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => anyhow::bail!("no message came; it said {}", self.log()),
            Err(RecvTimeoutError::Disconnected) => anyhow::bail!("it ended; it said {}", self.log()),
        };
        let message: Value = serde_json::from_str(&line).with_context(|| format!("not JSON: {line}"))?;
        ensure!(message["jsonrpc"] == "2.0", "not JSON-RPC: {line}");
        Ok(message)
    }

    /// The answer to this request; what comes before it is kept.
    pub(crate) fn answer(&mut self, id: impl Into<Value>) -> anyhow::Result<Value> {
        let id = id.into();
        let is = |message: &Value| message["id"] == id && message.get("method").is_none();
        if let Some(at) = self.earlier.iter().position(is) {
            return self.earlier.remove(at).context("found");
        }
        loop {
            let message = self.read()?;
            if is(&message) {
                return Ok(message);
            }
            self.earlier.push_back(message);
        }
    }

    /// Everything that came before what was waited for.
    pub(crate) fn earlier(&mut self) -> Vec<Value> {
        self.earlier.drain(..).collect()
    }

    /// Sends a request and does not wait; returns its id.
    pub(crate) fn begin(&mut self, method: &str, params: Value) -> anyhow::Result<i64> {
        let id = self.next;
        self.next += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        Ok(id)
    }

    /// Sends a request and waits for its answer.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        let id = self.begin(method, params)?;
        self.answer(id)
    }

    pub(crate) fn initialize(&mut self, version: &str, capabilities: Value) -> anyhow::Result<Value> {
        let client = json!({ "name": "a test", "version": "1" });
        let params =
            json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": client });
        let answer = self.ask("initialize", params)?;
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(answer["result"].clone())
    }

    /// A call's result.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> anyhow::Result<Value> {
        let answer = self.ask("tools/call", json!({ "name": tool, "arguments": arguments }))?;
        ensure!(answer.get("error").is_none(), "{answer}");
        Ok(answer["result"].clone())
    }

    /// It still answers.
    pub(crate) fn is_well(&mut self) -> anyhow::Result<()> {
        let answer = self.ask("ping", json!({}))?;
        ensure!(answer["result"] == json!({}), "{answer}");
        Ok(())
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// A line of `/proc/PID/status` in KiB.
    pub(crate) fn kib(&self, name: &str) -> anyhow::Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        Ok(line.context("there")?.trim().trim_end_matches(" kB").parse()?)
    }

    /// Closes its input.
    pub(crate) fn close(&mut self) {
        drop(self.stdin.take());
    }

    pub(crate) fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let pid = Pid::from_raw(i32::try_from(self.child.id())?).context("a pid")?;
        Ok(kill_process(pid, signal)?)
    }

    /// Waits for its end, as long as it may take.
    pub(crate) fn ended(&mut self) -> anyhow::Result<ExitStatus> {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            ensure!(started.elapsed() < END_MAX, "it goes on; it said {}", self.log());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Closes its input and waits for exit 0.
    pub(crate) fn end(mut self) -> anyhow::Result<()> {
        self.close();
        let status = self.ended()?;
        ensure!(status.code() == Some(0), "{status}: {}", self.log());
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What each request of the newer era brings.
pub(crate) fn meta(capabilities: Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientInfo": { "name": "a test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

/// The text of a result, which is the structured content if it is no failure.
pub(crate) fn text(result: &Value) -> anyhow::Result<String> {
    let text = result["content"][0]["text"].as_str().with_context(|| format!("no text: {result}"))?;
    if result["isError"] != true {
        let same: Value = serde_json::from_str(text)?;
        ensure!(same == result["structuredContent"], "{result}");
    }
    Ok(text.to_owned())
}

/// Checks that a result is a failure with this code, and returns its text.
pub(crate) fn refused(result: &Value, code: &str) -> anyhow::Result<String> {
    let text = text(result)?;
    ensure!(result["isError"] == true && text.starts_with(&format!("{code}: ")), "{code}: {result}");
    Ok(text)
}

/// The outcomes in the audit.
pub(crate) fn outcomes(home: &Home) -> Vec<Value> {
    home.audit().into_iter().filter(|record| record["event"] == "outcome").collect()
}
