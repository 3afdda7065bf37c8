//! Values on their way to PostgreSQL, and rows on theirs from it.

use super::text::{decode, encode};
use crate::StoreError;
use crate::value::SqlValue;
use std::borrow::Cow;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

/// A row of PostgreSQL, read.
pub(in super::super) struct PgRow(Vec<PgValue<'static>>);

impl PgRow {
    pub(in super::super) fn value(&self, column: usize) -> Result<SqlValue<'_>, StoreError> {
        let missing = || StoreError::Corrupt(format!("no column {column} where one belongs"));
        Ok(match self.0.get(column).ok_or_else(missing)? {
            PgValue::Null => SqlValue::Null,
            PgValue::Integer(number) => SqlValue::Integer(*number),
            PgValue::Text(text) => SqlValue::Text(text),
            PgValue::Bytes(bytes) => SqlValue::Bytes(bytes),
        })
    }

    pub(super) fn read(row: &tokio_postgres::Row) -> Result<Self, StoreError> {
        let read = |n: usize, column: &tokio_postgres::Column| -> Result<PgValue<'static>, StoreError> {
            let value: Option<PgValue<'static>> = row.try_get(n).map_err(|_| {
                let (name, kind) = (column.name(), column.type_());
                StoreError::Corrupt(format!("a column {name} of type {kind} that is not what belongs there"))
            })?;
            Ok(value.unwrap_or(PgValue::Null))
        };
        row.columns()
            .iter()
            .enumerate()
            .map(|(n, column)| read(n, column))
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

impl<'a> FromSql<'a> for PgValue<'static> {
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

    fn accepts(ty: &Type) -> bool {
        [Type::BOOL, Type::INT2, Type::INT4, Type::INT8, Type::BYTEA].contains(ty)
            || <String as FromSql>::accepts(ty)
    }
}

/// A value of a statement or a row, as PostgreSQL takes it.
#[derive(Debug)]
pub(super) enum PgValue<'a> {
    Null,
    Integer(i64),
    Text(Cow<'a, str>),
    Bytes(Cow<'a, [u8]>),
}

impl<'a> PgValue<'a> {
    pub(super) fn into_owned(self) -> PgValue<'static> {
        match self {
            Self::Null => PgValue::Null,
            Self::Integer(number) => PgValue::Integer(number),
            Self::Text(text) => PgValue::Text(text.into_owned().into()),
            Self::Bytes(bytes) => PgValue::Bytes(bytes.into_owned().into()),
        }
    }

    pub(super) fn all(values: &'a [SqlValue<'a>]) -> Vec<Self> {
        values
            .iter()
            .map(|value| match value {
                SqlValue::Null => Self::Null,
                SqlValue::Integer(number) => Self::Integer(*number),
                SqlValue::Text(text) => Self::Text(encode(text)),
                SqlValue::Bytes(bytes) => Self::Bytes(Cow::Borrowed(bytes)),
            })
            .collect()
    }
}

pub(super) fn references<'a>(values: &'a [PgValue<'a>]) -> Vec<&'a (dyn ToSql + Sync)> {
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
            Self::Bytes(bytes) => bytes.as_ref().to_sql(ty, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        // The types were told with the statement.
        true
    }

    to_sql_checked!();
}
