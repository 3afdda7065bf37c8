//! A server of the S3 API on loopback, with one bucket: objects, uploads in parts, listings in
//! pages. It refuses what is not signed with its key, and can be made to fail.
//!
//! <https://docs.aws.amazon.com/AmazonS3/latest/API/API_Operations.html>,
//! <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html>

use crate::http::{Connection, Request};
use crate::loopback::{Tasks, accept, listen};
use ring::hmac;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::io::AsyncWriteExt;

/// What the bucket is called.
pub const BUCKET: &str = "replies";
/// What opens it.
pub const KEY_ID: &str = "AKIDEXAMPLE";
/// The secret of it.
pub const KEY: &str = "s3cr3t-of-the-bucket";
const REGION: &str = "eu-test-1";
/// Keys of one page.
const PAGE: usize = 2;

/// What goes wrong with every request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// This status.
    Status(u16),
    /// The connection ends.
    Hangup,
    /// Uploads in parts fail, with this status.
    Parts(u16),
    /// Reads bring other bytes.
    OtherBytes,
}

#[derive(Default)]
struct State {
    objects: BTreeMap<String, (Vec<u8>, SystemTime)>,
    /// Parts of uploads that nobody has completed.
    uploads: BTreeMap<String, BTreeMap<u32, Vec<u8>>>,
    begun: usize,
    fault: Option<Fault>,
    /// Verb and target.
    requests: Vec<String>,
}

/// The server; dropping it ends it.
pub struct S3 {
    endpoint: String,
    state: Arc<Mutex<State>>,
    _tasks: Tasks,
}

