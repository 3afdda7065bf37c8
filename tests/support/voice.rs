//! A server that listens and speaks, on loopback: OpenAI's `/audio/transcriptions` and
//! `/audio/speech`, as far as clients use them. What a request gets back is planned; without a plan
//! a voice says "hello", and a text is spoken.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::{Map, Value, json};
use tokio::io::AsyncWriteExt;

use crate::exchange::multipart::{boundary, decode};
use crate::http::{Connection, Request};
use crate::loopback::{Tasks, accept, listen};

/// A server on loopback; it ends with its last handle.
#[derive(Clone)]
pub struct VoiceServer {
    state: Arc<Mutex<Inner>>,
    address: SocketAddr,
    key: String,
    _tasks: Arc<Tasks>,
}

/// What a request gets back.
#[derive(Clone, Debug)]
pub enum VoiceAnswer {
    /// This was said.
    Heard(String),
    /// An answer of this status with this body.
    Status(u16, String),
    /// The answer to a speech request: these bytes.
    Spoken(Bytes),
    /// Nothing, for ever.
    Silence,
}

/// A request that came in.
#[derive(Clone, Debug)]
pub struct VoiceRequest {
    /// Its path.
    pub path: String,
    /// Its `Authorization`.
    pub authorization: Option<String>,
    /// Its fields; of a file, the name.
    pub fields: Value,
    /// The file that came with it.
    pub file: Bytes,
}

#[derive(Default)]
struct Inner {
    plan: VecDeque<VoiceAnswer>,
    requests: Vec<VoiceRequest>,
    key: String,
}

impl VoiceServer {
    /// Starts a server on a free port of 127.0.0.1 that wants a key.
    ///
    /// # Errors
    /// If no port can be bound.
    pub async fn start() -> anyhow::Result<Self> {
        let key = "sk-voice-0123456789abcdef0123456789".to_owned();
        Self::start_with(key).await
    }

    /// Starts one that wants none, as local ones do.
    ///
    /// # Errors
    /// If no port can be bound.
    pub async fn start_keyless() -> anyhow::Result<Self> {
        Self::start_with(String::new()).await
    }

    async fn start_with(key: String) -> anyhow::Result<Self> {
        let (listener, address) = listen().await?;
        let state = Arc::new(Mutex::new(Inner { key: key.clone(), ..Inner::default() }));
        let shared = state.clone();
        let tasks = accept(listener, move |connection| serve(shared.clone(), connection));
        Ok(Self { state, address, key, _tasks: Arc::new(tasks) })
    }

    /// The address, as `base_url` takes it.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Plans what the next requests get back, one by one.
    pub fn plan(&self, answers: impl IntoIterator<Item = VoiceAnswer>) {
        lock(&self.state).plan.extend(answers);
    }

    /// The requests so far, in the order of arrival.
    pub fn requests(&self) -> Vec<VoiceRequest> {
        lock(&self.state).requests.clone()
    }

    /// The requests, once there are at least so many; received, perhaps not yet answered.
    ///
    /// # Errors
    /// After the timeout.
    pub async fn wait_for_requests(
        &self,
        timeout: Duration,
        count: usize,
    ) -> anyhow::Result<Vec<VoiceRequest>> {
        let began = Instant::now();
        loop {
            let requests = self.requests();
            if requests.len() >= count {
                return Ok(requests);
            }
            anyhow::ensure!(began.elapsed() < timeout, "{count} requests: there are {requests:?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// The beginning of a real Opus stream in Ogg: what tells its type.
pub fn ogg(padding: usize) -> Bytes {
    let mut bytes = b"OggS\x00\x02\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\x01\x13OpusHead\x01\x01\x38\x01\x80\xbb\0\0\0\0\0"
        .to_vec();
    bytes.extend((0..padding).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8));
    bytes.into()
}

fn lock(state: &Mutex<Inner>) -> MutexGuard<'_, Inner> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve(state: Arc<Mutex<Inner>>, mut connection: Connection) {
    while let Ok(Some(request)) = connection.next_request().await {
        let Some((status, kind, body)) = answered(&state, &request) else {
            return connection.closed().await;
        };
        let head = format!(
            "HTTP/1.1 {status} Answer\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let whole = [head.as_bytes(), &body].concat();
        if connection.stream.write_all(&whole).await.is_err() || !request.keep_alive {
            return;
        }
    }
}

/// Status, type and body; `None` for silence.
fn answered(state: &Mutex<Inner>, request: &Request) -> Option<(u16, &'static str, Bytes)> {
    let told = |status: u16, said: &str| {
        let body = json!({ "error": { "message": said } }).to_string();
        Some((status, "application/json", Bytes::from(body)))
    };
    let mut fields = Map::new();
    let content_type = request.header("content-type").unwrap_or_default();
    let mut file = Bytes::new();
    match boundary(content_type) {
        Some(boundary) => {
            let Some(uploads) = decode(&request.body, boundary, &mut fields) else {
                return told(400, "malformed form");
            };
            for (field, upload) in uploads {
                fields.insert(field, upload.filename.into());
                file = upload.bytes;
            }
        }
        None => match serde_json::from_slice(&request.body) {
            Ok(Value::Object(read)) => fields = read,
            _ => return told(400, "malformed JSON"),
        },
    }
    let authorization = request.header("authorization").map(str::to_owned);
    let mut inner = lock(state);
    let fields = Value::Object(fields);
    let record = VoiceRequest { path: request.target.clone(), authorization, fields, file };
    inner.requests.push(record.clone());
    if !inner.key.is_empty() && record.authorization.as_deref() != Some(&format!("Bearer {}", inner.key)) {
        return told(401, "wrong key");
    }
    let speaks = request.target.ends_with("/audio/speech");
    let wanted: &[&str] = if speaks { &["model", "voice", "input"] } else { &["model", "file"] };
    if let Some(missing) = wanted.iter().find(|field| record.fields[**field].is_null()) {
        return told(400, &format!("{missing} is missing"));
    }
    match inner.plan.pop_front() {
        Some(VoiceAnswer::Silence) => None,
        Some(VoiceAnswer::Status(status, body)) => Some((status, "application/json", body.into())),
        Some(VoiceAnswer::Heard(text)) => {
            Some((200, "application/json", json!({ "text": text }).to_string().into()))
        }
        Some(VoiceAnswer::Spoken(bytes)) => Some((200, "audio/ogg", bytes)),
        None if speaks => Some((200, "audio/ogg", ogg(1000))),
        None => Some((200, "application/json", json!({ "text": "hello" }).to_string().into())),
    }
}
