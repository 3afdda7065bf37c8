//! Commits, and what each of them outlasts.
//!
//! Every commit outlasts the program. To wait for the disk takes longer than most turns, so what
//! nobody outside has seen anything of rides where an engine can do that: it is on the disk with
//! the next thing that is settled after it.

use super::postgres::doubt::Ran;
use super::tx::{Ahead, Row, Tx};
use super::value::{SqlValue, ToValue};
use super::{Engine, Postgres, Result, Store, StoreError, blocking, machine_now_ms};
use cofferdam_core::standing::STORE;

/// What a commit outlasts when it has returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Survives {
    Program,
    Power,
}

impl Store {
    /// Runs work in one transaction, off the async threads; it is on the disk when this returns.
    /// The work may run several times, and what it did before is undone each time.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        work: impl Fn(&Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.commit_off_thread(Survives::Power, work, Ok).await
    }

    /// The same for what rides: it is on the disk when something after it is, or once it is
    /// settled.
    pub(super) async fn commit_along<T: Send + 'static>(
        &self,
        work: impl Fn(&Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.commit_off_thread(Survives::Program, work, Ok).await
    }

    /// The same for work of which `read` makes something once it is kept, as with what it asked
    /// ahead. Where the commit is asked about, that may not have come.
    pub(super) async fn commit_along_reading<T: 'static, U: Send + 'static>(
        &self,
        work: impl Fn(&Tx<'_>) -> Result<T> + Send + 'static,
        read: fn(T) -> Result<U>,
    ) -> Result<U> {
        self.commit_off_thread(Survives::Program, work, read).await
    }

    /// The same for work whose answer is asked for only once it is kept, and comes with that. It is
    /// [not known](StoreError::Unknown) where the commit was asked about: the answer is gone.
    pub(super) async fn commit_along_ahead<T: Send + 'static>(
        &self,
        work: impl Fn(&Tx<'_>) -> Result<Ahead<T>> + Send + 'static,
    ) -> Result<Option<T>> {
        let first = |ahead: Ahead<T>| if ahead.has_come() { ahead.into_first().map(Some) } else { Ok(None) };
        self.commit_along_reading(work, first).await?.ok_or_else(|| {
            StoreError::Unknown(self.server(), "what it answered is gone with the connection".to_owned())
        })
    }

    /// Looks something up, off the async threads: the work changes nothing, and sees one state of
    /// the store.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl Fn(&Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.run_blocking(move |store| store.read_here(work)).await
    }

    /// [`Store::write`] of one statement.
    pub(super) async fn run<P: ToValue>(&self, sql: &'static str, params: impl AsRef<[P]>) -> Result<()> {
        let values = keep_values(params.as_ref());
        self.write(move |tx| tx.run(sql, values.as_slice())).await
    }

    /// [`Store::commit_along`] of one statement.
    pub(super) async fn run_along<P: ToValue>(
        &self,
        sql: &'static str,
        params: impl AsRef<[P]>,
    ) -> Result<()> {
        let values = keep_values(params.as_ref());
        self.commit_along(move |tx| tx.run(sql, values.as_slice())).await
    }

    /// [`Store::read`] of the first row of one query.
    pub(super) async fn query_optional<T: Send + 'static, P: ToValue>(
        &self,
        sql: &'static str,
        params: impl AsRef<[P]>,
        read: fn(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let values = keep_values(params.as_ref());
        let query = move |tx: &Tx<'_>| tx.query_optional(sql, values.as_slice(), read);
        self.run_blocking(move |store| store.query_here(query)).await
    }

    /// [`Store::read`] of each row of one query.
    pub(super) async fn query_rows<T: Send + 'static, P: ToValue>(
        &self,
        sql: &'static str,
        params: impl AsRef<[P]>,
        read: fn(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let values = keep_values(params.as_ref());
        let query = move |tx: &Tx<'_>| tx.query_rows(sql, values.as_slice(), read);
        self.run_blocking(move |store| store.query_here(query)).await
    }

    /// [`Store::read`] on this thread, which may block.
    pub(super) fn read_here<T>(&self, work: impl Fn(&Tx<'_>) -> Result<T>) -> Result<T> {
        let read = match &self.database.engine {
            Engine::Sqlite(sqlite) => sqlite.read(&work),
            Engine::Postgres(postgres) => postgres.read(&work),
        };
        read.inspect_err(|error| STORE.failed(machine_now_ms(), &error.to_string()))
    }

    /// The same of one query that is read whole.
    fn query_here<T>(&self, query: impl Fn(&Tx<'_>) -> Result<T>) -> Result<T> {
        match &self.database.engine {
            Engine::Sqlite(_) => self.read_here(query),
            Engine::Postgres(postgres) => {
                let queried = postgres.query(&query);
                queried.inspect_err(|error| STORE.failed(machine_now_ms(), &error.to_string()))
            }
        }
    }

    /// [`Store::write`] on this thread, which may block.
    pub(super) fn write_here<T>(&self, work: impl Fn(&Tx<'_>) -> Result<T>) -> Result<T> {
        let committed = match &self.database.engine {
            Engine::Sqlite(sqlite) => sqlite.run(Survives::Power, &work).map(|value| (value, true)),
            Engine::Postgres(postgres) => postgres.run(&work),
        };
        note_commit(committed.as_ref().map(|(_, has_changed)| *has_changed));
        committed.map(|(value, _)| value)
    }

    /// [`Store::write_here`] of what changes nothing in truth: nobody asks what came of it.
    pub(super) fn try_here(&self, work: impl Fn(&Tx<'_>) -> Result<()>) -> Result<()> {
        let (_, doubt) = self.commit_or_doubt(Survives::Power, work)?;
        let Some(doubt) = doubt else { return Ok(()) };
        let lost = doubt.into_lost(self.server());
        note_commit(Err(&lost));
        Err(lost)
    }

    /// [`Store::settle`] on this thread, which may block.
    pub(super) fn settle_here(&self) -> Result<()> {
        let settled = match &self.database.engine {
            _ if self.database.taken_over.is_cancelled() => Err(StoreError::TakenOver),
            Engine::Sqlite(sqlite) => sqlite.settle(),
            // Each commit was on the disk when it had returned. What follows is seen outside, so no
            // other node may do it.
            Engine::Postgres(postgres) => postgres.ensure_lease(),
        };
        settled.inspect_err(|error| STORE.failed(machine_now_ms(), &error.to_string()))
    }

    /// Runs work that may block.
    pub(super) async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let store = self.clone();
        blocking::run(move || work(&store)).await.unwrap_or(Err(StoreError::Stopped))
    }

    /// Runs work in one transaction, off the async threads, and notes whether the store works. What
    /// is read of the work's value is read before that leaves its thread.
    async fn commit_off_thread<T: 'static, U: Send + 'static>(
        &self,
        outlasts: Survives,
        work: impl Fn(&Tx<'_>) -> Result<T> + Send + 'static,
        read: fn(T) -> Result<U>,
    ) -> Result<U> {
        let ran = self.run_blocking(move |store| {
            let ((value, has_changed), doubt) = store.commit_or_doubt(outlasts, work)?;
            Ok((read(value)?, has_changed, doubt))
        });
        let (value, has_changed, doubt) = ran.await?;
        if let Some(doubt) = doubt {
            let known = self.end_doubt(doubt).await;
            note_commit(known.as_ref().map(|_| has_changed));
            known?;
        }
        Ok(value)
    }

    /// Runs work in one transaction, and asks nothing where the answer of its commit was lost. May
    /// block.
    fn commit_or_doubt<T>(
        &self,
        outlasts: Survives,
        work: impl Fn(&Tx<'_>) -> Result<T>,
    ) -> Result<Ran<(T, bool)>> {
        let ran = match &self.database.engine {
            Engine::Sqlite(sqlite) => sqlite.run(outlasts, &work).map(|value| ((value, true), None)),
            Engine::Postgres(postgres) => postgres.run_or_doubt(&work),
        };
        match &ran {
            Ok(((_, has_changed), None)) => note_commit(Ok(*has_changed)),
            Ok((_, Some(_))) => {}
            Err(error) => note_commit(Err(error)),
        }
        ran
    }

    /// The server, for errors of its connection.
    fn server(&self) -> String {
        self.postgres().map(Postgres::server_name).unwrap_or_default()
    }
}

/// Notes whether the store works, by what came of a commit: whether it has changed something.
fn note_commit(committed: Result<bool, &StoreError>) {
    match committed {
        Ok(true) => STORE.note_success(machine_now_ms()),
        // A server that takes no changes answers questions all the same.
        Ok(false) => {}
        Err(error) => STORE.failed(machine_now_ms(), &error.to_string()),
    }
}

/// Parameters that outlast the one who gives them.
fn keep_values<P: ToValue>(params: &[P]) -> Vec<SqlValue<'static>> {
    params.iter().map(|value| value.to_value().into_owned()).collect()
}
