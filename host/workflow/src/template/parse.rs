//! Text to template. One pass, no backtracking.

use super::filter::TemplateFilter;
use super::path::{PathStep, ValuePath, ValueRoot, is_name};
use super::{Expression, Piece, Template, TemplateError};
use crate::problem::{list_names, quote};
use serde_json::{Map, Value};

const OPEN: &str = "{{";
const CLOSE: &str = "}}";

impl Template {
    /// The template that a text of a file is.
    ///
    /// # Errors
    /// [`TemplateError`].
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut cursor = TemplateCursor { text, at: 0 };
        let mut pieces = Vec::new();
        let mut plain = 0;
        while let Some(brace) = text[cursor.at..].find('{').map(|found| cursor.at + found) {
            cursor.at = brace + 1;
            match text.as_bytes().get(brace + 1) {
                Some(b'%') => {
                    cursor.at = brace;
                    let said = "there are no statements (`{%`) in a workflow; write a path, such as {{ input.name }}";
                    return Err(cursor.refuse(said));
                }
                Some(b'{') => {
                    if plain < brace {
                        pieces.push(Piece::Text(text[plain..brace].to_owned()));
                    }
                    cursor.at = brace + OPEN.len();
                    let mut expression = cursor.expression()?;
                    expression.source = text[brace..cursor.at].to_owned();
                    pieces.push(Piece::Expression(expression));
                    plain = cursor.at;
                }
                _ => {}
            }
        }
        if plain < text.len() {
            pieces.push(Piece::Text(text[plain..].to_owned()));
        }
        Ok(Self { pieces })
    }
}

