//! JSON with places: read strictly as everywhere in the gateway, then once more for where each
//! value is.

use super::{Node, NodeContent, NodeKey, count_node};
use crate::problem::{FileFault, FileMark};
use cofferdam_core::json::parse_strict;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The tree of a text.
pub(super) fn parse(text: &str, file: u16) -> Result<Node, FileFault> {
    parse_strict(text).map_err(|error| {
        let mark = FileMark::new(file, error.line(), error.column());
        let said = error.to_string();
        let said = said.split(" at line ").next().unwrap_or(&said);
        FileFault::new(mark, format!("this is no JSON: {said}"))
    })?;
    let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let mut reader = JsonReader { text, lines, file, nodes: 0 };
    let root: &RawValue = serde_json::from_str(text).map_err(|_| reader.reread_fault(0))?;
    reader.node(root, 1)
}

struct JsonReader<'a> {
    text: &'a str,
    /// Where each line begins.
    lines: Vec<usize>,
    file: u16,
    /// Values so far.
    nodes: usize,
}

impl<'a> JsonReader<'a> {
    fn mark(&self, at: usize) -> FileMark {
        let line = self.lines.partition_point(|start| *start <= at).max(1);
        let column = self.text.get(self.lines[line - 1]..at).map_or(0, |before| before.chars().count());
        FileMark::new(self.file, line, column + 1)
    }

    /// Of what was read once and is not read a second time, which no JSON does.
    fn reread_fault(&self, at: usize) -> FileFault {
        FileFault::new(self.mark(at), "this is no JSON")
    }

    /// Each value is a slice of the text, so its place is where the slice begins.
    fn node(&mut self, raw: &'a RawValue, depth: usize) -> Result<Node, FileFault> {
        let slice = raw.get();
        let at = (slice.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        let mark = self.mark(at);
        count_node(&mut self.nodes, mark, depth)?;
        let content = match slice.as_bytes().first() {
            Some(b'{') => {
                let raw: BTreeMap<String, &RawValue> =
                    serde_json::from_str(slice).map_err(|_| self.reread_fault(at))?;
                // No key is there twice. As they stand in the text:
                let mut raw: Vec<_> = raw.into_iter().collect();
                raw.sort_by_key(|(_, value)| value.get().as_ptr());
                let mut entries = Vec::with_capacity(raw.len());
                for (name, value) in raw {
                    let node = self.node(value, depth + 1)?;
                    entries.push((NodeKey { name, mark: node.mark }, node));
                }
                NodeContent::Map(entries)
            }
            Some(b'[') => {
                let items: Vec<&RawValue> = serde_json::from_str(slice).map_err(|_| self.reread_fault(at))?;
                let nodes: Result<_, _> = items.into_iter().map(|item| self.node(item, depth + 1)).collect();
                NodeContent::List(nodes?)
            }
            _ => match serde_json::from_str(slice).map_err(|_| self.reread_fault(at))? {
                Value::Bool(flag) => NodeContent::Bool(flag),
                Value::Number(number) => NodeContent::Number(number),
                Value::String(text) => NodeContent::Text(text),
                Value::Null | Value::Array(_) | Value::Object(_) => NodeContent::Null,
            },
        };
        Ok(Node { mark, first_line: None, content })
    }
}
