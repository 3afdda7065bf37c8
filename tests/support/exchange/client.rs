//! A bare HTTP client: it shows what is on the wire and forgives nothing.

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// One answer as it arrived.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// A connection that is kept alive.
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    /// Connects to `http://ADDRESS`, whatever path follows.
    pub(crate) async fn new(url: &str) -> Self {
        let address = url.strip_prefix("http://").unwrap();
        let address = address.split('/').next().unwrap();
        Self { stream: TcpStream::connect(address).await.unwrap(), buffer: Vec::new() }
    }

    pub(crate) async fn send(&mut self, bytes: &str) {
        self.send_bytes(bytes.as_bytes()).await;
    }

    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    /// The next answer; `None` where the connection ended before it was complete, with what there
    /// was left in [`rest`](Self::rest).
    pub(crate) async fn reply(&mut self) -> Option<Reply> {
        let head_end = loop {
            match self.buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                Some(position) => break position + 4,
                None => self.more().await?,
            }
        };
        let head = String::from_utf8(self.buffer[..head_end].to_vec()).unwrap();
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        let length = length.map(|length| length.parse::<usize>().unwrap());
        let body = match length.or_else(|| head.starts_with("HTTP/1.1 204").then_some(0)) {
            Some(length) => {
                while self.buffer.len() < head_end + length {
                    self.more().await?;
                }
                let all: Vec<u8> = self.buffer.drain(..head_end + length).collect();
                all[head_end..].to_vec()
            }
            None => {
                while self.more().await.is_some() {}
                self.buffer.split_off(head_end)
            }
        };
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Some(Reply { status, head, body })
    }

    /// The status line of an interim answer.
    pub(crate) async fn reply_head(&mut self) -> String {
        while !self.buffer.ends_with(b"\r\n\r\n") {
            self.more().await.unwrap();
        }
        let head = String::from_utf8(std::mem::take(&mut self.buffer)).unwrap();
        head.lines().next().unwrap().to_owned()
    }

    /// Reads until at least so many bytes of the answer have come.
    pub(crate) async fn at_least(&mut self, bytes: usize) {
        while self.buffer.len() < bytes {
            self.more().await.unwrap();
        }
    }

    /// Everything until the connection ends.
    pub(crate) async fn rest(&mut self) -> String {
        while self.more().await.is_some() {}
        String::from_utf8_lossy(&std::mem::take(&mut self.buffer)).into_owned()
    }

    async fn more(&mut self) -> Option<()> {
        match self.stream.read_buf(&mut self.buffer).await {
            Ok(1..) => Some(()),
            Ok(0) | Err(_) => None,
        }
    }
}

/// A body of `multipart/form-data` with fields of text, and files (field, name, bytes); its
/// boundary is `b0undary`.
pub(crate) fn multipart(fields: &[(&str, &str)], files: &[(&str, &str, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, value) in fields {
        let part =
            format!("--b0undary\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
        body.extend(part.as_bytes());
    }
    for (field, name, bytes) in files {
        let head = format!(
            "--b0undary\r\nContent-Disposition: form-data; name=\"{field}\"; filename=\"{name}\"\r\n\
             Content-Type: application/octet-stream\r\n\r\n"
        );
        body.extend([head.as_bytes(), bytes, b"\r\n"].concat());
    }
    body.extend(b"--b0undary--\r\n");
    body
}
