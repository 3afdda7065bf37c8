//! What schemas ask for, in words for people. All of it is the schema's; nothing is the value's.

use super::check::Check;
use super::finding::ANY_TEXT;
use super::node::{NodeId, NumberRules, Type, ValueRules};
use super::number::Num;
use crate::text::one_line;
use serde_json::Value;

/// Values or names that one message lists.
const LISTED_MAX: usize = 12;
/// Longest of them, in bytes.
const WORD_BYTES_MAX: usize = 60;
/// References followed for one message.
const FOLLOWED_MAX: usize = 8;

/// A word of the schema, bounded.
pub(super) fn short(text: &str) -> String {
    one_line(text, WORD_BYTES_MAX)
}

/// `must be "a" or "b"`.
pub(super) fn describe_choice(choice: &[Value]) -> String {
    format!("must be {}", join_or(choice.iter().map(|one| short(&one.to_string()))))
}

/// `is unknown; write path`, or all the names there are.
pub(super) fn unknown(name: &str, known: &[String]) -> String {
    let bare = |name: &str| -> String {
        name.chars().take(100).filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let given = bare(name);
    match known.iter().find(|known| bare(known) == given) {
        Some(meant) => format!("is unknown; write {}", short(meant)),
        None if known.is_empty() => "is unknown; leave it out".into(),
        None => format!("is unknown; there is {}", bounded(known.iter().map(|name| short(name))).join(", ")),
    }
}

/// `items`.
pub(super) fn plural(what: &str) -> String {
    if what == "property" { "properties".into() } else { format!("{what}s") }
}

/// `it must have 1 to 5 items`.
pub(super) fn counts(min: Option<u64>, max: Option<u64>, what: &str) -> String {
    let many = |n: u64| if n == 1 { what.to_owned() } else { plural(what) };
    match (min, max) {
        (Some(min), Some(max)) if min == max => format!("it must have {min} {}", many(min)),
        (Some(min), Some(max)) => format!("it must have {min} to {max} {}", many(max)),
        (Some(min), None) => format!("it must have at least {min} {}", many(min)),
        (None, Some(max)) => format!("it must have at most {max} {}", many(max)),
        (None, None) => format!("it may have any number of {}", many(2)),
    }
}

/// `a, b or c`, bounded.
fn join_or(words: impl Iterator<Item = String>) -> String {
    match bounded(words).split_last() {
        None => "nothing at all".into(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
    }
}

/// As many as one message lists.
fn bounded(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut words: Vec<String> = words.take(LISTED_MAX + 1).collect();
    if words.len() > LISTED_MAX {
        words[LISTED_MAX] = "…".into();
    }
    words
}

impl ValueRules {
    /// What a value of another type must be.
    pub(super) fn must_be_instead(&self, value: &Value) -> String {
        if self.types.refuse_rounded(value) {
            return "must be a whole number of at most 64 bits, written in digits alone".into();
        }
        self.must_be()
    }

    /// `must be a whole number, like 0`.
    pub(super) fn must_be(&self) -> String {
        let types: Vec<Type> = self.types.iter().collect();
        let phrase = join_or(types.iter().map(|one| one.phrase().to_owned()));
        let like = match types.as_slice() {
            [Type::Integer | Type::Number] => self.number_example().map(|example| example.to_string()),
            [Type::List] => Some("[…]".into()),
            [Type::Object] => Some("{…}".into()),
            _ => None,
        };
        format!("must be {phrase}{}", like.map_or_else(String::new, |like| format!(", like {like}")))
    }

    /// A number that fits, where one is easily found.
    fn number_example(&self) -> Option<Value> {
        if let Some(example @ Value::Number(_)) = &self.example {
            return Some(example.clone());
        }
        let NumberRules { minimum, above, maximum, below, multiple_of } = &self.number;
        if multiple_of.is_some() {
            return None;
        }
        let whole = |num: &Option<Num>, more: i128| match num {
            Some(Num::Whole(n)) => Some(n + more),
            _ => None,
        };
        let least = whole(minimum, 0).max(whole(above, 1));
        let most = [whole(maximum, 0), whole(below, -1)].into_iter().flatten().min();
        let example = 0.max(least.unwrap_or(0)).min(most.unwrap_or(i128::MAX));
        i64::try_from(example).ok().map(Value::from)
    }
}

impl NumberRules {
    /// `must be 1 to 5`.
    pub(super) fn within(&self) -> String {
        let shown = |num: Num| match num {
            Num::Whole(n) => n.to_string(),
            Num::Float(float) => float.to_string(),
        };
        if let (Some(minimum), Some(maximum), None, None) =
            (self.minimum, self.maximum, self.above, self.below)
        {
            return format!("must be {} to {}", shown(minimum), shown(maximum));
        }
        let bounds = [
            self.minimum.map(|num| format!("{} or more", shown(num))),
            self.above.map(|num| format!("more than {}", shown(num))),
            self.maximum.map(|num| format!("{} or less", shown(num))),
            self.below.map(|num| format!("less than {}", shown(num))),
        ];
        format!("must be {}", bounds.into_iter().flatten().collect::<Vec<_>>().join(" and "))
    }
}

impl Check<'_> {
    /// Where a node's reference leads, if that is all it says.
    pub(super) fn follow_reference(&self, mut id: NodeId) -> NodeId {
        for _ in 0..FOLLOWED_MAX {
            let Some(parts) = self.nodes[id].parts() else { break };
            match (parts.reference, parts.all.as_slice()) {
                (Some(target), []) => id = target,
                (None, [only]) => id = *only,
                _ => break,
            }
        }
        id
    }

    /// What a node takes, like `a whole number`, where it is easily said.
    pub(super) fn phrase(&self, id: NodeId) -> Option<String> {
        let rules = self.nodes[self.follow_reference(id)].rules()?;
        if let [choice, ..] = rules.choices.as_slice() {
            return Some(join_or(choice.iter().map(|one| short(&one.to_string()))));
        }
        let types: Vec<_> = rules.types.iter().map(|one| one.phrase().to_owned()).collect();
        (!types.is_empty()).then(|| join_or(types.into_iter()))
    }

    /// `must be …`, as far as it is easily said.
    pub(super) fn must_be(&self, id: NodeId) -> Option<String> {
        let rules = self.nodes[self.follow_reference(id)].rules()?;
        if let Some(pattern) = &rules.text.pattern {
            return Some(format!("must match the pattern {}", short(&pattern.text)));
        }
        self.phrase(id).map(|phrase| format!("must be {phrase}"))
    }

    /// `must be text or null`, where each of these forms is easily said.
    pub(super) fn any_of(&self, ids: &[NodeId]) -> Option<String> {
        if ids.len() > 4 * LISTED_MAX {
            return None;
        }
        let mut phrases: Vec<String> = Vec::new();
        for id in ids {
            let phrase = self.phrase(*id)?;
            if !phrases.contains(&phrase) {
                phrases.push(phrase);
            }
        }
        Some(format!("must be {}", join_or(phrases.into_iter())))
    }

    /// What stands for a value of this node in an example.
    pub(super) fn example(&self, id: NodeId) -> Option<String> {
        let rules = self.nodes[self.follow_reference(id)].rules()?;
        let bare = |value: &Value| match value {
            Value::String(text) => short(text),
            other => short(&other.to_string()),
        };
        if let Some(example) = &rules.example {
            return Some(bare(example));
        }
        if let Some(first) = rules.choices.first().and_then(|choice| choice.first()) {
            return Some(bare(first));
        }
        Some(match rules.types.iter().next()? {
            Type::Text => ANY_TEXT.into(),
            Type::Integer | Type::Number => rules.number_example()?.to_string(),
            Type::Boolean => "true".into(),
            Type::List => "[…]".into(),
            Type::Object => "{…}".into(),
            Type::Null => "null".into(),
        })
    }
}
