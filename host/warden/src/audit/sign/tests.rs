//! Statements and keys: what is forged is refused, and what is ours other tools can check.

use super::*;
use crate::audit::{AuditError, AuditLog, Config, Durability, Head};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cofferdam_core::audit::{AuditEvent, Recovered};
use cofferdam_core::limits::ByteSize;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

const TIME: &str = "2026-01-02T03:04:05.678Z";

fn head(seq: u64) -> Head {
    Head { seq, sha256: "ab".repeat(32) }
}

fn key() -> SecretKey {
    SecretKey::generate().expect("random")
}

/// A folder with a new key in it.
fn with_key() -> (TempDir, PathBuf, SecretKey) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("key.pem");
    let key = key();
    key.write(&path).expect("writes");
    (dir, path, key)
}

#[test]
fn a_statement_is_checked_by_its_public_key_alone() {
    let key = key();
    let line = Statement::sign(&key, &head(42), TIME.into()).line();
    let statement = Statement::check(&line, &key.public()).expect("ours");
    assert_eq!((statement.head(), statement.time.as_str()), (head(42), TIME));
    let public = key.public().to_string();
    assert!(line.starts_with(&format!(
        r#"{{"v":1,"seq":42,"sha256":"{}","time":"{TIME}","public_key":"{public}","signature":""#,
        "ab".repeat(32)
    )));
}

#[test]
fn any_changed_byte_is_found() {
    let key = key();
    let line = Statement::sign(&key, &head(42), TIME.into()).line();
    for at in 0..line.len() {
        for other in [b'0', b'1', b'A', b'"', b' ', b'=', b'\n', line.as_bytes()[at] ^ 1] {
            let mut changed = line.clone().into_bytes();
            changed[at] = other;
            if changed == line.as_bytes() {
                continue;
            }
            let Ok(changed) = String::from_utf8(changed) else { continue };
            assert!(Statement::check(&changed, &key.public()).is_err(), "byte {at}: {changed}");
        }
    }
    for changed in
        [format!(" {line}"), format!("{line} "), line.replace(',', ", "), line[..line.len() - 1].into()]
    {
        assert_eq!(Statement::check(&changed, &key.public()), Err(Forged::NotAStatement), "{changed}");
    }
}

#[test]
fn what_another_key_signed_is_refused_also_under_this_keys_name() {
    let (ours, theirs) = (key(), key());
    let line = Statement::sign(&theirs, &head(42), TIME.into()).line();
    assert_eq!(Statement::check(&line, &ours.public()), Err(Forged::OtherKey(theirs.public().to_string())));
    let renamed = line.replace(&theirs.public().to_string(), &ours.public().to_string());
    assert_eq!(Statement::check(&renamed, &ours.public()), Err(Forged::BadSignature));
}

#[test]
fn an_old_signature_fits_no_other_head_and_no_other_time() {
    let key = key();
    let (old, new) =
        (Statement::sign(&key, &head(4), TIME.into()), Statement::sign(&key, &head(42), TIME.into()));
    let signature = |statement: &Statement| {
        let line = statement.line();
        line.rsplit_once("\"signature\":").expect("a signature").1.to_owned()
    };
    let replayed = new.line().replace(&signature(&new), &signature(&old));
    assert_eq!(Statement::check(&replayed, &key.public()), Err(Forged::BadSignature));
    let later = old.line().replace("2026", "2027");
    assert_eq!(Statement::check(&later, &key.public()), Err(Forged::BadSignature));
}

#[test]
fn a_key_is_kept_for_its_owner_and_written_over_nothing() {
    let (dir, path, key) = with_key();
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    let loaded = SecretKey::load(&path).expect("loads");
    assert_eq!(loaded.public(), key.public());
    let public = dir.path().join("key.pem.pub");
    assert_eq!(PublicKey::parse(public.to_str().expect("text")).expect("reads"), key.public());
    assert!(matches!(key.write(&path), Err(KeyError::NotWritten { .. })));
    fs::remove_file(&public).expect("removes");
    assert!(matches!(key.write(&path), Err(KeyError::NotWritten { .. })));
    assert!(!public.exists(), "nothing is left of what was not written");
    assert_eq!(SecretKey::load(&path).expect("loads").public(), key.public());

    for exposed in [0o640, 0o604, 0o610, 0o601, 0o660, 0o777] {
        fs::set_permissions(&path, fs::Permissions::from_mode(exposed)).expect("ours");
        let refused = SecretKey::load(&path).expect_err("exposed");
        assert!(matches!(refused, KeyError::Exposed { mode, .. } if mode == exposed), "{refused}");
    }
}

