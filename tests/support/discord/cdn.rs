//! Files that can be downloaded: their signed links, and the answers to those who follow them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::params;
use crate::exchange::{Answer, Body, form};

/// Where links lead.
const HOST: &str = "https://cdn.discordapp.com";
/// Where previews lead.
const MEDIA_HOST: &str = "https://media.discordapp.net";
/// How long a link is valid, in seconds.
const LINK_SECONDS: u64 = 24 * 60 * 60;

/// One file.
struct CdnFile {
    path: String,
    content_type: String,
    body: Body,
}

/// All files by the id of their attachment.
pub(super) struct Cdn {
    files: BTreeMap<u64, CdnFile>,
    /// The status of links that are over or were tampered with.
    pub(super) refusal: u16,
    /// Links that were signed up to this second are over.
    pub(super) expired_until: u64,
}

impl Default for Cdn {
    fn default() -> Self {
        Self { files: BTreeMap::new(), refusal: 404, expired_until: 0 }
    }
}

impl Cdn {
    /// Stores a file and returns its link and that of its preview, both without signature.
    pub(super) fn put(&mut self, at: &CdnPath, body: Body, content_type: &str) -> (String, String) {
        let path = format!("/{}/{}/{}/{}", at.folder, at.owner, at.id, at.name);
        let links = (format!("{HOST}{path}"), format!("{MEDIA_HOST}{path}"));
        self.files.insert(at.id, CdnFile { path, content_type: content_type.to_owned(), body });
        links
    }

    /// Takes a file away; its links stay what they are.
    pub(super) fn remove(&mut self, id: u64) -> bool {
        self.files.remove(&id).is_some()
    }

    /// The answer to a download.
    pub(super) fn download(&self, call: &Map<String, Value>, now_ms: u64) -> Answer {
        let path = params::text(call, "path");
        let hex = |name: &str| u64::from_str_radix(params::text(call, name), 16).ok();
        let signed = match (hex("ex"), hex("is")) {
            (Some(expires), Some(issued)) => {
                params::text(call, "hm") == signature(path, expires, issued)
                    && expires > now_ms / 1000
                    && issued > self.expired_until
            }
            _ => false,
        };
        let file = params::id(call, "file_id").ok().flatten().and_then(|id| self.files.get(&id));
        match file.filter(|file| file.path == form::percent_decode(path)) {
            Some(file) if signed => Answer::with_body(200, &file.content_type, file.body.clone()),
            Some(_) => gone(self.refusal),
            None => gone(404),
        }
    }
}

fn gone(status: u16) -> Answer {
    Answer::new(status, "text/plain;charset=UTF-8", "This content is no longer available.")
}

/// Where a file lies.
pub(super) struct CdnPath {
    /// `attachments`, or `ephemeral-attachments` of a command.
    pub(super) folder: &'static str,
    /// The channel, or the application.
    pub(super) owner: u64,
    pub(super) id: u64,
    /// The name as links have it.
    pub(super) name: String,
}

/// A name as Discord's links have it.
pub(super) fn clean(name: &str) -> String {
    let fits = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let cleaned: String = name.replace(' ', "_").chars().filter(fits).collect();
    match cleaned.trim_start_matches('.') {
        "" => "unknown".to_owned(),
        cleaned => cleaned.to_owned(),
    }
}

/// Signs every link to the CDN in a document: each payload has fresh ones.
pub(super) fn sign(document: &mut Value, now_ms: u64) {
    match document {
        Value::String(text) => {
            let path = [HOST, MEDIA_HOST].iter().find_map(|host| text.strip_prefix(host));
            if let Some(path) = path.filter(|path| path.contains("attachments/") && !path.contains('?')) {
                let issued = now_ms / 1000;
                let expires = issued + LINK_SECONDS;
                let signature = signature(path, expires, issued);
                text.push_str(&format!("?ex={expires:x}&is={issued:x}&hm={signature}&"));
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| sign(value, now_ms)),
        Value::Object(fields) => {
            for (name, value) in fields {
                // What people say stays as it is.
                if name != "content" {
                    sign(value, now_ms);
                }
            }
        }
        _ => {}
    }
}

fn signature(path: &str, expires: u64, issued: u64) -> String {
    hex::encode(Sha256::digest(format!("a secret of the CDN {path} {expires:x} {issued:x}")))
}
