//! `file_search`: what is found in trees that people and attackers make, where, and where it stops.

use super::check::{home, patient, refuses, special};
use rustix::fs::FileType;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use support::home::Home;

fn search(home: &Home, arguments: &[&str]) -> Value {
    let ran = home.call(&[&["file_search"], arguments].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.json()
}

/// `path:line:column` of every match.
fn places(found: &Value) -> Vec<String> {
    let all = found["matches"].as_array().expect("matches");
    let place = |m: &Value| format!("{}:{}:{}", m["path"].as_str().expect("a path"), m["line"], m["column"]);
    all.iter().map(place).collect()
}

#[test]
fn what_is_not_searched_for_is_refused_with_advice() {
    let home = home();
    fs::write(home.host("/shared/file"), "abc").expect("writable");
    special(&home.host("/shared/fifo"), FileType::Fifo, 0);
    symlink("/etc/passwd", home.host("/shared/passwd")).expect("writable");
    let check = |code: &str, arguments: &[&str], said: &str| {
        let ran = refuses(&home, code, &[&["file_search"], arguments].concat());
        assert!(ran.message().contains(said), "{ran:?}");
    };
    check("not_found", &["path=/shared/missing", "pattern=a"], "/shared/missing");
    check("not_a_regular_file", &["path=/shared/fifo", "pattern=a"], "/shared/fifo");
    check("path_denied", &["path=/shared/passwd", "pattern=root"], "outside");
    check("path_denied", &["path=/vault", "pattern=a"], "");
    check("path_denied", &["path=/etc", "pattern=a"], "");
    check("invalid_arguments", &["path=/shared"], "pattern");
    check("invalid_arguments", &["path=/shared", "pattern="], "");
    let long = format!("pattern={}", "a".repeat(1001));
    check("invalid_arguments", &["path=/shared", &long], "");
    let regex = |pattern: &str, said: &str| {
        check("invalid_arguments", &["path=/shared", "regex=true", &format!("pattern={pattern}")], said);
    };
    regex("(", "unclosed group");
    regex("(?=a)", "look-around");
    regex("((a{100}){100}){100}", "size limit");
    regex("\\w{5000}", "size limit");
    regex("(\\pL{999}){999}", "size limit");
    regex("a\\nb", "lines are searched one by one");
    for bad in
        ["context=11", "limit=0", "limit=1001", "glob=[", "cursor=x", "cursor=1:", "cursor=1:../a", "other=1"]
    {
        check("invalid_arguments", &["path=/shared", "pattern=a", bad], "");
    }
}

#[test]
fn matches_stand_where_they_are() {
    let home = home();
    let shared = home.host("/shared");
    fs::create_dir_all(shared.join("b/c")).expect("writable");
    fs::write(shared.join("b/c/unix"), "one\ntwo needle\n\nNEEDLE\nlast needle").expect("writable");
    fs::write(shared.join("b/dos.txt"), "ä\r\nnaïve ü needle needle\r\nneedles\r\n").expect("writable");
    fs::write(shared.join("a.md"), "no\n").expect("writable");
    fs::write(shared.join("b-1"), "needle\n").expect("writable");
    let found = search(&home, &["path=/shared", "pattern=needle"]);
    let expected = [
        "/shared/b/c/unix:2:5",
        "/shared/b/c/unix:5:6",
        "/shared/b/dos.txt:2:9",
        "/shared/b/dos.txt:3:1",
        "/shared/b-1:1:1",
    ];
    assert_eq!(places(&found), expected);
    assert_eq!(
        found["matches"][2],
        json!({ "path": "/shared/b/dos.txt", "line": 2, "column": 9, "match": "needle", "text": "naïve ü needle needle" })
    );
    let rest = json!({ "truncated": false, "files_searched": 4, "binary_skipped": 0, "unreadable_count": 0 });
    for (key, value) in rest.as_object().expect("an object") {
        assert_eq!(found[key], *value, "{key}: {found}");
    }
    let with = |arguments: &[&str]| places(&search(&home, &[&["path=/shared"], arguments].concat()));
    assert_eq!(with(&["pattern=needle", "case_insensitive=true", "glob=unix"]).len(), 3);
    assert_eq!(with(&["pattern=needle", "glob=*.{txt,md}"]), expected[2..4]);
    assert_eq!(with(&["pattern=^needle$", "regex=true"]), ["/shared/b-1:1:1"]);
    assert_eq!(with(&["pattern=^$", "regex=true"]), ["/shared/b/c/unix:3:1"]);
    assert_eq!(with(&["pattern=E{2}D\\w", "regex=true"]), ["/shared/b/c/unix:4:2"]);
    assert_eq!(with(&["pattern=need.e"]), [""; 0]);
    let one = search(&home, &["path=/shared/b/c/unix", "pattern=two", "context=2"]);
    assert_eq!(
        (&one["matches"][0]["before"], &one["matches"][0]["after"]),
        (&json!(["one"]), &json!(["", "NEEDLE"]))
    );
    // A pattern that other engines would try for ever.
    fs::write(shared.join("evil"), "a".repeat(1 << 20)).expect("writable");
    assert_eq!(with(&["pattern=(a*)*b", "regex=true", "glob=evil"]), [""; 0]);
}

#[test]
fn a_search_stops_at_its_limit_and_goes_on_from_there() {
    let home = home();
    for (name, lines) in [("a", 5), ("b", 0), ("c", 1), ("d", 7)] {
        fs::write(home.host("/shared").join(name), "x needle\ny\n".repeat(lines)).expect("writable");
    }
    let all = places(&search(&home, &["path=/shared", "pattern=needle"]));
    assert_eq!(all.len(), 13);
    for limit in [1, 2, 3, 13] {
        let (mut found, mut cursor) = (Vec::new(), String::new());
        loop {
            let limit = format!("limit={limit}");
            let mut arguments = vec!["path=/shared", "pattern=needle", &limit];
            arguments.extend((!cursor.is_empty()).then_some(cursor.as_str()));
            let page = search(&home, &arguments);
            found.extend(places(&page));
            assert_eq!(page["truncated"], page["cursor"].is_string(), "{page}");
            match page["cursor"].as_str() {
                Some(next) => cursor = format!("cursor={next}"),
                None => break,
            }
        }
        assert_eq!(found, all, "{limit} at a time");
    }
    // In one file, too, and after it was removed.
    let first = search(&home, &["path=/shared/a", "pattern=needle", "limit=4"]);
    let cursor = format!("cursor={}", first["cursor"].as_str().expect("more"));
    assert_eq!(places(&search(&home, &["path=/shared/a", "pattern=needle", &cursor])), all[4..5]);
    fs::remove_file(home.host("/shared/a")).expect("ours");
    let rest = search(&home, &["path=/shared", "pattern=needle", "cursor=3:a"]);
    assert_eq!(places(&rest), all[5..]);
}

#[test]
fn links_special_files_and_odd_names_break_nothing() {
    let home = home();
    let shared = home.host("/shared");
    let secret = home.file("secret", b"needle outside");
    fs::write(home.host("/vault/secret"), "needle in the vault").expect("writable");
    fs::create_dir_all(shared.join("d/e")).expect("writable");
    fs::write(shared.join("d/e/file"), "needle").expect("writable");
    let links = [
        (".", "loop"),
        ("..", "d/e/up"),
        ("../..", "out"),
        ("../vault/secret", "vault"),
        (secret.as_str(), "host"),
        ("nothing", "dangling"),
        ("circle", "circle"),
        ("d/e/file", "inside"),
    ];
    for (target, name) in links {
        symlink(target, shared.join(name)).expect("writable");
    }
    special(&shared.join("fifo"), FileType::Fifo, 0);
    let _listener = UnixListener::bind(shared.join("socket")).expect("writable");
    fs::write(shared.join("binary"), b"needle\n\0needle").expect("writable");
    fs::write(shared.join("new\nneedle"), "needle").expect("writable");
    fs::write(shared.join(OsStr::from_bytes(b"\xff")), "needle").expect("writable");
    fs::write(shared.join("latin"), b"caf\xe9 needle \x1b[2J").expect("writable");
    let long = "n".repeat(255);
    fs::write(shared.join(&long), "needle").expect("writable");
    let ran = home.call(&["file_search", "path=/shared", "pattern=needle"]);
    assert!(!ran.stdout.contains("outside") && !ran.stdout.contains("vault"), "{ran:?}");
    let found = ran.json();
    let long = format!("/shared/{long}:1:1");
    assert_eq!(places(&found), ["/shared/d/e/file:1:1", "/shared/latin:1:6", &long]);
    assert_eq!(found["matches"][1]["text"], "caf\u{FFFD} needle \u{FFFD}[2J");
    let counts =
        ["files_searched", "binary_skipped", "symlinks_skipped", "special_skipped", "unreadable_count"];
    assert_eq!(counts.map(|key| found[key].as_u64()), [3, 1, 8, 2, 2].map(Some), "{found}");
    let told: Vec<_> = found["unreadable"].as_array().expect("some").iter().map(|it| &it["path"]).collect();
    assert_eq!(told, [&json!("/shared"), &json!("/shared/new\\u{a}needle")]);
    // A link that is named itself, inside the mount, is followed.
    assert_eq!(places(&search(&home, &["path=/shared/inside", "pattern=needle"])), ["/shared/inside:1:1"]);
}

#[test]
fn a_gigabyte_without_a_line_end_costs_no_memory() {
    let home = patient("file_search");
    let mut huge = File::create(home.host("/shared/huge")).expect("writable");
    huge.write_all(format!("a needle before\n{}", "x".repeat(9000)).as_bytes()).expect("writable");
    huge.set_len(1 << 30).expect("sparse files are possible");
    huge.seek(SeekFrom::Start((1 << 30) - 20)).expect("ours");
    huge.write_all(b" needle at the end\nx").expect("writable");
    // A line that is as long as what is held of a file.
    let long = format!("{}needle\nx\n", "x".repeat((8 << 20) - 100));
    fs::write(home.host("/shared/long"), long).expect("writable");
    // The memory of the tool is 48 MiB, by its policy: more would end it.
    let found = search(&home, &["path=/shared", "pattern=needle"]);
    assert_eq!(places(&found), ["/shared/huge:1:3".to_owned(), format!("/shared/long:1:{}", (8 << 20) - 99)]);
    assert_eq!(found["matches"][1]["cut"], true);
    let told = json!([{ "path": "/shared/huge", "reason": "a line is too long to be searched; the file was searched up to it" }]);
    assert_eq!(found["unreadable"], told);
    let lines = search(&home, &["path=/shared", "pattern=^x$", "regex=true"]);
    assert_eq!(places(&lines), ["/shared/long:2:1"]);
}

#[test]
fn an_expression_of_very_many_states_stays_within_the_memory_of_a_call() {
    let home = patient("file_search");
    // Of what the last 20 digits were there are a million states, and random digits lead through
    // them all: without a bound on what is remembered of them they take over 100 MiB.
    let mut state = 1_u64;
    let digits: Vec<u8> = (0..4 << 20)
        .map(|n| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if n % 500 == 499 { b'\n' } else { b'0' + (state >> 63) as u8 }
        })
        .collect();
    fs::write(home.host("/shared/digits"), [&digits[..], b"\n1", &[b'0'; 20], b"x\n"].concat())
        .expect("writable");
    let found = search(&home, &["path=/shared", "pattern=[01]*1[01]{20}[^01]", "regex=true"]);
    assert_eq!(found["matches"][0]["text"], "100000000000000000000x", "{found}");
    assert_eq!(found["matches"].as_array().map(Vec::len), Some(1));
}

