//! A log of several files: rotated by the program as it is used, checked and shown as one, whatever
//! a kill or a hand does to its files.

use super::{line, put, refused, run};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use support::home::{Home, Ran};
use support::needs;

/// Rotates at the smallest size there is.
const SMALL: &str = "[audit]\nrotate_bytes = \"64 KiB\"\n";

/// Many calls in one process: reads, a refusal every tenth, a write every twentieth.
fn chat(home: &Home, count: usize) {
    let mut lines = String::new();
    for n in 0..count {
        lines += &match n {
            n if n % 20 == 5 => format!("/file_write_bytes path=/shared/w{n} content_base64=eHl6\n"),
            n if n % 10 == 3 => "/file_read path=/vault/a\n".to_owned(),
            _ => "/file_read path=/shared/a\n".to_owned(),
        };
    }
    let file = home.file("lines", lines.as_bytes());
    let ran = run(home.command(&["chat"]).stdin(fs::File::open(file).expect("there")));
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

/// A log of at least three files.
fn used() -> Home {
    let home = Home::new().config(SMALL);
    put(&home, "/shared/a", b"x");
    chat(&home, 250);
    assert!(files(&home).len() >= 3, "{:?}", files(&home));
    home
}

/// The log's files in the order of the chain.
fn files(home: &Home) -> Vec<String> {
    let entries = fs::read_dir(home.state()).expect("there");
    let names = entries.map(|entry| entry.expect("readable").file_name().into_string().expect("text"));
    let log = |name: &String| name.starts_with("audit-") || name == "audit.jsonl";
    names.filter(log).collect::<BTreeSet<_>>().into_iter().collect()
}

fn path(home: &Home, name: &str) -> PathBuf {
    home.state().join(name)
}

fn verify(home: &Home, more: &[&str]) -> Ran {
    home.run(&[&["audit", "verify"], more].concat())
}

fn bytes_of_all(home: &Home) -> Vec<u8> {
    files(home).iter().flat_map(|name| fs::read(path(home, name)).expect("there")).collect()
}

#[test]
fn a_full_log_is_rotated_and_stays_one_chain() {
    let home = used();
    let files = files(&home);
    assert_eq!(files[0], "audit-00000000000000000001.jsonl");
    let ran = verify(&home, &[]);
    let (first, last) = (&files[0], files.last().expect("some"));
    let said = format!("\nIn {} files, from {first} to {last}.\n", files.len());
    assert!(ran.code == Some(0) && ran.stdout.contains(&said), "{ran:?}");
    let json = line(&verify(&home, &["--json"]));
    assert_eq!(json["files"], serde_json::json!(files));
    let records = json["records"].as_u64().expect("a number");
    assert_eq!(bytes_of_all(&home).split(|b| *b == b'\n').count() as u64 - 1, records);
    // A folder that holds a copy, without a configuration that names it.
    let copy = home.dir().join("copy");
    fs::create_dir(&copy).expect("writable");
    for name in &files {
        fs::copy(path(&home, name), copy.join(name)).expect("writable");
    }
    assert_eq!(verify(&home, &["copy"]).stdout, ran.stdout);
    // What is shown is what is there, byte for byte.
    let shown = home.run(&["audit", "show", "--all", "--json"]);
    assert_eq!((shown.code, shown.stdout.as_bytes()), (Some(0), &bytes_of_all(&home)[..]));
    let last = home.run(&["audit", "show", "--last", "150", "--json"]).stdout;
    assert!(last.lines().count() == 150 && shown.stdout.ends_with(&last));
    // The next call goes on.
    assert_eq!(home.call(&["file_read", "path=/shared/a"]).code, Some(0));
    assert_eq!(line(&verify(&home, &["--json"]))["records"], records + 1);
}

#[test]
fn what_was_done_to_the_files_is_named_by_file_and_line() {
    let home = used();
    let names = files(&home);
    let whole: Vec<Vec<u8>> = names.iter().map(|name| fs::read(path(&home, name)).expect("there")).collect();
    let lines = |n: usize| whole[n].iter().filter(|b| **b == b'\n').count();
    let named = |what: &str, file: &str, at: usize| {
        let ran = verify(&home, &[]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(3), ""), "{what}: {ran:?}");
        let said = format!("audit BAD at line {at} (seq ");
        assert!(
            ran.stdout.starts_with(&said) && ran.stdout.contains(&format!(" of {file}: ")),
            "{what}: {ran:?}"
        );
        let json = line(&verify(&home, &["--json"]));
        assert_eq!((&json["file"], &json["line"]), (&file.into(), &at.into()), "{what}");
        for (name, bytes) in names.iter().zip(&whole) {
            fs::write(path(&home, name), bytes).expect("writable");
        }
    };
    fs::remove_file(path(&home, &names[1])).expect("there");
    named("a missing middle file", &names[0], lines(0) + 1);
    fs::remove_file(path(&home, &names[0])).expect("there");
    named("a missing first file", &names[1], 1);
    fs::write(path(&home, &names[0]), &whole[1]).expect("writable");
    fs::write(path(&home, &names[1]), &whole[0]).expect("writable");
    named("two files exchanged", &names[0], 1);
    fs::write(path(&home, &names[1]), &whole[1][..whole[1].len() - 10]).expect("writable");
    named("a file cut at its end", &names[1], lines(1));
    let mut changed = whole[0].clone();
    changed[whole[0].len() / 2] ^= 1;
    let at = changed[..whole[0].len() / 2].iter().filter(|b| **b == b'\n').count();
    fs::write(path(&home, &names[0]), changed).expect("writable");
    let said = verify(&home, &[]).stdout;
    // Of two records that disagree the first is named: the changed one, or the one before it.
    let one_of = if said.starts_with(&format!("audit BAD at line {} ", at + 1)) { at + 1 } else { at };
    named("a changed byte", &names[0], one_of);
    // The newest gone, which a head kept elsewhere finds.
    let head = line(&verify(&home, &["--json"]))["head"].clone();
    let head = format!("{}:{}", head["seq"], head["sha256"].as_str().expect("hex"));
    assert_eq!(verify(&home, &["--head", &head]).code, Some(0));
    fs::write(path(&home, "audit.jsonl"), "").expect("writable");
    assert_eq!(verify(&home, &[]).code, Some(0), "the chain alone cannot show it");
    let ran = verify(&home, &["--head", &head]);
    assert!(ran.code == Some(3) && ran.stdout.contains(" of audit.jsonl: it is missing"), "{ran:?}");
}

