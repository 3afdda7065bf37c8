//! Diffs against two oracles that apply them: a slow one, and `patch` where it is installed.

use std::fs;
use std::process::Command;

use super::*;
use crate::testing::Random;

/// Applies a diff as its format is defined, checking every line and every number of it.
fn apply(original: &str, diff: &str) -> String {
    let source: Vec<&str> = original.split_inclusive('\n').collect();
    let mut lines = diff.split_inclusive('\n').skip(2).peekable();
    let mut result: Vec<String> = Vec::new();
    let mut at = 0;
    while let Some(head) = lines.next() {
        let (was, is) =
            head.strip_prefix("@@ -").unwrap().strip_suffix(" @@\n").unwrap().split_once(" +").unwrap();
        let place = |text: &str| {
            let (start, count) = text.split_once(',').unwrap_or((text, "1"));
            let (start, count): (usize, usize) = (start.parse().unwrap(), count.parse().unwrap());
            (if count == 0 { start } else { start - 1 }, count)
        };
        let ((was, mut olds), (is, mut news)) = (place(was), place(is));
        result.extend(source[at..was].iter().map(|line| (*line).to_owned()));
        at = was;
        assert_eq!(result.len(), is, "{diff}");
        while olds + news > 0 {
            let line = lines.next().unwrap();
            let (mark, mut content) = line.split_at(1);
            if lines.next_if(|next| next.starts_with('\\')).is_some() {
                content = content.strip_suffix('\n').unwrap();
            }
            if mark != "+" {
                assert_eq!(source[at], content, "{diff}");
                (at, olds) = (at + 1, olds - 1);
            }
            if mark != "-" {
                result.push(content.to_owned());
                news -= 1;
            }
        }
    }
    result.extend(source[at..].iter().map(|line| (*line).to_owned()));
    result.concat()
}

/// A diff that is not cut, applied; without its head.
fn check(old: &[u8], new: &[u8]) -> String {
    let diff = unified("/shared/a", old, new);
    assert!(!diff.truncated);
    let applied = apply(str::from_utf8(old).unwrap(), &diff.text);
    assert_eq!(applied.as_bytes(), new, "{}", diff.text);
    diff.text.strip_prefix("--- /shared/a\n+++ /shared/a\n").unwrap().to_owned()
}

/// `text` with up to `edits` stretches of it replaced.
fn changed(random: &mut Random, text: &[u8], edits: usize) -> Vec<u8> {
    let mut text = text.to_vec();
    for _ in 0..1 + random.below(edits) {
        let start = random.below(text.len() + 1);
        let end = (start + random.below(8)).min(text.len());
        text.splice(start..end, random.bytes(b"abc\n", 6));
    }
    text
}

fn numbers(range: std::ops::RangeInclusive<usize>) -> String {
    range.map(|n| format!("{n}\n")).collect()
}

#[test]
fn a_diff_reads_as_people_expect() {
    let old = numbers(1..=20);
    let new = old.replace("4\n5\n6\n", "4\nfive\n6\n").replace("19", "x");
    assert_eq!(
        check(old.as_bytes(), new.as_bytes()),
        "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n@@ -16,5 +16,5 @@\n 16\n 17\n 18\n-19\n+x\n 20\n"
    );
}

