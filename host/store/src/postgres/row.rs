//! Values on their way to PostgreSQL, and rows on theirs from it.

use super::text::{decode, encode};
use crate::value::{SqlValue, ToValue};
use crate::{Result, StoreError};
use std::borrow::Cow;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

/// A row of PostgreSQL, read.
pub(in super::super) struct PgRow(Vec<SqlValue<'static>>);

impl PgRow {
    pub(in super::super) fn value(&self, column: usize) -> Result<SqlValue<'_>> {
        let missing = || StoreError::Corrupt(format!("no column {column} where one belongs"));
        self.0.get(column).map(ToValue::to_value).ok_or_else(missing)
    }

    pub(super) fn read(row: &tokio_postgres::Row) -> Result<Self> {
        let read = |(n, column): (usize, &tokio_postgres::Column)| {
            row.try_get::<_, SqlValue<'static>>(n).map_err(|_| {
                let (name, kind) = (column.name(), column.type_());
                StoreError::Corrupt(format!("a column {name} of type {kind} that is not what belongs there"))
            })
        };
        row.columns().iter().enumerate().map(read).collect::<Result<_, _>>().map(Self)
    }
}

impl<'a> FromSql<'a> for SqlValue<'static> {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(match *ty {
            Type::BOOL => Self::Integer(bool::from_sql(ty, raw)?.into()),
            Type::INT2 => Self::Integer(i16::from_sql(ty, raw)?.into()),
            Type::INT4 => Self::Integer(i32::from_sql(ty, raw)?.into()),
            Type::INT8 => Self::Integer(i64::from_sql(ty, raw)?),
            Type::BYTEA => Self::Bytes(Cow::Owned(Vec::from_sql(ty, raw)?)),
            _ => Self::Text(Cow::Owned(decode(String::from_sql(ty, raw)?).ok_or("an escape of nothing")?)),
        })
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self::Null)
    }

    fn accepts(ty: &Type) -> bool {
        [Type::BOOL, Type::INT2, Type::INT4, Type::INT8, Type::BYTEA].contains(ty)
            || <String as FromSql>::accepts(ty)
    }
}

pub(super) fn references<'a>(values: &'a [SqlValue<'a>]) -> Vec<&'a (dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

impl ToSql for SqlValue<'_> {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Integer(number) => number.to_sql(ty, out),
            Self::Text(text) => encode(text).as_ref().to_sql(ty, out),
            Self::Bytes(bytes) => bytes.as_ref().to_sql(ty, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        // The types were told with the statement.
        true
    }

    to_sql_checked!();
}
