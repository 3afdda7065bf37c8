//! A transaction of PostgreSQL. Its caller blocks, so each step waits for the server, and no longer
//! than its deadline.

use super::text::{decode, encode, translate};
use super::{Server, is_lost};
use crate::StoreError;
use crate::value::SqlValue;
use deadpool_postgres::Transaction;
use std::borrow::Cow;
use std::cell::Cell;
use std::ops::ControlFlow;
use tokio_postgres::Statement;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

/// Rows that are fetched at once where the caller may want no more.
const ROWS_AT_ONCE: i32 = 64;

pub(in super::super) struct PgTx<'c> {
    pub(super) transaction: Transaction<'c>,
    pub(super) server: &'c Server,
    /// Names the node that works here.
    pub(in super::super) holder: Option<&'c str>,
    /// A statement has failed: the server rolls back at the commit.
    pub(super) has_failed: Cell<bool>,
    /// A statement has changed a row.
    pub(super) has_changed: Cell<bool>,
}

/// A row of PostgreSQL, read.
pub(in super::super) struct PgRow(Vec<OwnedValue>);

enum OwnedValue {
    Null,
    Integer(i64),
    Text(String),
    Bytes(Vec<u8>),
}

impl PgTx<'_> {
    pub(in super::super) fn execute(&self, sql: &str, values: &[SqlValue<'_>]) -> Result<usize, StoreError> {
        let statement = self.prepare(sql, values)?;
        let values = PgValue::all(values);
        let changed = self.wait(self.transaction.execute(&statement, &references(&values)))?;
        self.has_changed.set(self.has_changed.get() || changed > 0);
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
    }

    pub(in super::super) fn query(
        &self,
        sql: &str,
        values: &[SqlValue<'_>],
    ) -> Result<Vec<PgRow>, StoreError> {
        let statement = self.prepare(sql, values)?;
        let values = PgValue::all(values);
        let rows = self.wait(self.transaction.query(&statement, &references(&values)))?;
        rows.iter().map(PgRow::read).collect()
    }

    pub(in super::super) fn for_each(
        &self,
        sql: &str,
        values: &[SqlValue<'_>],
        mut each: impl FnMut(PgRow) -> Result<ControlFlow<()>, StoreError>,
    ) -> Result<(), StoreError> {
        let statement = self.prepare(sql, values)?;
        let values = PgValue::all(values);
        let portal = self.wait(self.transaction.bind(&statement, &references(&values)))?;
        loop {
            let rows = self.wait(self.transaction.query_portal(&portal, ROWS_AT_ONCE))?;
            let is_last = rows.len() < usize::try_from(ROWS_AT_ONCE).unwrap_or_default();
            for row in &rows {
                if each(PgRow::read(row)?)?.is_break() {
                    return Ok(());
                }
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// The types are told, so that the server need not guess any of them.
    fn prepare(&self, sql: &str, values: &[SqlValue<'_>]) -> Result<Statement, StoreError> {
        let types: Vec<Type> = values
            .iter()
            .map(|value| match value {
                SqlValue::Null => Type::UNKNOWN,
                SqlValue::Integer(_) => Type::INT8,
                SqlValue::Text(_) => Type::TEXT,
                SqlValue::Bytes(_) => Type::BYTEA,
            })
            .collect();
        self.wait(self.transaction.prepare_typed_cached(&translate(sql), &types))
    }

    fn wait<T>(&self, step: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Result<T, StoreError> {
        let ended = self.server.wait(step);
        self.has_failed.set(self.has_failed.get() || ended.is_err());
        ended
    }

    /// Commits. Where the connection is lost meanwhile, nobody here knows whether it did.
    pub(super) fn commit(self) -> Result<(), StoreError> {
        if self.has_failed.get() {
            return Err(StoreError::Corrupt("a statement that failed, and work that went on".to_owned()));
        }
        self.server.wait(self.transaction.commit()).map_err(|error| {
            if is_lost(&error) {
                StoreError::Unknown { server: self.server.name.clone(), why: error.to_string() }
            } else {
                error
            }
        })
    }
}

impl PgRow {
    pub(in super::super) fn value(&self, column: usize) -> Result<SqlValue<'_>, StoreError> {
        let missing = || StoreError::Corrupt(format!("no column {column} where one belongs"));
        Ok(match self.0.get(column).ok_or_else(missing)? {
            OwnedValue::Null => SqlValue::Null,
            OwnedValue::Integer(number) => SqlValue::Integer(*number),
            OwnedValue::Text(text) => SqlValue::Text(text),
            OwnedValue::Bytes(bytes) => SqlValue::Bytes(bytes),
        })
    }

    fn read(row: &tokio_postgres::Row) -> Result<Self, StoreError> {
        let read = |n: usize, column: &tokio_postgres::Column| -> Result<OwnedValue, StoreError> {
            let value: Option<OwnedValue> = row.try_get(n).map_err(|_| {
                let (name, kind) = (column.name(), column.type_());
                StoreError::Corrupt(format!("a column {name} of type {kind} that is not what belongs there"))
            })?;
            Ok(value.unwrap_or(OwnedValue::Null))
        };
        row.columns()
            .iter()
            .enumerate()
            .map(|(n, column)| read(n, column))
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

impl<'a> FromSql<'a> for OwnedValue {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(match *ty {
            Type::BOOL => Self::Integer(bool::from_sql(ty, raw)?.into()),
            Type::INT2 => Self::Integer(i16::from_sql(ty, raw)?.into()),
            Type::INT4 => Self::Integer(i32::from_sql(ty, raw)?.into()),
            Type::INT8 => Self::Integer(i64::from_sql(ty, raw)?),
            Type::BYTEA => Self::Bytes(Vec::from_sql(ty, raw)?),
            _ => Self::Text(decode(String::from_sql(ty, raw)?).ok_or("an escape of nothing")?),
        })
    }

    fn accepts(ty: &Type) -> bool {
        [Type::BOOL, Type::INT2, Type::INT4, Type::INT8, Type::BYTEA].contains(ty)
            || <String as FromSql>::accepts(ty)
    }
}

#[derive(Debug)]
enum PgValue<'a> {
    Null,
    Integer(i64),
    Text(Cow<'a, str>),
    Bytes(&'a [u8]),
}

impl<'a> PgValue<'a> {
    fn all(values: &'a [SqlValue<'a>]) -> Vec<Self> {
        values
            .iter()
            .map(|value| match value {
                SqlValue::Null => Self::Null,
                SqlValue::Integer(number) => Self::Integer(*number),
                SqlValue::Text(text) => Self::Text(encode(text)),
                SqlValue::Bytes(bytes) => Self::Bytes(bytes),
            })
            .collect()
    }
}

fn references<'a>(values: &'a [PgValue<'a>]) -> Vec<&'a (dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

impl ToSql for PgValue<'_> {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Integer(number) => number.to_sql(ty, out),
            Self::Text(text) => text.as_ref().to_sql(ty, out),
            Self::Bytes(bytes) => bytes.to_sql(ty, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        // The types were told with the statement.
        true
    }

    to_sql_checked!();
}
