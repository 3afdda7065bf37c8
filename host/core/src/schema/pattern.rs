//! Patterns: ECMA-262 regular expressions that a finite automaton decides, one step a byte.
//!
//! The automaton is built whole at load, within a bound, so no text can make a search slower than
//! its length. Read as with the flag `u`. `\d`, `\w` and `\b` mean ASCII, `\s` Unicode's blanks,
//! `.` all but line ends, as ECMA-262 has it. Look-around and back-references, which no finite
//! automaton decides, are refused.

use regex_automata::Input;
use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_automata::util::syntax;
use std::error::Error;
use std::iter::Peekable;
use std::str::Chars;
use std::sync::Arc;

/// Longest pattern, in bytes.
const PATTERN_BYTES_MAX: usize = 4 << 10;
/// Bytes of what a pattern is built from.
const NFA_BYTES_MAX: usize = 256 << 10;
/// What the smallest table is counted as.
const TABLE_BYTES_MIN: usize = 16 << 10;
/// Groups within each other.
const NESTED_MAX: u32 = 50;

/// What ECMA-262 calls blanks and line ends, as members of a class.
const BLANKS: &str =
    r"\t\n\x0B\x0C\r \x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}\x{FEFF}";
const DIGITS: &str = "0-9";
const WORDS: &str = "0-9A-Za-z_";
const NO_LINE_END: &str = r"[^\n\r\x{2028}\x{2029}]";

/// A pattern that texts are searched for.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    pub(super) text: Arc<str>,
    table: Arc<dense::DFA<Vec<u32>>>,
}

impl Pattern {
    /// The pattern, with tables of `bytes_max` at most.
    ///
    /// # Errors
    /// What in it is not taken, and what to write instead.
    pub(super) fn new(text: &str, bytes_max: usize) -> Result<Self, String> {
        if text.len() > PATTERN_BYTES_MAX {
            return Err(format!("is longer than {PATTERN_BYTES_MAX} bytes; write a shorter pattern"));
        }
        let plain = translate(text)?;
        if bytes_max < TABLE_BYTES_MIN {
            return Err("is one pattern too many for one schema; write fewer or simpler ones".into());
        }
        let table = dense::Builder::new()
            .syntax(syntax::Config::new().utf8(false).nest_limit(NESTED_MAX))
            .thompson(
                thompson::Config::new()
                    .utf8(false)
                    .nfa_size_limit(Some(NFA_BYTES_MAX))
                    .which_captures(WhichCaptures::None),
            )
            .configure(
                dense::Config::new()
                    .start_kind(StartKind::Unanchored)
                    .dfa_size_limit(Some(bytes_max))
                    .determinize_size_limit(Some(bytes_max / 2)),
            )
            .build(&plain)
            .map_err(|e| pattern_error(&e))?;
        Ok(Self { text: text.into(), table: Arc::new(table) })
    }

    /// Whether it is somewhere in `text`.
    pub(super) fn is_in(&self, text: &str) -> bool {
        // It fails for bytes that end a search, and no byte does here.
        self.table.try_search_fwd(&Input::new(text).earliest(true)).is_ok_and(|found| found.is_some())
    }

    /// What it holds in memory; at least what stands for the work of building it.
    pub(super) fn bytes(&self) -> usize {
        self.table.memory_usage().max(TABLE_BYTES_MIN)
    }
}

fn pattern_error(error: &dense::BuildError) -> String {
    let below = error.source().and_then(|e| e.downcast_ref::<thompson::BuildError>());
    if error.is_size_limit_exceeded() || below.is_some_and(|e| e.size_limit().is_some()) {
        return "is too large as a finite automaton; write a simpler one, with lengths in minLength and maxLength \
                and without long repetitions of \\p{…}"
            .into();
    }
    // The last cause has the words; the text it shows is ours, so only its last line is of use.
    let mut cause: &dyn Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    let said = cause.to_string();
    let last = said.lines().last().unwrap_or_default();
    format!("is no regular expression: {}", last.trim_start_matches("error: "))
}

/// The pattern in the words of the crate that builds automata.
///
/// # Errors
/// What ECMA-262 does not have, or no finite automaton decides.
fn translate(text: &str) -> Result<String, String> {
    let mut reader =
        PatternReader { rest: text.chars().peekable(), out: String::with_capacity(2 * text.len()) };
    reader.pattern()?;
    Ok(reader.out)
}

