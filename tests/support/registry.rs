//! A registry of components on loopback, which speaks the OCI distribution protocol: manifests by
//! digest and tag, blobs, referrers, tokens. It can be made to fail in the ways that matter.

use crate::guests;
use crate::http::{Connection, Request};
use crate::loopback::{Tasks, accept, listen};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{KeyPair, SigningKey};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::io::AsyncWriteExt;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
/// What somebody may say who they are with.
pub const USER: &str = "robot:s3cr3t-word";

/// Who may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Anybody, without a word.
    Anyone,
    /// Who brings a token for the repository, which anybody is given.
    Token,
    /// The same, given to [`USER`] alone.
    TokenOfUser,
    /// [`USER`], who says so each time.
    User,
    /// Who answers in a way that nobody knows.
    Strange,
}

/// What goes wrong with one path.
#[derive(Clone, Debug)]
pub enum Fault {
    /// This status, and nothing else.
    Status(u16),
    /// Other bytes.
    Bytes(Vec<u8>),
    /// Half of the bytes, as if that were all.
    Short,
    /// Half of what is announced, and the connection ends.
    Breaks,
    /// Bytes without an end.
    Endless,
    /// It begins, and never goes on.
    Stalls,
    /// It is elsewhere.
    Redirect(String),
}

/// A registry; dropping it ends it.
pub struct Registry {
    host: String,
    state: Arc<Mutex<State>>,
    _tasks: Tasks,
}

struct State {
    host: String,
    access: Access,
    realm: Option<String>,
    keeps_referrers: bool,
    /// By what stands behind `/v2/`.
    served: BTreeMap<String, (String, Vec<u8>)>,
    faults: BTreeMap<String, Fault>,
    requests: Vec<String>,
}

