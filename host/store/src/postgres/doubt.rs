//! A commit of which the answer was lost. Each transaction that changes something writes a token of
//! its own into a table, which is there as soon as the rest of it is: the database knows what came
//! of it, also where the server that was asked to commit is gone.

use super::{Postgres, end_if_unfit, engine_error, is_conflict};
use crate::retry::note_pause;
use crate::value::params;
use crate::{Result, Store, StoreError, WeakStore, machine_now_ms};
use cofferdam_core::lock::lock;
use cofferdam_core::standing::STORE;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio_postgres::types::Type;
use tokio_util::sync::CancellationToken;

/// Between two questions.
const ASKED_AGAIN: Duration = Duration::from_millis(100);
/// How long is asked where the server does not answer: many times longer than a failover takes.
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

/// What work has come to, and the doubt whether that was committed, if there is one.
pub(crate) type Ran<T> = (T, Option<Doubt>);

/// A commit of which the answer was lost.
pub(crate) struct Doubt {
    /// By which the server knows it; none where it does not.
    token: Option<i64>,
    /// How the connection went.
    why: String,
    /// Until then it is asked about.
    until: Instant,
    /// It was said that it is asked about.
    is_told: bool,
}

impl Doubt {
    pub(super) fn new(token: Option<i64>, why: String) -> Self {
        Self { token, why, until: Instant::now() + DOUBT_MAX, is_told: false }
    }

    /// What is told where nothing was to be changed, so that nobody asks.
    pub(crate) fn into_lost(self, server: String) -> StoreError {
        StoreError::Lost(server, self.why)
    }

    /// Whether it was committed, by what asking has come to, which is none where nobody asks any
    /// more; `Continue` where it is to be asked again. A failure is noted as one of the store.
    fn judge(&mut self, told: Option<Result<bool>>) -> ControlFlow<Option<bool>> {
        let error = match told {
            None => return ControlFlow::Break(None),
            Some(Ok(was_committed)) => return ControlFlow::Break(Some(was_committed)),
            Some(Err(error)) => error,
        };
        if !std::mem::replace(&mut self.is_told, true) {
            tracing::error!(%error, "whether a change was kept is not known yet; asking until the server answers");
        }
        STORE.failed(machine_now_ms(), &error.to_string());
        let is_final =
            matches!(error, StoreError::Engine(_) | StoreError::Corrupt(_)) && !is_conflict(&error);
        if is_final || Instant::now() >= self.until {
            ControlFlow::Break(None)
        } else {
            ControlFlow::Continue(())
        }
    }
}

impl Store {
    /// The process ends: who asks what came of a commit while the server is away asks no more.
    pub fn stop_asking(&self) {
        if let Some(postgres) = self.postgres() {
            postgres.asks_no_more.store(true, Ordering::Relaxed);
        }
    }

    /// Returns as soon as it is known that a transaction was committed. Between two questions no
    /// thread is held: others need them, above all to tell how things stand.
    ///
    /// # Errors
    /// [`StoreError::Lost`] where it was not; [`StoreError::Unknown`] where nobody asks any more.
    pub(crate) async fn end_doubt(&self, mut doubt: Doubt) -> Result<()> {
        loop {
            let asked = self.run_blocking(move |store| {
                let known = store.postgres().map_or(Some(Ok(())), |postgres| postgres.ask_about(&mut doubt));
                Ok((known, doubt))
            });
            let (known, asked_again) = asked.await?;
            if let Some(known) = known {
                return known;
            }
            doubt = asked_again;
            note_pause(ASKED_AGAIN);
            tokio::time::sleep(ASKED_AGAIN).await;
        }
    }
}

impl WeakStore {
    /// [`Store::stop_asking`] as soon as the process is told to `stop`.
    pub async fn stop_asking_at(self, stop: CancellationToken) {
        stop.cancelled().await;
        self.upgrade().iter().for_each(Store::stop_asking);
    }
}

impl Postgres {
    /// What work has come to, as soon as it is known that it was committed. To run it again blindly
    /// would find its own work done by somebody, and leave that to him. Blocks.
    ///
    /// # Errors
    /// As [`Store::end_doubt`].
    pub(super) fn end_doubt_here<T>(&self, (value, doubt): Ran<T>) -> Result<T> {
        let Some(mut doubt) = doubt else { return Ok(value) };
        loop {
            if let Some(known) = self.ask_about(&mut doubt) {
                return known.map(|()| value);
            }
            std::thread::sleep(ASKED_AGAIN);
        }
    }

    /// Asks once whether a transaction was committed; none where it is to be asked again.
    fn ask_about(&self, doubt: &mut Doubt) -> Option<Result<()>> {
        let token = doubt.token.filter(|_| !self.asks_no_more.load(Ordering::Relaxed));
        let ControlFlow::Break(was_committed) =
            doubt.judge(token.map(|token| self.ask_whether_committed(token)))
        else {
            return None;
        };
        let (server, why) = (self.server_name(), doubt.why.clone());
        Some(match was_committed {
            Some(true) => Ok(()),
            Some(false) => Err(StoreError::Lost(server, why)),
            None => Err(StoreError::Unknown(server, why)),
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_asked_until_it_answers_or_cannot_or_the_process_ends() {
        let away = || Some(Err(StoreError::Unreachable("here".to_owned(), "it is away".to_owned())));
        let mut doubt = Doubt::new(Some(1), "reset".to_owned());
        for (told, judged) in [
            (away(), ControlFlow::Continue(())),
            (away(), ControlFlow::Continue(())),
            (Some(Ok(true)), ControlFlow::Break(Some(true))),
            (Some(Ok(false)), ControlFlow::Break(Some(false))),
            (Some(Err(engine_error(std::io::Error::other("no such table")))), ControlFlow::Break(None)),
            (None, ControlFlow::Break(None)),
        ] {
            assert_eq!(doubt.judge(told), judged);
        }
        doubt.until = Instant::now();
        assert_eq!(doubt.judge(away()), ControlFlow::Break(None), "nor is it waited for for ever");
    }
}
