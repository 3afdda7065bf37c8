//! A commit of which the answer was lost: the server knows what came of it.

use super::{Postgres, end_if_lost, refusal};
use crate::{Engine, Store, StoreError};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

/// Between two questions.
const ASKED_AGAIN: Duration = Duration::from_millis(100);
/// How long a server may be away until it is not asked any more: longer than a failover takes.
pub const DOUBT_MAX: Duration = Duration::from_secs(120);

impl Store {
    /// The process ends: who asks what came of a commit while the server is away asks no more.
    pub fn stop_asking(&self) {
        if let Engine::Postgres(postgres) = &self.database.engine {
            postgres.asks_no_more.store(true, Ordering::Relaxed);
        }
    }
}

impl Postgres {
    /// Whether a transaction was committed of which the answer was lost, as soon as the server is
    /// back; none where it cannot say. To run it again blindly would find its own work done by
    /// somebody, and leave that to him. (PostgreSQL's documentation, 9.27, `pg_xact_status`.)
    pub(super) fn was_committed(&self, number: &str) -> Option<bool> {
        let until = Instant::now() + DOUBT_MAX;
        while Instant::now() < until && !self.asks_no_more.load(Ordering::Relaxed) {
            let told = self.client(&self.pool).and_then(|client| {
                // A standby may not have read yet what it has, until it is promoted.
                let ask = "SELECT CASE WHEN pg_is_in_recovery() THEN 'in progress'
                     ELSE pg_xact_status(CAST($1 AS text)::xid8) END";
                let told = self.server.wait(client.query_typed(ask, &[(&number, Type::TEXT)]));
                end_if_lost(client, told)
            });
            match told {
                Ok(rows) => match rows.first().and_then(|row| row.get::<_, Option<&str>>(0)) {
                    Some("committed") => return Some(true),
                    Some("aborted") => return Some(false),
                    // Its process has not found yet that nobody listens.
                    Some(_) => {}
                    None => return None,
                },
                // It was a standby, and has not come so far.
                Err(error) if refusal(&error) == Some(&SqlState::INVALID_PARAMETER_VALUE) => {
                    return Some(false);
                }
                Err(StoreError::Engine(_)) => return None,
                Err(_) => {}
            }
            std::thread::sleep(ASKED_AGAIN);
        }
        None
    }
}
