//! The entries of a map, read by name. Refuses what nobody asks for.

use super::{Node, NodeContent, NodeKey};
use crate::problem::{FileFault, FileMark, list_names, quote};

/// The entries of one thing of the file, such as a task.
pub(crate) struct NodeFields<'a> {
    /// In messages: `a task`.
    pub(crate) what: &'static str,
    pub(crate) mark: FileMark,
    entries: &'a [(NodeKey, Node)],
}

impl<'a> NodeFields<'a> {
    /// The entries of a map that has these keys and no others.
    pub(crate) fn new(node: &'a Node, what: &'static str, keys: &[&str]) -> Result<Self, FileFault> {
        let NodeContent::Map(entries) = &node.content else {
            let example = format!("; write e.g. `{}: …`", keys.first().copied().unwrap_or("key"));
            return Err(node.mistyped(what, "a map", &example));
        };
        if let Some((key, _)) = entries.iter().find(|(key, _)| !keys.contains(&key.name.as_str())) {
            let said = format!("{} is no key of {what}; there is {}", quote(&key.name), list_names(keys));
            return Err(FileFault::new(key.mark, said));
        }
        Ok(Self { what, mark: node.mark, entries })
    }

    pub(crate) fn get(&self, key: &str) -> Option<&'a Node> {
        self.entries.iter().find(|(other, _)| other.name == key).map(|(_, node)| node)
    }

    /// What `read` makes of the value of a key that may be there; it is told what messages call it.
    pub(crate) fn read<T>(
        &self,
        key: &str,
        read: impl FnOnce(&Node, &str) -> Result<T, FileFault>,
    ) -> Result<Option<T>, FileFault> {
        self.get(key).map(|node| read(node, &format!("`{key}`"))).transpose()
    }

    /// The value of a key that must be there; `example` is what to write.
    pub(crate) fn need(&self, key: &str, example: &str) -> Result<&'a Node, FileFault> {
        self.get(key).ok_or_else(|| {
            FileFault::new(self.mark, format!("{} needs `{key}`; write e.g. `{key}: {example}`", self.what))
        })
    }

    /// The one of these keys that is there.
    pub(crate) fn take_one_of(&self, keys: &[&'static str]) -> Result<(&'static str, &'a Node), FileFault> {
        let there: Vec<_> = keys.iter().filter_map(|key| Some((*key, self.get(key)?))).collect();
        let said = match there[..] {
            [one] => return Ok(one),
            [] => format!("needs one of {}", list_names(keys)),
            _ => {
                let names: Vec<&str> = there.iter().map(|(key, _)| *key).collect();
                format!("has {}", list_names(&names))
            }
        };
        Err(FileFault::new(self.mark, format!("{} {said}; write one of them", self.what)))
    }

    /// Refuses keys that make no sense beside another one.
    pub(crate) fn refuse_keys(&self, keys: &[&str], why: &str) -> Result<(), FileFault> {
        match self.entries.iter().find(|(key, _)| keys.contains(&key.name.as_str())) {
            Some((key, _)) => {
                Err(FileFault::new(key.mark, format!("{} {why}; take it out", quote(&key.name))))
            }
            None => Ok(()),
        }
    }
}

impl Node {
    /// A text.
    pub(crate) fn text(&self, what: &str) -> Result<&str, FileFault> {
        match &self.content {
            NodeContent::Text(text) => Ok(text),
            NodeContent::Null => {
                Err(FileFault::new(self.mark, format!("{what} is empty; write a text, or take it out")))
            }
            NodeContent::Number(_) | NodeContent::Bool(_) => {
                let quoted = format!("; write it in quotes: \"{}\"", self.to_value());
                Err(self.mistyped(what, "a text", &quoted))
            }
            _ => Err(self.mistyped(what, "a text", "")),
        }
    }

    pub(crate) fn flag(&self, what: &str) -> Result<bool, FileFault> {
        match &self.content {
            NodeContent::Bool(flag) => Ok(*flag),
            _ => Err(self.mistyped(what, "true or false", "")),
        }
    }

    pub(crate) fn list(&self, what: &str) -> Result<&[Node], FileFault> {
        match &self.content {
            NodeContent::List(items) => Ok(items),
            _ => Err(self.mistyped(what, "a list", "; write `[…]`, or lines with `-`")),
        }
    }

    pub(crate) fn map(&self, what: &str) -> Result<&[(NodeKey, Node)], FileFault> {
        match &self.content {
            NodeContent::Map(entries) => Ok(entries),
            _ => Err(self.mistyped(what, "a map", "; write `key: value`")),
        }
    }

    /// It is no such thing; `hint` follows in the sentence.
    fn mistyped(&self, what: &str, wanted: &str, hint: &str) -> FileFault {
        FileFault::new(self.mark, format!("{what} must be {wanted}, and this is {}{hint}", self.kind()))
    }
}
