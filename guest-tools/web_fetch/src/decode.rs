//! Bytes of a page as text: UTF-8, or windows-1252 where the server says so.

/// The text of a body; none where it is no text.
pub(crate) fn text(bytes: &[u8], content_type: &str) -> Option<String> {
    let said = content_type.to_ascii_lowercase();
    let charset = said.split("charset=").nth(1).map(|rest| rest.trim_matches(['"', '\'', ' ']));
    let charset = charset.and_then(|rest| rest.split([';', '"', '\'', ' ']).next());
    match charset {
        Some(label) if WINDOWS_1252.contains(&label) => {
            Some(bytes.iter().map(|byte| western(*byte)).collect())
        }
        _ if bytes.contains(&0) => None,
        _ => {
            let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
    }
}

/// What servers call windows-1252: on the web those of Latin-1 and ASCII are other names of it.
const WINDOWS_1252: &[&str] = &[
    "ansi_x3.4-1968",
    "ascii",
    "cp1252",
    "cp819",
    "csisolatin1",
    "ibm819",
    "iso-8859-1",
    "iso-ir-100",
    "iso8859-1",
    "iso88591",
    "iso_8859-1",
    "iso_8859-1:1987",
    "l1",
    "latin1",
    "us-ascii",
    "windows-1252",
    "x-cp1252",
];
/// Its bytes from 0x80 on; five of them say nothing.
const HIGH: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', //
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// A character of windows-1252; the others are those of Unicode.
fn western(byte: u8) -> char {
    let high = byte.checked_sub(0x80).and_then(|at| HIGH.get(usize::from(at)));
    high.copied().unwrap_or(char::from(byte))
}

/// As much of a text as fits, and whether it was cut.
pub(crate) fn within(mut text: String, bytes: u64) -> (String, bool) {
    let most = usize::try_from(bytes).unwrap_or(usize::MAX);
    let cut = text.len() > most;
    text.truncate(text.floor_char_boundary(most));
    (text, cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_told_from_bytes_and_read_as_the_server_says() {
        assert_eq!(text(b"\xef\xbb\xbfa\xc3\xa4", "text/plain").as_deref(), Some("aä"));
        assert_eq!(text(b"a\xe4", "text/html; charset=\"ISO-8859-1\"").as_deref(), Some("aä"));
        assert_eq!(text(b"a\xe4", "text/html").as_deref(), Some("a\u{fffd}"));
        assert_eq!(text(b"a\0b", "application/octet-stream"), None);
    }

    #[test]
    fn the_signs_of_windows_1252_are_read_under_each_of_its_names() {
        for label in ["windows-1252", "ISO-8859-1", "latin1", "us-ascii", "cp1252"] {
            let read = |bytes: &[u8]| text(bytes, &format!("text/html; charset={label}"));
            assert_eq!(
                read(b"\x93don\x92t\x94 \x96 5\xa0\x80").as_deref(),
                Some("“don’t” – 5\u{a0}€"),
                "{label}"
            );
            let all: Vec<u8> = (0x80..=0x9f).collect();
            let expected = "€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8d}Ž\u{8f}\u{90}‘’“”•–—˜™š›œ\u{9d}žŸ";
            assert_eq!(read(&all).as_deref(), Some(expected), "{label}");
        }
        let codes = HIGH.map(|c| c as u32);
        assert_eq!(codes[..3], [0x20ac, 0x81, 0x201a]);
        assert_eq!(codes[8..12], [0x2c6, 0x2030, 0x160, 0x2039]);
        assert_eq!(codes[24..], [0x2dc, 0x2122, 0x161, 0x203a, 0x153, 0x9d, 0x17e, 0x178]);
        assert_eq!(text(b"\x7f\xa0\xff", "text/plain; charset=l1").as_deref(), Some("\u{7f}\u{a0}ÿ"));
    }

    #[test]
    fn a_cut_is_between_characters() {
        assert_eq!(within("aä".into(), 3), ("aä".into(), false));
        assert_eq!(within("aä".into(), 2), ("a".into(), true));
    }
}