#[test]
fn edges_of_files() {
    let shown = |old: &str, new: &str| check(old.as_bytes(), new.as_bytes());
    assert_eq!(shown("a", ""), "@@ -1 +0,0 @@\n-a\n\\ No newline at end of file\n");
    assert_eq!(shown("a\n", ""), "@@ -1 +0,0 @@\n-a\n");
    assert_eq!(shown("", "a\n"), "@@ -0,0 +1 @@\n+a\n");
    assert_eq!(shown("a\n", "a"), "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n");
    assert_eq!(shown("a", "a\n"), "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
    assert_eq!(shown("a\nb", "b"), "@@ -1,2 +1 @@\n-a\n b\n\\ No newline at end of file\n");
    assert_eq!(shown("a\nb\n", "x\na\nb\n"), "@@ -1,2 +1,3 @@\n+x\n a\n b\n");
    assert_eq!(shown("a\nb\n", "a\nb\nc\n"), "@@ -1,2 +1,3 @@\n a\n b\n+c\n");
    assert_eq!(shown("a\nb\nc\n", "ac\n"), "@@ -1,3 +1 @@\n-a\n-b\n-c\n+ac\n");
    assert_eq!(unified("/shared/a", b"a", b"a").text, "--- /shared/a\n+++ /shared/a\n");
}

#[test]
fn lines_that_an_edit_repeats_are_context() {
    assert_eq!(
        check(
            b"fn a() {\n    one();\n    two();\n}\n",
            b"fn a() {\n    zero();\n    one();\n    three();\n}\n",
        ),
        "@@ -1,4 +1,5 @@\n fn a() {\n+    zero();\n     one();\n-    two();\n+    three();\n }\n"
    );
}

#[test]
fn random_changes_give_diffs_that_apply() {
    let mut random = Random::new(2);
    for _ in 0..30_000 {
        let old = random.bytes(b"ab\n\n", 60);
        let new = changed(&mut random, &old, 4);
        check(&old, &new);
    }
}

#[test]
fn changes_far_apart_are_all_shown_and_windows_meet_without_a_seam() {
    let text = numbers(1..=40_000);
    let mut random = Random::new(4);
    // Around the place where the first window ends, and at both ends of the file.
    for _ in 0..50 {
        let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
        let edge = WINDOW_LINES - 12;
        for at in [0, edge + random.below(24), edge + random.below(24), 39_999] {
            match random.below(3) {
                0 => lines[at] = "changed\n",
                1 => lines[at] = "",
                _ => lines[at] = "one\ntwo\nthree\n",
            }
        }
        let diff = check(text.as_bytes(), lines.concat().as_bytes());
        let heads = diff.lines().filter(|line| line.starts_with("@@ ")).count();
        assert!((3..=4).contains(&heads), "{diff}");
        // Lines that two hunks have in common, or between which there are none, would be a seam.
        let context = diff.lines().filter(|line| line.starts_with(' ')).count();
        assert!(context >= 3 + 6 + 3, "{diff}");
    }
    // Nearly as many lines as a diff can show, in one change.
    let inserted = format!("{}{text}", "x\n".repeat(10_000));
    let diff = unified("/shared/a", text.as_bytes(), inserted.as_bytes());
    assert!(!diff.truncated && diff.text.ends_with("+x\n 1\n 2\n 3\n"));
}

#[test]
fn patch_applies_them_as_well() {
    if Command::new("patch").arg("--version").output().is_err() {
        // The slow oracle has seen thirty thousand of them.
        return;
    }
    let dir = std::env::temp_dir().join(format!("file_edit-patch-{}", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    let (file, patch, out) = (dir.join("file"), dir.join("patch"), dir.join("out"));
    let mut random = Random::new(3);
    let mut applied = 0;
    while applied < 150 {
        // Every third is longer than a window.
        let longer = if applied % 3 == 0 { numbers(1..=20_000).into_bytes() } else { Vec::new() };
        let old = [random.bytes(b"abcd\n\n", 200), longer, random.bytes(b"abcd\n\n", 200)].concat();
        let new = changed(&mut random, &old, 3);
        // An empty result is a removed file to `patch`.
        if old == new || new.is_empty() {
            continue;
        }
        let diff = unified("/shared/a", &old, &new).text;
        fs::write(&file, &old).unwrap();
        fs::write(&patch, &diff).unwrap();
        let mut command = Command::new("patch");
        command.args(["--fuzz=0", "--silent", "-o"]).args([&out, &file, &patch]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}\n{diff}");
        assert!(!String::from_utf8_lossy(&output.stdout).contains("offset"), "{output:?}\n{diff}");
        assert!(fs::read(&out).unwrap() == new, "{diff}");
        applied += 1;
    }
    fs::remove_dir_all(dir).unwrap();
}

#[test]
fn carriage_returns_stay_and_other_bytes_are_told_apart() {
    assert!(check(b"a\r\nb\r\n", b"a\r\nc\r\n").ends_with(" a\r\n-b\r\n+c\r\n"));
    assert_eq!(check(b"a\rb\r\n", b"a\rc\r\n"), "@@ -1 +1 @@\n-a\rb\r\n+a\rc\r\n");
    let diff = unified("/shared/a", b"\xff\x1b[2Jx\xc2\x9b\n", b"\xff\x1b[2Jy\xc2\x9b\n");
    assert!(diff.text.ends_with("-\u{fffd}\u{fffd}[2Jx\u{fffd}\n+\u{fffd}\u{fffd}[2Jy\u{fffd}\n"));
}

#[test]
fn a_long_diff_is_cut_and_says_so() {
    let diff = unified("/shared/a", &b"line\n".repeat(100_000), &b"x\n".repeat(100_000));
    assert!(diff.truncated && diff.text.len() < 33 << 10, "{}", diff.text.len());
    assert!(diff.text.ends_with("was cut here; read the file to see the rest.]\n"));
    // What it shows, it shows as it was and as it is.
    let count = |line: &str| diff.text.lines().filter(|shown| *shown == line).count();
    assert!(count("-line").abs_diff(count("+x")) <= TOGETHER && count("+x") > 1000, "{}", count("+x"));
    let long = [&[b'b'; 40_000][..], b"\n"].concat();
    let diff = unified("/shared/a", &[b'a'; 100_000], &long);
    assert!(diff.truncated && diff.text.len() < 6 << 10, "{}", diff.text.len());
    assert!(
        diff.text.contains("… [100000 bytes in this line]")
            && diff.text.contains("… [40000 bytes in this line]")
    );
}

#[test]
fn a_line_is_cut_between_characters() {
    for lead in ["", "a", "aa"] {
        let diff = unified("/shared/a", format!("{lead}{}\n", "€".repeat(1000)).as_bytes(), b"x\n");
        assert!(diff.truncated && diff.text.contains("€… [3"), "{}", diff.text);
        assert!(!diff.text.contains('\u{fffd}'), "{}", diff.text);
    }
}

#[test]
fn hostile_texts_cost_a_bounded_number_of_comparisons() {
    // With anything quadratic these do not end: 200 000 changed lines, 8 million lines with two
    // changes in each window, and lines of which most are on both sides, in another order.
    let old = b"0123456789012345678901234567890123456789012345678\n".repeat(200_000);
    let new = old.iter().map(|&byte| if byte == b'4' { b'x' } else { byte }).collect::<Vec<_>>();
    assert!(unified("/shared/a", &old, &new).truncated);
    let (old, mut new) = (b"\n".repeat(8 << 20), b"\n".repeat(8 << 20));
    for at in (0..new.len()).step_by(WINDOW_LINES / 2) {
        new[at] = b'x';
    }
    assert!(unified("/shared/a", &old, &new).text.len() > 10_000);
    let mut random = Random::new(5);
    let (old, new) = (random.bytes(b"ab\n", 8 << 20), random.bytes(b"ab\n", 8 << 20));
    assert!(unified("/shared/a", &old, &new).truncated);
}
