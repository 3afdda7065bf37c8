//! Signed heads: made by a key that its owner alone reads, checked offline by anyone who has the
//! public half, with this program or another.

use super::{line, put, refused};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use support::home::{Home, Ran};
use support::needs;

/// A gateway with a key, and a log of four records.
fn used() -> Home {
    let home = Home::new().config("[audit]\nsign_key_file = \"key.pem\"\n");
    let ran = home.run(&["audit", "keygen", "--out", "key.pem"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    put(&home, "/shared/a", b"x");
    for _ in 0..4 {
        assert_eq!(home.call(&["file_read", "path=/shared/a"]).code, Some(0));
    }
    home
}

fn log(home: &Home) -> PathBuf {
    home.state().join("audit.jsonl")
}

fn signatures(home: &Home) -> PathBuf {
    home.state().join("audit.signatures.jsonl")
}

fn sign(home: &Home) -> Ran {
    home.run(&["audit", "sign", "--out", "state/audit.signatures.jsonl"])
}

fn verify(home: &Home, more: &[&str]) -> Ran {
    home.run(&[&["audit", "verify", "--public-key", "key.pem.pub"], more].concat())
}

#[test]
fn a_signed_head_is_checked_offline() {
    let home = used();
    let ran = home.run(&["audit", "sign"]);
    let statement = line(&ran);
    let head = line(&home.run(&["audit", "verify", "--json"]))["head"].clone();
    assert_eq!((&statement["seq"], &statement["sha256"]), (&head["seq"], &head["sha256"]));
    assert!(!signatures(&home).exists(), "a statement on stdout is nowhere else");
    assert_eq!(sign(&home), Ran { code: Some(0), stdout: String::new(), stderr: String::new() });
    let ran = verify(&home, &[]);
    let said = "Signed heads: 1, all by this key; the newest is record 4 at 2";
    assert!(ran.code == Some(0) && ran.stdout.contains(said), "{ran:?}");
    // The log goes on, and what is not covered is told.
    assert_eq!(home.call(&["nope"]).code, Some(1));
    let ran = verify(&home, &[]);
    assert!(ran.code == Some(0) && ran.stdout.contains("Records after it: 1."), "{ran:?}");
    let json = line(&verify(&home, &["--json"]));
    assert_eq!((&json["signed"]["statements"], &json["signed"]["newest"]["seq"]), (&1.into(), &4.into()));
    // By the key itself, and on a copy without any configuration of it.
    let key = statement["public_key"].as_str().expect("base64");
    fs::create_dir(home.dir().join("copy")).expect("writable");
    fs::copy(log(&home), home.dir().join("copy/audit.jsonl")).expect("writable");
    fs::copy(signatures(&home), home.dir().join("kept.jsonl")).expect("writable");
    let ran = home.run(&["audit", "verify", "copy", "--public-key", key, "--signatures", "kept.jsonl"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn a_cut_a_rewritten_and_a_forged_log_are_found() {
    let home = used();
    assert_eq!(sign(&home).code, Some(0));
    let (sound, statements) = (
        fs::read_to_string(log(&home)).expect("there"),
        fs::read_to_string(signatures(&home)).expect("there"),
    );
    let bad = |what: &str, said: &str| {
        let ran = verify(&home, &[]);
        assert!(ran.code == Some(3) && ran.stdout.contains(said), "{what}: {said:?} in {ran:?}");
        let json = line(&verify(&home, &["--json"]));
        assert_eq!((&json["ok"], json["what"].as_str().is_some()), (&false.into(), true), "{what}");
        fs::write(log(&home), &sound).expect("writable");
        fs::write(signatures(&home), &statements).expect("writable");
    };
    let lines: Vec<&str> = sound.lines().collect();
    fs::write(log(&home), lines[..3].join("\n") + "\n").expect("writable");
    bad("a log cut before the signed head", "statement 1, seq 4): the tail was cut");
    fs::write(log(&home), "").expect("writable");
    bad("an emptied log", "the tail was cut");
    let changed = lines[3].replacen("\"duration_us\":", "\"duration_us\":1", 1);
    fs::write(log(&home), format!("{}\n{changed}\n", lines[..3].join("\n"))).expect("writable");
    bad("the signed record changed", "the log was rewritten");
    fs::write(signatures(&home), statements.replacen("\"seq\":4", "\"seq\":3", 1)).expect("writable");
    bad("a changed statement", "signatures BAD at line 1 of audit.signatures.jsonl: its signature is not");
    fs::write(signatures(&home), statements.replacen("\"seq\":4", "\"seq\":400", 1)).expect("writable");
    bad("a statement of what never was", "its signature is not");
    fs::write(signatures(&home), format!("{statements}garbage\n")).expect("writable");
    bad("garbage", "signatures BAD at line 2");
    fs::write(signatures(&home), &statements[..40]).expect("writable");
    bad("nothing but a torn statement", "there is no statement");
    fs::write(signatures(&home), "").expect("writable");
    bad("no statement", "there is no statement");
    fs::remove_file(signatures(&home)).expect("there");
    bad("no file of statements", "signatures BAD of audit.signatures.jsonl: there is no statement");
    refused(&verify(&home, &["--signatures", "named.jsonl"]), &["cannot open named.jsonl"]);
    // A crash tears the last one, and the next takes its place.
    fs::write(signatures(&home), format!("{statements}{}", &statements[..40])).expect("writable");
    let ran = verify(&home, &[]);
    let torn = "notice: line 2 of the signed heads was torn by a crash after 40 bytes";
    assert!(ran.code == Some(0) && ran.stdout.contains(torn), "{ran:?}");
    let json = line(&verify(&home, &["--json"]));
    assert_eq!(json["signed"]["torn"], serde_json::json!({ "line": 2, "bytes": 40 }));
    // Another key's statement of the same head.
    assert_eq!(home.run(&["audit", "keygen", "--out", "other.pem"]).code, Some(0));
    let other = home.run(&["audit", "sign", "--key", "other.pem"]).stdout;
    fs::write(signatures(&home), format!("{statements}{other}")).expect("writable");
    bad("another key", "signatures BAD at line 2 of audit.signatures.jsonl: it was signed with another key");
    // An old statement, given again after a newer one, hides nothing and contradicts nothing.
    assert_eq!(home.call(&["nope"]).code, Some(1));
    assert_eq!(sign(&home).code, Some(0));
    let two = fs::read_to_string(signatures(&home)).expect("there");
    fs::write(signatures(&home), format!("{two}{statements}")).expect("writable");
    let ran = verify(&home, &[]);
    assert!(ran.code == Some(0) && ran.stdout.contains("the newest is record 5 "), "{ran:?}");
    fs::write(log(&home), &sound).expect("writable");
    let ran = verify(&home, &[]);
    assert!(ran.code == Some(3) && ran.stdout.contains("statement 2, seq 5): the tail was cut"), "{ran:?}");
}

#[test]
fn a_key_is_refused_unless_it_is_its_owners_alone() {
    let home = used();
    let key = home.dir().join("key.pem");
    let mode = |mode| fs::set_permissions(&key, fs::Permissions::from_mode(mode)).expect("ours");
    mode(0o644);
    for words in [&["call", "file_read", "path=/shared/a"][..], &["chat"], &["audit", "sign"]] {
        refused(&home.run(words), &["key.pem can be read by others (mode 644); run `chmod 600 "]);
    }
    // Looking needs no key.
    assert_eq!(home.run(&["audit", "verify"]).code, Some(0));
    assert_eq!(home.run(&["tools"]).code, Some(0));
    mode(0o600);
    fs::write(&key, "no key").expect("writable");
    refused(&home.call(&["file_read", "path=/shared/a"]), &["is not an ed25519 private key in PKCS#8 PEM"]);
    fs::remove_file(&key).expect("there");
    refused(&home.call(&["file_read", "path=/shared/a"]), &["cannot read the key", "audit keygen --out"]);
    assert_eq!(line(&home.run(&["audit", "verify", "--json"]))["records"], 4, "nothing ran");
}

#[test]
fn a_key_is_made_once_and_not_where_tools_write() {
    let home = used();
    let before = fs::read(home.dir().join("key.pem")).expect("there");
    refused(&home.run(&["audit", "keygen", "--out", "key.pem"]), &["never written over a file"]);
    assert_eq!(fs::read(home.dir().join("key.pem")).expect("there"), before);
    let made = home.run(&["audit", "keygen", "--out", "new.pem"]);
    let public = fs::read_to_string(home.dir().join("new.pem.pub")).expect("written");
    assert!(made.stdout.trim().len() == 44 && public.starts_with("-----BEGIN PUBLIC KEY-----\n"), "{made:?}");
    let mode = fs::metadata(home.dir().join("new.pem")).expect("written").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let inside = Home::new().config("[audit]\nsign_key_file = \"workspace/shared/key.pem\"\n");
    refused(&inside.run(&["tools"]), &["[audit] sign_key_file", "/shared", "move it out of"]);
    refused(&Home::new().run(&["audit", "sign"]), &["there is no key to sign with; give --key FILE"]);
}

#[test]
fn nothing_is_signed_that_is_not_sound() {
    let home = used();
    let text = fs::read_to_string(log(&home)).expect("there");
    fs::write(log(&home), text.replacen("/shared/a", "/shared/b", 1)).expect("writable");
    let ran = sign(&home);
    assert!(ran.code == Some(3) && ran.stdout.contains("audit BAD at line 1 "), "{ran:?}");
    assert!(!signatures(&home).exists());
    fs::write(log(&home), "").expect("writable");
    refused(&sign(&home), &["no head to sign"]);
}

#[test]
fn no_head_leaves_before_the_disk_has_it() {
    let there = needs::program("strace");
    if !needs::available("cli::audit_signed::no_head_leaves_before_the_disk_has_it", "strace", there) {
        return;
    }
    let home = used();
    let log = log(&home).to_str().expect("a test's path is text").to_owned();
    let meets = |error: &str, words: &[&str]| -> Ran {
        let rule = format!("inject=fdatasync:error={error}");
        let traced = ["strace", "-f", "-o", "/dev/null", "-P", &log, "-e", &rule];
        home.command_under(&traced, words).output().expect("strace starts").into()
    };
    let to_sign = ["audit", "sign", "--out", "state/audit.signatures.jsonl"];
    for words in [&to_sign[..], &["audit", "sign"], &["audit", "verify"]] {
        refused(&meets("EIO", words), &["the disk did not confirm an audit record"]);
    }
    assert!(!signatures(&home).exists());
    // A medium that nobody writes synchronizes nothing.
    for (error, words) in [("EINVAL", &["audit", "verify"][..]), ("EROFS", &to_sign)] {
        assert_eq!(meets(error, words).code, Some(0), "{error}");
    }
    assert_eq!(verify(&home, &[]).code, Some(0));
}

#[test]
fn openssl_checks_a_statement_as_the_document_says() {
    let there =
        Command::new("openssl").arg("version").output().is_ok_and(|o| o.stdout.starts_with(b"OpenSSL 3"));
    if !needs::available("cli::audit_signed::openssl_checks_a_statement", "openssl 3", there) {
        return;
    }
    let home = used();
    let statement: Value = line(&home.run(&["audit", "sign"]));
    let text = |key: &str| statement[key].as_str().expect("text");
    let message = |seq: &Value| {
        format!("cofferdam audit head v1\nseq {seq}\nsha256 {}\ntime {}\n", text("sha256"), text("time"))
    };
    let signature = text("signature");
    let script = "printf %s \"$SIGNATURE\" | base64 -d > sig && printf %s \"$MESSAGE\" > message && \
                  openssl pkeyutl -verify -pubin -inkey key.pem.pub -rawin -in message -sigfile sig";
    let checked = |message: String| {
        let mut command = Command::new("sh");
        command.args(["-c", script]).env("SIGNATURE", signature).env("MESSAGE", message);
        command.current_dir(home.dir()).output().expect("sh starts")
    };
    let output = checked(message(&statement["seq"]));
    assert!(output.status.success(), "{output:?}");
    let output = checked(message(&5.into()));
    assert!(!output.status.success(), "another position is not signed: {output:?}");
    // Its own keys are ours as well.
    let made = Command::new("sh")
        .args(["-c", "umask 077; openssl genpkey -algorithm ed25519 -out theirs.pem && openssl pkey -in theirs.pem -pubout -out theirs.pem.pub"])
        .current_dir(home.dir())
        .output();
    assert!(made.expect("sh starts").status.success());
    let ran = home.run(&["audit", "sign", "--key", "theirs.pem", "--out", "theirs.jsonl"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let words = ["audit", "verify", "--public-key", "theirs.pem.pub", "--signatures", "theirs.jsonl"];
    assert_eq!(home.run(&words).code, Some(0));
}
