//! A commit of which the answer was lost. Each transaction that changes something writes a token of
//! its own into a table, which is there as soon as the rest of it is: the database knows what came
//! of it, whatever became of the server that was asked to commit.

use super::{Postgres, end_if_unfit, engine_error, is_conflict};
use crate::value::params;
use crate::{Result, Store, StoreError, machine_now_ms};
use cofferdam_core::lock::lock;
use cofferdam_core::standing::STORE;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio_postgres::types::Type;

/// Between two questions.
const ASKED_AGAIN: Duration = Duration::from_millis(100);
/// How long is asked, whatever keeps the server from answering: many times longer than a failover
/// takes.
const DOUBT_MAX: Duration = Duration::from_secs(60 * 60);

/// Whether a transaction was committed, and that it never will be where it was not: what of it is
/// under way still finds its token used. This waits for one that has not ended. Asked again it
/// answers the same, since its own row says of itself what it is.
const WAS_COMMITTED: &str = "INSERT INTO committed (token, is_refused) VALUES ($1, true)
     ON CONFLICT (token) DO UPDATE SET is_refused = committed.is_refused RETURNING is_refused IS NOT TRUE";

/// Tokens of processes that ended without taking them back. A day is longer than anybody asks.
const IS_OLD: &str = "at < now() - interval '1 day'";

/// A token that no other transaction has; where one does, the later one fails as a conflict.
pub(super) fn new_token() -> Result<i64> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(|error| engine_error(std::io::Error::other(error.to_string())))?;
    Ok(i64::from_le_bytes(random))
}

impl Store {
    /// The process ends: who asks what came of a commit while the server is away asks no more.
    pub fn stop_asking(&self) {
        if let Some(postgres) = self.postgres() {
            postgres.asks_no_more.store(true, Ordering::Relaxed);
        }
    }
}

impl Postgres {
    /// Whether a transaction was committed of which the answer was lost, as soon as the server is
    /// back; none where nobody asks any more. To run it again blindly would find its own work done
    /// by somebody, and leave that to him.
    pub(super) fn was_committed(&self, token: i64) -> Option<bool> {
        let ends = || self.asks_no_more.load(Ordering::Relaxed);
        ask_until_answered(DOUBT_MAX, || (!ends()).then(|| self.ask_whether_committed(token)))
    }

    fn ask_whether_committed(&self, token: i64) -> Result<bool> {
        let client = self.client(&self.pool)?;
        let told = self.server.wait(client.query_typed(WAS_COMMITTED, &[(&token, Type::INT8)]));
        let rows = end_if_unfit(client, told)?;
        let row = rows.first().ok_or_else(|| StoreError::Corrupt("no answer to a token".to_owned()))?;
        row.try_get(0).map_err(engine_error)
    }

    /// The answer of this transaction has come: nobody asks for its token. Who has a lease takes it
    /// back with the next renewal.
    pub(super) fn note_answered(&self, token: i64) {
        if self.lease.get().is_some() {
            lock(&self.answered).push(token);
        }
    }

    /// Takes back the tokens that nobody has.
    pub(super) fn remove_old_tokens(&self) -> Result<()> {
        let found = format!("SELECT 1 FROM committed WHERE {IS_OLD} LIMIT 1");
        if self.read(&|tx| tx.exists(&found, params![]))? {
            let client = self.client(&self.pool)?;
            // Alone: it would be in the way of those who write theirs.
            let remove = format!("DELETE FROM committed WHERE {IS_OLD}");
            let removed = self.server.wait(client.execute(remove.as_str(), &[]));
            end_if_unfit(client, removed)?;
        }
        Ok(())
    }
}

/// Asks until there is an answer, which is noted as a failure of the store meanwhile. None where
/// nobody asks any more, or asking was in vain for so long, or always will be.
fn ask_until_answered(limit: Duration, mut ask: impl FnMut() -> Option<Result<bool>>) -> Option<bool> {
    let (began, mut is_told) = (Instant::now(), false);
    while began.elapsed() < limit {
        let error = match ask()? {
            Ok(was_committed) => return Some(was_committed),
            Err(error) => error,
        };
        if !std::mem::replace(&mut is_told, true) {
            tracing::error!(%error, "whether a change was kept is not known yet; asking until the server answers");
        }
        STORE.failed(machine_now_ms(), &error.to_string());
        if matches!(error, StoreError::Engine(_) | StoreError::Corrupt(_)) && !is_conflict(&error) {
            return None;
        }
        std::thread::sleep(ASKED_AGAIN);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn a_server_is_asked_until_it_answers_or_cannot_or_the_process_ends() {
        let away = || Err(StoreError::Unreachable("here".to_owned(), "it is away".to_owned()));
        let ask = |answers: Vec<Result<bool>>| {
            let mut answers = answers.into_iter();
            let ended = ask_until_answered(MINUTE, || answers.next());
            (ended, answers.len())
        };
        assert_eq!(ask(vec![away(), away(), Ok(true), away()]), (Some(true), 1));
        assert_eq!(ask(vec![Ok(false), away()]), (Some(false), 1));
        assert_eq!(ask(vec![away()]), (None, 0), "the process ends");
        let never = || Err(engine_error(std::io::Error::other("no such table")));
        assert_eq!(ask(vec![never(), Ok(true)]), (None, 1));
        let moment = Duration::from_millis(1);
        assert_eq!(ask_until_answered(moment, || Some(away())), None, "nor is it waited for for ever");
    }
}
