//! A transaction of PostgreSQL. Its caller blocks, so each step waits for the server, and no longer
//! than its deadline, if it has one.
//!
//! What takes time are the exchanges with the server, so what nobody asks the answer of goes out
//! with what follows: the beginning, the question whether the node is there, changes, and queries
//! whose answers are read behind what follows.

use super::failure::{describe_refused_beginning, is_lost};
use super::row::{PgRow, references};
use super::text::translate;
use super::{QUERY_DEADLINE, Server};
use crate::claims::OwnNode;
use crate::value::SqlValue;
use crate::{Result, StoreError};
use deadpool_postgres::ClientWrapper;
use std::cell::{Cell, OnceCell, RefCell};
use std::ops::ControlFlow;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use tokio_postgres::{Error, Row, Statement};

/// Rows that are fetched at once where the caller may want no more.
const ROWS_AT_ONCE: usize = 64;

/// Statements that are on their way at most, before one is waited for.
const SENT_MAX: usize = 64;

/// Writes down the token by which the server knows later whether this transaction was committed.
const KEEP_TOKEN: &str = "INSERT INTO committed (token) VALUES ($1)";

/// The same, in a query that fails where a node was taken out, so that what follows in the same
/// breath fails. Who takes it out waits for this transaction, so that who takes its work over, also
/// by looks that conflict with nothing, finds all that it has changed. The lock is in no renewal's
/// way, which changes no key.
const FENCE: &str = "WITH kept AS (INSERT INTO committed (token) VALUES ($1)),
     own AS (SELECT 1 FROM node WHERE holder = $2 FOR KEY SHARE) SELECT 1 / count(*) FROM own";

/// What came of a commit.
pub(super) enum Commit {
    Done,
    /// The connection was lost meanwhile, as this says, so nobody here knows.
    InDoubt(String),
}

/// What a transaction may do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TxKind {
    /// Changes something, unless the node was taken out.
    Fenced,
    /// The same, whatever became of the node.
    Unfenced,
    /// Changes the tables, also those that the other kinds need.
    Migration,
    /// Changes nothing, so nobody waits for its end, and it is in no other one's way.
    Read,
    /// The same of one query, which is a transaction by itself.
    Query,
}

pub(in super::super) struct PgTx<'c> {
    client: &'c ClientWrapper,
    server: &'c Server,
    kind: TxKind,
    /// Its work ran before, and something was in the way.
    pub(in super::super) is_again: bool,
    /// The node that works here.
    pub(in super::super) node: Option<&'c OwnNode>,
    /// The node whose workspace this process has, where each has one of its own.
    pub(in super::super) home: Option<&'c str>,
    /// Keeps the token, and asks whether the node is there; none where that is not asked.
    opening: Option<Statement>,
    token: Option<i64>,
    state: Cell<TxState>,
    /// The server has refused to begin it.
    is_refused: Rc<Cell<bool>>,
    /// What went out and was not waited for, in order.
    sent: RefCell<Vec<Sent<'c>>>,
    /// A statement has changed a row.
    pub(super) has_changed: Cell<bool>,
    /// Its steps have no deadline.
    takes_long: Cell<bool>,
    cursors: Cell<u32>,
}

/// A query that went out and was not waited for.
#[derive(Default)]
pub(in super::super) struct SentQuery {
    rows: Rc<OnceCell<Vec<Row>>>,
}

impl SentQuery {
    /// Whether its rows are here.
    pub(in super::super) fn has_come(&self) -> bool {
        self.rows.get().is_some()
    }

    /// Its first row, once something that followed was waited for.
    pub(in super::super) fn first_row(&self) -> Result<Option<PgRow>> {
        let early = || StoreError::Corrupt("a query that nothing has waited for".to_owned());
        self.rows.get().ok_or_else(early)?.first().map(PgRow::read).transpose()
    }
}

/// How many rows a statement has changed; none where this node was taken out.
type Sent<'c> = Pin<Box<dyn Future<Output = Result<Option<u64>, Error>> + 'c>>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum TxState {
    /// The server knows nothing of it yet.
    New,
    Begun,
    /// A statement has failed: the server rolls back at the commit.
    Failed,
    /// Nothing is known of the connection any more, which is dropped.
    Lost,
    Ended,
}

impl<'c> PgTx<'c> {
    /// A transaction of this node, or of none, and of one that has the workspace of `home`. The
    /// server keeps the `token` of one that has any, by which it is asked about. `is_again`: its
    /// work ran before, and something was in the way.
    pub(super) fn new(
        client: &'c ClientWrapper,
        server: &'c Server,
        (node, home): (Option<&'c OwnNode>, Option<&'c str>),
        (kind, is_again): (TxKind, bool),
        token: Option<i64>,
    ) -> Result<Self> {
        let opening = token.map(|_| match node.filter(|_| kind == TxKind::Fenced) {
            Some(_) => server.wait(client.prepare_typed_cached(FENCE, &[Type::INT8, Type::TEXT])),
            None => server.wait(client.prepare_typed_cached(KEEP_TOKEN, &[Type::INT8])),
        });
        Ok(Self {
            client,
            server,
            kind,
            is_again,
            node,
            home,
            opening: opening.transpose()?,
            token,
            state: Cell::new(TxState::New),
            is_refused: Rc::default(),
            sent: RefCell::default(),
            has_changed: Cell::default(),
            takes_long: Cell::default(),
            cursors: Cell::default(),
        })
    }

