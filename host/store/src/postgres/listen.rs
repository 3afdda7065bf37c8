//! Being woken by other nodes: a connection of its own that listens. Where it is lost, or a server
//! knows no such thing, the look of each second finds what there is.

use super::{Driver, PostgresConfig};
use crate::Store;
use std::future::poll_fn;
use std::time::Duration;
use tokio::sync::watch;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{AsyncMessage, Error, NoTls, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

/// How long after a loss the server is asked again.
const AGAIN: Duration = Duration::from_secs(1);

/// Listens for as long as the store is open.
pub(crate) fn begin(store: &Store) {
    let Some(postgres) = store.postgres() else { return };
    let Some(Driver::Thread(runtime)) = &postgres.server.driver else { return };
    let (config, woken) = (postgres.config.clone(), store.database.woken.clone());
    runtime.spawn(async move {
        loop {
            let ended = match &config.tls {
                None => listen(&config, NoTls, &woken).await,
                Some(tls) => listen(&config, MakeRustlsConnect::new(tls.as_ref().clone()), &woken).await,
            };
            tracing::debug!(error = ?ended.err(), "the database wakes this node no more for now");
            tokio::time::sleep(AGAIN).await;
        }
    });
}

async fn listen<T: MakeTlsConnect<Socket>>(
    config: &PostgresConfig,
    tls: T,
    woken: &watch::Sender<()>,
) -> Result<(), Error> {
    let (client, mut connection) = config.client.connect(tls).await?;
    // The name was checked: it needs no escape.
    let listen = format!("LISTEN \"{}\"", config.schema);
    let asked = client.batch_execute(&listen);
    tokio::pin!(asked);
    let mut is_asked = false;
    loop {
        tokio::select! {
            listening = &mut asked, if !is_asked => {
                listening?;
                is_asked = true;
                // What was said before that is looked for.
                woken.send_replace(());
            }
            message = poll_fn(|context| connection.poll_message(context)) => match message.transpose()? {
                None => return Ok(()),
                Some(AsyncMessage::Notification(_)) => woken.send_replace(()),
                Some(_) => {}
            }
        }
    }
}
