//! What a guest prints: into the log, bounded and harmless, never to the caller.

use super::{answered, hostile, logged};

/// The cap on a guest's output, and room for the log's own lines.
const LOG_BYTES_MAX: usize = (64 << 10) + (64 << 10);

#[test]
fn printing_changes_no_answer() {
    let home = hostile();
    let said = answered(&home, &["behaviour=stdout_flood"]);
    assert_eq!((&said["written"], &said["error"]), (&(100 << 20).into(), &serde_json::Value::Null));
    let said = answered(&home, &["behaviour=stderr_flood"]);
    assert_eq!((&said["written"], &said["error"]), (&(100 << 20).into(), &serde_json::Value::Null));
}

#[test]
fn floods_leave_a_bounded_log_that_says_what_it_dropped() {
    let home = hostile();
    for behaviour in ["behaviour=stdout_flood", "behaviour=stderr_flood", "behaviour=lines_flood"] {
        let log = logged(&home, &[behaviour]);
        assert!(log.len() < LOG_BYTES_MAX, "{behaviour}: {} bytes", log.len());
        assert!(log.lines().all(|line| line.len() < 1400), "{behaviour}: a long line");
        assert!(log.contains("output over the cap was dropped (104"), "{log:.2000}");
    }
}

#[test]
fn a_line_that_was_cut_shows_it() {
    let home = hostile();
    for (bytes, cut) in [(1024, false), (1025, true), (5000, true)] {
        let log = logged(&home, &["behaviour=stdout_flood", &format!("bytes={bytes}")]);
        let line = log.lines().find(|line| line.contains("xxx")).expect("what it printed");
        assert_eq!(line.contains("xxx…"), cut, "{bytes}: {line}");
    }
}

#[test]
fn what_a_terminal_would_obey_is_neutralized() {
    let log = logged(&hostile(), &["behaviour=stdout_escapes"]);
    assert!(!log.contains(|c: char| c.is_control() && c != '\n'), "{log:?}");
    let lines: Vec<&str> =
        log.lines().filter(|line| line.contains("forged") || line.contains("owned")).collect();
    assert_eq!(lines.len(), 2, "{log}");
    // A line that looks like the log's own still says whose it is.
    assert!(
        lines.iter().all(|line| line.contains(r#"guest: "#) && line.contains(r#"tool="hostile""#)),
        "{log}"
    );
}

#[test]
fn without_asking_for_the_log_nothing_is_printed() {
    let home = hostile();
    let ran = home.call(&["hostile", "behaviour=stdout_escapes"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
}
