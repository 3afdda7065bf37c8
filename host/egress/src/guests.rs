//! What guests ask of the network, sent under the grant of their profile: each address, the first
//! and every redirect, is held against the hosts that are granted, and then against what holds for
//! all addresses that others name.

mod body;
mod headers;
#[cfg(test)]
mod tests;

use crate::error::EgressError;
use crate::fetch::REDIRECTS;
use crate::hop::{SystemResolver, addresses, client, innermost_cause};
use crate::host::HostPort;
use crate::target::{AddressRules, CheckedUrl, HTTPS_PORT, Ports};
use body::Unpacked;
use cofferdam_core::network::{Address, HostPattern};
use cofferdam_core::secret::{Blanker, Secret};
use cofferdam_core::text::one_line;
use cofferdam_core::web::{
    FailureKind, HttpAnswer, HttpFailure, HttpHead, HttpRequest, REDIRECTS_MAX, RequestFate, RequestRecord,
    Stopped, Terms, Web, Witness,
};
use headers::RequestHeaders;
use reqwest::dns::Resolve;
use reqwest::header::LOCATION;
use reqwest::{Method, Response};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// How often a wait for a server looks whether the call goes on.
const PATIENCE: Duration = Duration::from_millis(20);

/// Sends what guests ask for.
pub struct GuestWeb {
    named: Vec<HostPort>,
    secrets: BTreeMap<String, Result<Secret, String>>,
    resolver: Arc<dyn Resolve>,
}

impl GuestWeb {
    /// With the hosts that may be private, and the secrets that profiles may name; of one that
    /// cannot be had, what to do about it.
    pub fn new(named: Vec<HostPort>, secrets: BTreeMap<String, Result<Secret, String>>) -> Self {
        Self { named, secrets, resolver: Arc::new(SystemResolver) }
    }

    fn rules(&self) -> AddressRules<'_> {
        AddressRules { named: &self.named, section: "network", ports: Ports::Granted }
    }
}

impl Web for GuestWeb {
    fn send(
        &self,
        request: HttpRequest,
        body: Vec<u8>,
        terms: &Terms,
        witness: Witness<'_>,
    ) -> Result<HttpAnswer, HttpFailure> {
        let first = asked_of_text(&request);
        let refused = |failure: HttpFailure, witness: Witness<'_>| {
            witness(&first, RequestFate::Failed(failure.clone())).and(Err(failure))
        };
        // A runtime of its own: a connection lives and ends with its answer, on the call's thread.
        let runtime = match Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(e) => return refused(HttpFailure::new(FailureKind::Broken, e.to_string()), witness),
        };
        let mut way = match Way::begin(self, &request, body, terms) {
            Ok(way) => way,
            Err(failure) => return refused(failure, witness),
        };
        let answered = runtime.block_on(until(terms, way.follow(witness)));
        match answered.and_then(|answered| answered) {
            Ok(response) => way.answered(response, runtime, terms, witness),
            Err(failure) => {
                // Who looks a name up may hold a thread for longer than the call.
                runtime.shutdown_background();
                witness(&way.request_record(), RequestFate::Failed(failure.clone())).and(Err(failure))
            }
        }
    }
}

/// One request on its way, over all its redirects.
struct Way<'a> {
    web: &'a GuestWeb,
    terms: &'a Terms,
    method: Method,
    outgoing: RequestHeaders,
    blanker: Blanker,
    body: Vec<u8>,
    target: CheckedUrl,
}

impl<'a> Way<'a> {
    /// Checks all that can be without a network.
    fn begin(
        web: &'a GuestWeb,
        request: &HttpRequest,
        body: Vec<u8>,
        terms: &'a Terms,
    ) -> Result<Self, HttpFailure> {
        let method = granted_method(&request.method, terms)?;
        let outgoing = RequestHeaders::new(&request.headers, &terms.network.headers, &web.secrets)?;
        let target =
            CheckedUrl::parse_under(&request.url, web.rules()).map_err(|refused| denied(&refused))?;
        let blanker = outgoing.blanker();
        let way = Self { web, terms, method, outgoing, blanker, body, target };
        way.granted()?;
        Ok(way)
    }

    /// Whether the profile names the host.
    fn granted(&self) -> Result<(), HttpFailure> {
        let (name, network) = (self.target.name(), &self.terms.network);
        if network.allows(name.host(), name.port()) {
            return Ok(());
        }
        let host = HostPattern::new_exact(name.host(), name.port());
        let said = format!(
            "{} is at {host}, which is not among the hosts of the profile; to allow it write in its network: hosts = \
             [\"{host}\"]",
            self.target.display_redacted()
        );
        Err(denied(&said))
    }

