//! Listeners on loopback, each with the tasks of its connections. They never leave 127.0.0.1.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Context;
use tokio::net::TcpListener;
use tokio::task::{AbortHandle, JoinSet};

use crate::http::Connection;

/// Connections at once; further ones are closed as they come.
pub(crate) const MAX_CONNECTIONS: usize = 256;

/// The tasks of a listener; dropping them ends it and every connection.
pub(crate) struct Tasks(AbortHandle);

impl Tasks {
    /// Those that end with this one.
    pub(crate) fn of(all: AbortHandle) -> Self {
        Self(all)
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A listener on a free loopback port.
pub(crate) async fn listen() -> anyhow::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
    let listener = listener.context("binding a port of 127.0.0.1")?;
    let address = listener.local_addr().context("asking for the bound port")?;
    Ok((listener, address))
}

/// Serves every connection of a listener in a task of its own.
pub(crate) fn accept<F>(listener: TcpListener, serve: impl Fn(Connection) -> F + Send + 'static) -> Tasks
where
    F: Future<Output = ()> + Send + 'static,
{
    let accepting = tokio::spawn(async move {
        // Owned by this task: aborting it aborts the connections, too.
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = listener.accept() => {
                    let Ok((stream, _)) = accepted else { continue };
                    // A missing nodelay costs milliseconds, never correctness.
                    let _ = stream.set_nodelay(true);
                    if connections.len() < MAX_CONNECTIONS {
                        connections.spawn(serve(Connection::new(stream)));
                    }
                }
                Some(_) = connections.join_next() => {}
            }
        }
    });
    Tasks(accepting.abort_handle())
}
