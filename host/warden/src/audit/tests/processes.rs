//! Appending from several processes, and under a limit that cuts a write short: the test binary
//! runs itself.

use super::*;
use crate::audit::{EntryRange, RecordFilter, read_entries};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::env;
use std::process::{Command, Stdio};

/// Names the log in a child; the tests that are children do nothing without it.
const LOG: &str = "COFFERDAM_TEST_AUDIT_LOG";
const EACH: u64 = 200;

/// A run of the test `name` of this module, started by `sh` after `setup`.
fn child(setup: &str, name: &str, log: &Path) -> Command {
    let (_, module) = module_path!().split_once("::").expect("a module of the crate");
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{setup} exec \"$0\" \"$@\"")]);
    command.arg(env::current_exe().expect("this binary"));
    command.args(["--exact", &format!("{module}::{name}"), "--nocapture"]);
    command.env(LOG, log).stdout(Stdio::piped());
    command
}

#[test]
fn several_processes_keep_one_chain() {
    let fixture = Fixture::new();
    let start = || child("", "child_appends", &fixture.path()).spawn().expect("starts");
    let children: Vec<_> = (0..3).map(|_| start()).collect();
    for child in children {
        let output = child.wait_with_output().expect("ends");
        assert!(output.status.success(), "{output:?}");
    }
    assert_eq!(fixture.sound().records, 3 * EACH);
}

#[test]
fn child_appends() {
    let Some(path) = env::var_os(LOG) else { return };
    let log = AuditLog::open(Path::new(&path)).expect("opens");
    for _ in 0..EACH {
        log.append(outcome(None), Durability::Buffered).expect("appends");
    }
}

#[test]
fn a_short_write_is_taken_back_and_the_next_append_works() {
    let fixture = Fixture::new();
    // 4 KiB, which ends within a record. The signal would end the process.
    let mut child = child("trap '' XFSZ; ulimit -S -f 8;", "child_runs_out_of_space", &fixture.path());
    let output = child.output().expect("ends");
    assert!(output.status.success(), "{output:?}");
    let ran = String::from_utf8_lossy(&output.stdout).contains("1 passed");
    assert!(ran && fixture.sound().records > 2, "{output:?}");
}

#[test]
fn child_runs_out_of_space() {
    let Some(path) = env::var_os(LOG) else { return };
    let path = Path::new(&path);
    let log = AuditLog::open(path).expect("opens");
    let mut known = fs::read(path).expect("reads");
    let error = loop {
        match log.append(outcome(None), Durability::Synced) {
            Ok(_) => known = fs::read(path).expect("reads"),
            Err(e) => break e,
        }
    };
    assert!(matches!(error, AuditError::Write(_)), "{error}");
    assert!(!known.is_empty() && fs::read(path).expect("reads") == known);
    let (head, records) = (log.head(), sound(path).records);
    assert_eq!((head.clone(), head.seq), (sound(path).head, records));

    let hard = getrlimit(Resource::Fsize).maximum;
    setrlimit(Resource::Fsize, Rlimit { current: hard, maximum: hard }).expect("lifts the limit");
    assert_eq!(log.append(outcome(None), Durability::Synced).expect("appends"), records + 1);
    assert_eq!((sound(path).records, sound(path).recovered), (records + 1, 0));
}

#[test]
fn several_processes_rotate_one_chain() {
    let fixture = Fixture::new();
    let start = || child("", "child_rotates", &fixture.path()).spawn().expect("starts");
    let children: Vec<_> = (0..3).map(|_| start()).collect();
    for child in children {
        let output = child.wait_with_output().expect("ends");
        assert!(output.status.success(), "{output:?}");
    }
    let report = fixture.sound();
    assert_eq!(report.records, 3 * EACH);
    assert!(report.files.len() > 50, "{}", report.files.len());
}

#[test]
fn child_rotates() {
    let Some(path) = env::var_os(LOG) else { return };
    let config = Config { rotate_bytes: ByteSize(5000), ..Config::default() };
    let log = AuditLog::open_with(Path::new(&path), &config).expect("opens");
    for _ in 0..EACH {
        log.append(outcome(None), Durability::Buffered).expect("appends");
    }
}

#[test]
fn a_process_killed_while_it_rotates_leaves_a_chain() {
    let fixture = Fixture::new();
    for round in 0..10_u64 {
        let mut child = child("", "child_rotates_until_it_is_killed", &fixture.path());
        let mut child = child.spawn().expect("starts");
        // It is in the midst of rotating once there are more files than before.
        let files = fixture.names().len() + 3;
        while fixture.names().len() < files {
            assert!(child.try_wait().expect("asks").is_none(), "it ended by itself");
        }
        child.kill().expect("kills");
        child.wait().expect("ends");
        let records = fixture.sound().records;
        let appended = fixture.append();
        assert!(appended > records, "round {round}: {appended} after {records}");
        assert_eq!(fixture.sound().records, appended, "round {round}");
    }
}

#[test]
fn child_rotates_until_it_is_killed() {
    let Some(path) = env::var_os(LOG) else { return };
    let config = Config { rotate_bytes: ByteSize(1), ..Config::default() };
    let log = AuditLog::open_with(Path::new(&path), &config).expect("opens");
    loop {
        log.append(outcome(None), Durability::Buffered).expect("appends");
    }
}

#[test]
fn many_records_are_filtered_in_the_memory_of_one() {
    let fixture = Fixture::with(2);
    let block = fixture.bytes().repeat(1000);
    // Not a chain, which a filter does not ask about.
    let file = OpenOptions::new().write(true).open(fixture.path()).expect("opens");
    for n in 0..5 {
        file.write_all_at(&block, n * block.len() as u64).expect("writes");
    }
    let output = child("", "child_filters", &fixture.path()).output().expect("ends");
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn child_filters() {
    let Some(path) = env::var_os(LOG) else { return };
    let path = Path::new(&path);
    let permitted = || -> RecordFilter {
        Box::new(
            |record| matches!(&record.event, AuditEvent::Outcome(outcome) if outcome.verdict == VerdictKind::Permit),
        )
    };
    let count = |last| {
        read_entries(LogSelection::Log(path), EntryRange::Last(last), Some(permitted()))
            .expect("opens")
            .count()
    };
    // The first run brings the code into memory.
    assert_eq!(count(1), 1);
    let before = resident();
    assert_eq!(count(4_000), 4_000);
    let (grown, length) = (resident().saturating_sub(before), fs::metadata(path).expect("there").len());
    assert!(grown < length / 8, "{grown} bytes for a log of {length}");
}

/// This process's memory in bytes.
fn resident() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").expect("reads");
    let pages: u64 = text.split(' ').nth(1).expect("a field").parse().expect("a number");
    pages * 4096
}
