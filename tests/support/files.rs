//! A server of files on loopback, as somebody else's host that a workflow names. It keeps what it
//! was asked.

use crate::http::{Connection, Request};
use crate::loopback::{Tasks, accept, listen};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::AsyncWriteExt;

/// What is said of one path.
#[derive(Clone, Debug)]
pub enum Answer {
    /// All of it.
    Bytes(Vec<u8>),
    /// The same in chunks, whose sum nobody is told before.
    Chunks(Vec<u8>),
    /// It is elsewhere.
    Redirect(String),
    /// Not there, or in another way no file.
    Status(u16),
    /// It begins, and never goes on.
    Stalls,
}

/// A server; dropping it ends it.
pub struct FileServer {
    host: String,
    state: Arc<Mutex<State>>,
    _tasks: Tasks,
}

#[derive(Default)]
struct State {
    answers: BTreeMap<String, Answer>,
    requests: Vec<String>,
}

impl FileServer {
    /// A server that knows no path.
    ///
    /// # Errors
    /// When no port is free.
    pub async fn start() -> anyhow::Result<Self> {
        let (listener, address) = listen().await?;
        let state: Arc<Mutex<State>> = Arc::default();
        let served = state.clone();
        let tasks = accept(listener, move |connection| serve(connection, served.clone()));
        Ok(Self { host: address.to_string(), state, _tasks: tasks })
    }

    /// Host and port.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The address of a path such as `/a.pdf`.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.host)
    }

    /// What is said of a path from now on.
    pub fn answer(&self, path: &str, answer: Answer) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.answers.insert(path.to_owned(), answer);
    }

    /// The requests so far, each with its headers, in small letters.
    pub fn requests(&self) -> Vec<String> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).requests.clone()
    }
}

async fn serve(mut connection: Connection, state: Arc<Mutex<State>>) {
    while let Ok(Some(request)) = connection.next_request().await {
        let answer = {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            state.requests.push(shown(&request));
            let path = request.target.split('?').next().unwrap_or_default();
            state.answers.get(path).cloned().unwrap_or(Answer::Status(404))
        };
        let stalls = matches!(answer, Answer::Stalls);
        if connection.stream.write_all(&written(answer)).await.is_err() {
            return;
        }
        if stalls {
            connection.closed().await;
            return;
        }
    }
}

fn written(answer: Answer) -> Vec<u8> {
    let head = |status: u16, more: &str| {
        format!("HTTP/1.1 {status} X\r\nSet-Cookie: a=b\r\n{more}\r\n").into_bytes()
    };
    let length = |bytes: usize| format!("Content-Length: {bytes}\r\n");
    match answer {
        Answer::Bytes(bytes) => [head(200, &length(bytes.len())), bytes].concat(),
        Answer::Chunks(bytes) => {
            let chunks = bytes
                .chunks(10)
                .map(|chunk| [format!("{:x}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat());
            let body: Vec<u8> = chunks.flatten().collect();
            [head(200, "Transfer-Encoding: chunked\r\n"), body, b"0\r\n\r\n".to_vec()].concat()
        }
        Answer::Redirect(to) => head(302, &format!("Location: {to}\r\n{}", length(0))),
        Answer::Status(status) => head(status, &length(0)),
        Answer::Stalls => [head(200, &length(20)), b"begun".to_vec()].concat(),
    }
}

fn shown(request: &Request) -> String {
    let headers = request.headers.iter().map(|(name, value)| format!("{name}: {value}\n"));
    format!("{} {}\n{}", request.verb, request.target, headers.collect::<String>()).to_ascii_lowercase()
}
