//! The check that docs/audit-format.md shows agrees with `audit verify`.

use super::*;
use std::process::Command;

/// The document, as it is published.
const DOCUMENT: &str = include_str!("../../../../../docs/audit-format.md");

/// What the document's script says of the log; `None` where there is no python3.
fn script(fixture: &Fixture) -> Option<Result<String, String>> {
    let (_, rest) = DOCUMENT.split_once("```python\n").expect("a script");
    let (code, _) = rest.split_once("```").expect("its end");
    let files = fixture.names().into_iter().map(|name| fixture.dir.path().join(name));
    let output = Command::new("python3").args(["-c", code]).args(files).output().ok()?;
    let text = |bytes| String::from_utf8_lossy(bytes).trim().to_owned();
    Some(if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) })
}

#[test]
fn the_documented_check_agrees() {
    let fixture = Fixture::with(4);
    fixture.put(&[fixture.bytes(), b"{\"v\":1,\"s".to_vec()].concat());
    fixture.append();
    let Some(said) = script(&fixture) else { return eprintln!("no python3: skipped") };
    assert_eq!(said, Ok(fixture.sound().head.to_string()));

    let good = fixture.lines();
    let mut changed = good.clone();
    changed[1] = String::from_utf8(changed[1].clone()).expect("UTF-8").replace("1234", "1235").into_bytes();
    let without_recovery = [&good[..5], &good[6..]].concat();
    let without_torn = [&good[..4], &good[5..]].concat();
    for lines in [changed, without_recovery, without_torn, good[1..].to_vec()] {
        fixture.put_lines(&lines);
        let bad = fixture.bad();
        let said = script(&fixture).expect("python3").expect_err("finds it");
        assert!(said.contains("bad record"), "{bad:?}: {said}");
    }
}

#[test]
fn the_documented_check_reads_an_end_without_a_newline() {
    let fixture = Fixture::with(3);
    let whole = fixture.bytes();
    let torn = [&whole[..], b"{\"v\":1,\"seq\":4"].concat();
    for sound in [&whole[..whole.len() - 1], &torn[..]] {
        fixture.put(sound);
        let Some(said) = script(&fixture) else { return eprintln!("no python3: skipped") };
        assert_eq!(said, Ok(fixture.sound().head.to_string()));
    }
    for end in [&b"123"[..], b"{}", b"[]", b"{\"v\":1,\"seq\":4\n"] {
        fixture.put(&[&whole[..], end].concat());
        let bad = fixture.bad();
        let said = script(&fixture).expect("python3").expect_err("finds it");
        assert!(said.contains("bad record"), "{bad:?}: {said}");
    }
    fixture.put(b"{\"v\":1,\"seq\":1");
    let bad = fixture.bad();
    assert!(script(&fixture).expect("python3").is_err(), "{bad:?}");
}

#[test]
fn the_documented_check_takes_the_files_one_after_the_other() {
    let fixture = Fixture::with(4);
    let log = fixture.rotating(1);
    for _ in 0..2 {
        log.append(outcome(None), Durability::Buffered).expect("appends");
    }
    assert_eq!(fixture.names().len(), 3);
    let Some(said) = script(&fixture) else { return eprintln!("no python3: skipped") };
    assert_eq!(said, Ok(fixture.sound().head.to_string()));
    fs::remove_file(fixture.dir.path().join(&fixture.names()[1])).expect("removes");
    assert!(script(&fixture).expect("python3").is_err());
}
