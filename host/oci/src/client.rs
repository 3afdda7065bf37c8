//! One repository of one registry, asked over HTTPS: manifests and blobs, each within a bound.
//!
//! The registry is the operator's to name. A server that it refers to (for tokens, for the bytes)
//! is contacted under the rules for addresses of others, and is never sent what the registry is.
//!
//! <https://github.com/opencontainers/distribution-spec/blob/main/spec.md>

use crate::challenge::Challenge;
use crate::error::FetchError;
use crate::manifest::{Descriptor, INDEX, MANIFEST, MANIFEST_BYTES_MAX};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cofferdam_agent::server::{Address, ServerScope, client};
use cofferdam_core::oci::{ContentDigest, ImageReference};
use cofferdam_core::secret::Secret;
use cofferdam_core::text::{one_line, with_causes};
use cofferdam_egress::{Egress, FetchLimits, HostPort};
use reqwest::header::{ACCEPT, AUTHORIZATION, LOCATION};
use reqwest::{Client, RequestBuilder, Response};
use serde_json::Value;
use std::time::Duration;
use tokio::time::Instant;
use url::Url;

/// Redirects that are followed for one thing.
pub const REDIRECTS_MAX: u32 = 3;
/// A longer answer holds no token.
const TOKEN_BYTES_MAX: u64 = 64 << 10;

/// How registries are asked.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Hosts that may be private, and plain http, where a registry refers to them.
    pub named: Vec<HostPort>,
    /// Whether a registry on loopback is asked over plain http.
    pub plain_http: bool,
    /// `USER:PASSWORD`.
    pub credentials: Option<Secret>,
    /// From the first request for one component to its last byte.
    pub time_max: Duration,
    /// Bytes of a component.
    pub component_bytes_max: u64,
}

/// The repository of a reference.
pub(crate) struct Repository<'s> {
    pub(crate) settings: &'s Settings,
    pub(crate) reference: &'s ImageReference,
    /// As it is written.
    pub(crate) name: String,
    base: Address,
    http: Client,
    /// The value of the header, once the registry has asked for one.
    authorization: Option<Secret>,
    deadline: Instant,
}

impl<'s> Repository<'s> {
    /// That of a reference.
    pub(crate) fn new(
        reference: &'s ImageReference,
        settings: &'s Settings,
        deadline: Instant,
    ) -> Result<Self, FetchError> {
        let registry = reference.registry();
        let refused = || FetchError::Registry(registry.to_owned());
        // Its API has another name than its references.
        let host = if registry == "docker.io" { "registry-1.docker.io" } else { registry };
        let address = |scheme: &str| Address::parse(&format!("{scheme}://{host}"));
        let mut base = address("https").map_err(|_| refused())?;
        if settings.plain_http && base.reach == ServerScope::Loopback {
            base = address("http").map_err(|_| refused())?;
        }
        let http = client(base.reach, concat!("cofferdam/", env!("CARGO_PKG_VERSION"))).build();
        Ok(Self {
            settings,
            reference,
            name: format!("{registry}/{}", reference.repository()),
            base,
            http: http.map_err(|_| refused())?,
            authorization: None,
            deadline,
        })
    }

    /// A manifest of at most so many bytes, by digest or tag; none where there is none.
    pub(crate) async fn manifest(
        &mut self,
        reference: &str,
        bytes_max: u64,
    ) -> Result<Option<Vec<u8>>, FetchError> {
        let accept = [MANIFEST, INDEX].join(", ");
        self.get(&format!("manifests/{reference}"), &accept, bytes_max, &mut |_| {}).await
    }

    /// What refers to a manifest, as an index; none where the registry does not know.
    pub(crate) async fn referrers(&mut self, digest: &ContentDigest) -> Result<Option<Vec<u8>>, FetchError> {
        match self.get(&format!("referrers/{digest}"), INDEX, MANIFEST_BYTES_MAX, &mut |_| {}).await {
            // Older registries have no such address, and say so in many ways.
            Err(FetchError::Status(..)) => Ok(None),
            other => other,
        }
    }

    /// The bytes that a descriptor names, verified.
    pub(crate) async fn blob(
        &mut self,
        descriptor: &Descriptor,
        came: &mut dyn FnMut(u64),
    ) -> Result<Vec<u8>, FetchError> {
        let what = format!("{} of {}", descriptor.digest, self.name);
        let bytes = self.get(&format!("blobs/{}", descriptor.digest), "*/*", descriptor.size, came).await?;
        let bytes = bytes.ok_or_else(|| FetchError::Missing(what.clone()))?;
        let (length, found) = (bytes.len() as u64, ContentDigest::hash(&bytes));
        if length < descriptor.size {
            return Err(FetchError::TooShort { what, bytes: length, wanted: descriptor.size });
        }
        if found != descriptor.digest {
            return Err(FetchError::Digest { what, wanted: descriptor.digest.clone(), found });
        }
        Ok(bytes)
    }

