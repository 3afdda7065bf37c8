//! The union of what task, agent and action declare: each thing once, at its first place.

use super::{DeclaringScope, Kind};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// One thing of the union.
#[derive(Clone, Debug, PartialEq)]
pub struct Merged<T> {
    /// As it was first declared.
    pub first: T,
    /// The last name that was given.
    pub name: Option<String>,
    /// The last meta that was given.
    pub meta: Option<Map<String, Value>>,
    /// Who declares it, in order.
    pub scopes: Vec<DeclaringScope>,
}

/// Merges things in the order in which they come.
#[derive(Debug)]
pub struct AttachmentMerge<T> {
    items: Vec<Merged<T>>,
    places: HashMap<(Kind, String), usize>,
}

impl<T> Default for AttachmentMerge<T> {
    fn default() -> Self {
        Self { items: Vec::new(), places: HashMap::new() }
    }
}

impl<T> AttachmentMerge<T> {
    /// Adds a thing. `key` is the same for two of the same type that are the same; without one it
    /// is no other's equal. A name or meta that is not given changes nothing. What it has become
    /// comes back.
    pub fn add(
        &mut self,
        thing: T,
        kind: Kind,
        key: Option<String>,
        told: (Option<String>, Option<Map<String, Value>>),
        scope: DeclaringScope,
    ) -> &mut Merged<T> {
        let (name, meta) = told;
        let next = self.items.len();
        let place = key.map_or(next, |key| *self.places.entry((kind, key)).or_insert(next));
        if place == next {
            self.items.push(Merged { first: thing, name, meta, scopes: vec![scope] });
            return &mut self.items[next];
        }
        let item = &mut self.items[place];
        item.name = name.or(item.name.take());
        item.meta = meta.or(item.meta.take());
        if !item.scopes.contains(&scope) {
            item.scopes.push(scope);
        }
        item
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The union, in order.
    pub fn finish(self) -> Vec<Merged<T>> {
        self.items
    }
}