    /// Whether the server can wake those who listen.
    pub(in super::super) fn can_notify(&self) -> bool {
        self.server.can_notify.get() == Some(&true)
    }

    /// Has what follows take as long as it does: whole tables may have to be written. For locks it
    /// waits no longer than any other statement, since others wait behind it.
    pub(super) fn take_long(&self) -> Result<()> {
        self.takes_long.set(true);
        self.run("SET LOCAL statement_timeout = 0", &[])?;
        self.run(&format!("SET LOCAL lock_timeout = {}", QUERY_DEADLINE.as_millis()), &[])
    }

    pub(in super::super) fn execute(&self, sql: &str, values: &[SqlValue<'_>]) -> Result<usize> {
        let statement = self.prepare(sql, values)?;
        let changed = self.wait(self.client.execute(&statement, &references(values)))?;
        self.has_changed.set(self.has_changed.get() || changed > 0);
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
    }

    /// The same, without an answer. Its errors are those of what follows, at the latest of the
    /// commit.
    pub(in super::super) fn run(&self, sql: &str, values: &[SqlValue<'_>]) -> Result<()> {
        let statement = self.prepare(sql, values)?;
        self.send_execute(statement, values)
    }

    fn send_execute(&self, statement: Statement, values: &[SqlValue<'_>]) -> Result<()> {
        let values: Vec<_> = values.iter().cloned().map(SqlValue::into_owned).collect();
        let client = self.client;
        self.send(async move { client.execute(&statement, &references(&values)).await.map(Some) });
        let is_full = self.sent.borrow().len() >= SENT_MAX;
        if is_full { self.wait_for_sent() } else { Ok(()) }
    }

    /// Waits for what went out.
    pub(in super::super) fn wait_for_sent(&self) -> Result<()> {
        self.wait(async { Ok(()) })
    }

    pub(in super::super) fn query(&self, sql: &str, values: &[SqlValue<'_>]) -> Result<Vec<PgRow>> {
        let statement = self.prepare(sql, values)?;
        let rows = self.wait(self.client.query(&statement, &references(values)))?;
        rows.iter().map(PgRow::read).collect()
    }

    /// The same, which comes back with what follows.
    pub(in super::super) fn query_ahead(&self, sql: &str, values: &[SqlValue<'_>]) -> Result<SentQuery> {
        let statement = self.prepare(sql, values)?;
        let values: Vec<_> = values.iter().cloned().map(SqlValue::into_owned).collect();
        let (client, query) = (self.client, SentQuery::default());
        let rows = query.rows.clone();
        self.send(async move {
            let found = client.query(&statement, &references(&values)).await?;
            _ = rows.set(found);
            Ok(Some(0))
        });
        Ok(query)
    }

    pub(in super::super) fn for_each(
        &self,
        sql: &str,
        values: &[SqlValue<'_>],
        mut each: impl FnMut(PgRow) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let cursor = format!("c{}", self.cursors.replace(self.cursors.get() + 1));
        let open = self.prepare(&format!("DECLARE {cursor} NO SCROLL CURSOR FOR {sql}"), values)?;
        self.send_execute(open, values)?;
        // Of another type each time, so it is not kept.
        let fetch = format!("FETCH {ROWS_AT_ONCE} FROM {cursor}");
        loop {
            let rows = self.wait(self.client.query_typed(&fetch, &[]))?;
            for row in &rows {
                if each(PgRow::read(row)?)?.is_break() {
                    return Ok(());
                }
            }
            if rows.len() < ROWS_AT_ONCE {
                return Ok(());
            }
        }
    }

    /// The types are told, so that the server need not guess any of them.
    fn prepare(&self, sql: &str, values: &[SqlValue<'_>]) -> Result<Statement> {
        let types: Vec<Type> = values
            .iter()
            .map(|value| match value {
                SqlValue::Null => Type::UNKNOWN,
                SqlValue::Integer(_) => Type::INT8,
                SqlValue::Text(_) => Type::TEXT,
                SqlValue::Bytes(_) => Type::BYTEA,
            })
            .collect();
        let sql = translate(sql);
        let mut prepared = Box::pin(self.client.prepare_typed_cached(&sql, &types));
        match poll_once(prepared.as_mut()) {
            // It was prepared before.
            Poll::Ready(Ok(statement)) => Ok(statement),
            // The server was quick: what failed before says why.
            Poll::Ready(Err(error)) => self.wait(async { Err(error) }),
            Poll::Pending => self.wait(prepared),
        }
    }

    /// Has a step go out, after what went before. Until its answer is taken by [`PgTx::wait`], the
    /// connection hands on nothing that comes after it.
    fn send(&self, step: impl Future<Output = Result<Option<u64>, Error>> + 'c) {
        self.begin();
        let mut step: Sent<'c> = Box::pin(step);
        if let Poll::Ready(ended) = poll_once(step.as_mut()) {
            step = Box::pin(std::future::ready(ended));
        }
        self.sent.borrow_mut().push(step);
    }

    fn begin(&self) {
        if self.state.get() != TxState::New {
            return;
        }
        self.state.set(TxState::Begun);
        let client = self.client;
        let begin = match self.kind {
            TxKind::Fenced | TxKind::Unfenced | TxKind::Migration => "BEGIN ISOLATION LEVEL SERIALIZABLE",
            TxKind::Read => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            TxKind::Query => return,
        };
        let is_refused = self.is_refused.clone();
        self.send(async move {
            let begun = client.batch_execute(begin).await;
            is_refused.set(begun.is_err());
            begun.map(|()| Some(0))
        });
        let Some(opening) = self.opening.clone() else { return };
        let (token, node) = (self.token, self.node.filter(|_| self.kind == TxKind::Fenced));
        self.send(async move {
            let opened = match node {
                Some(node) => client.execute(&opening, &[&token, &node.holder]).await,
                None => client.execute(&opening, &[&token]).await,
            };
            match opened {
                Err(error) if error.code() == Some(&SqlState::DIVISION_BY_ZERO) => Ok(None),
                opened => opened.map(|_| Some(0)),
            }
        });
    }

    /// Waits for a step, and for what went out before it. What failed first says why the others
    /// did.
    fn wait<T>(&self, step: impl Future<Output = Result<T, Error>>) -> Result<T> {
        self.begin();
        let sent = async {
            let mut all_changed = 0;
            for one in self.sent.take() {
                match one.await? {
                    Some(changed) => all_changed += changed,
                    None => return Ok(None),
                }
            }
            Ok(Some(all_changed))
        };
        let both = async {
            let (sent, done) = tokio::join!(biased; sent, step);
            Ok((sent?, done))
        };
        let ended = if self.takes_long.get() {
            // A connection that is lost ends it all the same.
            self.server.wait_within(Duration::MAX, both)
        } else {
            self.server.wait(both)
        };
        let ended = ended.and_then(|(sent, done)| {
            let Some(changed) = sent else { return Err(StoreError::TakenOver) };
            self.has_changed.set(self.has_changed.get() || changed > 0);
            self.server.wait(async { done })
        });
        let ended = ended.map_err(|error| match describe_refused_beginning(&error) {
            Some(why) if self.is_refused.get() => StoreError::Hindered(self.server.name.clone(), why),
            _ => error,
        });
        ended.inspect_err(|error| self.note_failure(error))
    }

    fn note_failure(&self, error: &StoreError) {
        if is_lost(error) {
            self.state.set(TxState::Lost);
        } else if self.state.get() == TxState::Begun {
            self.state.set(TxState::Failed);
        }
    }

    /// Commits.
    pub(super) fn commit(self) -> Result<Commit> {
        match self.state.get() {
            TxState::Failed | TxState::Lost => {
                return Err(StoreError::Corrupt("a statement that failed, and work that went on".to_owned()));
            }
            TxState::New | TxState::Ended => return Ok(Commit::Done),
            TxState::Begun => {}
        }
        if matches!(self.kind, TxKind::Read | TxKind::Query) {
            // It ends as it is dropped.
            return Ok(Commit::Done);
        }
        self.state.set(TxState::Ended);
        match self.wait(self.client.batch_execute("COMMIT")) {
            Ok(()) => Ok(Commit::Done),
            Err(error) if is_lost(&error) => Ok(Commit::InDoubt(error.to_string())),
            Err(error) => Err(error),
        }
    }
}

/// What is not committed is rolled back, before the connection is anybody else's.
impl Drop for PgTx<'_> {
    fn drop(&mut self) {
        self.sent.take();
        let is_open = matches!(self.state.get(), TxState::Begun | TxState::Failed);
        if is_open && self.kind != TxKind::Query {
            if self.kind == TxKind::Read {
                // It holds nothing that a next attempt would meet, so its end need only be on its
                // way before anything that follows.
                let _ = poll_once(pin!(self.client.batch_execute("COMMIT")));
            } else {
                let _ = self.server.wait(self.client.batch_execute("ROLLBACK"));
            }
        }
    }
}

/// Polled once, a step is on its way.
fn poll_once<T>(step: Pin<&mut (impl Future<Output = T> + ?Sized)>) -> Poll<T> {
    step.poll(&mut Context::from_waker(Waker::noop()))
}
