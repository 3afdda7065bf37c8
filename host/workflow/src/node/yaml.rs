//! YAML 1.2 as far as a workflow has it: no anchors, aliases, tags, merge keys or second document,
//! and of booleans only `true` and `false`. Refuses what two readers would read differently.

use super::{Node, NodeContent, NodeKey, count_node};
use crate::problem::{FileFault, FileMark, quote};
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span, StrInput};
use serde_json::Number;
use std::collections::HashMap;

/// The tree of a text.
pub(super) fn parse(text: &str, file: u16) -> Result<Node, FileFault> {
    let start = FileMark::new(file, 1, 1);
    if let Some(other) = text.chars().find(|c| is_unprintable(*c)) {
        let said =
            format!("the file holds the character U+{:04X}, which YAML does not take", u32::from(other));
        return Err(FileFault::new(start, said));
    }
    let mut reader = YamlReader { parser: Parser::new_from_str(text), file, nodes: 0 };
    let mut root = None;
    loop {
        let (event, span) = reader.next()?;
        match event {
            Event::StreamStart | Event::Nothing | Event::DocumentEnd => {}
            Event::StreamEnd => break,
            Event::DocumentStart(_) if root.is_some() => {
                let said = "a second document begins here; write one workflow a file";
                return Err(FileFault::new(reader.mark(&span.start), said));
            }
            Event::DocumentStart(_) => {
                let (event, span) = reader.next()?;
                root = Some(reader.node(event, span, 1)?);
            }
            _ => return Err(FileFault::new(reader.mark(&span.start), "this is outside of any document")),
        }
    }
    root.ok_or_else(|| FileFault::new(start, "the file is empty; write `workflow: ID` and `tasks:`"))
}

/// Not in the set of printable characters of YAML 1.2, section 5.1.
fn is_unprintable(c: char) -> bool {
    c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{85}')
}

struct YamlReader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    file: u16,
    /// Values so far.
    nodes: usize,
}

impl<'a> YamlReader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), FileFault> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => {
                Err(FileFault::new(self.mark(error.marker()), format!("this is no YAML: {}", error.info())))
            }
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn mark(&self, marker: &Marker) -> FileMark {
        FileMark::new(self.file, marker.line(), marker.col() + 1)
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Node, FileFault> {
        let mark = self.mark(&span.start);
        count_node(&mut self.nodes, mark, depth)?;
        let (anchor, tag) = match &event {
            Event::Scalar(_, _, anchor, tag)
            | Event::SequenceStart(anchor, tag)
            | Event::MappingStart(anchor, tag) => (*anchor, tag.as_ref()),
            Event::Alias(_) => {
                return Err(FileFault::new(mark, "an alias (`*name`) is not taken; write the value itself"));
            }
            _ => return Err(FileFault::new(mark, "a value is missing here")),
        };
        if anchor != 0 {
            return Err(FileFault::new(
                mark,
                "an anchor (`&name`) is not taken; write each value where it is used",
            ));
        }
        if let Some(tag) = tag {
            let said = format!(
                "the tag {} is not taken; write plain YAML, and texts in quotes",
                quote(&format!("{}{}", tag.handle, tag.suffix))
            );
            return Err(FileFault::new(mark, said));
        }
        let is_literal = matches!(&event, Event::Scalar(_, ScalarStyle::Literal, ..));
        let content = match event {
            Event::Scalar(text, ScalarStyle::Plain, ..) => plain_scalar(&text, mark)?,
            Event::Scalar(text, ..) => NodeContent::Text(text.into_owned()),
            Event::SequenceStart(..) => NodeContent::List(self.list(depth)?),
            _ => NodeContent::Map(self.map(depth)?),
        };
        let first_line = is_literal.then_some(mark.line);
        Ok(Node { mark, first_line, content })
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Node>, FileFault> {
        let mut items = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::SequenceEnd | Event::StreamEnd) {
                return Ok(items);
            }
            items.push(self.node(event, span, depth + 1)?);
        }
    }

    fn map(&mut self, depth: usize) -> Result<Vec<(NodeKey, Node)>, FileFault> {
        // The line of each name, of which none comes twice.
        let (mut entries, mut lines) = (Vec::new(), HashMap::new());
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::MappingEnd | Event::StreamEnd) {
                return Ok(entries);
            }
            let is_merge = matches!(&event, Event::Scalar(text, ScalarStyle::Plain, ..) if text == "<<");
            let key = self.node(event, span, depth + 1)?;
            let NodeContent::Text(name) = key.content else {
                let said = format!("a key must be a text, and this is {}; write it in quotes", key.kind());
                return Err(FileFault::new(key.mark, said));
            };
            if is_merge {
                let said = "a merge key (`<<`) is not taken; write each entry where it is used";
                return Err(FileFault::new(key.mark, said));
            }
            let (event, span) = self.next()?;
            let node = self.node(event, span, depth + 1)?;
            if let Some(first) = lines.insert(name.clone(), key.mark.line) {
                let said = format!(
                    "the key {} is here twice, first in line {first}; write each key once",
                    quote(&name)
                );
                return Err(FileFault::new(key.mark, said));
            }
            entries.push((NodeKey { name, mark: key.mark }, node));
        }
    }
}

/// A scalar without quotes, by the core schema of YAML 1.2 with fewer spellings.
fn plain_scalar(text: &str, mark: FileMark) -> Result<NodeContent, FileFault> {
    Ok(match text {
        "" | "~" | "null" => NodeContent::Null,
        "true" => NodeContent::Bool(true),
        "false" => NodeContent::Bool(false),
        _ if is_integer(text) || is_float(text) => NodeContent::Number(number(text, mark)?),
        _ if is_endless(text) => {
            let said = format!("{} has no equal in JSON; write a number, or a text in quotes", quote(text));
            return Err(FileFault::new(mark, said));
        }
        _ => NodeContent::Text(text.to_owned()),
    })
}

fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let all = |digits: &str, is: fn(&u8) -> bool| !digits.is_empty() && digits.bytes().all(|b| is(&b));
    all(digits, u8::is_ascii_digit)
        || text.strip_prefix("0x").is_some_and(|digits| all(digits, u8::is_ascii_hexdigit))
        || text.strip_prefix("0o").is_some_and(|digits| all(digits, |b| (b'0'..=b'7').contains(b)))
}

/// `[-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?`
fn is_float(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_mantissa = digits(whole) && digits(fraction) && (!whole.is_empty() || !fraction.is_empty());
    let is_exponent = |text: &str| {
        let text = text.strip_prefix(['-', '+']).unwrap_or(text);
        !text.is_empty() && digits(text)
    };
    is_mantissa && exponent.is_none_or(is_exponent)
}

fn is_endless(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN")
}

fn number(text: &str, mark: FileMark) -> Result<Number, FileFault> {
    let based = |digits: &str, base| u64::from_str_radix(digits, base).ok().map(Number::from);
    let found = if let Some(digits) = text.strip_prefix("0x") {
        based(digits, 16)
    } else if let Some(digits) = text.strip_prefix("0o") {
        based(digits, 8)
    } else if is_integer(text) {
        let digits = text.strip_prefix('+').unwrap_or(text);
        digits.parse::<u64>().map(Number::from).or_else(|_| digits.parse::<i64>().map(Number::from)).ok()
    } else {
        text.parse::<f64>().ok().and_then(Number::from_f64)
    };
    found.ok_or_else(|| {
        let said = format!("{} is too large for a number; write it as a text, in quotes", quote(text));
        FileFault::new(mark, said)
    })
}