struct TemplateCursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> TemplateCursor<'a> {
    fn refuse(&self, problem: impl Into<String>) -> TemplateError {
        TemplateError { at: self.at, problem: problem.into() }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Whether the text goes on with this, which is then behind.
    fn takes(&mut self, expected: &str) -> bool {
        let found = self.rest().starts_with(expected);
        if found {
            self.at += expected.len();
        }
        found
    }

    /// Letters, digits, `_` and `-`.
    fn word(&mut self) -> &'a str {
        let rest = self.rest();
        let part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
        let end = rest.bytes().position(|b| !part(b)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// After `{{`, up to and with `}}`.
    fn expression(&mut self) -> Result<Expression, TemplateError> {
        self.skip_blanks();
        let path = self.path()?;
        let mut filters = Vec::new();
        loop {
            self.skip_blanks();
            if self.takes(CLOSE) {
                return Ok(Expression { path, filters, source: String::new() });
            }
            if !self.takes("|") {
                return Err(self.unexpected());
            }
            self.skip_blanks();
            filters.push(self.filter()?);
        }
    }

    fn unexpected(&self) -> TemplateError {
        match self.rest().chars().next() {
            None => self.refuse("`{{` has no `}}`; write e.g. {{ input.name }}"),
            Some('(') => self.refuse("there are no functions; write a path, and filters after `|`"),
            Some('+' | '-' | '*' | '/' | '%' | '=' | '<' | '>' | '!' | '~') => {
                self.refuse("there is no arithmetic and no comparison; write a path, and filters after `|`")
            }
            Some(_) => {
                let found = self.rest().split_whitespace().next().unwrap_or_default();
                let said = format!(
                    "{} does not belong there; after a path come `|` and a filter, or `}}}}`",
                    quote(found)
                );
                self.refuse(said)
            }
        }
    }

    fn path(&mut self) -> Result<ValuePath, TemplateError> {
        let start = self.at;
        self.takes(".");
        let name = self.word();
        let Some((_, root)) = ValueRoot::ALL.iter().find(|(known, _)| *known == name) else {
            let roots = list_names(&ValueRoot::ALL.map(|(name, _)| name));
            let problem = match name {
                "" => format!("a path begins with one of {roots}"),
                _ => format!("{} is nothing that a path begins with; there is {roots}", quote(name)),
            };
            return Err(TemplateError { at: start, problem });
        };
        let mut steps = Vec::new();
        loop {
            if self.takes(".") {
                let at = self.at;
                let name = self.word();
                if !is_name(name) {
                    let said = "after a dot comes a name of letters, digits, `_` and `-`; write others as [\"any key\"] or [0]";
                    return Err(TemplateError { at, problem: said.into() });
                }
                steps.push(PathStep::Key(name.to_owned()));
            } else if self.takes("[") {
                steps.push(self.bracket()?);
            } else {
                break;
            }
        }
        if steps.is_empty() {
            let said = format!("a path needs a name after {name}; write e.g. {{{{ {name}.… }}}}");
            return Err(TemplateError { at: start, problem: said });
        }
        Ok(ValuePath { root: *root, steps })
    }

    /// After `[`, up to and with `]`.
    fn bracket(&mut self) -> Result<PathStep, TemplateError> {
        self.skip_blanks();
        let step = match self.rest().chars().next() {
            Some('"' | '\'') => PathStep::Key(self.string()?),
            _ => {
                let at = self.at;
                let index = self.word().parse().map_err(|_| TemplateError {
                    at,
                    problem: "between [ and ] comes a key in quotes or a number from 0".into(),
                })?;
                PathStep::Index(index)
            }
        };
        self.skip_blanks();
        if self.takes("]") { Ok(step) } else { Err(self.refuse("`[` has no `]`")) }
    }

    fn filter(&mut self) -> Result<TemplateFilter, TemplateError> {
        let at = self.at;
        let name = self.word();
        let mut arguments = Vec::new();
        if self.takes("(") {
            loop {
                self.skip_blanks();
                if self.takes(")") {
                    break;
                }
                if !arguments.is_empty() && !self.takes(",") {
                    return Err(self.refuse("between arguments comes a comma, after the last one `)`"));
                }
                self.skip_blanks();
                arguments.push(self.literal()?);
            }
        }
        TemplateFilter::of(name, arguments).map_err(|problem| TemplateError { at, problem })
    }

    /// A text in quotes, a number, `true`, `false`, `null`, `[]` or `{}`.
    fn literal(&mut self) -> Result<Value, TemplateError> {
        if self.rest().starts_with(['"', '\'']) {
            return self.string().map(Value::String);
        }
        if self.takes("[]") {
            return Ok(Value::Array(Vec::new()));
        }
        if self.takes("{}") {
            return Ok(Value::Object(Map::new()));
        }
        let rest = self.rest();
        let end = rest.find([',', ')', '}', '|', ' ', '\n', '\t']).unwrap_or(rest.len());
        let word = &rest[..end];
        match serde_json::from_str::<Value>(word) {
            Ok(value) if !value.is_string() && !value.is_array() && !value.is_object() => {
                self.at += end;
                Ok(value)
            }
            _ => Err(self.refuse(format!(
                "{} is no argument; write a text in quotes, a number, true, false or null",
                quote(word)
            ))),
        }
    }

    /// A text in quotes of either kind, with the escapes of JSON for quotes, backslashes and line
    /// ends.
    fn string(&mut self) -> Result<String, TemplateError> {
        let at = self.at;
        let mut chars = self.rest().char_indices();
        let quote = chars.next().map(|(_, c)| c);
        let mut text = String::new();
        while let Some((offset, c)) = chars.next() {
            match c {
                c if Some(c) == quote => {
                    self.at += offset + 1;
                    return Ok(text);
                }
                '\\' => match chars.next() {
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 't')) => text.push('\t'),
                    Some((_, c @ ('\\' | '"' | '\''))) => text.push(c),
                    _ => {
                        let said = "after \\ comes n, t, \\ or a quote";
                        return Err(TemplateError { at: at + offset, problem: said.into() });
                    }
                },
                c => text.push(c),
            }
        }
        Err(TemplateError { at, problem: "a quote is not closed".into() })
    }
}
