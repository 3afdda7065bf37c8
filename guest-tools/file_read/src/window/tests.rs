//! Windows at every edge of a file and of a character.

use super::*;

/// A file that gives at most `piece` bytes at once.
fn file(all: &str, piece: usize) -> impl Fn(u64, u64) -> io::Result<(Vec<u8>, bool)> {
    move |offset, length| {
        let rest = all.as_bytes().get(offset as usize..).unwrap_or_default();
        let given = rest.len().min(length as usize).min(piece);
        Ok((rest[..given].to_vec(), given == rest.len()))
    }
}

#[test]
fn a_window_is_what_lies_in_the_file() {
    let check = |offset: u64, length: u32, expected: &str| {
        for piece in [1, 3, 100] {
            let window = read(file("0123456789", piece), offset, length, 10).unwrap();
            let expected = Window { offset, bytes: expected.into(), total_bytes: 10 };
            assert_eq!(window, expected, "{offset}+{length}");
        }
    };
    check(0, 4, "0123");
    check(4, 6, "456789");
    check(4, 7, "456789");
    check(9, 1, "9");
    check(10, 1, "");
    check(11, 1, "");
    check(u64::MAX, u32::MAX, "");
}

#[test]
fn a_file_that_shrank_ends_where_it_ended() {
    let window = read(file("0123", 100), 2, 100, 50).unwrap();
    assert_eq!((window.bytes.as_slice(), window.total_bytes), (&b"23"[..], 4));
    let window = read(file("0123", 100), 10, 100, 50).unwrap();
    assert_eq!((window.bytes.as_slice(), window.total_bytes), (&b""[..], 10));
}

#[test]
fn text_is_utf8_without_control_characters() {
    let text = |bytes: &[u8]| {
        assert_eq!(content(bytes.to_vec(), false).1, Content::Text(str::from_utf8(bytes).unwrap().into()))
    };
    text(b"");
    text(b"tab\t feed\x0c line\r\n");
    text("smørrebrød \u{a0}\u{202e} 🦀".as_bytes());

    let base64 = |bytes: &[u8]| {
        assert_eq!(content(bytes.to_vec(), false), (bytes.len(), Content::Base64(STANDARD.encode(bytes))))
    };
    base64(b"\x1b[2J");
    base64(b"a\0");
    base64(b"\x7f");
    base64("next\u{85}line".as_bytes());
    base64("csi \u{9b}".as_bytes());
    base64(b"\xff\xd8\xff\xe0");
    base64(b"cut \xf0\x9f");
}

#[test]
fn every_byte_is_judged_alike_at_every_place_in_a_word() {
    for byte in 0..0x80u8 {
        let plain = !byte.is_ascii_control() || b"\t\n\x0c\r".contains(&byte);
        for place in 0..17 {
            let mut text = [b'~'; 17];
            text[place] = byte;
            assert_eq!(is_harmless(str::from_utf8(&text).unwrap()), plain, "{byte:#x} at {place}");
        }
    }
}

#[test]
fn a_character_cut_by_the_window_is_left_for_the_next() {
    let check = |bytes: &[u8], more_follows: bool, length: usize| {
        let (kept, content) = content(bytes.to_vec(), more_follows);
        assert_eq!(kept, length, "{bytes:?}");
        matches!(content, Content::Text(_))
    };
    assert!(check(b"crab \xf0\x9f\xa6", true, 5));
    assert!(check(b"crab \xc3", true, 5));
    // Nothing follows: the file ends inside a character and is no text.
    assert!(!check(b"crab \xf0\x9f\xa6", false, 8));
    // The wrong bytes are not at the end.
    assert!(!check(b"\xf0\x9f crab", true, 7));
    // Not one whole character: dropping it would read nothing for ever.
    assert!(!check(b"\xf0\x9f\xa6", true, 3));
}