#[test]
fn an_answer_is_bounded_and_goes_on() {
    let home = home();
    fs::write(home.host("/shared/a"), format!("{}\n", "needle ".repeat(100)).repeat(3000)).expect("writable");
    let first = search(&home, &["path=/shared", "pattern=needle", "limit=1000", "context=10"]);
    let count = first["matches"].as_array().expect("matches").len();
    // A million bytes of text at 400 a line and 21 lines a match.
    assert!((100..200).contains(&count), "{count}");
    assert_eq!(first["cursor"], format!("{count}:a"), "{}", first["cursor"]);
}

#[test]
fn what_may_not_be_read_is_told_and_the_rest_is_searched() {
    let home = home();
    super::list::closed(&home);
    let found = search(&home, &["path=/shared", "pattern=needle"]);
    assert_eq!(places(&found), ["/shared/open/file:1:1", "/shared/z:1:1"], "{found}");
    assert_eq!(found["unreadable_count"], 2, "{found}");
    let told = found["unreadable"].as_array().expect("a list");
    let told: Vec<_> = told.iter().filter_map(|told| told["path"].as_str()).collect();
    assert_eq!(told, ["/shared/closed", "/shared/closed-file"], "{found}");
    let ran = home.call(&["file_search", "path=/shared/closed-file", "pattern=needle"]);
    assert_eq!((ran.code, ran.error().as_str()), (Some(1), "path_denied"), "{ran:?}");
    fs::set_permissions(home.host("/shared/closed"), Permissions::from_mode(0o755)).expect("ours");
}