    /// The last answer of a row of redirects.
    async fn follow(&mut self, witness: Witness<'_>) -> Result<Response, HttpFailure> {
        for _ in 0..=REDIRECTS_MAX {
            let response = self.ask(witness).await?;
            let status = response.status().as_u16();
            let location = response.headers().get(LOCATION).and_then(|location| location.to_str().ok());
            let Some(location) = location.filter(|_| REDIRECTS.contains(&status)) else {
                return Ok(response);
            };
            witness(&self.request_record(), RequestFate::Redirected(status))?;
            let from = self.target.display_redacted();
            // From here on the address is in records, messages and other servers' logs.
            if self.blanker.is_in(location.as_bytes()) {
                let said = format!("{from} redirects to an address that has a secret of the profile in it");
                return Err(denied(&said));
            }
            let next = self.target.redirect(location, self.web.rules());
            let next = next.map_err(|refused| denied(&format!("{from} redirects, and {refused}")))?;
            if next.name() != self.target.name() {
                self.outgoing.strip_credentials();
            }
            self.target = next;
            self.granted()?;
            if status == 303 && self.method != Method::HEAD {
                self.method = granted_method("GET", self.terms)?;
                self.body = Vec::new();
                self.outgoing.strip_body_headers();
            }
        }
        let said = format!("{} redirects more than {REDIRECTS_MAX} times", self.target.display_redacted());
        Err(denied(&said))
    }

    /// Resolves, checks and asks one host.
    async fn ask(&self, witness: Witness<'_>) -> Result<Response, HttpFailure> {
        self.terms.allowance.take(self.body.len() as u64)?;
        let addresses = addresses(&self.target, &*self.web.resolver).await.map_err(of_egress)?;
        // Not before it is known that somebody is asked.
        witness(&self.request_record(), RequestFate::Sending)?;
        let broken = |error: reqwest::Error| {
            HttpFailure::new(
                FailureKind::Broken,
                format!("{} cannot be asked: {}", self.target.display_redacted(), innermost_cause(&error)),
            )
        };
        let client = client(&self.target, addresses).map_err(broken)?;
        let request = client.request(self.method.clone(), self.target.url().clone());
        let request = request.headers(self.outgoing.map());
        let has_body = !self.body.is_empty() || self.method == Method::POST || self.method == Method::PUT;
        let request = if has_body { request.body(self.body.clone()) } else { request };
        request.send().await.map_err(broken)
    }

    /// Who is asked, for the audit.
    fn request_record(&self) -> RequestRecord {
        let name = self.target.name();
        let default = if self.target.is_https() { HTTPS_PORT } else { 80 };
        let host = if name.port() == default { name.host().to_owned() } else { name.to_string() };
        RequestRecord { method: self.method.to_string(), host, path: self.target.path().to_owned() }
    }

    /// An answer whose body is still to come.
    fn answered(
        self,
        response: Response,
        runtime: Runtime,
        terms: &Terms,
        witness: Witness<'_>,
    ) -> Result<HttpAnswer, HttpFailure> {
        let asked = self.request_record();
        let head = headers::answer_headers(response.headers(), &self.blanker)
            .map(|headers| HttpHead { status: response.status().as_u16(), headers });
        let packed = headers::is_gzip(response.headers(), &self.target.display_redacted());
        let (head, is_gzip) = match head.and_then(|head| Ok((head, packed?))) {
            Ok(both) => both,
            Err(failure) => return witness(&asked, RequestFate::Failed(failure.clone())).and(Err(failure)),
        };
        let body = Unpacked::new(response, runtime, is_gzip, self.blanker, terms.clone());
        Ok(HttpAnswer { asked, head, body: Box::new(body) })
    }
}

/// A method that the profile grants.
fn granted_method(method: &str, terms: &Terms) -> Result<Method, HttpFailure> {
    let known = terms.network.methods.iter().find(|known| *known == method);
    let parsed = known.and_then(|known| known.parse().ok());
    parsed.ok_or_else(|| {
        let (method, granted) = (one_line(method, 40), terms.network.methods.join(", "));
        denied(&format!(
            "the method {method:?} is not among those of the profile ({granted}); to allow it name it in network.methods"
        ))
    })
}

/// Who a request means, as far as its text tells: nothing was asked of them.
fn asked_of_text(request: &HttpRequest) -> RequestRecord {
    let method = one_line(&request.method, 40);
    match request.url.parse::<Address>() {
        Ok(address) => {
            let shown = address.redacted();
            let rest = shown.split_once("://").map_or("", |(_, rest)| rest);
            let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let path = path.split('?').next().unwrap_or_default();
            RequestRecord { method, host: host.to_owned(), path: path.to_owned() }
        }
        Err(_) => RequestRecord { method, host: String::new(), path: String::new() },
    }
}

fn denied(why: &dyn std::fmt::Display) -> HttpFailure {
    HttpFailure::new(FailureKind::Denied, why.to_string())
}

fn of_egress(error: EgressError) -> HttpFailure {
    let kind = match &error {
        EgressError::NotFound(..) => FailureKind::NotFound,
        EgressError::Refused(_) | EgressError::Redirected(..) | EgressError::Redirects(..) => {
            FailureKind::Denied
        }
        EgressError::TooLarge(..) => FailureKind::TooLarge,
        EgressError::TimedOut(..) => FailureKind::Late,
        EgressError::Status(..) | EgressError::Broken(..) => FailureKind::Broken,
    };
    HttpFailure::new(kind, error.to_string())
}

/// The end of `work`, or of the call: the first of the two.
async fn until<T>(terms: &Terms, work: impl Future<Output = T>) -> Result<T, HttpFailure> {
    let late = || HttpFailure::new(FailureKind::Late, "the call ended before the server had answered");
    tokio::select! {
        biased;
        () = over(&terms.stopped) => Err(late()),
        done = work => Ok(done),
    }
}

async fn over(stopped: &Stopped) {
    while !stopped() {
        tokio::time::sleep(PATIENCE).await;
    }
}
