//! Schemas: what is refused at load, what people are told, what a check may cost, and an oracle for
//! the rest.

mod costs;
mod integers;
mod loading;
mod oracle;
mod words;

use super::{STEPS_MAX, Schema, ValueRefusal};
use serde_json::Value;

fn compiled(schema: &Value) -> Schema {
    Schema::compile(schema).unwrap_or_else(|e| panic!("{schema}: {e}"))
}

/// Why a value is refused.
fn refusal(schema: &Value, value: &Value) -> ValueRefusal {
    let checked = compiled(schema).check(value, STEPS_MAX);
    checked.expect_err(&format!("{value} is refused by {schema}"))
}