    /// What is below the repository, such as `manifests/sha256:…`; none where it is not there. At
    /// most `max` bytes; `came` is called with the bytes so far.
    async fn get(
        &mut self,
        path: &str,
        accept: &str,
        max: u64,
        came: &mut dyn FnMut(u64),
    ) -> Result<Option<Vec<u8>>, FetchError> {
        let shown = format!("{}/{path}", self.name);
        let mut url = self.base.join(&format!("v2/{}/{path}", self.reference.repository()));
        let (mut redirects, mut was_asked) = (0, false);
        loop {
            let mut request = self.http.get(url.clone()).header(ACCEPT, accept);
            if let Some(authorization) = &self.authorization {
                request = request.header(AUTHORIZATION, authorization.reveal());
            }
            let response = self.send(request, &shown).await?;
            match response.status().as_u16() {
                200 => return self.read(response, max, came, &shown).await.map(Some),
                404 => return Ok(None),
                // Once for each thing: a token may have come to its end.
                401 if !was_asked => {
                    was_asked = true;
                    self.authenticate(&response, &shown).await?;
                }
                status @ (401 | 403) => return Err(FetchError::Denied(shown, status)),
                301 | 302 | 303 | 307 | 308 => {
                    let location = response.headers().get(LOCATION).and_then(|to| to.to_str().ok());
                    let next = location.and_then(|to| url.join(to).ok());
                    redirects += 1;
                    let Some(next) = next.filter(|_| redirects <= REDIRECTS_MAX) else {
                        return Err(FetchError::Redirects(shown));
                    };
                    if next.origin() != self.base.url.origin() {
                        return self.get_referred(&next, None, max, came, &shown).await.map(Some);
                    }
                    url = next;
                }
                status => return Err(FetchError::Status(shown, status)),
            }
        }
    }

    async fn send(&self, request: RequestBuilder, shown: &str) -> Result<Response, FetchError> {
        request.send().await.map_err(|error| self.transport_error(error, shown))
    }

    async fn read(
        &self,
        mut response: Response,
        max: u64,
        came: &mut dyn FnMut(u64),
        shown: &str,
    ) -> Result<Vec<u8>, FetchError> {
        let too_long = || FetchError::TooLong(shown.to_owned(), max);
        if response.content_length().is_some_and(|bytes| bytes > max) {
            return Err(too_long());
        }
        let mut bytes = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(|error| self.transport_error(error, shown))? {
            if (bytes.len() + piece.len()) as u64 > max {
                return Err(too_long());
            }
            bytes.extend_from_slice(&piece);
            came(bytes.len() as u64);
        }
        Ok(bytes)
    }

    /// The same from a server that the registry refers to, with these credentials.
    async fn get_referred(
        &self,
        url: &Url,
        basic: Option<&Secret>,
        max: u64,
        came: &mut dyn FnMut(u64),
        shown: &str,
    ) -> Result<Vec<u8>, FetchError> {
        let refused = |error| FetchError::from_other_server(error, shown, max);
        let mut body = self.egress(max).get_as(url.as_str(), basic).await.map_err(refused)?;
        let mut bytes = Vec::new();
        while let Some(piece) = body.next().await.map_err(refused)? {
            bytes.extend_from_slice(&piece);
            came(bytes.len() as u64);
        }
        Ok(bytes)
    }

    fn egress(&self, bytes_max: u64) -> Egress {
        Egress::new(FetchLimits {
            bytes_max,
            time_max: self.deadline.saturating_duration_since(Instant::now()),
            redirects_max: REDIRECTS_MAX,
            named: self.settings.named.clone(),
            section: "network",
        })
    }

    /// Does what the registry asks for, so that the same can be asked for again.
    async fn authenticate(&mut self, response: &Response, shown: &str) -> Result<(), FetchError> {
        let basic = self.settings.credentials.as_ref().map(basic);
        let challenge = Challenge::from_headers(response.headers(), self.reference.repository());
        self.authorization = match challenge.ok_or_else(|| FetchError::Challenge(shown.to_owned()))? {
            Challenge::Bearer(realm) => Some(self.token(&realm, basic.as_ref()).await?),
            Challenge::Basic if basic.is_some() => basic,
            Challenge::Basic => return Err(FetchError::Denied(shown.to_owned(), 401)),
        };
        Ok(())
    }

    /// A token for reading this repository, as a header's value.
    async fn token(&self, realm: &Url, basic: Option<&Secret>) -> Result<Secret, FetchError> {
        let shown = strip_query(realm);
        let bytes = if realm.origin() == self.base.url.origin() {
            let mut request = self.http.get(realm.clone());
            if let Some(basic) = basic {
                request = request.header(AUTHORIZATION, basic.reveal());
            }
            let response = self.send(request, &shown).await?;
            match response.status().as_u16() {
                200 => {}
                status @ (401 | 403) => return Err(FetchError::Denied(shown, status)),
                status => return Err(FetchError::Status(shown, status)),
            }
            self.read(response, TOKEN_BYTES_MAX, &mut |_| {}, &shown).await?
        } else {
            self.get_referred(realm, basic, TOKEN_BYTES_MAX, &mut |_| {}, &shown).await?
        };
        let said: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let token = ["token", "access_token"].iter().find_map(|key| said.get(*key)?.as_str());
        let plain = |token: &&str| !token.is_empty() && token.bytes().all(|b| b.is_ascii_graphic());
        let token = token.filter(plain).ok_or(FetchError::NoToken(shown))?;
        Ok(Secret::new(format!("Bearer {}", Secret::new(token).reveal())))
    }

    fn transport_error(&self, error: reqwest::Error, shown: &str) -> FetchError {
        let may_be_plain = self.base.reach == ServerScope::Loopback && self.base.url.scheme() == "https";
        let hint = if may_be_plain { "; if it speaks plain http, add --plain-http" } else { "" };
        let why = one_line(&with_causes(&error.without_url()), 300);
        FetchError::Broken(shown.to_owned(), why + hint)
    }
}

fn basic(credentials: &Secret) -> Secret {
    let encoded = Secret::new(STANDARD.encode(credentials.reveal()));
    Secret::new(format!("Basic {}", encoded.reveal()))
}

fn strip_query(url: &Url) -> String {
    let mut plain = url.clone();
    plain.set_query(None);
    plain.set_fragment(None);
    one_line(plain.as_str(), 400)
}
