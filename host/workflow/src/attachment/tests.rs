//! Attachments on paper: paths, patterns, addresses, types.

use super::{AttachmentSource, FolderPath, Kind, Origin, Pattern, PatternSegment, Url};

fn check_path(text: &str, expected: &str) {
    let found = match AttachmentSource::parse_paths(text) {
        Ok(AttachmentSource::File(path)) => format!("file {path}"),
        Ok(AttachmentSource::Pattern(pattern)) => format!("pattern {pattern}"),
        Ok(AttachmentSource::Workspace(path)) => format!("workspace {path}"),
        Ok(AttachmentSource::Url(url)) => panic!("{url:?} is no path"),
        Err(error) => error.to_string(),
    };
    assert!(
        found.starts_with(expected) || found.contains(expected) && !expected.contains(' '),
        "{text:?}: {found}"
    );
}

#[test]
fn paths_stay_below_the_folder_on_paper() {
    for (text, expected) in [
        ("", "the path is empty"),
        ("..", "`..` leads above the folder"),
        ("../a.png", "`../a.png` leads above"),
        ("a/../../b.png", "`a/../../b.png` leads above"),
        ("../**/*.png", "`../**/*.png` leads above"),
        ("*/../../x", "`*/../../x` leads above"),
        ("/etc/passwd", "`/etc/passwd` is an absolute path"),
        ("/vault/key", "`/vault/key` is an absolute path"),
        ("/sharedness/a", "`/sharedness/a` is an absolute path"),
        ("/*/a", "`/*/a` is an absolute path"),
        ("/shared/*.png", "`/shared/*.png` is a pattern"),
        ("/shared", "`/shared` names a folder"),
        ("/shared/a/", "`/shared/a/` names a folder"),
        ("/shared/../vault/key", "\"/shared/../vault/key\" has a . or .. component"),
        ("/tmp/.cofferdam-x", "names starting with .cofferdam-"),
        ("a/", "`a/` names a folder"),
        (".", "`.` names a folder"),
        ("a/..", "`a/..` names a folder"),
        ("a\0b", "the path has a control"),
        ("a\u{202e}b", "the path has a control"),
        ("a\nb", "the path has a control"),
        ("a.png", "file a.png"),
        ("./a//b/./c.png", "file a/b/c.png"),
        ("a/../b.png", "file b.png"),
        ("/shared/a.png", "workspace /shared/a.png"),
        ("/tmp/a/b", "workspace /tmp/a/b"),
        ("./*.png", "pattern ./*.png"),
    ] {
        check_path(text, expected);
    }
    assert!(AttachmentSource::parse_path(&"a".repeat(4097)).is_err());
    // One path is a name, whatever stands in it.
    assert!(matches!(AttachmentSource::parse_path("a*.png"), Ok(AttachmentSource::File(_))));
}

#[test]
fn what_is_no_pattern_is_refused() {
    for (text, said) in [
        ("**.png", "`**` must be a whole segment"),
        ("a**/b", "`**` must be a whole segment"),
        ("***/b", "`**` must be a whole segment"),
        ("a/**", "ends with `**`"),
        ("**/", "ends with `**`"),
        ("*.png/", "ends with `/`"),
        ("[a", "invalid range"),
        ("[]", "invalid range"),
        ("{a", "`{` has no `}`"),
        ("a}", "`}` has no `{`"),
        ("{a/b,c}", "`{` has no `}` in its segment"),
        ("a\\*b", "there is no `\\`"),
        ("**/../a", "leads nowhere"),
        ("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", "more than 64 patterns"),
    ] {
        let error = Pattern::parse(text).expect_err(text).to_string();
        assert!(error.contains(said), "{text}: {error}");
    }
}

/// Whether these levels lead to the path, none of whose folders is a link.
fn lead_to(segments: &[PatternSegment], names: &[String]) -> bool {
    match (segments, names) {
        ([], []) => true,
        ([PatternSegment::AnyDepth, rest @ ..], _) => {
            let deeper = |(name, deeper): (&String, &[String])| {
                PatternSegment::AnyDepth.matches_name(name) && lead_to(segments, deeper)
            };
            lead_to(rest, names) || names.split_first().is_some_and(deeper)
        }
        ([segment, rest @ ..], [name, deeper @ ..]) => segment.matches_name(name) && lead_to(rest, deeper),
        _ => false,
    }
}