impl S3 {
    /// One whose bucket is empty.
    ///
    /// # Errors
    /// When no port is free.
    pub async fn start() -> anyhow::Result<Self> {
        let (listener, address) = listen().await?;
        let state = Arc::new(Mutex::new(State::default()));
        let served = state.clone();
        let tasks = accept(listener, move |connection| serve(connection, served.clone()));
        Ok(Self { endpoint: format!("http://{address}"), state, _tasks: tasks })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The variables by which a client finds and opens it.
    pub fn environment(&self) -> [(&'static str, String); 4] {
        [
            ("AWS_ENDPOINT_URL", self.endpoint.clone()),
            ("AWS_REGION", REGION.to_owned()),
            ("AWS_ACCESS_KEY_ID", KEY_ID.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", KEY.to_owned()),
        ]
    }

    /// The objects, by their keys.
    pub fn objects(&self) -> BTreeMap<String, Vec<u8>> {
        let state = self.state();
        state.objects.iter().map(|(key, (bytes, _))| (key.clone(), bytes.clone())).collect()
    }

    /// Has an object that was put there so long ago.
    pub fn put(&self, key: &str, bytes: &[u8], age: Duration) {
        self.state().objects.insert(key.to_owned(), (bytes.to_vec(), SystemTime::now() - age));
    }

    /// Uploads that were begun and neither completed nor aborted.
    pub fn open_uploads(&self) -> usize {
        self.state().uploads.len()
    }

    /// What goes wrong from now on.
    pub fn fault(&self, fault: Option<Fault>) {
        self.state().fault = fault;
    }

    /// The requests so far, verb and target.
    pub fn requests(&self) -> Vec<String> {
        self.state().requests.clone()
    }
}

impl State {
    /// Status, headers and body.
    fn answer(&mut self, request: &Request) -> (u16, String, Vec<u8>) {
        let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
        let query: BTreeMap<&str, String> = query
            .split('&')
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
            .map(|(k, v)| (k, decode(v)))
            .collect();
        if !is_signed(request) {
            return error(403, "SignatureDoesNotMatch");
        }
        let path = decode(path);
        let Some(key) = path.strip_prefix(&format!("/{BUCKET}")) else { return error(404, "NoSuchBucket") };
        let (key, body) = (key.trim_start_matches('/').to_owned(), request.body.to_vec());
        let (upload, part) = (query.get("uploadId"), query.get("partNumber"));
        match (&*request.verb, upload, part) {
            ("GET", ..) if query.get("list-type").is_some_and(|of| of == "2") => self.list(&query),
            ("GET" | "HEAD", ..) => match self.objects.get(&key) {
                None => error(404, "NoSuchKey"),
                Some((bytes, at)) => {
                    let at =
                        jiff::Timestamp::try_from(*at).expect("a time").strftime("%a, %d %b %Y %H:%M:%S GMT");
                    let other = self.fault == Some(Fault::OtherBytes);
                    let bytes = if other { vec![b'!'; bytes.len()] } else { bytes.clone() };
                    (200, format!("ETag: \"e\"\r\nLast-Modified: {at}\r\n"), bytes)
                }
            },
            ("PUT", Some(upload), Some(part)) => {
                let Some(parts) = self.uploads.get_mut(upload) else { return error(404, "NoSuchUpload") };
                parts.insert(part.parse().expect("a number"), body);
                (200, "ETag: \"p\"\r\n".to_owned(), Vec::new())
            }
            ("PUT", ..) => {
                self.objects.insert(key, (body, SystemTime::now()));
                (200, "ETag: \"e\"\r\n".to_owned(), Vec::new())
            }
            ("POST", None, _) if query.contains_key("uploads") => {
                self.begun += 1;
                let id = format!("upload-{}", self.begun);
                let said = format!(
                    "<InitiateMultipartUploadResult><UploadId>{id}</UploadId></InitiateMultipartUploadResult>"
                );
                self.uploads.insert(id, BTreeMap::new());
                (200, String::new(), said.into_bytes())
            }
            ("POST", Some(upload), _) => match self.uploads.remove(upload) {
                None => error(404, "NoSuchUpload"),
                Some(parts) => {
                    self.objects.insert(key, (parts.into_values().flatten().collect(), SystemTime::now()));
                    let said =
                        "<CompleteMultipartUploadResult><ETag>\"e\"</ETag></CompleteMultipartUploadResult>";
                    (200, String::new(), said.into())
                }
            },
            ("DELETE", Some(upload), _) => {
                self.uploads.remove(upload);
                (204, String::new(), Vec::new())
            }
            ("DELETE", ..) => {
                self.objects.remove(&key);
                (204, String::new(), Vec::new())
            }
            _ => error(405, "MethodNotAllowed"),
        }
    }

    fn list(&self, query: &BTreeMap<&str, String>) -> (u16, String, Vec<u8>) {
        let prefix = query.get("prefix").map_or("", String::as_str);
        let after = query.get("continuation-token").map_or("", String::as_str);
        let mut found =
            self.objects.iter().filter(|(key, _)| key.starts_with(prefix) && key.as_str() > after).peekable();
        let (mut said, mut last) = (String::new(), String::new());
        for (key, (bytes, at)) in found.by_ref().take(PAGE) {
            let at = jiff::Timestamp::try_from(*at).expect("a time");
            said += &format!(
                "<Contents><Key>{key}</Key><Size>{}</Size><LastModified>{at}</LastModified></Contents>",
                bytes.len()
            );
            last.clone_from(key);
        }
        if found.peek().is_some() {
            said += &format!("<NextContinuationToken>{last}</NextContinuationToken>");
        }
        (200, String::new(), format!("<ListBucketResult>{said}</ListBucketResult>").into_bytes())
    }
}

fn error(status: u16, code: &str) -> (u16, String, Vec<u8>) {
    (status, String::new(), format!("<Error><Code>{code}</Code><Message>no</Message></Error>").into_bytes())
}

/// Whether the request is what somebody with the key has signed.
fn is_signed(request: &Request) -> bool {
    let said = request.header("authorization").unwrap_or_default();
    let field = |name: &str| {
        let (_, rest) = said.split_once(&format!("{name}="))?;
        Some(rest.split(',').next().unwrap_or_default().trim())
    };
    let (Some(credential), Some(signed), Some(signature)) =
        (field("Credential"), field("SignedHeaders"), field("Signature"))
    else {
        return false;
    };
    let Some(scope) = credential.strip_prefix(&format!("{KEY_ID}/")) else { return false };
    let date = scope.split('/').next().unwrap_or_default();
    let content = request.header("x-amz-content-sha256").unwrap_or_default();
    if scope != format!("{date}/{REGION}/s3/aws4_request")
        || content != hex::encode(Sha256::digest(&request.body))
    {
        return false;
    }
    let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
    let mut query: Vec<String> = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| if pair.contains('=') { pair.to_owned() } else { format!("{pair}=") })
        .collect();
    query.sort();
    let headers: String = signed
        .split(';')
        .map(|name| format!("{name}:{}\n", request.header(name).unwrap_or_default().trim()))
        .collect();
    let canonical = format!("{}\n{path}\n{}\n{headers}\n{signed}\n{content}", request.verb, query.join("&"));
    let time = request.header("x-amz-date").unwrap_or_default();
    let to_sign = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", hex::encode(Sha256::digest(canonical)));
    let sign = |key: &[u8], text: &str| {
        hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes()).as_ref().to_vec()
    };
    let key = [date, REGION, "s3", "aws4_request"]
        .into_iter()
        .fold(format!("AWS4{KEY}").into_bytes(), |key, part| sign(&key, part));
    hex::encode(sign(&key, &to_sign)) == signature
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, more @ ..] = rest {
        let escaped = more.get(..2).filter(|_| *first == b'%').and_then(|two| hex::decode(two).ok());
        bytes.push(escaped.as_ref().map_or(*first, |byte| byte[0]));
        rest = if escaped.is_some() { &more[2..] } else { more };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

async fn serve(mut connection: Connection, state: Arc<Mutex<State>>) {
    while let Ok(Some(request)) = connection.next_request().await {
        let answer = {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            state.requests.push(format!("{} {}", request.verb, request.target));
            match state.fault {
                Some(Fault::Hangup) => return,
                Some(Fault::Status(status)) => error(status, "Fault"),
                Some(Fault::Parts(status)) if request.target.contains("partNumber=") => {
                    error(status, "Fault")
                }
                _ => state.answer(&request),
            }
        };
        let (status, headers, body) = answer;
        let mut bytes =
            format!("HTTP/1.1 {status} X\r\n{headers}Content-Length: {}\r\n\r\n", body.len()).into_bytes();
        if request.verb != "HEAD" {
            bytes.extend(body);
        }
        if connection.stream.write_all(&bytes).await.is_err() {
            return;
        }
    }
}
