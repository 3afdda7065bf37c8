//! A transaction of either engine, so that each method of the store is written once. SQL is what
//! both engines read alike, with parameters `?1`, `?2`, ….

use super::claims::OwnNode;
use super::postgres::{PgRow, PgTx, SentQuery};
use super::value::{FromValue, SqlValue, ToValue, to_values};
use super::{Result, StoreError};
use rusqlite::OptionalExtension;
use std::ops::ControlFlow;

/// A transaction. Its statements are compiled once for the connection.
pub(super) enum Tx<'c> {
    Sqlite(rusqlite::Transaction<'c>),
    Postgres(PgTx<'c>),
}

/// A row of a query, while it is read.
pub(super) enum Row<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
    Postgres(PgRow),
}

impl Row<'_> {
    /// The value of a column, from 0.
    pub(super) fn get<T: FromValue>(&self, column: usize) -> Result<T> {
        T::from_value(self.value(column)?)
    }

    pub(super) fn value(&self, column: usize) -> Result<SqlValue<'_>> {
        match self {
            Self::Sqlite(row) => row.get_ref(column)?.try_into(),
            Self::Postgres(row) => row.value(column),
        }
    }
}

/// What is read of the first row of a query that is not waited for.
pub(super) enum Ahead<T> {
    Read(Option<T>),
    Sent(SentQuery, fn(&Row<'_>) -> Result<T>),
}

impl<T> Ahead<T> {
    /// Whether it is here.
    pub(super) fn has_come(&self) -> bool {
        match self {
            Self::Read(_) => true,
            Self::Sent(query, _) => query.has_come(),
        }
    }

    /// The same, once the transaction has waited for something that followed it.
    pub(super) fn into_first(self) -> Result<Option<T>> {
        match self {
            Self::Read(first) => Ok(first),
            Self::Sent(query, read) => query.first_row()?.map(|row| read(&Row::Postgres(row))).transpose(),
        }
    }
}

impl Tx<'_> {
    /// The node that works here; none where one process has everything.
    pub(super) fn node(&self) -> Option<&OwnNode> {
        match self {
            Self::Sqlite(_) => None,
            Self::Postgres(tx) => tx.node,
        }
    }

    /// The node whose workspace this process has; none where all have the same one.
    pub(super) fn home(&self) -> Option<&str> {
        match self {
            Self::Sqlite(_) => None,
            Self::Postgres(tx) => tx.home,
        }
    }

    /// Whether the server can wake other nodes.
    pub(super) fn can_notify(&self) -> bool {
        matches!(self, Self::Postgres(tx) if tx.can_notify())
    }

    /// Names it.
    pub(super) fn holder(&self) -> Option<&str> {
        self.node().map(|node| node.holder.as_str())
    }

    /// Runs a statement; how many rows it has changed.
    pub(super) fn execute<P: ToValue>(&self, sql: &str, params: impl AsRef<[P]>) -> Result<usize> {
        let values = to_values(params.as_ref());
        match self {
            Self::Sqlite(tx) => Ok(tx.prepare_cached(sql)?.execute(rusqlite::params_from_iter(values))?),
            Self::Postgres(tx) => tx.execute(sql, &values),
        }
    }

    /// Runs a statement of which nobody asks how many rows it has changed. It may fail with what
    /// follows, at the latest with the commit.
    pub(super) fn run<P: ToValue>(&self, sql: &str, params: impl AsRef<[P]>) -> Result<()> {
        match self {
            Self::Sqlite(_) => self.execute(sql, params).map(drop),
            Self::Postgres(tx) => tx.run(sql, &to_values(params.as_ref())),
        }
    }

    /// Inserts a row by a statement that ends with its values, unless a row is there that it is at
    /// odds with; whether none is. One is there only where something is done again, so PostgreSQL
    /// is not asked: there the transaction fails at the row, runs again, and asks.
    pub(super) fn insert_if_new<P: ToValue>(&self, insert: &str, params: impl AsRef<[P]>) -> Result<bool> {
        match self {
            Self::Postgres(tx) if !tx.is_again => tx.run(insert, &to_values(params.as_ref())).map(|()| true),
            Self::Postgres(_) | Self::Sqlite(_) => {
                Ok(self.execute(&format!("{insert} ON CONFLICT DO NOTHING"), params)? == 1)
            }
        }
    }

    /// What is read of the one row of a query.
    pub(super) fn query_row<T, P: ToValue>(
        &self,
        sql: &str,
        params: impl AsRef<[P]>,
        read: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<T> {
        let missing = || StoreError::Corrupt("no row where one belongs".to_owned());
        self.query_optional(sql, params, read)?.ok_or_else(missing)
    }

    /// What is read of the first row of a query, if it has one.
    pub(super) fn query_optional<T, P: ToValue>(
        &self,
        sql: &str,
        params: impl AsRef<[P]>,
        read: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let values = to_values(params.as_ref());
        match self {
            Self::Sqlite(tx) => {
                let mut statement = tx.prepare_cached(sql)?;
                let values = rusqlite::params_from_iter(values);
                // What is read of the row fails as itself.
                Ok(statement.query_row(values, |row| Ok(read(&Row::Sqlite(row)))).optional()?.transpose()?)
            }
            Self::Postgres(tx) => {
                let first = tx.query(sql, &values)?.into_iter().next();
                first.map(|row| read(&Row::Postgres(row))).transpose()
            }
        }
    }

    /// The same, which goes out with what follows and comes back with that.
    pub(super) fn query_ahead<T, P: ToValue>(
        &self,
        sql: &str,
        params: impl AsRef<[P]>,
        read: fn(&Row<'_>) -> Result<T>,
    ) -> Result<Ahead<T>> {
        match self {
            Self::Sqlite(_) => self.query_optional(sql, params, read).map(Ahead::Read),
            Self::Postgres(tx) => Ok(Ahead::Sent(tx.query_ahead(sql, &to_values(params.as_ref()))?, read)),
        }
    }

    /// The same, once it has come back.
    pub(super) fn await_first<T>(&self, ahead: Ahead<T>) -> Result<Option<T>> {
        if let Self::Postgres(tx) = self {
            tx.wait_for_sent()?;
        }
        ahead.into_first()
    }

    /// What is read of each row of a query.
    pub(super) fn query_rows<T, P: ToValue>(
        &self,
        sql: &str,
        params: impl AsRef<[P]>,
        mut read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let values = to_values(params.as_ref());
        match self {
            Self::Sqlite(tx) => {
                let mut statement = tx.prepare_cached(sql)?;
                let values = rusqlite::params_from_iter(values);
                statement.query_and_then(values, |row| read(&Row::Sqlite(row)))?.collect()
            }
            Self::Postgres(tx) => {
                tx.query(sql, &values)?.into_iter().map(|row| read(&Row::Postgres(row))).collect()
            }
        }
    }

    /// Hands on the rows of a query one by one, for as long as more are wanted.
    pub(super) fn for_each<P: ToValue>(
        &self,
        sql: &str,
        params: impl AsRef<[P]>,
        mut each: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let values = to_values(params.as_ref());
        match self {
            Self::Sqlite(tx) => {
                let mut statement = tx.prepare_cached(sql)?;
                let mut rows = statement.query(rusqlite::params_from_iter(values))?;
                while let Some(row) = rows.next()? {
                    if each(&Row::Sqlite(row))?.is_break() {
                        break;
                    }
                }
                Ok(())
            }
            Self::Postgres(tx) => tx.for_each(sql, &values, |row| each(&Row::Postgres(row))),
        }
    }

    /// Whether a query has a row.
    pub(super) fn exists<P: ToValue>(&self, sql: &str, params: impl AsRef<[P]>) -> Result<bool> {
        Ok(self.query_optional(sql, params, |_| Ok(()))?.is_some())
    }
}
