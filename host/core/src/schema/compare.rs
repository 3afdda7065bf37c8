//! Equality as JSON Schema has it, and items that come twice, in counted steps.

use super::check::{Check, Fits, VISIT};
use super::finding::ValueRefusal;
use super::number::Num;
use serde_json::Value;
use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hash, Hasher};

impl Check<'_> {
    /// Whether two values are equal: 1 is 1.0, and the order of properties says nothing.
    pub(super) fn equal(&mut self, a: &Value, b: &Value) -> Fits {
        self.spend(VISIT / 2)?;
        match (a, b) {
            (Value::Null, Value::Null) => Ok(true),
            (Value::Bool(a), Value::Bool(b)) => Ok(a == b),
            (Value::Number(a), Value::Number(b)) => {
                Ok(Num::from_json(a).compare(Num::from_json(b)) == Some(Ordering::Equal))
            }
            (Value::String(a), Value::String(b)) => {
                if a.len() != b.len() {
                    return Ok(false);
                }
                self.spend_bytes(a)?;
                Ok(a == b)
            }
            (Value::Array(a), Value::Array(b)) if a.len() == b.len() => self.descend(|check| {
                for (a, b) in a.iter().zip(b) {
                    if !check.equal(a, b)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }),
            (Value::Object(a), Value::Object(b)) if a.len() == b.len() => self.descend(|check| {
                for (name, a) in a {
                    check.spend_bytes(name)?;
                    let Some(b) = b.get(name) else { return Ok(false) };
                    if !check.equal(a, b)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }),
            _ => Ok(false),
        }
    }

    /// The first two items that are equal, by their hashes: pairs of all items would be a square of
    /// them.
    pub(super) fn find_duplicate(&mut self, items: &[Value]) -> Result<Option<(usize, usize)>, ValueRefusal> {
        // Half a hash is enough to find candidates, and half the memory.
        let mut hashes: Vec<(u32, u32)> = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let mut hasher = DefaultHasher::new();
            self.hash(item, &mut hasher)?;
            let index = u32::try_from(index).map_err(|_| ValueRefusal::TooCostly)?;
            hashes.push((hasher.finish() as u32, index));
        }
        self.spend(hashes.len() as u64 * VISIT)?;
        hashes.sort_unstable();
        for same in hashes.chunk_by(|a, b| a.0 == b.0) {
            for (n, (_, a)) in same.iter().enumerate() {
                for (_, b) in &same[n + 1..] {
                    let (a, b) = (*a as usize, *b as usize);
                    if self.equal(&items[a], &items[b])? {
                        return Ok(Some((a, b)));
                    }
                }
            }
        }
        Ok(None)
    }

    fn hash(&mut self, value: &Value, into: &mut DefaultHasher) -> Result<(), ValueRefusal> {
        self.spend(VISIT)?;
        match value {
            Value::Null => 0u8.hash(into),
            Value::Bool(value) => (1u8, value).hash(into),
            Value::Number(number) => (2u8, Num::from_json(number).key()).hash(into),
            Value::String(text) => {
                self.spend_bytes(text)?;
                (3u8, text).hash(into);
            }
            Value::Array(items) => self.descend(|check| {
                (4u8, items.len()).hash(into);
                items.iter().try_for_each(|item| check.hash(item, into))
            })?,
            Value::Object(fields) => self.descend(|check| {
                // A sum, because their order says nothing.
                let mut sum = 0u64;
                for (name, value) in fields {
                    check.spend_bytes(name)?;
                    let mut one = DefaultHasher::new();
                    name.hash(&mut one);
                    check.hash(value, &mut one)?;
                    sum = sum.wrapping_add(one.finish());
                }
                (5u8, fields.len(), sum).hash(into);
                Ok(())
            })?,
        }
        Ok(())
    }
}
