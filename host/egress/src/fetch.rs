//! One GET: each host resolved once and checked, each redirect checked, and a bound on all of it.

use crate::body::Body;
use crate::error::EgressError;
use crate::host::HostPort;
use crate::resolve::{Resolve, SystemResolver};
use crate::target::Target;
use reqwest::dns::{Addrs, Name, Resolving};
use reqwest::header::LOCATION;
use reqwest::{Client, Response, redirect};
use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// What one fetch may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the answer.
    pub bytes_max: u64,
    /// From the first look-up to the last byte.
    pub time_max: Duration,
    /// Redirects that are followed.
    pub redirects_max: u32,
    /// Hosts that may be private, and plain http.
    pub named: Vec<HostPort>,
}

/// Fetches addresses under limits.
pub struct Egress {
    limits: Limits,
    resolver: Arc<dyn Resolve>,
}

/// A redirect of these statuses is followed.
const REDIRECTS: [u16; 5] = [301, 302, 303, 307, 308];

impl Egress {
    /// Under these limits, with the system's resolver.
    pub fn new(limits: Limits) -> Self {
        Self::with_resolver(limits, Arc::new(SystemResolver))
    }

    /// With another resolver.
    pub fn with_resolver(limits: Limits, resolver: Arc<dyn Resolve>) -> Self {
        Self { limits, resolver }
    }

    /// Fetches an address up to the first byte of its answer. Dropping what comes back, or this
    /// future, ends the connection.
    ///
    /// # Errors
    /// [`EgressError`].
    pub async fn get(&self, url: &str) -> Result<Body, EgressError> {
        let max = self.limits.time_max;
        let deadline = Instant::now() + max;
        let first = Target::parse(url, &self.limits.named)?;
        let late = |_| EgressError::TimedOut { shown: first.shown(), max };
        let (target, response) = timeout_at(deadline, self.follow(first.clone())).await.map_err(late)??;
        Body::new(response, target.shown(), (deadline, max), self.limits.bytes_max)
    }

    /// The last target of a row of redirects, and its answer.
    async fn follow(&self, first: Target) -> Result<(Target, Response), EgressError> {
        let mut target = first;
        for _ in 0..=self.limits.redirects_max {
            let response = self.ask(&target).await?;
            let status = response.status().as_u16();
            if status == 200 {
                return Ok((target, response));
            }
            let location = response.headers().get(LOCATION).and_then(|location| location.to_str().ok());
            let Some(location) = location.filter(|_| REDIRECTS.contains(&status)) else {
                return Err(EgressError::Status { shown: target.shown(), status });
            };
            let from = target.shown();
            target = target
                .redirected(location, &self.limits.named)
                .map_err(|refused| EgressError::Redirected { from, refused })?;
        }
        Err(EgressError::Redirects { shown: target.shown(), max: self.limits.redirects_max })
    }

    /// Resolves, checks and asks one host.
    async fn ask(&self, target: &Target) -> Result<Response, EgressError> {
        let addresses = self.addresses(target).await?;
        let broken = |error: reqwest::Error| EgressError::Broken { shown: target.shown(), why: why(&error) };
        // A client of its own for each host: it knows these addresses and no way to others.
        let client = Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .referer(false)
            .no_gzip()
            .no_brotli()
            .no_zstd()
            .no_deflate()
            .https_only(target.is_https())
            .pool_max_idle_per_host(0)
            .user_agent(concat!("cofferdam/", env!("CARGO_PKG_VERSION")))
            .dns_resolver(Arc::new(Checked { name: target.domain().map(str::to_owned), addresses }))
            .build()
            .map_err(broken)?;
        client.get(target.url().clone()).send().await.map_err(broken)
    }

    /// Every address of the target's host, all of them checked.
    async fn addresses(&self, target: &Target) -> Result<Vec<IpAddr>, EgressError> {
        let addresses = match (target.address(), target.domain()) {
            (Some(address), _) => vec![address],
            (None, Some(name)) => {
                let not_found = |why: String| EgressError::NotFound { shown: target.shown(), why };
                let found =
                    self.resolver.resolve(name).await.map_err(|error| not_found(error.to_string()))?;
                if found.is_empty() {
                    return Err(not_found("it has no address".to_owned()));
                }
                found
            }
            (None, None) => Vec::new(),
        };
        addresses.iter().try_for_each(|address| target.check(*address))?;
        Ok(addresses)
    }
}

/// Stands where the client would look names up: it knows the checked addresses of one name.
struct Checked {
    name: Option<String>,
    addresses: Vec<IpAddr>,
}

impl reqwest::dns::Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let known = self.name.as_deref() == Some(name.as_str());
        let addresses: Vec<SocketAddr> =
            self.addresses.iter().filter(|_| known).map(|address| SocketAddr::new(*address, 0)).collect();
        Box::pin(async move {
            if addresses.is_empty() {
                return Err("its address was not checked".into());
            }
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

/// The innermost cause, which says most; without the address, whose query may be a secret.
pub(crate) fn why(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let inner = if error.source().is_none() { "the connection broke".to_owned() } else { cause.to_string() };
    cofferdam_core::text::one_line(&inner, 200)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::dns::Resolve;

    #[tokio::test]
    async fn the_client_finds_the_checked_name_and_no_other() {
        let name = |name: &str| name.parse::<Name>().expect("a name");
        let addresses = vec![IpAddr::from([192, 0, 2, 1])];
        let checked = Checked { name: Some("files.test".to_owned()), addresses };
        assert_eq!(checked.resolve(name("files.test")).await.map(Iterator::count).ok(), Some(1));
        assert!(checked.resolve(name("other.test")).await.is_err());
        let of_an_address = Checked { name: None, addresses: Vec::new() };
        assert!(of_an_address.resolve(name("files.test")).await.is_err());
    }
}
