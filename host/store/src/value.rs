//! What a statement is given and a row holds: the four kinds that both engines have alike.

use super::{Result, StoreError};
use cofferdam_core::id::{SessionId, TurnId};
use rusqlite::types::{ToSqlOutput, ValueRef};
use std::borrow::Cow;

/// A value of a column, or in the place of a parameter. A truth is 0 or 1.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SqlValue<'a> {
    Null,
    Integer(i64),
    Text(Cow<'a, str>),
    Bytes(Cow<'a, [u8]>),
}

impl SqlValue<'_> {
    /// The same, of its own.
    pub(super) fn into_owned(self) -> SqlValue<'static> {
        match self {
            Self::Null => SqlValue::Null,
            Self::Integer(number) => SqlValue::Integer(number),
            Self::Text(text) => SqlValue::Text(text.into_owned().into()),
            Self::Bytes(bytes) => SqlValue::Bytes(bytes.into_owned().into()),
        }
    }
}

/// What can stand in the place of a parameter.
pub(super) trait ToValue: Sync {
    fn to_value(&self) -> SqlValue<'_>;
}

/// What can be read of a column.
pub(super) trait FromValue: Sized {
    /// The error is what the column holds instead.
    fn from_value(value: SqlValue<'_>) -> Result<Self>;
}

/// The parameters of a statement.
pub(super) fn to_values<P: ToValue>(params: &[P]) -> Vec<SqlValue<'_>> {
    params.iter().map(ToValue::to_value).collect()
}

/// Parameters of several types.
macro_rules! params {
    ($($value:expr),* $(,)?) => {
        [$(&$value as &dyn $crate::value::ToValue),*] as [&dyn $crate::value::ToValue; _]
    };
}
pub(super) use params;

/// The words that a column has for the variants of an enum, which tells them to others, too.
macro_rules! words {
    ($kind:ident, $other:literal: $($variant:ident = $word:literal)+) => {
        impl $kind {
            /// The word for it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }

        $crate::value::column_words! { $kind, $other: $($variant = $word)+ }
    };
}
pub(super) use words;

/// The words that a column has for the variants of an enum, and what is said of another one.
macro_rules! column_words {
    ($kind:ident, $other:literal: $($variant:ident = $word:literal)+) => {
        impl $crate::value::ToValue for $kind {
            fn to_value(&self) -> $crate::value::SqlValue<'_> {
                let word = match self { $(Self::$variant => $word,)+ };
                $crate::value::SqlValue::Text(std::borrow::Cow::Borrowed(word))
            }
        }

        impl $crate::value::FromValue for $kind {
            fn from_value(value: $crate::value::SqlValue<'_>) -> Result<Self, $crate::StoreError> {
                match <String as $crate::value::FromValue>::from_value(value)?.as_str() {
                    $($word => Ok(Self::$variant),)+
                    other => Err($crate::StoreError::Corrupt(format!($other, other))),
                }
            }
        }
    };
}
pub(super) use column_words;

impl<T: ToValue + ?Sized> ToValue for &T {
    fn to_value(&self) -> SqlValue<'_> {
        (**self).to_value()
    }
}

impl<T: ToValue> ToValue for Option<T> {
    fn to_value(&self) -> SqlValue<'_> {
        self.as_ref().map_or(SqlValue::Null, ToValue::to_value)
    }
}

impl ToValue for SqlValue<'_> {
    fn to_value(&self) -> SqlValue<'_> {
        match self {
            Self::Null => SqlValue::Null,
            Self::Integer(number) => SqlValue::Integer(*number),
            Self::Text(text) => SqlValue::Text(Cow::Borrowed(text)),
            Self::Bytes(bytes) => SqlValue::Bytes(Cow::Borrowed(bytes)),
        }
    }
}

impl ToValue for str {
    fn to_value(&self) -> SqlValue<'_> {
        SqlValue::Text(Cow::Borrowed(self))
    }
}

impl ToValue for String {
    fn to_value(&self) -> SqlValue<'_> {
        self.as_str().to_value()
    }
}

impl ToValue for bool {
    fn to_value(&self) -> SqlValue<'_> {
        SqlValue::Integer((*self).into())
    }
}

macro_rules! whole_numbers {
    ($($number:ty)+) => { $(
        impl ToValue for $number {
            /// No count of ours comes near the end.
            fn to_value(&self) -> SqlValue<'_> {
                SqlValue::Integer(i64::try_from(*self).unwrap_or(i64::MAX))
            }
        }

        impl FromValue for $number {
            fn from_value(value: SqlValue<'_>) -> Result<Self> {
                match value {
                    SqlValue::Integer(number) => number.try_into().map_err(|_| unexpected(value)),
                    _ => Err(unexpected(value)),
                }
            }
        }
    )+ };
}

whole_numbers! { i64 u32 u64 usize }

macro_rules! ids {
    ($($id:ty)+) => { $(
        impl ToValue for $id {
            fn to_value(&self) -> SqlValue<'_> {
                self.as_str().to_value()
            }
        }

        impl FromValue for $id {
            fn from_value(value: SqlValue<'_>) -> Result<Self> {
                String::from_value(value).map(Self::new)
            }
        }
    )+ };
}

ids! { TurnId SessionId }

impl FromValue for bool {
    fn from_value(value: SqlValue<'_>) -> Result<Self> {
        i64::from_value(value).map(|number| number != 0)
    }
}

impl FromValue for String {
    fn from_value(value: SqlValue<'_>) -> Result<Self> {
        match value {
            SqlValue::Text(text) => Ok(text.into_owned()),
            other => Err(unexpected(other)),
        }
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: SqlValue<'_>) -> Result<Self> {
        if value == SqlValue::Null { Ok(None) } else { T::from_value(value).map(Some) }
    }
}

/// A column holds something else than its reader takes.
fn unexpected(value: SqlValue<'_>) -> StoreError {
    let kind = match value {
        SqlValue::Null => "nothing".to_owned(),
        SqlValue::Integer(number) => format!("the number {number}"),
        SqlValue::Text(_) => "a text".to_owned(),
        SqlValue::Bytes(_) => "bytes".to_owned(),
    };
    StoreError::Corrupt(format!("{kind} where something else belongs"))
}

impl rusqlite::ToSql for SqlValue<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

impl<'a> TryFrom<ValueRef<'a>> for SqlValue<'a> {
    type Error = StoreError;

    fn try_from(value: ValueRef<'a>) -> Result<Self> {
        Ok(match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(number) => Self::Integer(number),
            ValueRef::Text(text) => Self::Text(Cow::Borrowed(
                std::str::from_utf8(text)
                    .map_err(|_| StoreError::Corrupt("a text that is no UTF-8".to_owned()))?,
            )),
            ValueRef::Blob(bytes) => Self::Bytes(Cow::Borrowed(bytes)),
            ValueRef::Real(_) => return Err(StoreError::Corrupt("a fraction".to_owned())),
        })
    }
}