#[test]
fn a_file_alone_says_that_its_beginning_is_not_proven() {
    let home = used();
    let names = files(&home);
    let one = |name: &str| format!("state/{name}");
    let ran = verify(&home, &[&one(&names[1])]);
    let first: serde_json::Value = {
        let text = fs::read_to_string(path(&home, &names[1])).expect("there");
        serde_json::from_str(text.lines().next().expect("a line")).expect("JSON")
    };
    let said = format!(
        "it begins with record {}, whose prev is {}",
        first["seq"],
        first["prev"].as_str().expect("hex")
    );
    assert!(
        ran.code == Some(0) && ran.stdout.contains(&said) && ran.stdout.contains("not proven"),
        "{ran:?}"
    );
    let ran = verify(&home, &[&one(&names[0])]);
    assert!(ran.code == Some(0) && !ran.stdout.contains("not proven"), "{ran:?}");
    assert_eq!(verify(&home, &[&one(&names[0]), &one(&names[1])]).code, Some(0));
    assert_eq!(verify(&home, &[&one(&names[1]), &one(&names[0])]).code, Some(3));
    let shown = home.run(&["audit", "show", "--all", "--json", &one(&names[1])]);
    assert_eq!(shown.stdout.as_bytes(), fs::read(path(&home, &names[1])).expect("there"));
}

#[test]
fn a_kill_before_any_step_of_a_rotation_leaves_one_chain() {
    if !needs::available("cli::audit_files::a_kill_before_any_step", "strace", needs::program("strace")) {
        return;
    }
    // A publication was cut off, so that a start settles it; and the file is full, so that it
    // rotates first.
    let full = || {
        let home = Home::new();
        put(&home, "/shared/a", b"x");
        chat(&home, 120);
        let call = ["call", "file_write_bytes", "path=/shared/new", "content_base64=eHl6"];
        let cut = ["strace", "-f", "-o", "/dev/null", "-e", "inject=linkat:signal=KILL:when=1"];
        let ran: Ran = home.command_under(&cut, &call).output().expect("strace starts").into();
        assert_eq!(ran.code, None, "{ran:?}");
        home.config(SMALL)
    };
    let call = ["call", "file_read", "path=/shared/a"];
    let (mut renamed, mut not_renamed, mut between) = (0, 0, 0);
    for (syscall, on) in [
        ("fdatasync", Some("audit.jsonl")),
        ("fchmod", Some("audit.jsonl")),
        ("renameat2", None),
        ("openat", Some("audit.jsonl")),
        ("fsync", Some("")),
        ("write", Some("audit.jsonl")),
    ] {
        for nth in 1..=4 {
            let home = full();
            assert_eq!(files(&home).len(), 1);
            let before = bytes_of_all(&home);
            let rule = format!("inject={syscall}:signal=KILL:when={nth}");
            let of = on.map(|name| path(&home, name).to_str().expect("text").to_owned());
            let mut traced = vec!["strace", "-f", "-o", "/dev/null", "-e", &rule];
            if let Some(of) = &of {
                traced.extend(["-P", of.trim_end_matches('/')]);
            }
            let ran: Ran = home.command_under(&traced, &call).output().expect("strace starts").into();
            if ran.code.is_some() {
                break;
            }
            let there = files(&home);
            match (there.len(), path(&home, "audit.jsonl").exists()) {
                (1, true) => not_renamed += 1,
                (1, false) => between += 1,
                _ => renamed += 1,
            }
            let at = format!("killed at {syscall} {nth}: {there:?}");
            let ran = verify(&home, &[]);
            assert_eq!(ran.code, Some(0), "{at}: {ran:?}");
            assert!(bytes_of_all(&home).starts_with(&before), "{at}");
            // Settled and continued by the next one.
            assert_eq!(home.call(&["file_read", "path=/shared/a"]).code, Some(0), "{at}");
            let json = line(&verify(&home, &["--json"]));
            assert_eq!((&json["ok"], &json["intents_open"]), (&true.into(), &0.into()), "{at}: {json}");
            assert!(bytes_of_all(&home).starts_with(&before), "{at}");
            assert_eq!(files(&home).len(), 2, "{at}");
        }
    }
    assert!(renamed > 0 && not_renamed > 0 && between > 0, "{renamed}, {not_renamed}, {between}");
}

