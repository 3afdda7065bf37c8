//! A bare HTTP client: it shows what is on the wire and forgives nothing.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::telegram::TelegramServer;

/// One answer as it arrived.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: Vec<u8>,
}

impl Reply {
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(super) fn result(&self) -> Value {
        assert_eq!(self.status, 200, "{self:?}");
        self.json()["result"].clone()
    }

    /// The description of a refusal whose code equals the HTTP status.
    pub(super) fn refusal(&self) -> (u16, String) {
        let json = self.json();
        assert_eq!(json["ok"], json!(false));
        assert_eq!(json["error_code"], json!(self.status));
        (self.status, json["description"].as_str().unwrap().to_owned())
    }
}

/// A connection that is kept alive.
pub(super) struct Client {
    pub(super) stream: TcpStream,
    token: String,
    buffer: Vec<u8>,
}

impl Client {
    pub(super) async fn new(server: &TelegramServer) -> Self {
        let url = server.api_url();
        let stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).await.unwrap();
        Self { stream, token: server.token().to_owned(), buffer: Vec::new() }
    }

    /// Sends a method with a JSON body.
    pub(super) async fn post(&mut self, method: &str, params: Value) {
        let body = params.to_string();
        let request = format!(
            "POST /bot{}/{method} HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            self.token,
            body.len()
        );
        self.send(&request).await;
    }

    /// Calls a method with fields of text and files (field, name, bytes), and reads the answer.
    pub(super) async fn upload(
        &mut self,
        method: &str,
        params: &[(&str, &str)],
        files: &[(&str, &str, &[u8])],
    ) -> Reply {
        let mut body = Vec::new();
        for (name, value) in params {
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
        let head = format!(
            "POST /bot{}/{method} HTTP/1.1\r\nHost: t\r\nContent-Type: multipart/form-data; boundary=b0undary\r\n\
             Content-Length: {}\r\n\r\n",
            self.token,
            body.len()
        );
        self.stream.write_all(&[head.into_bytes(), body].concat()).await.unwrap();
        self.reply().await.unwrap()
    }

    /// Calls a method and reads the answer.
    pub(super) async fn call(&mut self, method: &str, params: Value) -> Reply {
        self.post(method, params).await;
        self.reply().await.unwrap()
    }

    /// Asks for a file by its `file_path`, which is sent as it is.
    pub(super) async fn get_file(&mut self, path: &str) {
        let request = format!("GET /file/bot{}/{path} HTTP/1.1\r\nHost: t\r\n\r\n", self.token);
        self.send(&request).await;
    }

    pub(super) async fn send(&mut self, bytes: &str) {
        self.stream.write_all(bytes.as_bytes()).await.unwrap();
    }

    /// The next answer; `None` where the connection ended before it was complete, with what there was
    /// left in [`rest`](Self::rest).
    pub(super) async fn reply(&mut self) -> Option<Reply> {
        let head_end = loop {
            match self.buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                Some(position) => break position + 4,
                None => self.more().await?,
            }
        };
        let head = String::from_utf8(self.buffer[..head_end].to_vec()).unwrap();
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        let body = match length.map(|length| length.parse::<usize>().unwrap()) {
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
    pub(super) async fn reply_head(&mut self) -> String {
        while !self.buffer.ends_with(b"\r\n\r\n") {
            self.more().await.unwrap();
        }
        let head = String::from_utf8(std::mem::take(&mut self.buffer)).unwrap();
        head.lines().next().unwrap().to_owned()
    }

    /// Reads until at least so many bytes of the answer have come.
    pub(super) async fn at_least(&mut self, bytes: usize) {
        while self.buffer.len() < bytes {
            self.more().await.unwrap();
        }
    }

    /// Everything until the connection ends.
    pub(super) async fn rest(&mut self) -> String {
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
