//! The second engine: PostgreSQL 15 or newer, and what speaks its protocol with serializable
//! transactions.
//!
//! A transaction is SERIALIZABLE, and runs again where it met another one. A commit is on the
//! server's disk when it has returned, so nothing rides here. Callers block, so this has a thread
//! of its own that speaks with the server.

mod config;
pub(super) mod doubt;
mod failure;
pub(super) mod lease;
pub(super) mod listen;
mod row;
pub(super) mod schema;
mod text;
mod tx;

pub use config::{DEFAULT_SCHEMA, PostgresConfig, PostgresConfigError};
#[cfg(test)]
pub(super) use failure::refusal;
use failure::{describe_hindrance, end_if_unfit, ends_connection, engine_error, is_conflict};
pub(super) use row::PgRow;
use tx::{Commit, TxKind};
pub(super) use tx::{PgTx, SentQuery};

use crate::cluster::LEASE_LEAST;
use crate::tx::Tx;
use crate::{Result, StoreError};
use cofferdam_core::text::with_causes;
use deadpool::managed::QueueMode;
use deadpool_postgres::{Hook, HookError, Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod};
use doubt::{Doubt, Ran};
use lease::Lease;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio_postgres::NoTls;
use tokio_postgres::error::Error;
use tokio_postgres_rustls::MakeRustlsConnect;

/// Connections of one process.
pub const CONNECTIONS_MAX: usize = 8;
/// How often a transaction runs again that met another one.
pub const CONFLICTS_MAX: u32 = 30;
/// How long the server may take over one statement, or over a connection.
pub(super) const QUERY_DEADLINE: Duration = Duration::from_secs(10);
/// The oldest release that is known to do, as the server numbers it.
const SERVER_LEAST: i64 = 150_000;

/// The engine of a store in PostgreSQL.
pub(super) struct Postgres {
    server: Server,
    pool: Pool,
    /// The connection over which this node says that it is there: it waits for nobody who works.
    lease_pool: Pool,
    config: Box<PostgresConfig>,
    lease: OnceLock<Lease>,
    /// Tokens of commits that were answered, until a renewal of the lease takes them back.
    answered: Mutex<Vec<i64>>,
    /// The process is about to end.
    asks_no_more: AtomicBool,
}

/// The server, and what waits for it.
struct Server {
    /// Host, port and database, for errors.
    name: String,
    schema: String,
    /// It can wake those who listen; none before it was checked.
    can_notify: OnceLock<bool>,
    /// None while it is dropped.
    driver: Option<Driver>,
}

/// Who reads and writes the connections.
enum Driver {
    /// A thread of its own; callers may be of any runtime.
    Thread(Runtime),
    /// The thread that waits.
    Caller(Runtime),
}