#[test]
fn records_are_found_by_what_is_asked() {
    let home = used();
    let uid = rustix::process::getuid().as_raw().to_string();
    let shown = |more: &[&str]| {
        let ran = home.run(&[&["audit", "show", "--all", "--json"], more].concat());
        assert_eq!(ran.code, Some(0), "{more:?}: {ran:?}");
        ran.stdout.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect::<Vec<serde_json::Value>>()
    };
    let all = shown(&[]);
    let call = all[0]["call"].as_str().expect("an id").to_owned();
    type Holds = fn(&serde_json::Value) -> bool;
    let cases: &[(&[&str], Holds)] = &[
        (&["--tool", "file_write_bytes"], |r| r["tool"] == "file_write_bytes"),
        (&["--verdict", "deny"], |r| r["verdict"] == "deny"),
        (&["--verdict", "permit"], |r| r["verdict"] == "permit"),
        (&["--code", "path_denied"], |r| r["code"] == "path_denied"),
        (&["--path", "/vault"], |r| r["arguments"]["path"] == "/vault/a"),
        (&["--path", "/shared/w*"], |r| r["tool"] == "file_write_bytes"),
        (&["--sender", &uid, "--since", "1h"], |_| true),
        (&["--channel", "terminal", "--until", "2100-01-01"], |r| r["channel"] == "terminal"),
        (&["--path", "/shared", "--tool", "file_read"], |r| r["arguments"]["path"] == "/shared/a"),
    ];
    for (words, holds) in cases {
        let expected: Vec<_> = all.iter().filter(|record| holds(record)).cloned().collect();
        assert!(!expected.is_empty(), "{words:?}");
        assert_eq!(shown(words), expected, "{words:?}");
        let last = home.run(&[&["audit", "show", "--json", "--last", "3"], *words].concat()).stdout;
        let tail: Vec<String> = expected[expected.len() - 3..].iter().map(ToString::to_string).collect();
        assert_eq!(last.lines().collect::<Vec<_>>(), tail, "{words:?}: the last of those that match");
    }
    assert!(shown(&["--call", &call]).iter().all(|record| record["call"] == call.as_str()));
    for words in [&["--tool", "nope"][..], &["--until", "2020-01-01"], &["--since", "2100-01-01T00:00:00Z"]] {
        let ran = home.run(&[&["audit", "show"], words].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran:?}");
        assert!(ran.stderr.contains("no record matches"), "{ran:?}");
    }
    let text = home.run(&["audit", "show", "--path", "/shared/w5"]).stdout;
    assert!(text.lines().count() == 2 && text.contains("/shared/w5 3 bytes sha256"), "{text}");
}

#[test]
fn a_question_that_is_not_understood_says_what_to_write() {
    let home = Home::new();
    for (words, said) in [
        (&["--since", "yesterday"][..], "2h for two hours ago"),
        (&["--until", "31.1.2026"], "2026-01-31"),
        (&["--code", "nope"], "already_exists"),
        (&["--verdict", "maybe"], "write permit or deny"),
        (&["--path", "shared"], "'/shared/**/*.pdf'"),
    ] {
        refused(&home.run(&[&["audit", "show"], words].concat()), &[words[0], said]);
    }
}

#[test]
fn a_size_that_would_rotate_at_every_record_is_refused() {
    let home = Home::new().config("[audit]\nrotate_bytes = \"1 KiB\"\n");
    refused(&home.run(&["tools"]), &["[audit] rotate_bytes is 1 KiB; it must be at least 64 KiB"]);
}
