//! `audit verify` and `audit show`: what a reviewer runs, and what a changed log cannot hide from
//! him.

use super::{line, put, refused};
use std::fs;
use std::path::PathBuf;
use support::guests::sha256;
use support::home::{Home, Ran};

/// A gateway whose log has a read, a refusal, and a write with its intent: four records.
fn used() -> Home {
    let home = Home::new();
    put(&home, "/shared/a", b"x");
    assert_eq!(home.call(&["file_read", "path=/shared/a"]).code, Some(0));
    assert_eq!(home.call(&["file_read", "path=/vault/a"]).code, Some(1));
    assert_eq!(home.call(&["file_write_bytes", "path=/shared/b", "content_base64=eHl6"]).code, Some(0));
    home
}

fn log(home: &Home) -> PathBuf {
    home.state().join("audit.jsonl")
}

fn lines(home: &Home) -> Vec<String> {
    fs::read_to_string(log(home)).expect("there").lines().map(str::to_owned).collect()
}

fn rewrite(home: &Home, lines: &[String]) {
    fs::write(log(home), lines.join("\n") + "\n").expect("writable");
}

fn verify(home: &Home, more: &[&str]) -> Ran {
    home.run(&[&["audit", "verify"], more].concat())
}

/// The head that `audit verify` prints, as somebody would keep it.
fn head(home: &Home) -> String {
    let ran = verify(home, &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let (_, rest) = ran.stdout.split_once("head ").expect("a head");
    rest.lines().next().expect("a line").to_owned()
}

/// Asserts exit 3, the record named by line and seq, in text and JSON alike.
fn bad(home: &Home, more: &[&str], at: u64, said: &str) {
    let text = verify(home, more);
    assert_eq!((text.code, text.stderr.as_str()), (Some(3), ""), "{text:?}");
    assert!(text.stdout.starts_with(&format!("audit BAD at line {at} (seq ")), "line {at}: {text:?}");
    assert!(text.stdout.contains(said), "{said:?} in {text:?}");
    let json = verify(home, &[more, &["--json"]].concat());
    let value = line(&json);
    assert_eq!((json.code, &value["ok"], &value["line"]), (Some(3), &false.into(), &at.into()), "{json:?}");
    assert!(value["what"].as_str().is_some_and(|what| text.stdout.contains(what)), "{json:?}");
}

#[test]
fn a_sound_log_is_told_with_its_head() {
    let home = used();
    let last = lines(&home).pop().expect("four");
    let expected = format!("4:{}", sha256(last.as_bytes()));
    assert_eq!(head(&home), expected);
    let json = verify(&home, &["--json"]);
    let value = line(&json);
    assert_eq!((json.code, &value["ok"], &value["records"]), (Some(0), &true.into(), &4.into()), "{json:?}");
    assert_eq!(
        format!("{}:{}", value["head"]["seq"], value["head"]["sha256"].as_str().expect("hex")),
        expected
    );
    assert_eq!((&value["intents_open"], &value["torn"]), (&0.into(), &serde_json::Value::Null));
    // A copy is checked by itself, without a configuration that names it.
    fs::copy(log(&home), home.dir().join("copy.jsonl")).expect("writable");
    assert_eq!(verify(&home, &["copy.jsonl"]).stdout, verify(&home, &[]).stdout);
}

#[test]
fn a_changed_record_is_named() {
    let home = used();
    let sound = lines(&home);
    for (n, from, to) in [
        (1, "/vault/a", "/shared/a"),
        (1, "\"deny\"", "\"permit\""),
        (2, "\"bytes\":3", "\"bytes\":4"),
        (0, "cli", "api"),
    ] {
        let mut changed = sound.clone();
        assert!(changed[n].contains(from), "{}", changed[n]);
        changed[n] = changed[n].replacen(from, to, 1);
        rewrite(&home, &changed);
        bad(&home, &[], n as u64 + 1, "holds another hash of it");
    }
    // A blank, too: the bytes are the canonical form.
    let mut changed = sound.clone();
    changed[0] = changed[0].replacen(':', ": ", 1);
    rewrite(&home, &changed);
    bad(&home, &[], 1, "");
}

#[test]
fn a_missing_a_doubled_and_a_moved_record_are_named() {
    let home = used();
    let sound = lines(&home);
    for (at, order) in [
        (2, &[0, 2, 3][..]),
        (1, &[1, 2, 3]),
        (2, &[0, 0, 1, 2, 3]),
        (2, &[0, 2, 1, 3]),
        (4, &[0, 1, 2, 2, 3]),
    ] {
        let changed: Vec<_> = order.iter().map(|n: &usize| sound[*n].clone()).collect();
        rewrite(&home, &changed);
        bad(&home, &[], at, "");
    }
    for foreign in ["{}", "null", "{\"v\":1}", &sound[1].replacen("\"v\":1", "\"v\":2", 1)] {
        let changed = [&sound[..1], &[foreign.to_owned()], &sound[2..]].concat();
        rewrite(&home, &changed);
        bad(&home, &[], 2, "");
    }
}

#[test]
fn a_cut_tail_and_a_log_written_anew_need_the_head_kept_elsewhere() {
    let home = used();
    let (sound, kept) = (lines(&home), head(&home));
    let ran = verify(&home, &["--head", &kept]);
    assert!(
        ran.code == Some(0) && ran.stdout.contains("It holds the head kept elsewhere, record 4."),
        "{ran:?}"
    );
    // It goes on, and still holds the head.
    assert_eq!(home.call(&["nope"]).code, Some(1));
    assert_eq!(verify(&home, &["--head", &kept]).code, Some(0));

    rewrite(&home, &sound[..3]);
    assert_eq!(verify(&home, &[]).code, Some(0), "the chain alone cannot show it");
    bad(&home, &["--head", &kept], 4, "");
    // The last record changed: sound by itself, and another head.
    let mut changed = sound.clone();
    changed[3] = changed[3].replacen("\"duration_us\":", "\"duration_us\":1", 1);
    rewrite(&home, &changed);
    assert_eq!(verify(&home, &[]).code, Some(0));
    bad(&home, &["--head", &kept], 4, "");
    fs::write(log(&home), "").expect("writable");
    bad(&home, &["--head", &kept], 1, "");
    for head in ["", "4", "x:y", "4:abc", &kept.replace(':', ";")] {
        refused(&verify(&home, &["--head", head]), &["--head"]);
    }
}

#[test]
fn a_log_that_was_replaced_is_not_an_empty_one() {
    let home = used();
    let kept = head(&home);
    let half = &lines(&home)[0][..40];
    for noise in ["\0\0\0\0", "noise", "{", half, &"x".repeat(400_000)] {
        fs::write(log(&home), noise).expect("writable");
        bad(&home, &[], 1, &format!("the file has {} bytes and no record", noise.len()));
        fs::copy(log(&home), home.dir().join("copy.jsonl")).expect("writable");
        bad(&home, &["copy.jsonl"], 1, "the file has ");
    }
    for noise in ["\n", "noise\n", "{}\n", "\0\n\0\n"] {
        fs::write(log(&home), noise).expect("writable");
        bad(&home, &[], 1, "it is not a record");
    }
    // Nothing at all is an empty log, as long as no head is known.
    fs::write(log(&home), "").expect("writable");
    let ran = verify(&home, &[]);
    assert!(ran.code == Some(0) && ran.stdout.starts_with("audit ok: 0 records"), "{ran:?}");
    bad(&home, &["--head", &kept], 1, "the tail was cut");
}

#[test]
fn a_tail_torn_by_a_crash_is_told_and_then_recovered_from() {
    let home = used();
    let sound = fs::read(log(&home)).expect("there");
    let torn = [&sound[..], b"{\"v\":1,\"seq\":5,\"ti"].concat();
    fs::write(log(&home), torn).expect("writable");
    let ran = verify(&home, &[]);
    assert!(
        ran.code == Some(0) && ran.stdout.contains("line 5 was torn by a crash after 18 bytes"),
        "{ran:?}"
    );
    assert_eq!(line(&verify(&home, &["--json"]))["torn"], serde_json::json!({ "line": 5, "bytes": 18 }));
    let shown = home.run(&["audit", "show"]);
    assert!(shown.code == Some(0) && shown.stdout.contains("unreadable: 18 bytes at offset "), "{shown:?}");

    assert_eq!(home.call(&["nope"]).code, Some(1));
    let ran = verify(&home, &[]);
    assert!(ran.code == Some(0) && ran.stdout.starts_with("audit ok: 6 records"), "{ran:?}");
    assert!(ran.stdout.contains("torn lines that a `recovered` record names: 1"), "{ran:?}");
    assert!(home.run(&["audit", "show"]).stdout.contains("recovered after a torn line of 18 bytes"));
}

#[test]
fn show_is_a_line_a_record_newest_last() {
    let home = used();
    let shown = |more: &[&str]| home.run(&[&["audit", "show"], more].concat());
    let text = shown(&[]);
    let rows: Vec<_> = text.stdout.lines().collect();
    assert_eq!((text.code, text.stderr.as_str(), rows.len()), (Some(0), "", 4), "{text:?}");
    let uid = rustix::process::getuid().as_raw();
    for (row, said) in rows.iter().zip([
        format!("     1 outcome  cli:{uid} file_read done "),
        format!("     2 outcome  cli:{uid} file_read denied path_denied \"/vault/a is not in a mount"),
        format!("     3 intent   cli:{uid} file_write_bytes /shared/b 3 bytes sha256 "),
        format!("     4 outcome  cli:{uid} file_write_bytes done (intent 3) /shared/b 3 bytes sha256 "),
    ]) {
        assert!(row.contains(&said), "{said:?} in {row:?}");
    }
    assert_eq!(shown(&["--last", "1"]).stdout.lines().collect::<Vec<_>>(), rows[3..]);
    assert_eq!(shown(&["--last", "0"]).stdout, "");
    assert_eq!(shown(&["--all"]).stdout, text.stdout);
    // For programs, the log's own lines.
    assert_eq!(shown(&["--json"]).stdout, fs::read_to_string(log(&home)).expect("there"));
    assert_eq!(shown(&["--json", "--last", "2"]).stdout.lines().collect::<Vec<_>>(), lines(&home)[2..]);
    for _ in 0..20 {
        home.call(&["nope"]);
    }
    assert_eq!(shown(&[]).stdout.lines().count(), 20, "by default the last twenty");
    assert_eq!(shown(&["--all"]).stdout.lines().count(), 24);
}

#[test]
fn nobody_else_reads_the_log() {
    use std::os::unix::fs::PermissionsExt;
    let home = used();
    let mode = |path: PathBuf| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!((mode(log(&home)), mode(home.state())), (0o600, 0o700));
}
