//! An HTTP client as an edge wants it: no redirect is followed, no Referer is sent, and no answer
//! is read without a bound. And the time by a server's clock, as its answers tell it.

use super::ServerScope;
use cofferdam_egress::client_builder;
use reqwest::{Client, ClientBuilder, Response, redirect};
use std::time::{Duration, SystemTime};

/// Connecting takes at most so long.
const CONNECT_MAX: Duration = Duration::from_secs(10);

/// So many connections to one server are kept for the next requests. Each holds a buffer of up to
/// 400 KiB: hyper grows it with what it reads, and keeps it.
const IDLE_CONNECTIONS_MAX: usize = 8;

/// A client for a server that is there. A proxy of the environment stands only before what is
/// elsewhere.
pub fn client(reach: ServerScope, user_agent: &str) -> ClientBuilder {
    let builder = client_builder(Client::builder())
        .redirect(redirect::Policy::none())
        .referer(false)
        .connect_timeout(CONNECT_MAX)
        .pool_max_idle_per_host(IDLE_CONNECTIONS_MAX)
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

/// Reads the beginning of an answer's body, at most so many bytes. Where the connection breaks, or
/// this is dropped, what has come by then is there.
pub(crate) async fn read_beginning(response: &mut Response, bytes_max: usize, beginning: &mut Vec<u8>) {
    while beginning.len() < bytes_max
        && let Ok(Some(piece)) = response.chunk().await
    {
        let room = bytes_max - beginning.len();
        beginning.extend_from_slice(&piece[..piece.len().min(room)]);
    }
}

/// The time in a `Date` or `Retry-After` header; none in what is no date.
pub fn http_date(text: &str) -> Option<SystemTime> {
    let date = jiff::fmt::rfc2822::parse(text.trim()).ok()?;
    Some(SystemTime::from(date.timestamp()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::join_all;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn after_many_requests_at_once_few_connections_are_kept() -> Result<(), Box<dyn std::error::Error>>
    {
        const AT_ONCE: usize = 3 * IDLE_CONNECTIONS_MAX;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/", listener.local_addr()?);
        let client = client(ServerScope::Loopback, "test").build()?;
        let asked = (0..AT_ONCE).map(|_| {
            let (client, url) = (client.clone(), url.clone());
            tokio::spawn(async move { client.get(url).send().await?.bytes().await })
        });
        let asked: Vec<_> = asked.collect();
        // Nobody is answered before all have a connection.
        let mut connections = Vec::new();
        for _ in 0..AT_ONCE {
            connections.push(listener.accept().await?.0);
        }
        for connection in &mut connections {
            assert_ne!(connection.read(&mut [0; 1024]).await?, 0);
            connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await?;
        }
        for answered in join_all(asked).await {
            answered??;
        }
        let closed = connections.iter_mut().map(|connection| async {
            let read = connection.read_u8();
            tokio::time::timeout(Duration::from_secs(1), read).await.is_ok()
        });
        let closed = join_all(closed).await.into_iter().filter(|closed| *closed).count();
        assert_eq!(closed, AT_ONCE - IDLE_CONNECTIONS_MAX);
        Ok(())
    }

    #[tokio::test]
    async fn of_a_longer_answer_the_beginning_is_read() -> Result<(), Box<dyn std::error::Error>> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/", listener.local_addr()?);
        let client = client(ServerScope::Loopback, "test").build()?;
        for (bytes_max, expected) in [(0, ""), (3, "why"), (100, "why not")] {
            let asked = tokio::spawn(client.get(url.as_str()).send());
            let (mut connection, _) = listener.accept().await?;
            assert_ne!(connection.read(&mut [0; 1024]).await?, 0);
            // The last bytes never come.
            connection.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 99\r\n\r\nwhy not").await?;
            drop(connection);
            let (mut response, mut beginning) = (asked.await??, Vec::new());
            read_beginning(&mut response, bytes_max, &mut beginning).await;
            assert_eq!(beginning, expected.as_bytes());
        }
        Ok(())
    }

    #[test]
    fn a_date_is_a_time_and_nothing_else_is() {
        // RFC 9110's own example.
        let example = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        assert_eq!(http_date(" Sun, 06 Nov 1994 08:49:37 GMT"), Some(example));
        for nonsense in ["", "soon", "7", "1994-11-06T08:49:37Z"] {
            assert_eq!(http_date(nonsense), None, "{nonsense}");
        }
    }
}
