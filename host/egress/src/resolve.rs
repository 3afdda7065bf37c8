//! What a name stands for. Asked once for each host that is contacted.

use async_trait::async_trait;
use std::io;
use std::net::IpAddr;

/// Who knows what names stand for.
#[async_trait]
pub trait Resolve: Send + Sync {
    /// Every address of a name.
    ///
    /// # Errors
    /// What the resolver says.
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// The system's: `/etc/hosts`, then DNS.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

#[async_trait]
impl Resolve for SystemResolver {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect())
    }
}
