//! What a name stands for, as the system says. Asked once for each host that is contacted.

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// The system's: `/etc/hosts`, then DNS.
pub(crate) struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found: Vec<_> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}
