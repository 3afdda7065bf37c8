//! One GET: each host resolved once and checked, each redirect checked, and a bound on all of it.

use crate::body::ResponseBody;
use crate::error::EgressError;
use crate::hop::{SystemResolver, addresses, client, innermost_cause};
use crate::host::HostPort;
use crate::target::{AddressRules, CheckedUrl, Ports};
use cofferdam_core::secret::Secret;
use reqwest::Response;
use reqwest::dns::Resolve;
use reqwest::header::{AUTHORIZATION, LOCATION};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// What one fetch may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchLimits {
    /// Bytes of the answer.
    pub bytes_max: u64,
    /// From the first look-up to the last byte.
    pub time_max: Duration,
    /// Redirects that are followed.
    pub redirects_max: u32,
    /// Hosts that may be private, and plain http.
    pub named: Vec<HostPort>,
    /// The section of the configuration that names them.
    pub section: &'static str,
}

/// Fetches addresses under limits.
pub struct Egress {
    limits: FetchLimits,
    resolver: Arc<dyn Resolve>,
}

/// A redirect of these statuses is followed.
pub(crate) const REDIRECTS: [u16; 5] = [301, 302, 303, 307, 308];

impl Egress {
    /// Under these limits, with the system's resolver.
    pub fn new(limits: FetchLimits) -> Self {
        Self::with_resolver(limits, Arc::new(SystemResolver))
    }

    /// With another resolver.
    pub fn with_resolver(limits: FetchLimits, resolver: Arc<dyn Resolve>) -> Self {
        Self { limits, resolver }
    }

    /// Fetches an address up to the first byte of its answer. Dropping what comes back, or this
    /// future, ends the connection.
    ///
    /// # Errors
    /// [`EgressError`].
    pub async fn get(&self, url: &str) -> Result<ResponseBody, EgressError> {
        self.get_as(url, None).await
    }

    /// The same with an `Authorization`, which no redirect is told.
    ///
    /// # Errors
    /// [`EgressError`].
    pub async fn get_as(
        &self,
        url: &str,
        authorization: Option<&Secret>,
    ) -> Result<ResponseBody, EgressError> {
        let max = self.limits.time_max;
        let deadline = Instant::now() + max;
        let first = CheckedUrl::parse_under(url, self.rules())?;
        let late = |_| EgressError::TimedOut(first.display_redacted(), max);
        let followed = self.follow(first.clone(), authorization);
        let (target, response) = timeout_at(deadline, followed).await.map_err(late)??;
        ResponseBody::new(response, target.display_redacted(), (deadline, max), self.limits.bytes_max)
    }

    /// The last target of a row of redirects, and its answer.
    async fn follow(
        &self,
        first: CheckedUrl,
        mut authorization: Option<&Secret>,
    ) -> Result<(CheckedUrl, Response), EgressError> {
        let mut target = first;
        for _ in 0..=self.limits.redirects_max {
            let response = self.ask(&target, authorization.take()).await?;
            let status = response.status().as_u16();
            if status == 200 {
                return Ok((target, response));
            }
            let location = response.headers().get(LOCATION).and_then(|location| location.to_str().ok());
            let Some(location) = location.filter(|_| REDIRECTS.contains(&status)) else {
                return Err(EgressError::Status(target.display_redacted(), status));
            };
            let from = target.display_redacted();
            target = target
                .redirect(location, self.rules())
                .map_err(|refused| EgressError::Redirected(from, refused))?;
        }
        Err(EgressError::Redirects(target.display_redacted(), self.limits.redirects_max))
    }

    /// Resolves, checks and asks one host.
    async fn ask(
        &self,
        target: &CheckedUrl,
        authorization: Option<&Secret>,
    ) -> Result<Response, EgressError> {
        let addresses = addresses(target, &*self.resolver).await?;
        let broken = |error| EgressError::Broken(target.display_redacted(), innermost_cause(&error));
        let client = client(target, addresses).map_err(broken)?;
        let mut request = client.get(target.url().clone());
        if let Some(authorization) = authorization {
            request = request.header(AUTHORIZATION, authorization.reveal());
        }
        request.send().await.map_err(broken)
    }

    fn rules(&self) -> AddressRules<'_> {
        let FetchLimits { named, section, .. } = &self.limits;
        AddressRules { named, section, ports: Ports::Https }
    }
}
