//! Bytes of a page as text: UTF-8, or one byte a character where the server says so.

/// The text of a body; none where it is no text.
pub(crate) fn text(bytes: &[u8], content_type: &str) -> Option<String> {
    let said = content_type.to_ascii_lowercase();
    let charset = said.split("charset=").nth(1).map(|rest| rest.trim_matches(['"', '\'', ' ']));
    let charset = charset.and_then(|rest| rest.split([';', '"', '\'', ' ']).next());
    match charset {
        // Windows-1252 differs from it in signs alone.
        Some("iso-8859-1" | "latin1" | "us-ascii" | "windows-1252") => {
            Some(bytes.iter().map(|byte| char::from(*byte)).collect())
        }
        _ if bytes.contains(&0) => None,
        _ => {
            let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
    }
}

/// As much of a text as fits, and whether it was cut.
pub(crate) fn within(mut text: String, bytes: u64) -> (String, bool) {
    let most = usize::try_from(bytes).unwrap_or(usize::MAX);
    if text.len() <= most {
        return (text, false);
    }
    let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.truncate(end);
    (text, true)
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
    fn a_cut_is_between_characters() {
        assert_eq!(within("aä".into(), 3), ("aä".into(), false));
        assert_eq!(within("aä".into(), 2), ("a".into(), true));
    }
}
