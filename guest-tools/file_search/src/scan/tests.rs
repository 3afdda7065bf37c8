//! Files in pieces of every size, each compared with splitting the whole into lines and looking at each.

use super::*;
use crate::pattern::Case;

const ALL: u64 = u64::MAX;

fn scanner(pattern: &str, context: usize, limit: usize, bytes: u64) -> Scanner {
    Scanner::new(Pattern::regex(pattern, Case::AsWritten).unwrap(), context, limit, 1 << 20, bytes)
}

/// A file that gives at most `piece` bytes at once.
fn file(text: &[u8], piece: usize) -> impl FnMut(u64, u64) -> io::Result<(Vec<u8>, bool)> + '_ {
    move |offset, length| {
        let rest = text.get(offset as usize..).unwrap_or_default();
        let given = rest.len().min(length as usize).min(piece);
        Ok((rest[..given].to_vec(), given == rest.len()))
    }
}

/// Line, column and match of every line, the slow way.
fn slowly(text: &str, pattern: &str) -> Vec<(u64, u64, String)> {
    let pattern = Pattern::regex(pattern, Case::AsWritten).unwrap();
    let lines = text.strip_suffix('\n').unwrap_or(text).split('\n').zip(1..);
    let lines = lines.filter(|_| !text.is_empty());
    let found = lines.filter_map(|(line, number)| {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let found = pattern.find_at(line.as_bytes(), 0)?;
        Some((
            number,
            line[..found.start].chars().count() as u64 + 1,
            line[found].replace(char::is_control, "\u{FFFD}"),
        ))
    });
    found.collect()
}

#[test]
fn every_line_that_matches_alone_is_found_and_no_other() {
    let texts = [
        "",
        "\n",
        "\n\n",
        "abc",
        "abc\n",
        "a\r\nb\r\n\r\nabc",
        "naïve ab\n\nüü abc\nab",
        "x\ny\nab\nx",
        "aXb\na\nb\n",
        "ab ab\nab\n",
        "\r\n",
        "a\rb\n",
    ];
    let patterns = [
        "ab", "^a", "b$", "^$", "a*", "$", "a\\s", "\\s+", "[^x]+", "a(?s:.)b", "\\Aab", "b\\z", "(?-m)^a",
        "(?-R)b$", "\\bab\\b", "b?$", "(?i)AB", "ï|ü",
    ];
    for text in texts {
        for pattern in patterns {
            let expected = slowly(text, pattern);
            for piece in [1, 2, 3, 5, 100] {
                let mut scanner = scanner(pattern, 0, 1000, ALL);
                assert_eq!(scanner.scan("f", &mut file(text.as_bytes(), piece), 0), Ok(Ended::Whole));
                let found: Vec<_> = scanner
                    .matches
                    .into_iter()
                    .map(|found| (found.line, found.column, found.found))
                    .collect();
                assert_eq!(found, expected, "{pattern} in {text:?} by {piece}");
            }
        }
    }
}

#[test]
fn a_search_goes_on_after_any_line() {
    let text = "ab\nx\nab\nab\nx\nab\n";
    let mut after = 0;
    let mut lines = Vec::new();
    loop {
        let mut scanner = scanner("ab", 0, 1, ALL);
        let ended = scanner.scan("f", &mut file(text.as_bytes(), 4), after).unwrap();
        lines.extend(scanner.matches.iter().map(|found| found.line));
        let Ended::Stopped { line } = ended else { break };
        after = line;
    }
    assert_eq!(lines, [1, 3, 4, 6]);
}

#[test]
fn context_stands_around_the_match_and_ends_with_the_file() {
    let text = "1\n2\r\n\n4 x\n5\n6\n";
    let check = |pattern: &str, count: usize, before: &[&str], after: &[&str]| {
        for piece in [1, 3, 100] {
            let mut scanner = scanner(pattern, count, 1, ALL);
            scanner.scan("f", &mut file(text.as_bytes(), piece), 0).unwrap();
            let found = &scanner.matches[0];
            // A disk may give less context at once than asked for, and this one does.
            if piece == 100 {
                assert_eq!(
                    (&found.before[..], &found.after[..]),
                    (&own(before)[..], &own(after)[..]),
                    "{pattern}"
                );
            }
        }
    };
    check("x", 1, &[""], &["5"]);
    check("x", 2, &["2", ""], &["5", "6"]);
    check("x", 9, &["1", "2", ""], &["5", "6"]);
    check("1", 1, &[], &["2"]);
    check("2", 1, &["1"], &[""]);
    check("6", 2, &["4 x", "5"], &[]);
}

fn own(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

#[test]
fn binary_files_are_skipped_and_late_zeros_are_not_noticed() {
    let mut scanner = scanner("ab", 0, 9, ALL);
    assert_eq!(scanner.scan("f", &mut file(b"ab\n\0", 100), 0), Ok(Ended::Binary));
    let late = [&b"ab\n".repeat(3000)[..], b"\0"].concat();
    assert_eq!(scanner.scan("f", &mut file(&late, 1 << 20), 0), Ok(Ended::Stopped { line: 9 }));
    assert_eq!(scanner.files, 1);
}

#[test]
fn a_line_longer_than_memory_is_searched_in_parts() {
    let part = "x".repeat(LINE_BYTES_MAX);
    // Across the edge between two parts, where the overlap finds it; the column counts from the beginning.
    let text = format!("first\n{}needle{part}{part} needle\nlast needle\n", &part[3..]);
    let mut scanner = scanner("needle", 1, 9, ALL);
    assert_eq!(scanner.scan("f", &mut file(text.as_bytes(), 1 << 18), 0), Ok(Ended::Whole));
    let found: Vec<_> = scanner.matches.iter().map(|found| (found.line, found.column, found.cut)).collect();
    // The long line is answered once, at its first match.
    assert_eq!(found, [(2, LINE_BYTES_MAX as u64 - 2, true), (3, 6, false)]);
    assert!(scanner.matches[0].text.len() <= 400 && scanner.matches[0].text.contains("needle"));
}

#[test]
fn the_work_of_a_call_is_bounded() {
    let text = "no match\n".repeat(100_000);
    let mut scanner = scanner("needle", 0, 9, 300_000);
    assert_eq!(scanner.scan("f", &mut file(text.as_bytes(), 1 << 16), 0), Err(Problem::TooLong));
    assert!(scanner.is_spent());
    // A file that was begun with little left is gone on with, not given up.
    scanner.bytes_left = 1000;
    assert!(matches!(scanner.scan("f", &mut file(text.as_bytes(), 1 << 16), 0), Ok(Ended::Stopped { .. })));
}

#[test]
fn what_is_shown_is_short_and_on_one_line() {
    let line = format!("{}\u{1b}[2Jneedle\u{7}\tü{}", "é".repeat(500), "é".repeat(500));
    let mut scanner = scanner("needle.*", 0, 9, ALL);
    scanner.scan("f", &mut file(line.as_bytes(), 1 << 20), 0).unwrap();
    let found = &scanner.matches[0];
    assert!(found.cut && found.text.len() < 420 && found.found.len() <= 204, "{found:?}");
    assert!(found.text.contains("\u{FFFD}[2Jneedle\u{FFFD}\tü"), "{found:?}");
    assert!(!found.found.ends_with('\u{FFFD}'), "no character is cut: {found:?}");
    assert_eq!(found.column, 505);
}
