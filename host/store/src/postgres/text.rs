//! Text on its way to PostgreSQL and back, and SQL as it reads it.

use std::borrow::Cow;

/// Begins what stands for a character that PostgreSQL cannot hold, or for itself.
const ESCAPE: char = '\u{1a}';

/// SQL with PostgreSQL's own places for parameters. A question mark is nothing else in ours.
pub(super) fn translate(sql: &str) -> String {
    sql.replace('?', "$")
}

/// A text without NUL, which PostgreSQL refuses. Character by character: what is equal, or begins
/// alike, is so afterwards as well.
pub(super) fn encode(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', ESCAPE]) {
        return Cow::Borrowed(text);
    }
    let mut encoded = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\0' => encoded.extend([ESCAPE, '0']),
            ESCAPE => encoded.extend([ESCAPE, ESCAPE]),
            c => encoded.push(c),
        }
    }
    Cow::Owned(encoded)
}

/// What was encoded; none where nobody encodes so.
pub(super) fn decode(text: String) -> Option<String> {
    if !text.contains(ESCAPE) {
        return Some(text);
    }
    let mut decoded = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            ESCAPE => decoded.push(match chars.next()? {
                '0' => '\0',
                ESCAPE => ESCAPE,
                _ => return None,
            }),
            c => decoded.push(c),
        }
    }
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_comes_back_and_none_holds_a_nul_meanwhile() {
        for text in ["", "plain", "\0", "\u{1a}", "a\0b\u{1a}0", "\u{1a}\u{1a}\0\0", "ä\0€"] {
            let encoded = encode(text).into_owned();
            assert!(!encoded.contains('\0'), "{text:?}");
            assert_eq!(decode(encoded).as_deref(), Some(text));
        }
        assert_ne!(encode("\0"), encode("\u{1a}0"));
        assert_eq!(decode("\u{1a}".into()), None);
        assert_eq!(decode("\u{1a}x".into()), None);
    }
}
