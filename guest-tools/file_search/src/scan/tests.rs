//! Files in pieces of every size, each compared with splitting the whole into lines and looking at
//! each.

use super::*;
use crate::pattern::tests::regex;

const ALL: u64 = u64::MAX;

fn scanner(pattern: &str, context: usize, matches: usize, bytes: u64) -> Scanner {
    Scanner::new(regex(pattern).unwrap(), context, Left { matches, answer_bytes: 1 << 20, bytes })
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
    let pattern = regex(pattern).unwrap();
    let lines = text.strip_suffix('\n').unwrap_or(text).split('\n').zip(1..);
    let lines = lines.filter(|_| !text.is_empty());
    let found = lines.filter_map(|(line, number)| {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let found = pattern.find(line.as_bytes()).unwrap()?;
        Some((
            number,
            line[..found.start()].chars().count() as u64 + 1,
            line[found.start()..found.end()].replace(char::is_control, "\u{FFFD}"),
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
            // These see the carriage return before the line feed.
            if text.contains("\r\n") && ["b\\z", "(?-R)b$"].contains(&pattern) {
                continue;
            }
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
            assert_eq!(
                (&found.before[..], &found.after[..]),
                (&own(before)[..], &own(after)[..]),
                "{pattern} by {piece}"
            );
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
fn matches_close_together_are_each_others_context() {
    let text = "1 x\n2 x\n3\n4 x\n5\n6\n7\n8 x\n";
    let mut scanner = scanner("x", 2, 3, ALL);
    // Enough with the third; the lines after it are still shown, and what matches there is not.
    assert_eq!(scanner.scan("f", &mut file(text.as_bytes(), 3), 0), Ok(Ended::Stopped { line: 4 }));
    let all: Vec<_> =
        scanner.matches.iter().map(|found| (found.line, found.before.clone(), found.after.clone())).collect();
    let expected = [
        (1, own(&[]), own(&["2 x", "3"])),
        (2, own(&["1 x"]), own(&["3", "4 x"])),
        (4, own(&["2 x", "3"]), own(&["5", "6"])),
    ];
    assert_eq!(all, expected);
    let mut rest = self::scanner("x", 2, 3, ALL);
    assert_eq!(rest.scan("f", &mut file(text.as_bytes(), 3), 4), Ok(Ended::Whole));
    assert_eq!((rest.matches[0].line, &rest.matches[0].before), (8, &own(&["6", "7"])));
}

#[test]
fn a_line_longer_than_memory_is_a_problem_and_what_comes_before_it_is_found() {
    let part = "x".repeat(HELD_BYTES_MAX);
    let mut scanner = scanner("needle", 1, 9, ALL);
    let held = format!("first needle\n{}needle\nlast needle\n", &part[100..]);
    assert_eq!(scanner.scan("f", &mut file(held.as_bytes(), 1 << 18), 0), Ok(Ended::Whole));
    let found: Vec<_> = scanner.matches.iter().map(|found| (found.line, found.column, found.cut)).collect();
    assert_eq!(found, [(1, 7, false), (2, HELD_BYTES_MAX as u64 - 99, true), (3, 6, false)]);
    assert!(scanner.matches[1].text.len() <= 400 && scanner.matches[1].text.contains("needle"));
    let longer = format!("first needle\n{part}needle\nlast needle\n");
    assert_eq!(scanner.scan("g", &mut file(longer.as_bytes(), 1 << 18), 0), Err(Problem::LongLine));
    assert_eq!(scanner.matches.len(), 4);
}

#[test]
fn a_byte_order_mark_changes_nothing() {
    let mut scanner = scanner("^needle", 0, 9, ALL);
    for mark in ["\u{feff}", ""] {
        let text = format!("{mark}needle\nneedle\n");
        scanner.scan("f", &mut file(text.as_bytes(), 5), 0).unwrap();
    }
    assert_eq!(scanner.matches.iter().map(|found| found.line).collect::<Vec<_>>(), [2, 1, 2]);
}

#[test]
fn the_work_of_a_call_is_bounded() {
    let text = "no match\n".repeat(100_000);
    let mut scanner = scanner("needle", 0, 9, 300_000);
    assert_eq!(scanner.scan("f", &mut file(text.as_bytes(), 1 << 16), 0), Err(Problem::TooLong));
    assert!(scanner.is_spent());
    // A file that was begun with little left is gone on with, not given up.
    scanner.left.bytes = 100_000;
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

#[test]
fn a_column_counts_what_is_no_utf8_as_it_is_shown() {
    for before in
        [&b"\xa7\xa7"[..], b"\xe4\xa7", b"\xe4\xe4\xe4", b"\xe2\x82 \xff", "\u{e4}\u{20ac}".as_bytes()]
    {
        let line = [before, b"needle"].concat();
        let mut scanner = scanner("needle", 0, 9, ALL);
        scanner.scan("f", &mut file(&line, 100), 0).unwrap();
        let found = &scanner.matches[0];
        let shown = found.text.find("needle").map(|at| found.text[..at].chars().count() as u64);
        assert_eq!(Some(found.column), shown.map(|shown| shown + 1), "{before:?}: {found:?}");
    }
}