struct PatternReader<'a> {
    rest: Peekable<Chars<'a>>,
    out: String,
}

impl PatternReader<'_> {
    fn takes(&mut self, c: char) -> bool {
        self.rest.next_if_eq(&c).is_some()
    }

    fn pattern(&mut self) -> Result<(), String> {
        // Whether what came last can be repeated.
        let mut repeatable = false;
        while let Some(c) = self.rest.next() {
            repeatable = match c {
                '\\' => self.escape()?,
                '[' => self.class()?,
                '(' => self.group()?,
                ')' | '|' | '^' | '$' => {
                    self.out.push(c);
                    c == ')'
                }
                '.' => {
                    self.out.push_str(NO_LINE_END);
                    true
                }
                '*' | '+' | '?' | '{' => {
                    if !repeatable {
                        return Err(format!("repeats nothing at {c}; write \\{c} for the character"));
                    }
                    self.repetition(c)?;
                    false
                }
                '}' | ']' => {
                    return Err(format!("has a {c} that closes nothing; write \\{c} for the character"));
                }
                c => {
                    literal(&mut self.out, c);
                    true
                }
            };
        }
        Ok(())
    }

    /// After `(`: a group, which is never read again.
    fn group(&mut self) -> Result<bool, String> {
        self.out.push_str("(?:");
        if self.takes('?') {
            match (self.rest.next(), self.rest.peek()) {
                (Some(':'), _) => {}
                (Some('<'), Some(c)) if *c != '=' && *c != '!' => {
                    if !self.rest.by_ref().any(|c| c == '>') {
                        return Err("has a group's name without its end; write (?:…)".into());
                    }
                }
                (Some('=' | '!'), _) => {
                    return Err(
                        "looks ahead, which takes more than one reading; write what the text is, not what \
                                it is not"
                            .into(),
                    );
                }
                (Some('<'), Some(_)) => {
                    return Err(
                        "looks behind, which takes more than one reading; write what stands there as \
                                part of the pattern"
                            .into(),
                    );
                }
                _ => return Err("has a group that is not known; write (?:…)".into()),
            }
        }
        Ok(false)
    }

    fn repetition(&mut self, c: char) -> Result<(), String> {
        self.out.push(c);
        if c == '{' {
            let mut count = String::new();
            loop {
                match self.rest.next() {
                    Some('}') => break,
                    Some(c) if (c.is_ascii_digit() || c == ',') && count.len() < 24 => count.push(c),
                    _ => return Err("has a { without counts; write \\{ for the character".into()),
                }
            }
            let (from, to) = count.split_once(',').unwrap_or((&count, "0"));
            if from.is_empty() || to.contains(',') {
                return Err("has a { without counts; write {1,3}, or \\{ for the character".into());
            }
            self.out.push_str(&count);
            self.out.push('}');
        }
        // As few as possible, or as many: the same question to an automaton.
        self.takes('?');
        Ok(())
    }

    /// After `\`, outside a class; whether it can be repeated.
    fn escape(&mut self) -> Result<bool, String> {
        match self.rest.peek().copied() {
            Some(c @ ('b' | 'B')) => {
                self.rest.next();
                self.out.push_str(if c == 'b' { r"(?-u:\b)" } else { r"(?-u:\B)" });
                Ok(false)
            }
            Some('1'..='9' | 'k') => {
                Err("refers back to a group, which takes more than one reading; write the group again".into())
            }
            _ => self.class_escape().map(|()| true),
        }
    }

    /// After `\`, what means the same inside and outside a class.
    fn class_escape(&mut self) -> Result<(), String> {
        let Some(c) = self.rest.next() else {
            return Err("ends with \\; write \\\\ for the character".into());
        };
        let character = match c {
            'd' | 'D' | 'w' | 'W' | 's' | 'S' => {
                let members = match c.to_ascii_lowercase() {
                    'd' => DIGITS,
                    'w' => WORDS,
                    _ => BLANKS,
                };
                let not = if c.is_ascii_uppercase() { "^" } else { "" };
                self.out.push_str(&format!("[{not}{members}]"));
                return Ok(());
            }
            'p' | 'P' => return self.property(c),
            't' => '\t',
            'n' => '\n',
            'r' => '\r',
            'v' => '\u{B}',
            'f' => '\u{C}',
            '0' if !self.rest.peek().is_some_and(char::is_ascii_digit) => '\0',
            'c' => match self.rest.next() {
                Some(letter) if letter.is_ascii_alphabetic() => char::from(letter as u8 & 0x1F),
                _ => return Err("has \\c without a letter; write \\x01 or the like".into()),
            },
            'x' => char::from(self.hex(2)? as u8),
            'u' => self.unicode()?,
            c if c.is_ascii_punctuation() => c,
            c => return Err(format!("has \\{c}, which is not known; write the character without \\")),
        };
        literal(&mut self.out, character);
        Ok(())
    }

    /// So many hex digits, at most four.
    fn hex(&mut self, digits: u32) -> Result<u16, String> {
        let mut code = 0;
        for _ in 0..digits {
            let digit = self.rest.next().and_then(|c| c.to_digit(16));
            code = code * 16 + digit.ok_or("has an escape with too few digits; write \\x41 or \\u0041")?;
        }
        Ok(code as u16)
    }

    fn unicode(&mut self) -> Result<char, String> {
        if self.takes('{') {
            let mut digits = String::new();
            while let Some(c) = self.rest.next_if(|c| c.is_ascii_hexdigit() && digits.len() < 6) {
                digits.push(c);
            }
            let code = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
            let closed = self.takes('}');
            return code.filter(|_| closed).ok_or_else(|| "has a \\u{…} that is no character".into());
        }
        let first = self.hex(4)?;
        let begins_pair = (0xD800..0xDC00).contains(&first);
        let second =
            if begins_pair && self.takes('\\') && self.takes('u') { Some(self.hex(4)?) } else { None };
        let mut decoded = char::decode_utf16([Some(first), second].into_iter().flatten());
        match (decoded.next(), decoded.next()) {
            (Some(Ok(c)), None) => Ok(c),
            _ => Err("has half a character; write \\u{1F600}".into()),
        }
    }

    /// After `\p`: `{L}`, `{Letter}`, `{Script=Greek}`.
    fn property(&mut self, p: char) -> Result<(), String> {
        let known = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '=';
        let open = self.takes('{');
        let mut name = String::new();
        while let Some(c) = self.rest.next_if(|c| known(*c) && name.len() < 64) {
            name.push(c);
        }
        if !open || name.is_empty() || !self.takes('}') {
            return Err(format!("has \\{p} without a name; write \\{p}{{L}} or \\{p}{{Script=Greek}}"));
        }
        self.out.push_str(&format!(r"\{p}{{{name}}}"));
        Ok(())
    }

    /// After `[`.
    fn class(&mut self) -> Result<bool, String> {
        let not = self.takes('^');
        if self.takes(']') {
            // Nothing, and everything.
            self.out.push_str(if not { r"[\x00-\x{10FFFF}]" } else { r"[^\x00-\x{10FFFF}]" });
            return Ok(true);
        }
        self.out.push_str(if not { "[^" } else { "[" });
        // What can begin a range, and whether one has begun.
        let (mut begins, mut ranging) = (false, false);
        loop {
            let Some(c) = self.rest.next() else {
                return Err("has a [ without its ]; write \\[ for the character".into());
            };
            let single = match c {
                ']' => break,
                '-' if begins && !ranging && self.rest.peek() != Some(&']') => {
                    self.out.push('-');
                    ranging = true;
                    continue;
                }
                '\\' if self.takes('b') => {
                    literal(&mut self.out, '\u{8}');
                    true
                }
                '\\' => {
                    let many = self.rest.peek().is_some_and(|c| "dDwWsSpP".contains(*c));
                    self.class_escape()?;
                    !many
                }
                c => {
                    literal(&mut self.out, c);
                    true
                }
            };
            if ranging && !single {
                return Err(
                    "has a range that ends with more than one character; write \\- for the character".into(),
                );
            }
            begins = single && !ranging;
            ranging = false;
        }
        self.out.push(']');
        Ok(true)
    }
}

/// A character that stands for itself in every place.
fn literal(out: &mut String, c: char) {
    if c.is_ascii_alphanumeric() || !c.is_ascii() {
        out.push(c);
    } else {
        out.push_str(&format!(r"\x{{{:X}}}", u32::from(c)));
    }
}

#[cfg(test)]
mod tests;