impl Registry {
    /// One that has nothing yet, for anyone.
    ///
    /// # Errors
    /// When no port is free.
    pub async fn start() -> anyhow::Result<Self> {
        let (listener, address) = listen().await?;
        let host = address.to_string();
        let state = State {
            host: host.clone(),
            access: Access::Anyone,
            realm: None,
            keeps_referrers: true,
            served: BTreeMap::new(),
            faults: BTreeMap::new(),
            requests: Vec::new(),
        };
        let state = Arc::new(Mutex::new(state));
        let served = state.clone();
        let tasks = accept(listener, move |connection| serve(connection, served.clone()));
        Ok(Self { host, state, _tasks: tasks })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Host and port.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Who may read from now on.
    pub fn access(&self, access: Access) {
        self.state().access = access;
    }

    /// Where tokens are had, if not here.
    pub fn realm(&self, realm: &str) {
        self.state().realm = Some(realm.to_owned());
    }

    /// From now on it is one that does not keep track of what refers to what.
    pub fn without_referrers(&self) {
        self.state().keeps_referrers = false;
    }

    /// What goes wrong with what stands behind `/v2/`.
    pub fn fault(&self, path: &str, fault: Fault) {
        self.state().faults.insert(path.to_owned(), fault);
    }

    /// Nothing goes wrong any more.
    pub fn mend(&self) {
        self.state().faults.clear();
    }

    /// The requests so far, each with its headers, in small letters.
    pub fn requests(&self) -> Vec<String> {
        self.state().requests.clone()
    }

    /// Has a blob; its digest.
    pub fn blob(&self, name: &str, bytes: &[u8]) -> String {
        let digest = digest(bytes);
        let kind = "application/octet-stream".to_owned();
        self.state().served.insert(format!("{name}/blobs/{digest}"), (kind, bytes.to_vec()));
        digest
    }

    /// Has a manifest, by its digest and by this tag; its digest.
    pub fn manifest(&self, name: &str, tag: Option<&str>, kind: &str, manifest: &Value) -> String {
        let bytes = serde_json::to_vec(manifest).expect("JSON");
        let digest = digest(&bytes);
        let mut state = self.state();
        for reference in [Some(&*digest), tag].into_iter().flatten() {
            let path = format!("{name}/manifests/{reference}");
            state.served.insert(path, (kind.to_owned(), bytes.clone()));
        }
        digest
    }

    /// Has a component in the layout of WebAssembly; its reference.
    pub fn push(&self, name: &str, component: &[u8]) -> String {
        let layer = json!({
            "mediaType": "application/wasm", "digest": self.blob(name, component), "size": component.len(),
        });
        self.push_layers(name, "application/vnd.wasm.config.v0+json", &[layer])
    }

    /// The same with this configuration and these layers.
    pub fn push_layers(&self, name: &str, config: &str, layers: &[Value]) -> String {
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": { "mediaType": config, "digest": self.blob(name, b"{}"), "size": 2 },
            "layers": layers,
        });
        let digest = self.manifest(name, Some("latest"), MANIFEST, &manifest);
        format!("{}/{name}@{digest}", self.host)
    }

    /// Signs as cosign does at its tag, a component of this digest, besides who signed it already;
    /// `about` is the digest that is signed.
    pub fn sign(&self, name: &str, digest: &str, about: &str, key: &KeyPair) {
        let payload = json!({
            "critical": {
                "identity": { "docker-reference": format!("{}/{name}", self.host) },
                "image": { "docker-manifest-digest": about },
                "type": "cosign container image signature",
            },
            "optional": null,
        });
        let payload = serde_json::to_vec(&payload).expect("JSON");
        let signature = STANDARD.encode(key.sign(&payload).expect("signs"));
        let layer = json!({
            "mediaType": "application/vnd.dev.cosign.simplesigning.v1+json",
            "digest": self.blob(name, &payload),
            "size": payload.len(),
            "annotations": { "dev.cosignproject.cosign/signature": signature },
        });
        let mut manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": {
                "mediaType": "application/vnd.oci.image.config.v1+json",
                "digest": self.blob(name, b"{}"), "size": 2,
            },
            "layers": [],
        });
        let tag = format!("{}.sig", digest.replace(':', "-"));
        if let Some((_, there)) = self.state().served.get(&format!("{name}/manifests/{tag}")) {
            manifest = serde_json::from_slice(there).expect("JSON");
        }
        manifest["layers"].as_array_mut().expect("layers").push(layer);
        self.manifest(name, Some(&tag), MANIFEST, &manifest);
    }

    /// Signs as newer versions do: a bundle that refers to the component of this digest.
    pub fn sign_by_bundle(&self, name: &str, digest: &str, key: &KeyPair) {
        let hex = digest.trim_start_matches("sha256:");
        let statement = json!({
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{ "digest": { "sha256": hex } }],
            "predicateType": "https://sigstore.dev/cosign/sign/v1",
            "predicate": {},
        });
        let statement = serde_json::to_string(&statement).expect("JSON");
        let kind = "application/vnd.in-toto+json";
        let signed = format!("DSSEv1 {} {kind} {} {statement}", kind.len(), statement.len());
        let signature = STANDARD.encode(key.sign(signed.as_bytes()).expect("signs"));
        let bundle = json!({
            "mediaType": BUNDLE,
            "verificationMaterial": { "publicKey": { "hint": "x" }, "tlogEntries": [] },
            "dsseEnvelope": {
                "payload": STANDARD.encode(&statement), "payloadType": kind, "signatures": [{ "sig": signature }],
            },
        });
        let bundle = serde_json::to_vec(&bundle).expect("JSON");
        let layer = json!({ "mediaType": BUNDLE, "digest": self.blob(name, &bundle), "size": bundle.len() });
        let empty = json!({
            "mediaType": "application/vnd.oci.empty.v1+json", "digest": self.blob(name, b"{}"), "size": 2,
        });
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST, "artifactType": BUNDLE, "config": empty, "layers": [layer],
        });
        let refers = self.manifest(name, None, MANIFEST, &manifest);
        let entry = json!({ "mediaType": MANIFEST, "digest": refers, "size": 1, "artifactType": BUNDLE });
        self.refer(name, digest, entry);
    }

    /// Lists one more that refers to the component of this digest.
    pub fn refer(&self, name: &str, digest: &str, entry: Value) {
        let mut state = self.state();
        let path = match state.keeps_referrers {
            true => format!("{name}/referrers/{digest}"),
            false => format!("{name}/manifests/{}", digest.replace(':', "-")),
        };
        let mut index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": [] });
        if let Some((_, there)) = state.served.get(&path) {
            index = serde_json::from_slice(there).expect("JSON");
        }
        index["manifests"].as_array_mut().expect("manifests").push(entry);
        let index = serde_json::to_vec(&index).expect("JSON");
        state.served.insert(path, (INDEX.to_owned(), index));
    }
}

/// The digest of bytes, as registries write it.
pub fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", guests::sha256(bytes))
}

