//! A compiled schema: a flat list of nodes that name each other by index, so nothing here nests.

use super::number::Num;
use super::pattern::Pattern;
use crate::json::Whole;
use serde_json::Value;
use std::collections::HashMap;

/// The place of a node in the list.
pub(super) type NodeId = usize;

/// One schema.
#[derive(Clone, Debug)]
pub(super) enum SchemaNode {
    /// `true`, or one that says nothing.
    Anything,
    /// `false`.
    Nothing,
    /// What it says.
    Rules(Box<ValueRules>),
}

/// What a schema says of a value.
#[derive(Clone, Debug, Default)]
pub(super) struct ValueRules {
    pub(super) types: Types,
    /// A short value that it takes, as JSON.
    pub(super) example: Option<Value>,
    /// `enum` and `const`: the value is one of each list.
    pub(super) choices: Vec<Vec<Value>>,
    pub(super) number: NumberRules,
    pub(super) text: TextRules,
    pub(super) list: Option<Box<ListRules>>,
    pub(super) object: Option<Box<ObjectRules>>,
    /// Other schemas for the same value.
    pub(super) parts: Option<Box<ListItems>>,
    /// Nothing but types and examples.
    pub(super) plain: bool,
}

/// The types that a value may have: all of them where none is named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Types(u8);

/// A type, in the order in which messages name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Text,
    Integer,
    Number,
    Boolean,
    List,
    Object,
    Null,
}

#[derive(Clone, Debug, Default)]
pub(super) struct NumberRules {
    pub(super) minimum: Option<Num>,
    pub(super) above: Option<Num>,
    pub(super) maximum: Option<Num>,
    pub(super) below: Option<Num>,
    pub(super) multiple_of: Option<serde_json::Number>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct TextRules {
    /// In characters.
    pub(super) min: Option<u64>,
    /// In characters.
    pub(super) max: Option<u64>,
    pub(super) pattern: Option<Pattern>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct ListRules {
    /// The first items, one schema each.
    pub(super) prefix: Vec<NodeId>,
    /// All further items.
    pub(super) rest: Option<NodeId>,
    pub(super) min: Option<u64>,
    pub(super) max: Option<u64>,
    pub(super) unique: bool,
    pub(super) contains: Option<NodeId>,
    pub(super) contains_min: Option<u64>,
    pub(super) contains_max: Option<u64>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct ObjectRules {
    pub(super) properties: HashMap<String, NodeId>,
    /// Their names in the order of the document, for messages.
    pub(super) named: Vec<String>,
    pub(super) required: Vec<String>,
    pub(super) patterns: Vec<(Pattern, NodeId)>,
    /// What neither names nor patterns cover.
    pub(super) additional: Option<NodeId>,
    pub(super) names: Option<NodeId>,
    pub(super) min: Option<u64>,
    pub(super) max: Option<u64>,
    /// What must be there where the first is.
    pub(super) dependent: Vec<(String, Vec<String>)>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct ListItems {
    pub(super) reference: Option<NodeId>,
    pub(super) all: Vec<NodeId>,
    pub(super) any: Vec<NodeId>,
    pub(super) one: Vec<NodeId>,
    pub(super) not: Option<NodeId>,
    pub(super) test: Option<NodeId>,
    pub(super) then: Option<NodeId>,
    pub(super) otherwise: Option<NodeId>,
}

impl SchemaNode {
    /// What it says, where that is neither everything nor nothing.
    pub(super) fn rules(&self) -> Option<&ValueRules> {
        match self {
            Self::Rules(rules) => Some(rules),
            Self::Anything | Self::Nothing => None,
        }
    }

    /// Other schemas for the same value.
    pub(super) fn parts(&self) -> Option<&ListItems> {
        self.rules()?.parts.as_deref()
    }
}

impl ListItems {
    /// Every schema that looks at the same value.
    pub(super) fn ids(&self) -> impl Iterator<Item = NodeId> + '_ {
        let single = [self.reference, self.not, self.test, self.then, self.otherwise];
        let lists = [&self.all, &self.any, &self.one];
        single.into_iter().flatten().chain(lists.into_iter().flatten().copied())
    }
}

impl Type {
    /// Each with its name in a schema, and in messages.
    const ALL: [(Self, &str, &str); 7] = [
        (Self::Text, "string", "text"),
        (Self::Integer, "integer", "a whole number"),
        (Self::Number, "number", "a number"),
        (Self::Boolean, "boolean", "true or false"),
        (Self::List, "array", "a list"),
        (Self::Object, "object", "an object"),
        (Self::Null, "null", "null"),
    ];

    /// The type of this name in a schema.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known, _)| *known == name).map(|(one, ..)| *one)
    }

    /// Its name in messages.
    pub(super) fn phrase(self) -> &'static str {
        Self::ALL[self as usize].2
    }
}

impl Types {
    pub(super) fn add(&mut self, one: Type) {
        self.0 |= 1 << one as u8;
    }

    pub(super) fn has(self, one: Type) -> bool {
        self.0 & (1 << one as u8) != 0
    }

    /// Whether a value's type is one of them.
    pub(super) fn admit(self, value: &Value) -> bool {
        if self.0 == 0 {
            return true;
        }
        match value {
            Value::Null => self.has(Type::Null),
            Value::Bool(_) => self.has(Type::Boolean),
            Value::String(_) => self.has(Type::Text),
            Value::Array(_) => self.has(Type::List),
            Value::Object(_) => self.has(Type::Object),
            Value::Number(number) => {
                let is_whole = || matches!(Whole::from_number(number), Whole::Exact(_));
                self.has(Type::Number) || (self.has(Type::Integer) && is_whole())
            }
        }
    }

    /// Whether a whole number is refused for nothing but that it may have been rounded: the tool
    /// would get another one than was written.
    pub(super) fn refuse_rounded(self, value: &Value) -> bool {
        let wants_whole = self.has(Type::Integer) && !self.has(Type::Number);
        matches!(value, Value::Number(number) if wants_whole && Whole::from_number(number) == Whole::Rounded)
    }

    /// Those that are named.
    pub(super) fn iter(self) -> impl Iterator<Item = Type> {
        Type::ALL.into_iter().map(|(one, ..)| one).filter(move |one| self.has(*one))
    }
}

impl NumberRules {
    pub(super) fn is_empty(&self) -> bool {
        let Self { minimum, above, maximum, below, multiple_of } = self;
        [minimum, above, maximum, below].iter().all(|bound| bound.is_none()) && multiple_of.is_none()
    }
}

impl TextRules {
    pub(super) fn is_empty(&self) -> bool {
        self.min.is_none() && self.max.is_none() && self.pattern.is_none()
    }
}

impl ListRules {
    pub(super) fn is_used(&self) -> bool {
        let ids = [self.rest, self.contains].iter().any(|id| id.is_some());
        ids || !self.prefix.is_empty() || self.min.is_some() || self.max.is_some() || self.unique
    }
}

impl ObjectRules {
    pub(super) fn is_used(&self) -> bool {
        let ids = [self.additional, self.names].iter().any(|id| id.is_some());
        let counts = self.min.is_some() || self.max.is_some();
        let names = !self.required.is_empty() || !self.dependent.is_empty();
        ids || counts || names || !self.properties.is_empty() || !self.patterns.is_empty()
    }
}