#[test]
fn patterns_match_names_as_an_operator_expects() {
    let check = |pattern: &str, matching: &[&str], not: &[&str]| {
        let parsed = Pattern::parse(pattern).expect(pattern);
        for (path, expected) in matching.iter().map(|p| (p, true)).chain(not.iter().map(|p| (p, false))) {
            let path = FolderPath::parse(path).expect("a path");
            assert_eq!(lead_to(parsed.segments(), path.names()), expected, "{pattern} {path}");
        }
    };
    check("*.png", &["a.png", "ä.png"], &["a.PNG", ".a.png", "a/b.png", "png", "a.pngx", ".png"]);
    check("./*.png", &["a.png"], &["x/a.png"]);
    check("**/*.png", &["a.png", "x/a.png", "x/y/z/a.png"], &[".x/a.png", "x/.y/a.png", "x/.a.png"]);
    check("x/**/y/*", &["x/y/a", "x/1/y/a", "x/1/2/y/a"], &["x/a", "y/a", "x/1/y", "x/.h/y/a"]);
    check("**/**/a", &["a", "x/a", "x/y/a"], &["x/b"]);
    check("?.png", &["a.png", "ä.png"], &[".png", "ab.png"]);
    check("[a-c].png", &["b.png"], &["d.png", "B.png"]);
    check("[!a-c].png", &["d.png"], &["a.png", "..png"]);
    check("[ä-ö].png", &["ö.png"], &["o.png"]);
    check("{a,b?}.{png,jpg}", &["a.png", "bx.jpg"], &["b.png", "a.gif", "{a.png"]);
    check("{a,{b,c}d}", &["a", "bd", "cd"], &["b", "d"]);
    check("{,x}a", &["a", "xa"], &["ya"]);
    check("[{]a", &["{a"], &["a"]);
    check("[*]", &["*"], &["a"]);
    check("[[]x[]]", &["[x]"], &["x"]);
    check(".*", &[".git"], &["git"]);
    check("{.git,src}", &[".git", "src"], &[".src"]);
    check(".*/**/x", &[".a/x", ".a/b/x"], &["a/x", ".a/.b/x"]);
    check("a/../*.png", &["b.png"], &["a/b.png"]);
    // Takes no longer than the product of both lengths.
    check(&"*a".repeat(100), &[], &[&"a".repeat(255)[..99]]);
}

#[test]
fn addresses_are_read_strictly() {
    for (text, said) in [
        ("", "is no address"),
        ("example.com/a.png", "is no address"),
        ("/a.png", "is no address"),
        ("file:///etc/passwd", "the scheme `file` is not taken"),
        ("ftp://example.com/a", "the scheme `ftp` is not taken"),
        ("data:image/png;base64,AAAA", "the scheme `data` is not taken"),
        ("javascript:alert(1)", "the scheme `javascript`"),
        ("https:example.com", "is no address"),
        ("https:\\\\example.com", "is no address"),
        ("https://example.com\\@evil.example/", "is no address"),
        ("https://", "is no address"),
        ("https:///a", "is no address"),
        ("https://exa mple.com/", "a blank or control character"),
        ("https://example.com/a\nb", "a blank or control character"),
        ("https://user:s3cret@[bad/x?token=s3cret", "is no address"),
    ] {
        let error = Url::parse(text).expect_err(text).to_string();
        assert!(error.contains(said) && !error.contains("s3cret"), "{text:?}: {error}");
    }
    let long = format!("https://e/{}", "a".repeat(Url::BYTES_MAX));
    assert!(Url::parse(&long).expect_err("too long").to_string().contains("longer than"));
}

#[test]
fn one_address_has_one_key_and_no_secret_in_logs() {
    for (text, key, redacted) in [
        ("HTTPS://Example.COM", "https://example.com/", "https://example.com/"),
        (
            "https://example.com:443/a?B=%2f#f",
            "https://example.com/a?B=%2f",
            "https://example.com/a?[redacted]",
        ),
        ("https://example.com?x", "https://example.com/?x", "https://example.com/?[redacted]"),
        ("http://example.com:80/", "http://example.com/", "http://example.com/"),
        ("https://example.com:444/A/b", "https://example.com:444/A/b", "https://example.com:444/A/b"),
        ("https://u:p@example.com/", "https://u:p@example.com/", "https://example.com/"),
        ("https://example.com/a?q=\"", "https://example.com/a?q=\"", "https://example.com/a?[redacted]"),
        ("https://example.com/a?q=%22", "https://example.com/a?q=%22", "https://example.com/a?[redacted]"),
    ] {
        let url = Url::parse(text).expect(text);
        assert_eq!((url.key().as_str(), url.redacted().as_str()), (key, redacted));
        assert_eq!(url.as_written(), text);
        assert!(!format!("{url:?}").contains("u:p"));
    }
}

#[test]
fn each_type_takes_its_sources_and_no_others() {
    for (name, _) in Kind::ALL {
        let kind = Kind::from_name(name).expect(name);
        for (key, origin) in Origin::ALL {
            let takes = match kind {
                Kind::File => key == "path",
                Kind::Url => key == "url",
                _ => true,
            };
            assert_eq!(kind.check(origin, false).is_ok(), takes, "{name} {key}");
            let fetches = name == "image" && matches!(key, "url" | "urls");
            assert_eq!(kind.check(origin, true).is_ok(), fetches, "{name} {key} fetch");
        }
    }
    assert_eq!(Kind::from_name("document"), Some(Kind::Pdf));
    assert_eq!(Kind::from_name("Image"), None);
}