impl Postgres {
    /// Opens it, making or migrating its tables.
    pub(super) fn open(config: &PostgresConfig) -> Result<Self> {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).thread_name("postgres").enable_all().build();
        let postgres = Self::connect(config, Driver::Thread(runtime.map_err(engine_error)?))?;
        postgres.check_server()?;
        schema::migrate(&postgres)?;
        if let Err(error) = postgres.remove_old_tokens() {
            tracing::warn!(%error, "tokens of transactions that nobody asks about stay");
        }
        Ok(postgres)
    }

    /// Opens it for those who only look, and its version; none where there are no tables. They may
    /// be about to confine the process, so no thread is begun that stays. Not for async threads.
    pub(super) fn look(config: &PostgresConfig) -> Result<Option<(Self, i64)>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let postgres = Self::connect(config, Driver::Caller(runtime.map_err(engine_error)?))?;
        postgres.check_server()?;
        let version = postgres.read(&|tx| schema::version(tx, &postgres.server.schema))?;
        Ok(version.map(|version| (postgres, version)))
    }

    /// Host, port and database, for errors.
    pub(super) fn server_name(&self) -> String {
        self.server.name.clone()
    }

    /// The node whose workspace this process has, where each has one of its own.
    pub(super) fn home(&self) -> Option<&str> {
        self.config.home()
    }

    /// A pool of connections; none is made yet.
    fn connect(config: &PostgresConfig, driver: Driver) -> Result<Self> {
        let (name, schema) = (config.server().to_owned(), config.schema.clone());
        let server = Server { name, schema, can_notify: OnceLock::new(), driver: Some(driver) };
        let options = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = || match &config.tls {
            None => Manager::from_config(config.client.clone(), NoTls, options.clone()),
            Some(tls) => {
                let tls = MakeRustlsConnect::new(tls.as_ref().clone());
                Manager::from_config(config.client.clone(), tls, options.clone())
            }
        };
        // The name was checked: it needs no escape. What is committed is on the disk, also where
        // the server's default is another. A node that stands still holds up nobody for long. Rows
        // are found by an index also where a table is small: two that read a whole table are in
        // each other's way (PostgreSQL's documentation, 13.2.3). Such a plan has a cost at which
        // the server would compile each query to machine code, which takes longer than any of ours
        // (its documentation, 32.1): it is not to. What is no transaction of ours,
        // the renewal of a lease, conflicts with none: those say themselves that they are
        // SERIALIZABLE.
        let settings = format!(
            "SET search_path TO \"{}\"; SET enable_seqscan = off; SET default_transaction_isolation = 'read committed'; SET statement_timeout = {deadline}; SET idle_in_transaction_session_timeout = {still};
             SELECT set_config('jit', 'off', false) WHERE current_setting('jit', true) = 'on';
             SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
            config.schema,
            deadline = QUERY_DEADLINE.as_millis(),
            still = LEASE_LEAST.as_millis(),
        );
        let pool = |connections| {
            let settings = settings.clone();
            let prepare = Hook::async_fn(move |client, _| {
                let settings = settings.clone();
                Box::pin(async move { client.batch_execute(&settings).await.map_err(HookError::Backend) })
            });
            Pool::builder(manager())
                .max_size(connections)
                // Each connection keeps its statements, so as few as do are used.
                .queue_mode(QueueMode::Lifo)
                .runtime(deadpool_postgres::Runtime::Tokio1)
                .wait_timeout(Some(QUERY_DEADLINE))
                .create_timeout(Some(QUERY_DEADLINE))
                .recycle_timeout(Some(QUERY_DEADLINE))
                .post_create(prepare)
                .build()
                .map_err(engine_error)
        };
        let (pool, lease_pool) = (pool(CONNECTIONS_MAX)?, pool(1)?);
        Ok(Self {
            server,
            pool,
            lease_pool,
            config: Box::new(config.clone()),
            lease: OnceLock::new(),
            answered: Mutex::default(),
            asks_no_more: AtomicBool::default(),
        })
    }

    /// Runs work in one transaction, again where it met another one; and whether it has changed
    /// something.
    pub(super) fn run<T>(&self, work: &impl Fn(&Tx<'_>) -> Result<T>) -> Result<(T, bool)> {
        self.end_doubt_here(self.run_or_doubt(work)?)
    }

    /// The same, which asks nothing where the answer of the commit was lost.
    pub(super) fn run_or_doubt<T>(&self, work: &impl Fn(&Tx<'_>) -> Result<T>) -> Result<Ran<(T, bool)>> {
        self.run_again(TxKind::Fenced, &|tx| {
            let value = work(tx)?;
            Ok((value, matches!(tx, Tx::Postgres(tx) if tx.has_changed.get())))
        })
    }

    /// The same for a node that may have been taken out.
    fn run_unfenced<T>(&self, work: &impl Fn(&Tx<'_>) -> Result<T>) -> Result<T> {
        self.end_doubt_here(self.run_again(TxKind::Unfenced, work)?)
    }

    /// The same for work that changes the tables.
    fn run_migration<T>(&self, work: &impl Fn(&Tx<'_>) -> Result<T>) -> Result<T> {
        self.end_doubt_here(self.run_again(TxKind::Migration, work)?)
    }

    /// Runs work that changes nothing, which is in no other transaction's way.
    pub(super) fn read<T>(&self, work: &impl Fn(&Tx<'_>) -> Result<T>) -> Result<T> {
        self.end_doubt_here(self.run_again(TxKind::Read, work)?)
    }

    /// The same for one query that is read whole.
    pub(super) fn query<T>(&self, work: &impl Fn(&Tx<'_>) -> Result<T>) -> Result<T> {
        self.end_doubt_here(self.run_again(TxKind::Query, work)?)
    }

    fn run_again<T>(&self, kind: TxKind, work: &impl Fn(&Tx<'_>) -> Result<T>) -> Result<Ran<T>> {
        let mut met = 0;
        loop {
            match self.run_once((kind, met > 0), work) {
                Err(error) if met < CONFLICTS_MAX && is_conflict(&error) => {
                    met += 1;
                    std::thread::sleep(pause(met));
                }
                ended => return ended,
            }
        }
    }

    fn run_once<T>(&self, kind: (TxKind, bool), work: &impl Fn(&Tx<'_>) -> Result<T>) -> Result<Ran<T>> {
        let client = self.client(&self.pool)?;
        let has_token = matches!(kind.0, TxKind::Fenced | TxKind::Unfenced);
        let token = has_token.then(doubt::new_token).transpose()?;
        match self.transact(&client, kind, token, work) {
            Ok((value, Commit::Done)) => {
                token.into_iter().for_each(|token| self.note_answered(token));
                Ok((value, None))
            }
            Ok((value, Commit::InDoubt(why))) => {
                drop(Object::take(client));
                Ok((value, Some(Doubt::new(token, why))))
            }
            Err(error) => end_if_unfit(client, Err(error)),
        }
    }

    fn transact<T>(
        &self,
        client: &Object,
        kind: (TxKind, bool),
        token: Option<i64>,
        work: &impl Fn(&Tx<'_>) -> Result<T>,
    ) -> Result<(T, Commit)> {
        let whose = (self.lease.get().map(|lease| &lease.own), self.home());
        let tx = Tx::Postgres(PgTx::new(client, &self.server, whose, kind, token)?);
        let value = work(&tx)?;
        match tx {
            Tx::Postgres(tx) => tx.commit().map(|commit| (value, commit)),
            Tx::Sqlite(_) => Ok((value, Commit::Done)),
        }
    }

    fn client(&self, pool: &Pool) -> Result<Object> {
        // The pool's own deadlines are over before.
        self.client_within(pool, QUERY_DEADLINE * 3)
    }

    fn client_within(&self, pool: &Pool, limit: Duration) -> Result<Object> {
        let late = || format!("it has not answered in {} s", limit.min(QUERY_DEADLINE).as_secs());
        let got = self.server.block_on(async { tokio::time::timeout(limit, pool.get()).await });
        let why = match got {
            Ok(Ok(client)) => return Ok(client),
            Err(_) | Ok(Err(PoolError::Timeout(_))) => late(),
            Ok(Err(PoolError::Backend(error))) => with_causes(&error),
            Ok(Err(error)) => with_causes(&error),
        };
        Err(StoreError::Unreachable(self.server.name.clone(), why))
    }

    /// Refuses a standby, which shows what there is and takes no changes.
    pub(super) fn check_primary(&self) -> Result<()> {
        let is_standby = "SELECT 1 WHERE current_setting('in_hot_standby', true) = 'on'";
        match self.read(&|tx| tx.exists(is_standby, crate::value::params![]))? {
            true => Err(StoreError::Hindered(self.server_name(), failure::describe_standby())),
            false => Ok(()),
        }
    }

    /// Refuses a server that would not keep what it is given, or would not isolate transactions.
    fn check_server(&self) -> Result<()> {
        let told = self.read(&|tx| {
            tx.query_row(
                "SELECT version(), current_setting('server_version_num'), current_setting('server_encoding'),
                     EXISTS (SELECT 1 FROM pg_catalog.pg_proc WHERE proname = 'pg_notify')",
                crate::value::params![],
                |row| {
                    let texts = (row.get::<String>(0)?, row.get::<String>(1)?, row.get::<String>(2)?);
                    Ok((texts, row.get::<bool>(3)?))
                },
            )
        });
        let ((version, number, encoding), can_notify) = told?;
        self.server.can_notify.get_or_init(|| can_notify);
        let unsuitable = |why: String| StoreError::Unsuitable(self.server.name.clone(), why);
        let is_another_kind = version.starts_with("CockroachDB");
        if !is_another_kind && number.parse::<i64>().is_ok_and(|number| number < SERVER_LEAST) {
            return Err(unsuitable(format!("it is {version}, and 15 or newer is needed")));
        }
        if encoding != "UTF8" {
            return Err(unsuitable(format!("its encoding is {encoding}, and UTF8 is needed")));
        }
        Ok(())
    }
}

impl Server {
    /// What comes of a step, by the deadline of a statement.
    fn wait<T>(&self, step: impl Future<Output = Result<T, Error>>) -> Result<T> {
        // The server ends a statement itself; it gets a moment to say so.
        self.wait_within(QUERY_DEADLINE + Duration::from_secs(2), step)
    }

    fn wait_within<T>(&self, deadline: Duration, step: impl Future<Output = Result<T, Error>>) -> Result<T> {
        let ended = self.block_on(async { tokio::time::timeout(deadline, step).await });
        let lost = |why: String| StoreError::Lost(self.name.clone(), why);
        match ended {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) if ends_connection(&error) => Err(lost(with_causes(&error))),
            Ok(Err(error)) => Err(match describe_hindrance(&error) {
                Some(why) => StoreError::Hindered(self.name.clone(), why),
                None => StoreError::Engine(Box::new(error)),
            }),
            Err(_) => Err(lost(format!("it has not answered in {} s", deadline.as_secs()))),
        }
    }

    /// Blocks this thread, which may be one of another runtime.
    fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        match &self.driver {
            Some(Driver::Caller(runtime)) => runtime.block_on(future),
            Some(Driver::Thread(runtime)) => {
                let _within = runtime.enter();
                // Of a task's share of its thread nothing comes back while it blocks.
                futures_executor::block_on(tokio::task::unconstrained(future))
            }
            None => futures_executor::block_on(future),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        match self.driver.take() {
            // Without waiting: a store may be dropped on an async thread.
            Some(Driver::Thread(runtime)) => runtime.shutdown_background(),
            // With all that has looked up a name.
            Some(Driver::Caller(runtime)) => drop(runtime),
            None => {}
        }
    }
}

/// A pause that grows, and that no two who met have alike.
fn pause(met: u32) -> Duration {
    let longest = 1_u64 << met.min(7);
    let mut random = [0; 8];
    // Without random numbers they may meet again.
    let _ = getrandom::fill(&mut random);
    Duration::from_micros(u64::from_le_bytes(random) % (longest * 1000))
}
