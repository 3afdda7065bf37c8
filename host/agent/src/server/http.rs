//! An HTTP client as an edge wants it: no redirect is followed, no Referer is sent, and no answer
//! is read without a bound.

use super::ServerScope;
use cofferdam_egress::client_builder;
use reqwest::{Client, ClientBuilder, Response, redirect};
use std::time::Duration;

/// Connecting takes at most so long.
const CONNECT_MAX: Duration = Duration::from_secs(10);

/// A client for a server that is there. A proxy of the environment stands only before what is
/// elsewhere.
pub fn client(reach: ServerScope, user_agent: &str) -> ClientBuilder {
    let builder = client_builder(Client::builder())
        .redirect(redirect::Policy::none())
        .referer(false)
        .connect_timeout(CONNECT_MAX)
        .tcp_nodelay(true)
        .user_agent(user_agent);
    match reach {
        ServerScope::Loopback => builder.no_proxy(),
        ServerScope::Remote => builder,
    }
}

/// The body of an answer; `None` if it has more bytes than that.
///
/// # Errors
/// The connection's.
pub async fn read_whole(mut response: Response, bytes_max: usize) -> Result<Option<Vec<u8>>, reqwest::Error> {
    let mut whole = Vec::new();
    while let Some(piece) = response.chunk().await? {
        if whole.len() + piece.len() > bytes_max {
            return Ok(None);
        }
        whole.extend_from_slice(&piece);
    }
    Ok(Some(whole))
}
