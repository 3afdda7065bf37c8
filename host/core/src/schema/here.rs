//! One keyword while a schema is compiled: its value as what it must be, or why it is refused.

use super::node::{NodeId, Type, Types};
use super::number::Num;
use serde_json::{Map, Number, Value};

/// Why a schema is refused.
pub(super) struct RefusedSchema {
    /// The schema.
    pub(super) id: NodeId,
    /// The place in it.
    pub(super) below: String,
    pub(super) problem: String,
}

/// A keyword, its value, and where it stands.
pub(super) struct KeywordAt<'a> {
    pub(super) id: NodeId,
    pub(super) key: &'a str,
    pub(super) value: &'a Value,
}

impl<'a> KeywordAt<'a> {
    pub(super) fn refuse(&self, problem: &str) -> RefusedSchema {
        RefusedSchema { id: self.id, below: self.below(), problem: problem.to_owned() }
    }

    pub(super) fn below(&self) -> String {
        format!("/{}", escape_pointer(self.key))
    }

    pub(super) fn step(&self, name: &str) -> String {
        format!("/{}/{}", escape_pointer(self.key), escape_pointer(name))
    }

    pub(super) fn list(&self, of: &str) -> Result<&'a Vec<Value>, RefusedSchema> {
        self.value.as_array().ok_or_else(|| self.refuse(&format!("must be a list of {of}")))
    }

    pub(super) fn object(&self, of: &str) -> Result<&'a Map<String, Value>, RefusedSchema> {
        self.value.as_object().ok_or_else(|| self.refuse(&format!("must be an object of {of}")))
    }

    pub(super) fn text(&self, what: &str) -> Result<&'a str, RefusedSchema> {
        self.value.as_str().ok_or_else(|| self.refuse(&format!("must be {what}")))
    }

    pub(super) fn number(&self) -> Result<&'a Number, RefusedSchema> {
        match self.value {
            Value::Number(number) => Ok(number),
            _ => Err(self.refuse("must be a number")),
        }
    }

    pub(super) fn count(&self) -> Result<u64, RefusedSchema> {
        let number = self.number().ok().map(Num::from_json);
        let count = match number {
            Some(Num::Whole(n)) => u64::try_from(n).ok(),
            _ => None,
        };
        count.ok_or_else(|| self.refuse("must be a whole number, 0 or more"))
    }

    pub(super) fn read_names(&self, value: &Value) -> Result<Vec<String>, RefusedSchema> {
        let names = value.as_array().and_then(|names| {
            names.iter().map(|name| name.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
        });
        names.ok_or_else(|| self.refuse("must be a list of names"))
    }

    pub(super) fn types(&self) -> Result<Types, RefusedSchema> {
        let names = match self.value {
            Value::Array(names) => names.as_slice(),
            one => std::slice::from_ref(one),
        };
        let mut types = Types::default();
        for name in names {
            let one = name.as_str().and_then(Type::from_name).filter(|one| !types.has(*one)).ok_or_else(|| {
                self.refuse(
                    "must be one of string, integer, number, boolean, array, object and null, or a list of some, \
                     each once",
                )
            })?;
            types.add(one);
        }
        if names.is_empty() {
            return Err(self.refuse("must name at least one type"));
        }
        Ok(types)
    }
}

/// A name as a JSON pointer has it.
fn escape_pointer(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
