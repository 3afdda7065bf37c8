//! Which entries are meant: `*.txt`, `notes/**/2026-?.md`, `{a,b}*`. The work is bounded by the
//! product of the lengths, for every pattern; there is no way to escape from a folder with one.

/// A pattern over names or paths.
///
/// `*` stands for any characters of one name, `?` for one, `[a-z]` and `[!a-z]` for one of a
/// choice, `{a,b}` for either, and `**` as a whole part of a path for any folders, also none.
/// Without a `/` it is matched against the name alone, at any depth; with one, against the whole
/// path below the folder.
#[derive(Clone, Debug)]
pub struct Glob {
    alternatives: Vec<Vec<Part>>,
}

#[derive(Clone, Debug)]
enum Part {
    /// `**`
    Folders,
    Name(Vec<Token>),
}

#[derive(Clone, Debug)]
enum Token {
    Char(char),
    One,
    Many,
    Choice { negated: bool, ranges: Vec<(char, char)> },
}

/// Ways to choose among all `{…}` of a pattern.
const ALTERNATIVES_MAX: usize = 64;

impl Glob {
    /// Longest pattern, in bytes.
    pub const BYTES_MAX: usize = 500;

    /// The pattern.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it and what to write.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > Self::BYTES_MAX {
            return Err(format!("The glob is longer than {} bytes; use a shorter one", Self::BYTES_MAX));
        }
        let mut plain = Vec::new();
        expand(text, &mut plain)?;
        let alternatives = plain.iter().map(|text| alternative(text)).collect::<Result<_, _>>()?;
        Ok(Self { alternatives })
    }

    /// Whether the entry is meant whose path below the folder is this one.
    pub fn matches(&self, path: &str) -> bool {
        self.alternatives.iter().any(|parts| matches_path(parts, path))
    }
}

/// Writes out the first `{…}` of a pattern, and what follows it, until none is left.
fn expand(text: &str, into: &mut Vec<String>) -> Result<(), String> {
    let Some(open) = text.find('{') else {
        if text.contains('}') {
            return Err("The glob closes a { that it does not open; write {a,b}".into());
        }
        into.push(text.to_owned());
        return match into.len() {
            0..=ALTERNATIVES_MAX => Ok(()),
            _ => Err(format!("The glob stands for more than {ALTERNATIVES_MAX} patterns; use fewer {{…}}")),
        };
    };
    let (before, rest) = (&text[..open], &text[open + 1..]);
    let close = rest.find('}').ok_or("The glob does not close a {; write {a,b}")?;
    let (choices, after) = (&rest[..close], &rest[close + 1..]);
    if choices.contains('{') {
        return Err("The glob has a { inside a {; write the choices side by side".into());
    }
    choices.split(',').try_for_each(|choice| expand(&format!("{before}{choice}{after}"), into))
}

fn alternative(text: &str) -> Result<Vec<Part>, String> {
    let Some(text) = text.strip_prefix('/').or_else(|| text.contains('/').then_some(text)) else {
        return match text {
            "" => Err("The glob is empty; leave it out, or write one such as *.txt".into()),
            name => Ok(vec![Part::Folders, Part::Name(tokens(name)?)]),
        };
    };
    let part = |part: &str| match part {
        "" => Err("The glob has an empty part; remove the doubled or trailing /".to_owned()),
        "." | ".." => Err("The glob has a . or .. part; name the folder in \"path\" instead".to_owned()),
        "**" => Ok(Part::Folders),
        name => tokens(name).map(Part::Name),
    };
    text.split('/').map(part).collect()
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        tokens.push(match c {
            // Two in a row mean no more than one.
            '*' if matches!(tokens.last(), Some(Token::Many)) => continue,
            '*' => Token::Many,
            '?' => Token::One,
            '[' => choice(&mut chars)?,
            c => Token::Char(c),
        });
    }
    Ok(tokens)
}

fn choice(chars: &mut std::str::Chars<'_>) -> Result<Token, String> {
    let open = || "The glob does not close a [; write [abc], or [[] for the character itself".to_owned();
    let negated = chars.as_str().starts_with(['!', '^']);
    if negated {
        chars.next();
    }
    let mut ranges = Vec::new();
    loop {
        let from = match chars.next().ok_or_else(open)? {
            // As the first one it stands for itself.
            ']' if !ranges.is_empty() => return Ok(Token::Choice { negated, ranges }),
            from => from,
        };
        let mut ahead = chars.clone();
        let to = match (ahead.next(), ahead.next()) {
            (Some('-'), Some(to)) if to != ']' => {
                *chars = ahead;
                to
            }
            _ => from,
        };
        ranges.push((from, to));
    }
}

fn matches_name(tokens: &[Token], name: &str) -> bool {
    matches_all(tokens, name.chars(), |token| matches!(token, Token::Many), Token::takes)
}

fn matches_path(parts: &[Part], path: &str) -> bool {
    // Of a name at any depth the folders on the way decide nothing.
    if let [Part::Folders, Part::Name(tokens)] = parts {
        return matches_name(tokens, path.rsplit('/').next().unwrap_or(path));
    }
    let takes = |part: &Part, name: &str| matches!(part, Part::Name(tokens) if matches_name(tokens, name));
    matches_all(parts, path.split('/'), |part| matches!(part, Part::Folders), takes)
}

/// Whether all of `rest` fits the parts, of which those that are `many` stand for any number of
/// items, and each other one for an item that it `takes`.
fn matches_all<P, I: Iterator + Clone>(
    parts: &[P],
    mut rest: I,
    many: impl Fn(&P) -> bool,
    takes: impl Fn(&P, I::Item) -> bool,
) -> bool {
    let mut at = 0;
    // Where to go on if what follows the last that is many does not fit: it takes one item more.
    let mut retry: Option<(usize, I)> = None;
    loop {
        let before = rest.clone();
        let fits = match (parts.get(at), rest.next()) {
            (None, None) => return true,
            (Some(part), _) if many(part) => {
                rest = before.clone();
                retry = Some((at + 1, before));
                true
            }
            (Some(part), Some(item)) => takes(part, item),
            _ => false,
        };
        if fits {
            at += 1;
            continue;
        }
        let Some((after, from)) = &mut retry else { return false };
        if from.next().is_none() {
            return false;
        }
        (at, rest) = (*after, from.clone());
    }
}

impl Token {
    fn takes(&self, c: char) -> bool {
        match self {
            Self::Char(own) => *own == c,
            Self::One => true,
            Self::Choice { negated, ranges } => {
                ranges.iter().any(|(from, to)| (*from..=*to).contains(&c)) != *negated
            }
            Self::Many => false,
        }
    }
}

#[cfg(test)]
mod tests;