#[test]
fn the_commands_that_mend_a_key_take_any_path() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("my key.pem");
    let quoted = format!("'{}'", path.display());
    let missing = SecretKey::load(&path).expect_err("there is none").to_string();
    assert!(missing.contains(&format!("`cofferdam audit keygen --out {quoted}`")), "{missing}");
    key().write(&path).expect("writes");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("ours");
    let exposed = SecretKey::load(&path).expect_err("exposed").to_string();
    assert!(exposed.contains(&format!("`chmod 600 {quoted}`")), "{exposed}");
}

#[test]
fn no_message_holds_a_private_key() {
    let (_dir, path, key) = with_key();
    let text = fs::read_to_string(&path).expect("reads");
    let body = text.lines().nth(1).expect("a body");
    let secret = hex::encode(&STANDARD.decode(body).expect("base64")[16..]);
    for shown in [format!("{key:?}"), format!("{:?}", SecretKey::load(&path).expect("loads"))] {
        assert!(!shown.contains(body) && !shown.contains(&secret), "{shown}");
    }
    // Also where the file is refused.
    fs::write(&path, text.replace("PRIVATE", "SECRET")).expect("writes");
    let refused = SecretKey::load(&path).expect_err("no key");
    assert!(
        matches!(refused, KeyError::NotSecret { .. }) && !format!("{refused:?} {refused}").contains(body)
    );
}

#[test]
fn what_is_no_key_is_refused() {
    let (dir, path, _) = with_key();
    let whole = fs::read_to_string(&path).expect("reads");
    for text in ["", "x", &whole[..60], &whole.replace("PRIVATE", "PUBLIC"), &whole.replace("MC4C", "MC4D")] {
        fs::write(&path, text).expect("writes");
        assert!(matches!(SecretKey::load(&path), Err(KeyError::NotSecret { .. })), "{text}");
    }
    for path in [dir.path().join("missing"), dir.path().to_owned()] {
        assert!(matches!(SecretKey::load(&path), Err(KeyError::Unreadable { .. })));
    }
    // No point of the curve, the neutral one, and other lengths.
    for text in [&format!("02{}", "00".repeat(31)), &format!("01{}", "00".repeat(31)), &"00".repeat(32)] {
        assert!(matches!(PublicKey::parse(text), Err(KeyError::NotPublic(_))), "{text}");
    }
    for text in ["", "ab", &"ab".repeat(31)] {
        assert!(PublicKey::parse(text).is_err(), "{text}");
    }
}

#[test]
fn a_public_key_is_named_as_base64_and_as_hex() {
    let key = key();
    let base64 = key.public().to_string();
    let hex = hex::encode(STANDARD.decode(&base64).expect("base64"));
    assert_eq!(PublicKey::parse(&base64).expect("a key"), key.public());
    assert_eq!(PublicKey::parse(&hex).expect("a key"), key.public());
}