impl State {
    /// The whole answer, and whether it goes on after it.
    fn answer(&mut self, request: &Request) -> (Vec<u8>, Option<Fault>) {
        self.requests.push(shown(request));
        let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
        if path == "/token" {
            return (self.token(request, query), None);
        }
        let Some(path) = path.strip_prefix("/v2/") else { return (status(404), None) };
        let name =
            ["/manifests/", "/blobs/", "/referrers/"].iter().find_map(|at| Some(path.split_once(at)?.0));
        let name = name.unwrap_or_default();
        if !self.may_read(request, name) {
            let service = &self.host;
            let realm = self.realm.clone().unwrap_or_else(|| format!("http://{service}/token"));
            let asks = match self.access {
                Access::User => "Basic realm=\"a registry\"".to_owned(),
                Access::Strange => "Negotiate".to_owned(),
                _ => {
                    format!("Bearer realm=\"{realm}\",service=\"{service}\",scope=\"repository:{name}:pull\"")
                }
            };
            return (head(401, &format!("WWW-Authenticate: {asks}\r\nContent-Length: 0\r\n")), None);
        }
        let served = self.served.get(path).cloned();
        let (kind, bytes) = match (self.faults.get(path).cloned(), served) {
            (Some(Fault::Status(of)), _) => return (status(of), None),
            (Some(Fault::Redirect(to)), _) => {
                return (head(307, &format!("Location: {to}\r\nContent-Length: 0\r\n")), None);
            }
            (Some(Fault::Bytes(bytes)), _) => ("application/octet-stream".to_owned(), bytes),
            (_, None) => return (status(404), None),
            (Some(Fault::Short), Some((kind, bytes))) => (kind, bytes[..bytes.len() / 2].to_vec()),
            (Some(fault), Some((_, bytes))) => {
                let length = match fault {
                    Fault::Endless => String::new(),
                    _ => format!("Content-Length: {}\r\n", bytes.len()),
                };
                let begun = [head(200, &length), bytes[..bytes.len() / 2].to_vec()].concat();
                return (begun, Some(fault));
            }
            (None, Some(served)) => served,
        };
        let more = format!("Content-Type: {kind}\r\nContent-Length: {}\r\n", bytes.len());
        ([head(200, &more), bytes].concat(), None)
    }

    /// A token for what is asked for, given to whom it may be.
    fn token(&self, request: &Request, query: &str) -> Vec<u8> {
        if self.access == Access::TokenOfUser && !is_user(request) {
            return status(401);
        }
        let scope = query.split('&').find_map(|pair| pair.strip_prefix("scope=")).unwrap_or_default();
        let scope = scope.replace("%3A", ":").replace("%2F", "/");
        let body = json!({ "token": token(&scope), "expires_in": 300 }).to_string();
        [head(200, &format!("Content-Length: {}\r\n", body.len())), body.into_bytes()].concat()
    }

    fn may_read(&self, request: &Request, name: &str) -> bool {
        match self.access {
            Access::Anyone => true,
            Access::Strange => false,
            Access::User => is_user(request),
            Access::Token | Access::TokenOfUser => {
                let wanted = format!("Bearer {}", token(&format!("repository:{name}:pull")));
                request.header("authorization") == Some(&wanted)
            }
        }
    }
}

fn is_user(request: &Request) -> bool {
    request.header("authorization") == Some(&format!("Basic {}", STANDARD.encode(USER)))
}

/// A token is good for one scope.
fn token(scope: &str) -> String {
    guests::sha256(scope.as_bytes())
}

fn head(status: u16, more: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status} X\r\n{more}\r\n").into_bytes()
}

fn status(status: u16) -> Vec<u8> {
    head(status, "Content-Length: 0\r\n")
}

async fn serve(mut connection: Connection, state: Arc<Mutex<State>>) {
    while let Ok(Some(request)) = connection.next_request().await {
        let (answer, fault) = state.lock().unwrap_or_else(PoisonError::into_inner).answer(&request);
        if connection.stream.write_all(&answer).await.is_err() {
            return;
        }
        match fault {
            None => {}
            Some(Fault::Endless) => {
                while connection.stream.write_all(&[0; 64 << 10]).await.is_ok() {}
                return;
            }
            Some(Fault::Stalls) => return connection.closed().await,
            Some(_) => return,
        }
    }
}

fn shown(request: &Request) -> String {
    let headers = request.headers.iter().map(|(name, value)| format!("{name}: {value}\n"));
    format!("{} {}\n{}", request.verb, request.target, headers.collect::<String>()).to_ascii_lowercase()
}
