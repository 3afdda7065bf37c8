//! An MCP server under measurement, asked over standard input and output.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// A server under measurement.
pub(super) struct Server {
    child: Child,
    stdin: ChildStdin,
    out: BufReader<ChildStdout>,
    next: u64,
}

impl Server {
    /// Starts it; returns how long it took to its first answer.
    pub(super) fn start(mut command: Command) -> Result<(Self, Duration)> {
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

    pub(super) fn ask(&mut self, method: &str, params: Value) -> Result<Value> {
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
    pub(super) fn calls(&mut self, tool: &str, arguments: &Value, rounds: usize) -> Result<Vec<Duration>> {
        let mut times = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            let started = Instant::now();
            self.ask("tools/call", json!({ "name": tool, "arguments": arguments }))?;
            times.push(started.elapsed());
        }
        times.sort();
        Ok(times)
    }

    pub(super) fn resident_mb(&self) -> Result<f64> {
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
