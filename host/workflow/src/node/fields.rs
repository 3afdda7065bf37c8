//! The entries of a map, read by name. Refuses what nobody asks for.

use super::{Content, Key, Node};
use crate::problem::{Fault, Mark, listed, quoted};

/// The entries of one thing of the file, such as a task.
pub(crate) struct Fields<'a> {
    /// In messages: `a task`.
    pub(crate) what: &'static str,
    pub(crate) mark: Mark,
    entries: &'a [(Key, Node)],
}

impl<'a> Fields<'a> {
    /// The entries of a map that has these keys and no others.
    pub(crate) fn of(node: &'a Node, what: &'static str, keys: &[&str]) -> Result<Self, Fault> {
        let Content::Map(entries) = &node.content else {
            let said = format!(
                "{what} must be a map, and this is {}; write e.g. `{}: …`",
                node.kind(),
                keys.first().copied().unwrap_or("key")
            );
            return Err(Fault::new(node.mark, said));
        };
        if let Some((key, _)) = entries.iter().find(|(key, _)| !keys.contains(&key.name.as_str())) {
            let said = format!("{} is no key of {what}; there is {}", quoted(&key.name), listed(keys));
            return Err(Fault::new(key.mark, said));
        }
        Ok(Self { what, mark: node.mark, entries })
    }

    pub(crate) fn get(&self, key: &str) -> Option<&'a Node> {
        self.entries.iter().find(|(other, _)| other.name == key).map(|(_, node)| node)
    }

    /// The value of a key that must be there; `example` is what to write.
    pub(crate) fn need(&self, key: &str, example: &str) -> Result<&'a Node, Fault> {
        self.get(key).ok_or_else(|| {
            Fault::new(self.mark, format!("{} needs `{key}`; write e.g. `{key}: {example}`", self.what))
        })
    }

    /// The one of these keys that is there.
    pub(crate) fn one_of(&self, keys: &[&'static str]) -> Result<(&'static str, &'a Node), Fault> {
        let there: Vec<&'static str> = keys.iter().copied().filter(|key| self.get(key).is_some()).collect();
        match there[..] {
            [key] => Ok((key, self.get(key).ok_or_else(|| Fault::new(self.mark, "it is gone"))?)),
            [] => {
                let said = format!("{} needs one of {}; write one of them", self.what, listed(keys));
                Err(Fault::new(self.mark, said))
            }
            _ => {
                let said = format!("{} has {}; write one of them", self.what, listed(&there));
                Err(Fault::new(self.mark, said))
            }
        }
    }

    /// Refuses keys that make no sense beside another one.
    pub(crate) fn without(&self, keys: &[&str], why: &str) -> Result<(), Fault> {
        match self.entries.iter().find(|(key, _)| keys.contains(&key.name.as_str())) {
            Some((key, _)) => {
                let said = format!("{} {why}; take it out", quoted(&key.name));
                Err(Fault::new(key.mark, said))
            }
            None => Ok(()),
        }
    }
}

impl Node {
    /// A text.
    pub(crate) fn text(&self, what: &str) -> Result<&str, Fault> {
        match &self.content {
            Content::Text(text) => Ok(text),
            Content::Null => {
                Err(Fault::new(self.mark, format!("{what} is empty; write a text, or take it out")))
            }
            Content::Number(_) | Content::Bool(_) => {
                let written = self.to_value();
                let said = format!(
                    "{what} must be a text, and this is {}; write it in quotes: \"{written}\"",
                    self.kind()
                );
                Err(Fault::new(self.mark, said))
            }
            _ => Err(Fault::new(self.mark, format!("{what} must be a text, and this is {}", self.kind()))),
        }
    }

    pub(crate) fn flag(&self, what: &str) -> Result<bool, Fault> {
        match &self.content {
            Content::Bool(flag) => Ok(*flag),
            _ => {
                let said = format!("{what} must be true or false, and this is {}", self.kind());
                Err(Fault::new(self.mark, said))
            }
        }
    }

    pub(crate) fn list(&self, what: &str) -> Result<&[Node], Fault> {
        match &self.content {
            Content::List(items) => Ok(items),
            _ => {
                let said = format!(
                    "{what} must be a list, and this is {}; write `[…]`, or lines with `-`",
                    self.kind()
                );
                Err(Fault::new(self.mark, said))
            }
        }
    }

    pub(crate) fn map(&self, what: &str) -> Result<&[(Key, Node)], Fault> {
        match &self.content {
            Content::Map(entries) => Ok(entries),
            _ => {
                let said = format!("{what} must be a map, and this is {}; write `key: value`", self.kind());
                Err(Fault::new(self.mark, said))
            }
        }
    }
}
