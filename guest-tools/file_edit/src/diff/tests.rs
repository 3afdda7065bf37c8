//! Diffs against two oracles that apply them: a slow one, and `patch` where it is installed.

use std::fs;
use std::process::Command;

use super::*;
use crate::testing::Random;
use crate::text::Occurrences::{self, All, One};

fn edited(original: &[u8], edits: &[(&[u8], &[u8], Occurrences)]) -> Text {
    let mut text = Text::new(original.to_vec());
    for (old, new, which) in edits {
        text.edit(old, new, *which).unwrap();
    }
    text
}

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

fn check(text: &Text) -> Diff {
    let diff = unified("/shared/a", text);
    assert!(!diff.truncated);
    let applied = apply(str::from_utf8(text.original()).unwrap(), &diff.text);
    assert_eq!(applied.as_bytes(), text.current(), "{}", diff.text);
    diff
}

#[test]
fn a_diff_reads_as_people_expect() {
    let numbers: String = (1..=20).map(|n| format!("{n}\n")).collect();
    let text = edited(numbers.as_bytes(), &[(b"4\n5\n6\n", b"4\nfive\n6\n", One), (b"19", b"x", One)]);
    assert_eq!(
        check(&text).text,
        "--- /shared/a\n+++ /shared/a\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n\
         @@ -16,5 +16,5 @@\n 16\n 17\n 18\n-19\n+x\n 20\n"
    );
}

#[test]
fn edges_of_files() {
    let shown = |original: &[u8], old: &[u8], new: &[u8]| {
        let diff = check(&edited(original, &[(old, new, One)])).text;
        diff.strip_prefix("--- /shared/a\n+++ /shared/a\n").unwrap().to_owned()
    };
    assert_eq!(shown(b"a", b"a", b""), "@@ -1 +0,0 @@\n-a\n\\ No newline at end of file\n");
    assert_eq!(shown(b"a\n", b"a\n", b""), "@@ -1 +0,0 @@\n-a\n");
    assert_eq!(shown(b"a\n", b"a\n", b"a"), "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n");
    assert_eq!(shown(b"a", b"a", b"a\n"), "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
    assert_eq!(shown(b"a\nb", b"a\n", b""), "@@ -1,2 +1 @@\n-a\n b\n\\ No newline at end of file\n");
    assert_eq!(shown(b"a\nb\n", b"a", b"x\na"), "@@ -1,2 +1,3 @@\n+x\n a\n b\n");
    assert_eq!(shown(b"a\nb\n", b"b\n", b"b\nc\n"), "@@ -1,2 +1,3 @@\n a\n b\n+c\n");
    assert_eq!(shown(b"a\nb\nc\n", b"\nb\n", b""), "@@ -1,3 +1 @@\n-a\n-b\n-c\n+ac\n");
}

#[test]
fn lines_that_an_edit_repeats_are_context() {
    let text = edited(
        b"fn a() {\n    one();\n    two();\n}\n",
        &[(
            b"fn a() {\n    one();\n    two();\n}\n",
            b"fn a() {\n    zero();\n    one();\n    three();\n}\n",
            One,
        )],
    );
    assert!(check(&text).text.ends_with(
        "@@ -1,4 +1,5 @@\n fn a() {\n+    zero();\n     one();\n-    two();\n+    three();\n }\n"
    ));
}

#[test]
fn random_edits_give_diffs_that_apply() {
    let mut random = Random::new(2);
    let mut made = 0;
    for _ in 0..30_000 {
        let mut text = Text::new(random.bytes(b"ab\n\n", 60));
        for _ in 0..1 + random.below(4) {
            let old = random.bytes(b"ab\n", 4);
            let which = if random.below(3) == 0 { All } else { One };
            if !old.is_empty() && text.edit(&old, &random.bytes(b"abc\n", 6), which).is_ok() {
                made += 1;
            }
        }
        if text.original() != text.current() {
            check(&text);
        }
    }
    assert!(made > 10_000, "{made}");
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
        let mut text = Text::new(random.bytes(b"abcd\n\n", 200));
        for _ in 0..1 + random.below(3) {
            let old = random.bytes(b"abcd\n", 3);
            if !old.is_empty() {
                let _ =
                    text.edit(&old, &random.bytes(b"abx\n", 8), if random.below(2) == 0 { All } else { One });
            }
        }
        // An empty result is a removed file to `patch`.
        if text.original() == text.current() || text.current().is_empty() {
            continue;
        }
        let diff = check(&text).text;
        fs::write(&file, text.original()).unwrap();
        fs::write(&patch, &diff).unwrap();
        let mut command = Command::new("patch");
        command.args(["--fuzz=0", "--silent", "-o"]).args([&out, &file, &patch]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}\n{diff}");
        assert!(!String::from_utf8_lossy(&output.stdout).contains("offset"), "{output:?}\n{diff}");
        assert_eq!(fs::read(&out).unwrap(), text.current(), "{diff}");
        applied += 1;
    }
    fs::remove_dir_all(dir).unwrap();
}

#[test]
fn carriage_returns_stay_and_other_bytes_are_told_apart() {
    let text = edited(b"a\r\nb\r\n", &[(b"b", b"c", One)]);
    assert!(check(&text).text.ends_with(" a\r\n-b\r\n+c\r\n"));
    let text = edited(b"\xff\x1b[2Jx\xc2\x9b\n", &[(b"x", b"y", One)]);
    assert!(
        unified("/shared/a", &text)
            .text
            .ends_with("-\u{fffd}\u{fffd}[2Jx\u{fffd}\n+\u{fffd}\u{fffd}[2Jy\u{fffd}\n")
    );
}

#[test]
fn a_long_diff_is_cut_and_says_so() {
    let diff =
        unified("/shared/a", &edited(&b"line\n\n\n\n\n\n\n\n".repeat(10_000), &[(b"line", b"x", All)]));
    assert!(diff.truncated && diff.text.len() < 33 << 10, "{}", diff.text.len());
    assert!(diff.text.ends_with("was cut here; read the file to see the rest.]\n"));
    let diff = unified("/shared/a", &edited(&[b'a'; 100_000], &[(&[b'a'; 60_000], b"b", All)]));
    assert!(diff.truncated && diff.text.len() < 6 << 10, "{}", diff.text.len());
    assert!(
        diff.text.contains("… [100000 bytes in this line]")
            && diff.text.contains("… [40001 bytes in this line]")
    );
}

#[test]
fn a_large_file_with_many_changes_costs_one_look_at_it() {
    // 10 MB and 200 000 changes: with anything quadratic this does not end.
    let text = edited(
        &b"0123456789012345678901234567890123456789012345678\n".repeat(200_000),
        &[(b"5678\n", b"56789\n", All), (b"0123", b"0\n123", All)],
    );
    assert!(unified("/shared/a", &text).truncated);
}
