//! Text from outside made fit to be shown: one line, bounded, no characters that reorder or hide.

/// Whether a character can move, hide or reorder the text around it.
///
/// Control characters (C0, C1, DEL), line separators, and the bidirectional and invisible formatting
/// characters of Unicode TR36/TR39 ("Trojan Source").
pub fn is_deceptive(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{061C}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
            | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}')
}

/// `text` on one line and at most `bytes_max` bytes: deceptive characters become spaces, a cut shows `…`.
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
