//! One host that is asked: its name resolved once, every answer checked, and a client that knows
//! these addresses and no way to others.

use crate::error::EgressError;
use crate::target::CheckedUrl;
use crate::trust::client_builder;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, redirect};
use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// A client of its own for each host.
pub(crate) fn client(target: &CheckedUrl, addresses: Vec<IpAddr>) -> Result<Client, reqwest::Error> {
    client_builder(Client::builder())
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
        .dns_resolver(Arc::new(CheckedAddresses { name: target.domain().map(str::to_owned), addresses }))
        .build()
}

/// Every address of the target's host, all of them checked.
pub(crate) async fn addresses(
    target: &CheckedUrl,
    resolver: &dyn Resolve,
) -> Result<Vec<IpAddr>, EgressError> {
    let addresses = match (target.address(), target.domain()) {
        (Some(address), _) => vec![address],
        (None, Some(name)) => {
            let not_found = |why: String| EgressError::NotFound(target.display_redacted(), why);
            let asked = name.parse().map_err(|_| not_found("it is no name".to_owned()))?;
            let found = resolver.resolve(asked).await.map_err(|error| not_found(error.to_string()))?;
            let found: Vec<_> = found.map(|address| address.ip()).collect();
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

/// What a name stands for, as the system says: `/etc/hosts`, then DNS. Asked once for each host
/// that is contacted.
pub(crate) struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found: Vec<_> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Stands where the client would look names up: it knows the checked addresses of one name.
struct CheckedAddresses {
    name: Option<String>,
    addresses: Vec<IpAddr>,
}

impl Resolve for CheckedAddresses {
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
pub(crate) fn innermost_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let inner = if error.source().is_none() { "the connection broke".to_owned() } else { cause.to_string() };
    cofferdam_core::text::one_line(&inner, 200)
}

#[cfg(test)]
mod tests {
    use super::{CheckedAddresses, client};
    use crate::target::CheckedUrl;
    use reqwest::dns::{Name, Resolve};
    use std::net::IpAddr;

    /// For every request: no redirect is followed that would have it leave https.
    #[tokio::test]
    async fn a_client_for_https_asks_nobody_in_the_clear() {
        let target = CheckedUrl::parse("https://files.test/a", &[]).expect("an address");
        let client = client(&target, vec![IpAddr::from([127, 0, 0, 1])]).expect("a client");
        let refused = client.get("http://files.test:9/a").send().await.expect_err("refused");
        assert!(refused.is_builder(), "{refused:?}");
    }

    #[tokio::test]
    async fn the_client_finds_the_checked_name_and_no_other() {
        let name = |name: &str| name.parse::<Name>().expect("a name");
        let addresses = vec![IpAddr::from([192, 0, 2, 1])];
        let checked = CheckedAddresses { name: Some("files.test".to_owned()), addresses };
        assert_eq!(checked.resolve(name("files.test")).await.map(Iterator::count).ok(), Some(1));
        assert!(checked.resolve(name("other.test")).await.is_err());
        let of_an_address = CheckedAddresses { name: None, addresses: Vec::new() };
        assert!(of_an_address.resolve(name("files.test")).await.is_err());
    }
}