#[test]
fn heads_are_signed_at_every_rotation_and_when_asked() {
    let (dir, path, key) = with_key();
    let config = Config { rotate_bytes: ByteSize(1), sign_key_file: Some(path) };
    let log = AuditLog::open_with(&dir.path().join("audit.jsonl"), &config).expect("opens");
    let signatures = dir.path().join(SIGNATURES);
    log.sign_head().expect("signs nothing");
    assert!(!signatures.exists(), "an empty log has no head");
    for _ in 0..3 {
        let event = AuditEvent::Recovered(Recovered { torn_bytes: 1, torn_sha256: "ab".repeat(32) });
        log.append(event, Durability::Buffered).expect("appends");
    }
    log.sign_head().expect("signs");
    let found = read(&signatures, &key.public()).expect("reads");
    let seqs: Vec<u64> = found.iter().map(|s| s.as_ref().expect("ours").seq).collect();
    assert_eq!(seqs, [1, 2, 3]);
    assert_eq!(found[2].as_ref().expect("ours").head(), log.head());
    assert_eq!(fs::metadata(&signatures).expect("there").permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_head_that_the_disk_does_not_confirm_is_not_signed() {
    let (dir, path, _) = with_key();
    // Accepts every write, and cannot synchronize.
    let null = fs::File::options().read(true).append(true).open("/dev/null").expect("opens");
    let mut log = AuditLog::from_file(null, &dir.path().join("audit.jsonl"), Duration::ZERO).expect("opens");
    log.sign_key = Some(SecretKey::load(&path).expect("loads"));
    let event = AuditEvent::Recovered(Recovered { torn_bytes: 1, torn_sha256: "ab".repeat(32) });
    log.append(event, Durability::Buffered).expect("appends");
    assert!(matches!(log.sign_head(), Err(AuditError::Sync(_))));
    assert!(!dir.path().join(SIGNATURES).exists());
}

#[test]
fn a_log_does_not_open_with_a_key_that_others_may_read() {
    let (dir, path, _) = with_key();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("ours");
    let config = Config { sign_key_file: Some(path), ..Config::default() };
    let log = dir.path().join("audit.jsonl");
    assert!(matches!(AuditLog::open_with(&log, &config), Err(AuditError::Key(KeyError::Exposed { .. }))));
    assert!(!log.exists());
}

#[test]
fn a_torn_statement_is_taken_back_and_another_files_end_is_not() {
    let (dir, _, key) = with_key();
    let file = dir.path().join("signatures.jsonl");
    let statement = Statement::sign(&key, &head(1), TIME.into());
    append(&file, &statement).expect("appends");
    let whole = fs::read_to_string(&file).expect("reads");
    for cut in [1, 5, 20, 100] {
        fs::write(&file, format!("{whole}{}", &whole[..cut])).expect("writes");
        append(&file, &statement).expect("appends");
        assert_eq!(fs::read_to_string(&file).expect("reads"), whole.repeat(2), "cut to {cut}");
    }
    fs::write(&file, "somebody's notes").expect("writes");
    assert!(matches!(append(&file, &statement), Err(AuditError::StatementNotWritten { .. })));
    assert_eq!(fs::read_to_string(&file).expect("reads"), "somebody's notes");
}

#[test]
fn a_torn_end_is_told_from_a_changed_one() {
    let (dir, _, key) = with_key();
    let file = dir.path().join("signatures.jsonl");
    let line = Statement::sign(&key, &head(1), TIME.into()).line();
    let last = |end: &str| {
        fs::write(&file, format!("{line}\n{end}")).expect("writes");
        let mut found = read(&file, &key.public()).expect("reads");
        assert_eq!((found.len(), found[0].is_ok()), (2, true), "{end}");
        found.pop().expect("two")
    };
    for cut in [1, 5, 20, line.len() - 1] {
        assert_eq!(last(&line[..cut]), Err(Forged::Torn(cut as u64)));
    }
    assert!(last(&line).is_ok(), "only its newline is missing");
    let spaced = line.replacen("\"seq\":1", "\"seq\": 1", 1);
    for changed in [spaced.as_str(), "garbage", &format!("{}\n", &line[..20])] {
        assert_eq!(last(changed), Err(Forged::NotAStatement), "{changed}");
    }
}

#[test]
fn more_statements_than_are_held_are_reported() {
    let (dir, _, key) = with_key();
    let file = dir.path().join("signatures.jsonl");
    fs::write(&file, "x\n".repeat(STATEMENTS_MAX)).expect("writes");
    let found = read(&file, &key.public()).expect("reads");
    assert!(found.len() == STATEMENTS_MAX && found.iter().all(Result::is_err));
    fs::write(&file, "x\n".repeat(STATEMENTS_MAX + 1)).expect("writes");
    let refused = read(&file, &key.public());
    assert!(matches!(refused, Err(AuditError::TooManyStatements(_))));
}
