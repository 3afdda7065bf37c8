//! Lines of small files in pieces of every size, compared with splitting the whole.

use super::*;

/// A file that gives at most `piece` bytes at once.
fn file(all: &[u8], piece: usize) -> impl Fn(u64, u64) -> io::Result<(Vec<u8>, bool)> {
    move |offset, length| {
        let rest = all.get(offset as usize..).unwrap_or_default();
        let given = rest.len().min(length as usize).min(piece);
        Ok((rest[..given].to_vec(), given == rest.len()))
    }
}

fn found(all: &[u8], piece: usize, from: u64, to: u64, length: usize) -> (Window, Found) {
    read(file(all, piece), from, to, length, all.len() as u64).unwrap()
}

#[test]
fn every_range_of_every_file_is_what_splitting_gives() {
    for text in ["", "\n", "a", "a\n", "a\nb", "\n\n\n", "one\r\ntwo\n\nfour", "x\ny\nz\n"] {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        for (from, to) in (1..7).flat_map(|from| (from..8).map(move |to| (from, to))) {
            for piece in [1, 2, 3, 100] {
                let (window, found) = found(text.as_bytes(), piece, from, to, 1000);
                let before: usize = lines.iter().take(from as usize - 1).map(|line| line.len()).sum();
                let expected: String =
                    lines.iter().skip(from as usize - 1).take((to - from + 1) as usize).copied().collect();
                let case = format!("{text:?} {from}-{to} by {piece}");
                assert_eq!(window.bytes, expected.as_bytes(), "{case}");
                assert_eq!((window.offset, window.total_bytes), (before as u64, text.len() as u64), "{case}");
                let last = (lines.len() as u64).min(to).max(from - 1);
                assert_eq!((found.to, found.cut), (last, false), "{case}");
                assert!(found.total.is_none_or(|total| total == lines.len() as u64), "{case}: {found:?}");
                assert!(found.total.is_some() || (lines.len() as u64) >= to, "{case}: {found:?}");
            }
        }
    }
}

#[test]
fn as_many_whole_lines_as_fit_or_the_beginning_of_one() {
    let text = b"12345\n12345\n1234567890123\n1";
    let check = |from: u64, length: usize, bytes: &[u8], to: u64, cut: bool| {
        for piece in [1, 4, 100] {
            let (window, found) = found(text, piece, from, u64::MAX, length);
            assert_eq!((&*window.bytes, found.to, found.cut), (bytes, to, cut), "{from} {length} by {piece}");
        }
    };
    check(1, 12, b"12345\n12345\n", 2, false);
    check(1, 13, b"12345\n12345\n", 2, false);
    check(1, 6, b"12345\n", 1, false);
    check(1, 5, b"12345", 1, true);
    check(3, 10, b"1234567890", 3, true);
    check(3, 15, b"1234567890123\n1", 4, false);
    check(4, 1, b"1", 4, false);
}
