//! What is searched for: a text or a regular expression, found in time linear in what is searched. A
//! pattern that would need much memory is refused before anything is searched.

use std::ops::Range;

use memchr::memmem;
use regex::bytes::{Regex, RegexBuilder};

/// What a compiled regular expression may take.
const REGEX_BYTES_MAX: usize = 1 << 20;
/// What its cache may take while it searches.
const REGEX_CACHE_BYTES_MAX: usize = 4 << 20;
/// Groups in groups of a regular expression.
const REGEX_NESTING_MAX: u32 = 64;

/// Whether upper and lower case are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    AsWritten,
    Either,
}

/// Something to find in a line.
pub(crate) enum Pattern {
    Text(Box<memmem::Finder<'static>>),
    Regex(Regex),
    /// A regular expression that asks for the ends of all that is searched, so that it needs each line
    /// alone.
    Lines(Regex),
}

impl Pattern {
    /// A text as it is written.
    pub(crate) fn text(text: &str, case: Case) -> Result<Self, String> {
        if text.contains(['\n', '\r']) {
            return Err("The pattern has a line break, and lines are searched one by one; search for a part of one line".into());
        }
        match case {
            Case::AsWritten => Ok(Self::Text(Box::new(memmem::Finder::new(text.as_bytes()).into_owned()))),
            Case::Either => compile(&regex::escape(text), case).map(Self::Regex),
        }
    }

    /// A regular expression.
    pub(crate) fn regex(text: &str, case: Case) -> Result<Self, String> {
        let regex = compile(text, case)?;
        let flags_off = |group: &str| group.split([':', ')']).next().is_some_and(|flags| flags.contains('-'));
        let ends = text.contains("\\A") || text.contains("\\z") || text.split("(?").skip(1).any(flags_off);
        Ok(if ends { Self::Lines(regex) } else { Self::Regex(regex) })
    }

    /// The first match at or after `at`. With several lines in `text` it may reach over their ends.
    pub(crate) fn find_at(&self, text: &[u8], at: usize) -> Option<Range<usize>> {
        match self {
            Self::Text(finder) => {
                let start = at + finder.find(text.get(at..)?)?;
                Some(start..start + finder.needle().len())
            }
            Self::Regex(regex) | Self::Lines(regex) if at <= text.len() => {
                regex.find_at(text, at).map(|found| found.range())
            }
            Self::Regex(_) | Self::Lines(_) => None,
        }
    }

    /// Whether several lines may be searched at once: every line that matches alone is then found too.
    pub(crate) fn spans_lines(&self) -> bool {
        !matches!(self, Self::Lines(_))
    }
}

fn compile(text: &str, case: Case) -> Result<Regex, String> {
    let built = RegexBuilder::new(text)
        .multi_line(true)
        .crlf(true)
        .case_insensitive(case == Case::Either)
        .size_limit(REGEX_BYTES_MAX)
        .dfa_size_limit(REGEX_CACHE_BYTES_MAX)
        .nest_limit(REGEX_NESTING_MAX)
        .build();
    built.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => {
            "The regular expression is too large; use smaller repetition counts or fewer classes such as \\w".into()
        }
        error => {
            let said = error.to_string();
            let why = said.lines().last().unwrap_or_default().trim_start_matches("error: ");
            format!("The regular expression is not valid: {why}. Leave \"regex\" out to search for a text as it is")
        }
    })
}

#[cfg(test)]
mod tests;
