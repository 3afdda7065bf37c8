//! `file_list`: pages of folders of every kind and size, in order, each entry once.

use super::check::{home, patient, refuses, special};
use rustix::fd::OwnedFd;
use rustix::fs::{FileType, Mode, OFlags, mkdirat, openat};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, FileTimes, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::{Duration, SystemTime};
use support::home::Home;

fn list(home: &Home, arguments: &[&str]) -> Value {
    let ran = home.call(&[&["file_list"], arguments].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.json()
}

fn names(list: &Value) -> Vec<String> {
    let entries = list["entries"].as_array().expect("entries");
    entries.iter().map(|entry| entry["name"].as_str().expect("a name").to_owned()).collect()
}

/// Every page from the first one on; `between` runs after each.
fn pages(home: &Home, arguments: &[&str], mut between: impl FnMut(usize)) -> Vec<String> {
    let (mut found, mut cursor) = (Vec::new(), None);
    for page in 0.. {
        let more = cursor.map(|cursor: String| format!("cursor={cursor}"));
        let arguments: Vec<&str> = arguments.iter().copied().chain(more.as_deref()).collect();
        let listed = list(home, &arguments);
        found.extend(names(&listed));
        let next = listed["cursor"].as_str().map(str::to_owned);
        assert_eq!(listed["truncated"], next.is_some(), "{listed}");
        if next.is_none() {
            break;
        }
        cursor = next;
        between(page);
    }
    found
}

/// Below a folder, in the order of a walk.
fn below(dir: &Path) -> Vec<String> {
    let mut found: Vec<_> = super::check::tree(dir).into_keys().collect();
    found.sort();
    let below = |path: &Path| path.strip_prefix(dir).expect("below").to_str().expect("text").to_owned();
    found.iter().map(|path| below(path)).collect()
}

#[test]
fn what_is_not_listed_is_refused_with_advice() {
    let home = home();
    fs::write(home.host("/shared/file"), "abc").expect("writable");
    special(&home.host("/shared/fifo"), FileType::Fifo, 0);
    symlink("/etc", home.host("/shared/etc")).expect("writable");
    symlink("..", home.host("/shared/up")).expect("writable");
    symlink("nothing", home.host("/shared/dangling")).expect("writable");
    symlink("circle", home.host("/shared/circle")).expect("writable");
    let check = |code: &str, arguments: &[&str], said: &str| {
        let ran = refuses(&home, code, &[&["file_list"], arguments].concat());
        assert!(ran.message().contains(said), "{ran:?}");
    };
    check("invalid_arguments", &["path=/shared/file"], "a file, not a folder");
    check("not_a_regular_file", &["path=/shared/fifo"], "/shared/fifo");
    check("not_found", &["path=/shared/missing"], "/shared/missing");
    check("not_found", &["path=/shared/dangling"], "Nothing is there");
    check("path_denied", &["path=/shared/circle"], "circle");
    check("path_denied", &["path=/shared/etc"], "outside");
    check("path_denied", &["path=/shared/up"], "outside");
    check("path_denied", &["path=/vault"], "");
    check("path_denied", &["path=/"], "");
    check("path_denied", &["path=/shared/../tmp"], "");
    for (bad, said) in [
        ("limit=0", ""),
        ("limit=1001", ""),
        ("glob=[", "close a ["),
        ("glob=../*", ".."),
        ("glob=", ""),
        ("cursor=", ""),
        ("cursor=../x", "cursor"),
        ("cursor=\\", "cursor"),
        ("recursive=maybe", ""),
        ("other=1", ""),
    ] {
        check("invalid_arguments", &[bad], said);
    }
}

#[test]
fn every_kind_of_entry_is_told() {
    let home = home();
    let shared = home.host("/shared");
    fs::write(shared.join("file"), "12345").expect("writable");
    let at = SystemTime::UNIX_EPOCH + Duration::new(951_782_400, 999_000_000);
    let file = File::options().write(true).open(shared.join("file")).expect("ours");
    file.set_times(FileTimes::new().set_modified(at)).expect("ours");
    fs::create_dir(shared.join("folder")).expect("writable");
    symlink("/etc/passwd", shared.join("link")).expect("writable");
    special(&shared.join("fifo"), FileType::Fifo, 0);
    let _listener = UnixListener::bind(shared.join("socket")).expect("writable");
    fs::write(shared.join(".cofferdam-x"), "").expect("writable");
    let listed = list(&home, &[]);
    fs::remove_file(shared.join(".cofferdam-x")).expect("ours");
    assert_eq!(listed["path"], "/shared");
    let entries = listed["entries"].as_array().expect("entries");
    let kinds: Vec<_> = entries.iter().map(|e| (e["name"].as_str(), e["kind"].as_str())).collect();
    let expected = [
        ("fifo", "fifo"),
        ("file", "file"),
        ("folder", "directory"),
        ("link", "symlink"),
        ("socket", "socket"),
    ];
    assert_eq!(kinds, expected.map(|(name, kind)| (Some(name), Some(kind))));
    assert_eq!(
        entries[1],
        json!({ "name": "file", "kind": "file", "size": 5, "mtime": "2000-02-29T00:00:00Z" })
    );
    // Nothing of the link's target is told, not even its length.
    assert_eq!(entries[3]["size"], "/etc/passwd".len());
    let rest = json!({ "truncated": listed["truncated"], "unreadable_count": listed["unreadable_count"] });
    assert_eq!(rest, json!({ "truncated": false, "unreadable_count": 0 }));
    assert!(listed.get("cursor").is_none() && listed.get("unreadable").is_none(), "{listed}");
}

#[test]
fn everything_below_is_listed_and_links_are_not_entered() {
    let home = home();
    let shared = home.host("/shared");
    for folder in ["a/b/c", "a-b", "d", "deep"] {
        fs::create_dir_all(shared.join(folder)).expect("writable");
    }
    for file in ["a/b/c/1.txt", "a/b/2.md", "a/3.txt", "a-b/4.txt", "5.txt", "naïve ü.txt"] {
        fs::write(shared.join(file), file).expect("writable");
    }
    for (target, name) in
        [(".", "self"), ("../..", "d/up"), ("/", "root"), ("nothing", "dangling"), ("../a", "d/a")]
    {
        symlink(target, shared.join(name)).expect("writable");
    }
    let everything = below(&shared);
    let listed = list(&home, &["recursive=true"]);
    assert_eq!(names(&listed), everything, "{listed}");
    for limit in ["limit=1", "limit=2", "limit=7"] {
        assert_eq!(pages(&home, &["recursive=true", limit], |_| ()), everything, "{limit}");
    }
    let glob = |glob: &str| names(&list(&home, &["recursive=true", &format!("glob={glob}")]));
    assert_eq!(glob("*.txt"), ["5.txt", "a/3.txt", "a/b/c/1.txt", "a-b/4.txt", "naïve ü.txt"]);
    assert_eq!(glob("a/**/*.{md,txt}"), ["a/3.txt", "a/b/2.md", "a/b/c/1.txt"]);
    assert_eq!(names(&list(&home, &["glob=[a-d]*"])), ["a", "a-b", "d", "dangling", "deep"]);
    // Named as the path, a link inside the mount is followed; what it leads to out of it is not
    // shown.
    assert_eq!(names(&list(&home, &["path=/shared/d/a"])), ["3.txt", "b"]);
}

#[test]
fn names_that_nobody_can_type_neither_stop_nor_deceive() {
    let home = home();
    let shared = home.host("/shared");
    let long = "n".repeat(255);
    for name in [&b"new\nline"[..], b"\x1b[2J", "gpj.\u{202e}exe".as_bytes(), b"back\\slash", long.as_bytes()]
    {
        fs::write(shared.join(OsStr::from_bytes(name)), "").expect("writable");
    }
    fs::create_dir(shared.join("odd")).expect("writable");
    for name in [&b"\xff\xfe"[..], b"a\xc3"] {
        fs::write(shared.join("odd").join(OsStr::from_bytes(name)), "").expect("writable");
    }
    fs::write(shared.join("odd/plain"), "").expect("writable");
    let ran = home.call(&["file_list", "recursive=true"]);
    assert!(!ran.stdout.trim_end().contains(['\n', '\u{1b}', '\u{202e}']), "{ran:?}");
    let listed = ran.json();
    let expected =
        ["\\u{1b}[2J", "back\\slash", "gpj.\\u{202e}exe", "new\\u{a}line", &long, "odd", "odd/plain"];
    assert_eq!(names(&listed), expected);
    let escaped: Vec<_> =
        listed["entries"].as_array().expect("entries").iter().map(|entry| entry["escaped"] == true).collect();
    assert_eq!(escaped, [true, false, true, true, false, false, false]);
    assert_eq!(listed["unreadable_count"], 2);
    assert_eq!(listed["unreadable"][0]["path"], "/shared/odd");
    assert!(
        listed["unreadable"][0]["reason"].as_str().is_some_and(|why| why.contains("2 names")),
        "{listed}"
    );
    // A page may end at such a name.
    assert_eq!(pages(&home, &["recursive=true", "limit=1"], |_| ()), expected);
}

#[test]
fn a_deep_tree_is_listed_as_far_as_it_may_be_and_from_there_on() {
    let home = home();
    let mut deep = home.host("/shared");
    for _ in 0..80 {
        deep.push("d");
        fs::create_dir(&deep).expect("writable");
    }
    fs::write(deep.join("bottom"), "").expect("writable");
    let listed = list(&home, &["recursive=true"]);
    assert_eq!(names(&listed).len(), 64);
    let told = &listed["unreadable"][0];
    assert!(told["reason"].as_str().is_some_and(|why| why.contains("too deep")), "{listed}");
    let path = format!("path={}", told["path"].as_str().expect("a path"));
    let rest = names(&list(&home, &["recursive=true", &path]));
    assert!(rest.last().is_some_and(|last| last.ends_with("/bottom")), "{rest:?}");
    assert_eq!(rest.len(), 17);
}

#[test]
fn pages_of_a_changing_folder_have_what_stays_exactly_once() {
    let home = home();
    let shared = home.host("/shared");
    let mut stays: Vec<String> = (0..60).map(|n| format!("stays{n:02}")).collect();
    stays.push("folder".into());
    fs::create_dir(shared.join("folder")).expect("writable");
    for n in 0..60 {
        fs::write(shared.join(&stays[n]), "").expect("writable");
        stays.push(format!("folder/in{n:02}"));
        fs::write(shared.join(format!("folder/in{n:02}")), "").expect("writable");
        fs::write(shared.join(format!("stays{n:02}-goes")), "").expect("writable");
    }
    let found = pages(&home, &["recursive=true", "limit=9"], |page| {
        for n in (0..60).filter(|n| n % 4 == page % 4) {
            let _ = fs::remove_file(shared.join(format!("stays{n:02}-goes")));
            fs::write(shared.join(format!("folder/in{n:02}-new{page}")), "").expect("writable");
            fs::write(shared.join(format!("a{n}-{page}")), "").expect("writable");
        }
    });
    let mut seen = BTreeMap::new();
    found.iter().for_each(|name| *seen.entry(name.as_str()).or_insert(0) += 1);
    for name in &stays {
        assert_eq!(seen.get(name.as_str()), Some(&1), "{name}");
    }
    assert!(seen.values().all(|count| *count == 1), "no name comes twice");
}

#[test]
fn a_hundred_thousand_entries_in_one_folder_and_in_a_tree() {
    let home = patient("file_list");
    let flat = home.host("/shared/flat");
    fs::create_dir(&flat).expect("writable");
    let file = flat.join("000000");
    fs::write(&file, "").expect("writable");
    // Hard links are quicker to make than files; a system allows some ten thousands of each.
    for n in 1..100_000 {
        let name = flat.join(format!("{n:06}"));
        if fs::hard_link(&file, &name).is_err() {
            fs::write(name, "").expect("writable");
        }
    }
    let first = list(&home, &["path=/shared/flat", "limit=3"]);
    assert_eq!((names(&first), &first["truncated"]), (own(&["000000", "000001", "000002"]), &true.into()));
    let last = list(&home, &["path=/shared/flat", "limit=1000", "cursor=099000"]);
    assert_eq!((names(&last).len(), &last["truncated"]), (999, &false.into()));
    let wide = home.host("/shared/wide");
    for n in 0..100 {
        let folder = wide.join(format!("{n:02}"));
        fs::create_dir_all(&folder).expect("writable");
        for m in 0..1000 {
            fs::rename(flat.join(format!("{:06}", n * 1000 + m)), folder.join(format!("{m:03}")))
                .expect("writable");
        }
    }
    let recursive = ["path=/shared/wide", "recursive=true", "limit=1000"];
    let page = list(&home, &[&recursive[..], &["cursor=98/998"]].concat());
    assert_eq!(names(&page)[..3], own(&["98/999", "99", "99/000"]));
    let found = list(&home, &[&recursive[..], &["glob=9?/00[12]"]].concat());
    assert_eq!((names(&found).len(), &found["truncated"]), (20, &false.into()));
}

/// A folder in which others lie so deep that the names of one page have more than a mebibyte.
#[test]
fn a_page_of_long_names_ends_early_and_goes_on() {
    let home = home();
    // Longer than a path may be for the system: made name by name.
    let name = "n".repeat(250);
    let mut at: OwnedFd = File::open(home.host("/shared")).expect("there").into();
    for _ in 0..40 {
        mkdirat(&at, &name, Mode::RWXU).expect("possible");
        at = openat(&at, &name, OFlags::DIRECTORY, Mode::empty()).expect("made");
    }
    for n in 0..150 {
        openat(&at, format!("{n:03}"), OFlags::CREATE | OFlags::WRONLY, Mode::RUSR).expect("possible");
    }
    let mut counts = Vec::new();
    let (mut found, mut more) = (Vec::new(), None::<String>);
    loop {
        let mut arguments = vec!["recursive=true", "limit=1000"];
        arguments.extend(more.as_deref());
        let listed = list(&home, &arguments);
        counts.push(names(&listed).len());
        found.extend(names(&listed));
        match listed["cursor"].as_str() {
            Some(cursor) => more = Some(format!("cursor={cursor}")),
            None => break,
        }
    }
    let bottom = vec![name.as_str(); 40].join("/");
    let expected: Vec<String> = (0..150).map(|n| format!("{bottom}/{n:03}")).collect();
    assert!(found.len() == 190 && found[40..] == expected, "{counts:?}");
    // The folders on the way have a fifth of it: some 80 names of ten thousand bytes follow them.
    assert!(counts.len() == 2 && (100..140).contains(&counts[0]), "{counts:?}");
}

#[test]
fn of_many_that_cannot_be_read_the_first_are_told() {
    let home = home();
    for n in 0..25 {
        let folder = home.host("/shared").join(format!("{n:02}"));
        fs::create_dir(&folder).expect("writable");
        fs::write(folder.join(OsStr::from_bytes(b"\xff")), "").expect("writable");
    }
    let listed = list(&home, &["recursive=true"]);
    assert_eq!((names(&listed).len(), &listed["unreadable_count"]), (25, &json!(25)), "{listed}");
    let told = listed["unreadable"].as_array().expect("a list");
    let told: Vec<_> = told.iter().filter_map(|told| told["path"].as_str()).collect();
    let expected: Vec<_> = (0..20).map(|n| format!("/shared/{n:02}")).collect();
    assert_eq!(told, expected);
}

fn own(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn the_same_characters_deceive_here_and_in_the_core() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let body = |path: &str| {
        let text = fs::read_to_string(root.join(path)).expect("there");
        let (_, rest) = text.split_once("pub fn is_deceptive").expect("the function");
        rest.split_once("\n}").expect("its end").0.to_owned()
    };
    assert_eq!(body("guest-tools/sdk/src/text.rs"), body("host/core/src/text.rs"));
}

/// Folders and files that their modes close, to root's workers as well: those have no right past
/// modes.
pub(super) fn closed(home: &Home) {
    for (path, mode) in [("open/file", 0o644), ("closed/file", 0o644), ("closed-file", 0), ("z", 0o644)] {
        let path = home.host("/shared").join(path);
        fs::create_dir_all(path.parent().expect("below")).expect("writable");
        fs::write(&path, "needle").expect("writable");
        fs::set_permissions(&path, Permissions::from_mode(mode)).expect("ours");
    }
    fs::set_permissions(home.host("/shared/closed"), Permissions::from_mode(0o0)).expect("ours");
}

#[test]
fn a_folder_that_may_not_be_read_is_told_and_the_rest_is_listed() {
    let home = home();
    closed(&home);
    let listed = list(&home, &["recursive=true"]);
    assert_eq!(names(&listed), ["closed", "closed-file", "open", "open/file", "z"], "{listed}");
    assert_eq!((&listed["truncated"], &listed["unreadable_count"]), (&json!(false), &json!(1)), "{listed}");
    assert_eq!(listed["unreadable"][0]["path"], "/shared/closed");
    let ran = home.call(&["file_list", "path=/shared/closed"]);
    assert_eq!((ran.code, ran.error().as_str()), (Some(1), "path_denied"), "{ran:?}");
    fs::set_permissions(home.host("/shared/closed"), Permissions::from_mode(0o755)).expect("ours");
}
