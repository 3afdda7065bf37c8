//! What is searched for: a text or a regular expression, found in time linear in what is searched.
//! A pattern that would need much memory is refused before anything is searched.

use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};

use crate::Arguments;

/// What a compiled regular expression may take.
const REGEX_BYTES_MAX: usize = 1 << 20;
/// What each of its caches may take while it searches.
const REGEX_CACHE_BYTES_MAX: usize = 4 << 20;
/// Groups in groups of a regular expression, the one around all of it included.
const REGEX_NESTING_MAX: u32 = 64;

/// What the arguments ask for, or why it is not searched for. Every line that matches without its
/// end is found; one that needs the carriage return at its end may be, too.
pub(crate) fn of(arguments: &Arguments) -> Result<RegexMatcher, String> {
    let built = RegexMatcherBuilder::new()
        .fixed_strings(!arguments.regex)
        .case_insensitive(arguments.case_insensitive)
        .multi_line(true)
        .crlf(true)
        .line_terminator(Some(b'\n'))
        .size_limit(REGEX_BYTES_MAX)
        .dfa_size_limit(REGEX_CACHE_BYTES_MAX)
        .nest_limit(REGEX_NESTING_MAX)
        .build(&arguments.pattern);
    built.map_err(|error| match error.kind() {
        ErrorKind::NotAllowed(_) => {
            "The pattern has a line break, and lines are searched one by one; search for a part of one line".into()
        }
        _ => {
            let said = error.to_string();
            let why = said.lines().last().unwrap_or_default().trim_start_matches("error: ");
            format!(
                "The regular expression cannot be used: {why}. Make it simpler (if it is too large, by smaller \
                 repetition counts or fewer classes such as \\w), or leave \"regex\" out to search for a text as \
                 it is"
            )
        }
    })
}

#[cfg(test)]
pub(crate) mod tests;
