//! A socket that speaks HTTP as a test says, and the server that it speaks to.

use super::super::{END_MAX, PATIENCE};
use anyhow::{Context, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use support::home::Home;

/// A server that listens on a port of its own; killed when dropped.
pub(in crate::mcp) struct Listening {
    child: Child,
    pub(in crate::mcp) port: u16,
    log: Arc<Mutex<String>>,
}

/// An answer, read to its end.
#[derive(Debug)]
pub(in crate::mcp) struct Answer {
    pub(in crate::mcp) status: u16,
    pub(in crate::mcp) head: String,
    pub(in crate::mcp) body: String,
}

impl Answer {
    pub(in crate::mcp) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The one message in it, be it an event or the whole.
    pub(in crate::mcp) fn json(&self) -> anyhow::Result<Value> {
        let events = self.body.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
        let text = events.into_iter().rfind(|data| !data.is_empty()).unwrap_or(&self.body);
        serde_json::from_str(text).with_context(|| format!("no message: {self:?}"))
    }
}

impl Listening {
    pub(in crate::mcp) fn start(
        home: &Home,
        more: &[&str],
        environment: &[(&str, &str)],
    ) -> anyhow::Result<Self> {
        let mut command = home.command(&[&["mcp", "--http", "127.0.0.1:0"], more].concat());
        command.envs(environment.iter().copied()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let mut errors = BufReader::new(child.stderr.take().context("piped")?);
        let mut said = String::new();
        let port = loop {
            let mut line = String::new();
            ensure!(errors.read_line(&mut line)? > 0, "it ended: {said}");
            said.push_str(&line);
            if let Some((_, rest)) = line.split_once("MCP at http://127.0.0.1:") {
                break rest.trim_end().trim_end_matches("/mcp").parse()?;
            }
        };
        let log = Arc::new(Mutex::new(said));
        let more = log.clone();
        std::thread::spawn(move || {
            for line in errors.lines().map_while(Result::ok) {
                more.lock().expect("sound").push_str(&format!("{line}\n"));
            }
        });
        Ok(Self { child, port, log })
    }

    pub(in crate::mcp) fn connect(&self) -> anyhow::Result<TcpStream> {
        connect(self.port)
    }

    /// Posts a message with these headers beside the usual ones.
    pub(in crate::mcp) fn post(&self, message: &Value, more: &str) -> anyhow::Result<Answer> {
        self.post_text(&message.to_string(), more)
    }

    pub(in crate::mcp) fn post_text(&self, body: &str, more: &str) -> anyhow::Result<Answer> {
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, \
             text/event-stream\r\n{more}"
        );
        request(self.port, &head, body.as_bytes())
    }

    /// A line of `/proc/PID/status` in KiB.
    pub(in crate::mcp) fn kib(&self, name: &str) -> anyhow::Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        Ok(line.context("there")?.trim().trim_end_matches(" kB").parse()?)
    }

    /// Ends it by SIGTERM within the time that is promised, and returns its log.
    pub(in crate::mcp) fn end(mut self) -> anyhow::Result<String> {
        let pid = Pid::from_raw(i32::try_from(self.child.id())?).context("a pid")?;
        kill_process(pid, Signal::TERM)?;
        let started = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            ensure!(started.elapsed() < END_MAX, "it goes on");
            std::thread::sleep(Duration::from_millis(5));
        };
        let log = self.log.lock().expect("sound").clone();
        ensure!(status.code() == Some(0), "{status}: {log}");
        Ok(log)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn connect(port: u16) -> anyhow::Result<TcpStream> {
    let stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// Sends one request on a connection of its own, and reads its answer to the end.
pub(in crate::mcp) fn request(port: u16, head: &str, body: &[u8]) -> anyhow::Result<Answer> {
    let mut stream = connect(port)?;
    write!(stream, "{head}Connection: close\r\nContent-Length: {}\r\n\r\n", body.len())?;
    // It may have refused the head already.
    let _ = stream.write_all(body);
    read(&mut stream)
}

/// The answer on a connection that is closed after it.
pub(in crate::mcp) fn read(stream: &mut TcpStream) -> anyhow::Result<Answer> {
    let mut bytes = Vec::new();
    let read = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) =
        text.split_once("\r\n\r\n").with_context(|| format!("no head: {text:?} ({read:?})"))?;
    let status = head.split(' ').nth(1).context("a status")?.parse()?;
    Ok(Answer { status, head: head.to_owned(), body: body.to_owned() })
}

/// Reads until this comes.
pub(in crate::mcp) fn wait_for(stream: &mut TcpStream, words: &str) -> anyhow::Result<()> {
    let (mut found, mut piece) = (String::new(), [0; 4096]);
    while !found.contains(words) {
        let read = stream.read(&mut piece)?;
        ensure!(read > 0, "{words:?} is not in {found}");
        found.push_str(&String::from_utf8_lossy(&piece[..read]));
    }
    Ok(())
}

/// Waits until this is so.
pub(in crate::mcp) fn wait_until(is_so: impl Fn() -> bool) -> anyhow::Result<()> {
    let started = Instant::now();
    while !is_so() {
        ensure!(started.elapsed() < PATIENCE, "it does not come to it");
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}
