//! Names as they can be shown on one line: what could move, hide or reorder the text around it is
//! written out. The path parser of the host refuses exactly these characters, so no tool can name
//! such an entry.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a character can move, hide or reorder the text around it, or leaves no mark where it
/// stands: control characters, line separators, and all that Unicode says is shown as nothing.
pub fn is_deceptive(c: char) -> bool {
    c.is_control()
        || matches!(c,
            // Default_Ignorable_Code_Point of Unicode 16.0, whole: its 17 ranges in
            // DerivedCoreProperties.txt.
            '\u{00AD}' | '\u{034F}' | '\u{061C}' | '\u{115F}'..='\u{1160}' | '\u{17B4}'..='\u{17B5}'
            | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}'
            | '\u{FFF0}'..='\u{FFF8}' | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}'
            | '\u{E0000}'..='\u{E0FFF}'
            // Line and paragraph separators, the anchors of annotations, and the empty pattern of
            // Braille.
            | '\u{2028}' | '\u{2029}' | '\u{FFF9}'..='\u{FFFB}' | '\u{2800}')
}

/// Whether a name or path has such a character.
pub fn has_deceptive(text: &str) -> bool {
    // Nearly every name is plain ASCII.
    text.bytes().any(|byte| !(b' '..=b'~').contains(&byte)) && text.chars().any(is_deceptive)
}

/// `text` with deceptive characters as `\u{…}` and a backslash doubled; [`unescape`] brings it
/// back.
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') && !has_deceptive(text) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\\' => escaped.push_str("\\\\"),
            c if is_deceptive(c) => {
                write!(escaped, "\\u{{{:x}}}", u32::from(c)).expect("a String grows");
            }
            c => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

/// `text` as it is where that is harmless, and otherwise as [`escape`] writes it.
pub fn shown(text: &str) -> Cow<'_, str> {
    if has_deceptive(text) { escape(text) } else { Cow::Borrowed(text) }
}

/// The text that [`escape`] wrote, or none where it cannot have.
pub fn unescape(text: &str) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        rest = match after.strip_prefix('\\') {
            Some(after) => {
                plain.push('\\');
                after
            }
            None => {
                let (code, after) = after.strip_prefix("u{")?.split_once('}')?;
                plain.push(char::from_u32(u32::from_str_radix(code, 16).ok()?)?);
                after
            }
        };
    }
    plain.push_str(rest);
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_deceives_is_written_out_and_comes_back() {
        for (plain, shown) in [
            ("a b", "a b"),
            ("naïve 世界", "naïve 世界"),
            ("new\nline", "new\\u{a}line"),
            ("\u{1b}[2J", "\\u{1b}[2J"),
            ("evil\u{202e}gpj.exe", "evil\\u{202e}gpj.exe"),
            ("digits\u{206e}", "digits\\u{206e}"),
            ("back\\slash", "back\\\\slash"),
            ("\\u{a}", "\\\\u{a}"),
        ] {
            assert_eq!(escape(plain), shown);
            assert_eq!(unescape(shown).as_deref(), Some(plain));
        }
        for never in ["\\", "\\x", "\\u{", "\\u{}", "\\u{110000}", "\\u{d800}", "\\u{-1}"] {
            assert_eq!(unescape(never), None, "{never}");
        }
    }
}
