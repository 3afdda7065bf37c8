//! A file as a tree of values that know their places: YAML 1.2 without its surprises, or JSON.

mod fields;
mod json;
mod yaml;

pub(crate) use fields::NodeFields;

use crate::problem::{FileFault, FileMark};
use serde_json::{Map, Number, Value};

/// Bytes of one file.
pub const FILE_BYTES_MAX: usize = 256 << 10;
/// Lists and maps within each other.
pub const NODE_DEPTH_MAX: usize = 32;
/// Values in one file.
pub const NODES_MAX: usize = 20_000;

/// A value and where it is.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) mark: FileMark,
    /// Where its text is written line by line: the line of the first that is not empty.
    pub(crate) first_line: Option<u32>,
    pub(crate) content: NodeContent,
}

/// What a value is.
#[derive(Clone, Debug)]
pub(crate) enum NodeContent {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    /// No key twice.
    Map(Vec<(NodeKey, Node)>),
}

/// The key of an entry and where it is.
#[derive(Clone, Debug)]
pub(crate) struct NodeKey {
    pub(crate) name: String,
    pub(crate) mark: FileMark,
}

impl Node {
    /// The tree of a text; `file` is the number that marks carry.
    pub(crate) fn parse(name: &str, text: &str, file: u16) -> Result<Self, FileFault> {
        let start = FileMark::new(file, 1, 1);
        if text.len() > FILE_BYTES_MAX {
            let message = "the file is too large; a workflow has at most 256 KiB";
            return Err(FileFault::new(start, message));
        }
        if name.ends_with(".json") { json::parse(text, file) } else { yaml::parse(text, file) }
    }

    /// The value without places.
    pub(crate) fn to_value(&self) -> Value {
        match &self.content {
            NodeContent::Null => Value::Null,
            NodeContent::Bool(flag) => Value::Bool(*flag),
            NodeContent::Number(number) => Value::Number(number.clone()),
            NodeContent::Text(text) => Value::String(text.clone()),
            NodeContent::List(items) => Value::Array(items.iter().map(Self::to_value).collect()),
            NodeContent::Map(entries) => {
                let entry = |(key, node): &(NodeKey, Node)| (key.name.clone(), node.to_value());
                Value::Object(entries.iter().map(entry).collect::<Map<_, _>>())
            }
        }
    }

    /// The place of a byte of its text, as far as that is known.
    pub(crate) fn line_of(&self, text: &str, at: usize) -> FileMark {
        let above = text.len() - text.trim_start_matches('\n').len();
        let before = text.get(above..at).unwrap_or_default().matches('\n').count();
        match self.first_line {
            Some(first) => FileMark { line: first + u32::try_from(before).unwrap_or_default(), ..self.mark },
            None => self.mark,
        }
    }

    /// What it is, in a message.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.content {
            NodeContent::Null => "nothing",
            NodeContent::Bool(_) => "true or false",
            NodeContent::Number(_) => "a number",
            NodeContent::Text(_) => "a text",
            NodeContent::List(_) => "a list",
            NodeContent::Map(_) => "a map",
        }
    }
}

/// Counts one more value of a tree that grows, and refuses one that is too many, or too deep.
fn count_node(nodes: &mut usize, mark: FileMark, depth: usize) -> Result<(), FileFault> {
    *nodes += 1;
    if *nodes > NODES_MAX {
        let said = format!("the file has more than {NODES_MAX} values; write fewer");
        return Err(FileFault::new(mark, said));
    }
    if depth > NODE_DEPTH_MAX {
        let said = format!("lists and maps nest deeper than {NODE_DEPTH_MAX}; write them flatter");
        return Err(FileFault::new(mark, said));
    }
    Ok(())
}
