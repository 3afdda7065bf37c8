//! A file as a tree of values that know their places: YAML 1.2 without its surprises, or JSON.

mod fields;
mod json;
mod yaml;

pub(crate) use fields::Fields;

use crate::problem::{Fault, Mark};
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
    pub(crate) mark: Mark,
    /// Where its text is written line by line: the line of the first that is not empty.
    pub(crate) first_line: Option<u32>,
    pub(crate) content: Content,
}

/// What a value is.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    /// No key twice.
    Map(Vec<(Key, Node)>),
}

/// The key of an entry and where it is.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) mark: Mark,
}

impl Node {
    /// The tree of a text; `file` is the number that marks carry.
    pub(crate) fn parse(name: &str, text: &str, file: u16) -> Result<Self, Fault> {
        let start = Mark { file, line: 1, column: 1 };
        if text.len() > FILE_BYTES_MAX {
            let message = "the file is too large; a workflow has at most 256 KiB";
            return Err(Fault::new(start, message));
        }
        if name.ends_with(".json") { json::parse(text, file) } else { yaml::parse(text, file) }
    }

    /// The value without places.
    pub(crate) fn to_value(&self) -> Value {
        match &self.content {
            Content::Null => Value::Null,
            Content::Bool(flag) => Value::Bool(*flag),
            Content::Number(number) => Value::Number(number.clone()),
            Content::Text(text) => Value::String(text.clone()),
            Content::List(items) => Value::Array(items.iter().map(Self::to_value).collect()),
            Content::Map(entries) => {
                let entry = |(key, node): &(Key, Node)| (key.name.clone(), node.to_value());
                Value::Object(entries.iter().map(entry).collect::<Map<_, _>>())
            }
        }
    }

    /// The place of a byte of its text, as far as that is known.
    pub(crate) fn line_of(&self, text: &str, at: usize) -> Mark {
        let above = text.len() - text.trim_start_matches('\n').len();
        let before = text.get(above..at).unwrap_or_default().matches('\n').count();
        match self.first_line {
            Some(first) => Mark { line: first + u32::try_from(before).unwrap_or_default(), ..self.mark },
            None => self.mark,
        }
    }

    /// What it is, in a message.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.content {
            Content::Null => "nothing",
            Content::Bool(_) => "true or false",
            Content::Number(_) => "a number",
            Content::Text(_) => "a text",
            Content::List(_) => "a list",
            Content::Map(_) => "a map",
        }
    }
}

/// Counts values and levels while a tree grows.
#[derive(Default)]
struct Bounds {
    nodes: usize,
}

impl Bounds {
    fn count(&mut self, mark: Mark, depth: usize) -> Result<(), Fault> {
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            return Err(Fault::new(mark, format!("the file has more than {NODES_MAX} values; write fewer")));
        }
        if depth > NODE_DEPTH_MAX {
            let said = format!("lists and maps nest deeper than {NODE_DEPTH_MAX}; write them flatter");
            return Err(Fault::new(mark, said));
        }
        Ok(())
    }
}
