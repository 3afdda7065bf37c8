//! Text from outside made fit to be shown: one line, bounded, no characters that reorder or hide.

use std::borrow::Cow;

/// Whether a character can move, hide or reorder the text around it, or leaves no mark where it
/// stands.
///
/// Control characters (C0, C1, DEL), line separators, and all that Unicode says is shown as
/// nothing: the bidirectional formatting characters of TR36/TR39 ("Trojan Source"), joiners,
/// fillers, variation selectors, tags.
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

/// Whether nothing of a text is seen: it is white space and what is shown as nothing.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || is_deceptive(c))
}

/// `text` on one line and at most `bytes_max` bytes: deceptive characters become spaces, a cut
/// shows `…`.
pub fn one_line(text: &str, bytes_max: usize) -> String {
    const ELLIPSIS: char = '…';
    let mut line = String::with_capacity(text.len().min(bytes_max));
    for c in text.chars() {
        let c = if is_deceptive(c) { ' ' } else { c };
        if line.len() + c.len_utf8() > bytes_max {
            while line.len() + ELLIPSIS.len_utf8() > bytes_max {
                if line.pop().is_none() {
                    return line;
                }
            }
            line.push(ELLIPSIS);
            return line;
        }
        line.push(c);
    }
    line
}

/// An error with its causes, each said once: many say their own in their words.
pub fn with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut said = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let words = cause.to_string();
        if !said.contains(&words) {
            said = format!("{said}: {words}");
        }
        source = cause.source();
    }
    said
}

/// `text` with each deceptive character as `\u{…}`: for words of others in a listing of ours. Line
/// ends as well.
pub fn escape_deceptive(text: &str) -> Cow<'_, str> {
    escape_with(text, |c| c.escape_unicode().to_string())
}

/// The same of JSON, which stays the same JSON: each as `\u….`. Only strings and names may hold
/// such characters.
pub fn escape_deceptive_json(json: &str) -> Cow<'_, str> {
    escape_with(json, |c| c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect())
}

fn escape_with(text: &str, spell: impl Fn(char) -> String) -> Cow<'_, str> {
    if !text.chars().any(is_deceptive) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match is_deceptive(c) {
            true => shown.push_str(&spell(c)),
            false => shown.push(c),
        }
    }
    shown.into()
}

/// A size in bytes as a person reads it: `~512B`, `~245KB`, `~1.2MB` (powers of ten).
pub fn about(bytes: u64) -> String {
    match bytes {
        0..=999 => format!("~{bytes}B"),
        1_000..=999_499 => format!("~{}KB", (bytes + 500) / 1000),
        999_500..=999_949_999 => format!("~{:.1}MB", bytes as f64 / 1e6),
        _ => format!("~{:.1}GB", bytes as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bounded_and_plain() {
        assert_eq!(one_line("a\nb\u{202E}c\u{1b}[31m", 80), "a b c [31m");
        assert_eq!(one_line("a\u{206A}b\u{206F}c", 80), "a b c");
        assert_eq!(one_line("ééé", 5), "é…");
        assert_eq!(one_line("ééé", 6), "ééé");
        assert_eq!(one_line("abc", 2), "");
        assert_eq!(one_line("", 0), "");
    }

    #[test]
    fn a_cause_that_an_error_has_said_itself_is_not_said_again() {
        #[derive(Debug)]
        struct Failed(&'static str, Option<Box<Failed>>);
        impl std::fmt::Display for Failed {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.0)
            }
        }
        impl std::error::Error for Failed {
            fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
                self.1.as_deref().map(|cause| cause as _)
            }
        }
        let no_file = || Some(Box::new(Failed("No such file", None)));
        assert_eq!(
            with_causes(&Failed("cannot read /x: No such file", no_file())),
            "cannot read /x: No such file"
        );
        let deep = Failed("[audit]", Some(Box::new(Failed("cannot open /x", no_file()))));
        assert_eq!(with_causes(&deep), "[audit]: cannot open /x: No such file");
    }

    #[test]
    fn what_is_shown_as_nothing_deceives() {
        let nothing = "\u{AD}\u{34F}\u{61C}\u{115F}\u{1160}\u{17B4}\u{17B5}\u{180B}\u{180E}\u{180F}\u{200B}\u{200F}\u{202A}\u{202E}\
            \u{2060}\u{2065}\u{206F}\u{3164}\u{FE00}\u{FE0F}\u{FEFF}\u{FFA0}\u{FFF0}\u{FFF8}\u{1BCA0}\u{1BCA3}\u{1D173}\u{1D17A}\
            \u{E0000}\u{E0001}\u{E007F}\u{E0100}\u{E01EF}\u{E0FFF}\u{2028}\u{2029}\u{2800}\u{FFF9}\u{FFFB}";
        for c in nothing.chars() {
            assert!(is_deceptive(c), "{:04X}", u32::from(c));
        }
        // Beside each range, and what only looks alike: blanks that are seen, letters, signs.
        for c in " \u{A0}\u{AC}\u{AE}\u{34E}\u{350}\u{1161}\u{17B3}\u{17B6}\u{180A}\u{1810}\u{200A}\u{2010}\u{2027}\u{202F}\u{205F}\u{2070}\u{27FF}\u{2801}\
            \u{3000}\u{3163}\u{3165}\u{FDFF}\u{FE10}\u{FEFE}\u{FF9F}\u{FFA1}\u{FFEF}\u{FFFC}\u{FFFD}\u{1BC9F}\u{1D172}\u{1D17B}\u{DFFFF}\u{E1000}é❤👍"
            .chars()
        {
            assert!(!is_deceptive(c), "{:04X}", u32::from(c));
        }
        let ignorable =
            (0..=0x10_FFFF).filter_map(char::from_u32).filter(|c| !c.is_control() && is_deceptive(*c));
        // 4174 of Unicode's, and the six besides.
        assert_eq!(ignorable.count(), 4174 + 6);
    }

    #[test]
    fn a_text_of_which_nothing_is_seen_is_blank() {
        for nothing in ["", " \n\u{A0}\u{3000}", "\u{200B}\u{2060}\u{FEFF}", " \u{200D}\n\u{2800}\u{FE0F}"] {
            assert!(is_blank(nothing), "{nothing:?}");
        }
        for something in [".", "\u{200B}a", "❤\u{FE0F}", " \u{301}"] {
            assert!(!is_blank(something), "{something:?}");
        }
    }

    #[test]
    fn what_others_say_is_spelled_out() {
        let text = "a\u{202E}b\u{E0041}\n❤";
        assert_eq!(escape_deceptive(text), r"a\u{202e}b\u{e0041}\u{a}❤");
        let json = serde_json::json!({ "k\u{200B}": text }).to_string();
        let spelled = escape_deceptive_json(&json);
        assert_eq!(spelled, r#"{"k\u200b":"a\u202eb\udb40\udc41\n❤"}"#);
        let read = |json: &str| serde_json::from_str::<serde_json::Value>(json).expect("JSON");
        assert_eq!(read(&spelled), read(&json));
        assert!(matches!(escape_deceptive("plain é"), Cow::Borrowed(_)));
    }

    #[test]
    fn sizes_read_well() {
        for (bytes, text) in [
            (0, "~0B"),
            (999, "~999B"),
            (1000, "~1KB"),
            (245_300, "~245KB"),
            (999_499, "~999KB"),
            (999_500, "~1.0MB"),
            (1_234_567, "~1.2MB"),
            (20 << 20, "~21.0MB"),
            (3_000_000_000, "~3.0GB"),
        ] {
            assert_eq!(about(bytes), text);
        }
    }
}
