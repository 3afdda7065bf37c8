//! How what stands in a call is spelled for a person: on its line, and with nothing in it that
//! hides, moves, or passes for the words around it.

use super::CONTENT_BYTES_MAX;
use cofferdam_core::text::{escape_deceptive, is_deceptive};
use cofferdam_policy::GuestPath;

/// A text in quotes that it cannot end, on one line, whole.
pub(super) fn quote(text: &str) -> String {
    escape_deceptive(&format!("{text:?}")).into_owned()
}

/// The beginning of a text in quotes, and how long it is where that is not all.
pub(super) fn quote_beginning(text: &str) -> String {
    let cut = &text[..text.floor_char_boundary(CONTENT_BYTES_MAX)];
    let more = if cut.len() < text.len() { format!("… ({} bytes)", text.len()) } else { String::new() };
    quote(cut) + &more
}

/// One line of a content: as it is where that shows all there is to it, else as [`quote_beginning`]
/// has it.
pub(super) fn line(text: &str) -> String {
    if text.len() <= CONTENT_BYTES_MAX && is_plain(text) { text.to_owned() } else { quote_beginning(text) }
}

/// A path: as it is, unless some of it could be overlooked or taken for the words that follow it;
/// whole.
pub(super) fn path(path: &GuestPath) -> String {
    let text = path.as_str();
    if is_plain(text) && !text.contains(": ") && !text.contains("  ") { text.to_owned() } else { quote(text) }
}

/// A value that is no text, as JSON on one line, whole.
pub(super) fn json(value: &serde_json::Value) -> String {
    let text = value.to_string();
    // JSON has its own escapes for the rest.
    let shown = |c: char| match c {
        '"' | '\'' | '\\' => c.to_string(),
        c if is_deceptive(c) => c.escape_unicode().to_string(),
        c => c.escape_debug().to_string(),
    };
    text.chars().map(shown).collect()
}

/// The name of an argument or a field: quoted where it could be taken for more than a name.
pub(super) fn name(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !text.is_empty() && text.chars().all(plain) { text.to_owned() } else { quote(text) }
}

/// Whether a text looks like nothing but itself, with and without quotes.
fn is_plain(text: &str) -> bool {
    !text.ends_with(' ') && quote(text).get(1..=text.len()) == Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_stays_in_its_quotes_and_on_its_line() {
        for (text, shown) in [
            ("plain", "\"plain\""),
            ("a\nb", r#""a\nb""#),
            ("x\" Rule: none", r#""x\" Rule: none""#),
            ("\u{202e}gpj.exe\u{200b}", r#""\u{202e}gpj.exe\u{200b}""#),
            ("a\u{3164}\u{ad}b", r#""a\u{3164}\u{ad}b""#),
            ("❤\u{fe0f}\u{2800}", r#""❤\u{fe0f}\u{2800}""#),
        ] {
            assert_eq!(quote(text), shown);
        }
        let long = "é\n".repeat(10_000);
        let cut = quote_beginning(&long);
        assert!(cut.len() < 1000 && cut.ends_with("(30000 bytes)") && !cut.contains('\n'), "{cut}");
        assert_eq!(quote(&long).len(), 2 + 4 * 10_000, "whole");
    }

    #[test]
    fn a_line_that_shows_all_there_is_to_it_is_as_it_is() {
        for (text, shown) in [
            ("  let a = 1;", "  let a = 1;"),
            ("", ""),
            ("a\tb", r#""a\tb""#),
            ("a ", "\"a \""),
            (r"\t", r#""\\t""#),
            ("\"a\"", r#""\"a\"""#),
            ("2\u{202e}", r#""2\u{202e}""#),
            ("a\r", r#""a\r""#),
        ] {
            assert_eq!(line(text), shown);
        }
        assert!(line(&"x".repeat(201)).ends_with("x\"… (201 bytes)"));
    }

    #[test]
    fn a_path_cannot_pass_for_what_is_said_of_it() {
        for (text, shown) in [
            ("/shared/a b/ä.txt", "/shared/a b/ä.txt"),
            ("/shared/a: nothing is there now", "\"/shared/a: nothing is there now\""),
            ("/shared/a    b", "\"/shared/a    b\""),
            ("/shared/a ", "\"/shared/a \""),
            ("/shared/\"a\"", r#""/shared/\"a\"""#),
            ("/shared/a\u{a0}b", r#""/shared/a\u{a0}b""#),
        ] {
            assert_eq!(path(&GuestPath::parse(text).expect(text)), shown);
        }
    }

    #[test]
    fn json_and_names_hide_nothing() {
        let value = serde_json::json!(["a\n\u{202e}", { "it's": null }]);
        assert_eq!(json(&value), r#"["a\n\u{202e}",{"it's":null}]"#);
        assert_eq!(
            (name("new_text"), name("a: 1"), name("")),
            ("new_text".into(), "\"a: 1\"".into(), "\"\"".into())
        );
    }
}
