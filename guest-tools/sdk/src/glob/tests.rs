//! Globs that people write, those that mean nothing, and one made to take for ever.

use super::*;

fn check(glob: &str, meant: &[&str], not: &[&str]) {
    let parsed = Glob::parse(glob).unwrap_or_else(|why| panic!("{glob}: {why}"));
    for path in meant {
        assert!(parsed.matches(path), "{glob} means {path}");
    }
    for path in not {
        assert!(!parsed.matches(path), "{glob} does not mean {path}");
    }
}

#[test]
fn what_means_nothing_is_refused_with_advice() {
    for (glob, said) in [
        ("", "empty"),
        ("a//b", "empty part"),
        ("a/", "trailing"),
        ("../a", ".."),
        ("a/./b", ". or"),
        ("[", "close a ["),
        ("[]", "close a ["),
        ("[a-", "close a ["),
        ("{a", "close a {"),
        ("a}", "does not open"),
        ("{a,{b,c}}", "inside"),
        (&"{a,b}".repeat(7), "more than 64"),
        (&"a".repeat(501), "500 bytes"),
    ] {
        let why = Glob::parse(glob).expect_err(glob);
        assert!(why.contains(said), "{glob}: {why}");
    }
}

#[test]
fn names_at_any_depth() {
    check("*.txt", &["a.txt", ".txt", "b/c/a.txt", "ü.txt"], &["a.txt.gz", "atxt", "a.TXT", "a.txt/b"]);
    check("a?c", &["abc", "x/aüc"], &["ac", "abbc"]);
    check("[a-c]*[!0-9]", &["az", "b1x", "ab"], &["z", "a", "a1"]);
    check("[]x-]", &["]", "x", "-"], &["y", "]x"]);
    check("[[]*", &["[a"], &["a"]);
    check("*", &["a", "b/c"], &[]);
    check("**", &["a", "b/c"], &[]);
    check("***a**", &["a", "xay"], &["b"]);
    check("{README,LICENSE}{,.md}", &["README", "LICENSE.md"], &["README.txt", "readme"]);
    check("a\\b", &["a\\b"], &["ab"]);
}

#[test]
fn paths_from_the_folder_on() {
    check("src/*.rs", &["src/a.rs"], &["a.rs", "src/b/a.rs", "x/src/a.rs"]);
    check("/a", &["a"], &["b/a"]);
    check("**/a", &["a", "b/a", "b/c/a"], &["b/a/c"]);
    check("a/**", &["a", "a/b", "a/b/c"], &["b/a"]);
    check("a/**/b/*.md", &["a/b/x.md", "a/c/d/b/x.md", "a/b/b/x.md"], &["a/x.md", "a/b/c/x.md"]);
    check("{a,b}/c", &["a/c", "b/c"], &["c", "a/b/c"]);
    check("a*/b", &["ax/b"], &["ax/y/b"]);
}

#[test]
fn a_hostile_pattern_does_no_more_than_its_length_allows() {
    // By trying every way to share the letters out this would not end.
    check(&("*a".repeat(200) + "b"), &[], &[&"a".repeat(255)]);
    check(&("**/a/".repeat(90) + "b"), &[], &[&"a/".repeat(1000)]);
}
