//! Patterns of file names: `*`, `?`, `[a-z]` and `{a,b}` within a segment, `**` as a whole segment
//! for any depth.
//!
//! One name at a time is matched by the library; what lies in which folder is asked by anyone who
//! walks.

use super::local::PathError;
use crate::problem::quote;
use std::fmt;

/// Patterns that the braces of one segment may stand for.
pub const ALTERNATIVES_MAX: usize = 64;

/// A pattern of paths below a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    segments: Vec<PatternSegment>,
}

/// What one level of a path must look like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatternSegment {
    /// Exactly this name. A linked folder is entered.
    Name(String),
    /// A name that one of these matches.
    Wild(Vec<glob::Pattern>),
    /// Any number of folders, none of them hidden or linked.
    AnyDepth,
}

impl Pattern {
    /// Whether a text has wildcards.
    pub fn is_pattern(text: &str) -> bool {
        text.contains(['*', '?', '[', ']', '{', '}', '\\'])
    }

    /// The pattern that a relative text is.
    ///
    /// # Errors
    /// [`PathError`]: it does not parse, or `..` leads above the folder.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let refused = |problem: &str| PathError(format!("{} is no pattern: {problem}", quote(text)));
        if text.contains('\\') {
            return Err(refused("there is no `\\`; write [*] for a star, [?] for a question mark"));
        }
        let mut segments = Vec::new();
        for part in text.split('/') {
            match part {
                "" | "." => {}
                ".." => match segments.pop() {
                    Some(PatternSegment::AnyDepth) => {
                        return Err(refused("`..` after `**` leads nowhere in particular"));
                    }
                    Some(PatternSegment::Name(_) | PatternSegment::Wild(_)) => {}
                    None => return Err(PathError::above(text)),
                },
                // Twice in a row is the same as once, and would be walked twice.
                "**" if matches!(segments.last(), Some(PatternSegment::AnyDepth)) => {}
                "**" => segments.push(PatternSegment::AnyDepth),
                part => segments.push(segment(part).map_err(|problem| refused(&problem))?),
            }
        }
        match segments.last() {
            None => Err(refused("it names nothing")),
            Some(PatternSegment::AnyDepth) => Err(refused("it ends with `**`; write e.g. `**/*`")),
            Some(_) if text.ends_with('/') => Err(refused("it ends with `/`; write e.g. `*.png`")),
            Some(_) => Ok(Self { text: text.to_owned(), segments }),
        }
    }

    /// Level by level.
    pub fn segments(&self) -> &[PatternSegment] {
        &self.segments
    }
}

impl PatternSegment {
    /// Whether it takes a name. A wildcard takes none that begins with a dot.
    pub fn matches_name(&self, name: &str) -> bool {
        const OPTIONS: glob::MatchOptions = glob::MatchOptions {
            case_sensitive: true,
            require_literal_separator: true,
            require_literal_leading_dot: true,
        };
        match self {
            Self::Name(own) => own == name,
            Self::Wild(patterns) => patterns.iter().any(|pattern| {
                // The library lets a `*` that stands for nothing pass before a dot.
                let may_be_hidden = pattern.as_str().starts_with('.');
                (may_be_hidden || !name.starts_with('.')) && pattern.matches_with(name, OPTIONS)
            }),
            Self::AnyDepth => !name.starts_with('.'),
        }
    }
}

fn segment(part: &str) -> Result<PatternSegment, String> {
    if part.contains("**") {
        return Err("`**` must be a whole segment, as in `**/*.png`".to_owned());
    }
    if !Pattern::is_pattern(part) {
        return Ok(PatternSegment::Name(part.to_owned()));
    }
    let compiled = |text: String| glob::Pattern::new(&text).map_err(|error| error.msg.to_owned());
    let patterns: Result<Vec<_>, _> = alternatives(part)?.into_iter().map(compiled).collect();
    patterns.map(PatternSegment::Wild)
}

/// The patterns without braces that one with braces stands for, in order; braces nest.
fn alternatives(part: &str) -> Result<Vec<String>, String> {
    let mut done = Vec::new();
    let mut open = vec![part.to_owned()];
    while let Some(text) = open.pop() {
        if done.len() + open.len() >= ALTERNATIVES_MAX {
            return Err(format!("its braces stand for more than {ALTERNATIVES_MAX} patterns"));
        }
        match first_braces(&text)? {
            None => done.push(text),
            Some(cuts) => {
                let (start, end) = (cuts[0], cuts[cuts.len() - 1]);
                for pair in cuts.windows(2).rev() {
                    open.push([&text[..start], &text[pair[0] + 1..pair[1]], &text[end + 1..]].concat());
                }
            }
        }
    }
    Ok(done)
}

/// Where the first braces of a text open, the commas between their parts, and where they close.
fn first_braces(text: &str) -> Result<Option<Vec<usize>>, String> {
    let (mut depth, mut cuts) = (0_usize, Vec::new());
    let mut class = None;
    for (at, c) in text.char_indices() {
        match (class, c) {
            // The first character of a class is in it, also a `]`.
            (Some(first), ']') if at > first => class = None,
            (Some(_), _) => {}
            (None, '[') => {
                let negated = text[at + 1..].starts_with('!');
                class = Some(at + 1 + usize::from(negated));
            }
            (None, '{') => {
                if depth == 0 {
                    cuts.push(at);
                }
                depth += 1;
            }
            (None, ',') if depth == 1 => cuts.push(at),
            (None, '}') if depth == 1 => {
                cuts.push(at);
                return Ok(Some(cuts));
            }
            (None, '}') if depth == 0 => return Err("`}` has no `{`".to_owned()),
            (None, '}') => depth -= 1,
            (None, _) => {}
        }
    }
    match depth {
        0 => Ok(None),
        _ => Err("`{` has no `}` in its segment".to_owned()),
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
