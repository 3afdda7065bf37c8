//! Each changing tool, with a fault or the end at every system call of its publishing: what lies
//! there is old or new, nothing else, and of a plan of several steps the first ones; what is
//! answered is true; nothing is left behind; the audit is settled; and the ledger of the quota is
//! right in the same process.

use super::check::{Gateway, is_audited, leftovers, verified, works};
use super::tool_change::{Change, Files, change, files};
use super::tracer::{self, Seen, Traced};
use crate::sandbox::chat::Chat;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use support::home::{Home, Ran};

/// A change, what lies there before and after, and its system calls.
struct Subject {
    change: Change,
    gateway: Box<dyn Gateway>,
    /// Old, what each step but the last makes of it, new.
    stages: Vec<Files>,
    seen: Vec<Seen>,
}

impl Subject {
    fn of(name: &str) -> Self {
        let change = change(name);
        let gateway = change.gateway();
        let old = files(&gateway);
        let Traced { ran, seen, .. } = tracer::run(&gateway, &change.call(&gateway), &[]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let new = files(&gateway);
        assert_ne!(old, new, "{name} changes nothing");
        let steps = gateway.home().audit().pop().expect("audited")["files"].take();
        let stages = change.stages(&old, &new, steps.as_array().expect("steps"));
        works(&gateway);
        Self { change, gateway, stages, seen }
    }

    fn old(&self) -> &Files {
        &self.stages[0]
    }

    /// Runs the call from the state before; it meets this.
    fn run(&self, point: &Seen, what: &str) -> (Ran, Files) {
        self.change.again(&self.gateway);
        let Traced { ran, met, .. } =
            tracer::run(&self.gateway, &self.change.call(&self.gateway), &[point.meets(what)]);
        assert!(met || what.starts_with("signal"), "{point:?} never came: {ran:?}");
        (ran, files(&self.gateway))
    }

    /// How many steps have happened; none of a folder that could not be deleted whole, of which a
    /// part is there that the error lists.
    fn steps(&self, found: &Files, ran: &Ran, point: &Seen) -> usize {
        let told_part = || {
            self.change.name == "delete_folder"
                && ran.message().contains("was not removed")
                && found.iter().all(|(path, holds)| self.old().get(path) == Some(holds))
        };
        // First: where empty folders remain, the files alone look as if all were done.
        match self.stages.iter().position(|stage| stage == found) {
            _ if told_part() => 0,
            Some(steps) => steps,
            None => panic!("neither old nor new after {point:?}: {ran:?}\n{:?}", found.keys()),
        }
    }

    /// One system call answers with an error; the answer is true.
    fn fault(&self, point: &Seen, error: &str, codes: &[&str]) {
        let (ran, found) = self.run(point, &format!("error={error}"));
        let (steps, all) = (self.steps(&found, &ran, point), self.stages.len() - 1);
        let code = ran.error();
        let told_before = ran.message().matches("(done before that: ").count() == 1;
        match code.as_str() {
            "" => assert_eq!(steps, all, "{error} at {point:?}: {ran:?}"),
            "durability_unknown" => {
                assert!(steps > 0 && told_before == (steps > 1), "{error} at {point:?}: {ran:?}");
            }
            code => {
                assert!(codes.contains(&code), "{error} at {point:?}: {ran:?}");
                assert!(
                    steps < all && told_before == (steps > 0),
                    "{error} at {point:?}: {ran:?}\n{found:?}"
                );
                let dir = self.gateway.home().dir().to_str().expect("text");
                assert!(!ran.message().is_empty() && !ran.stdout.contains(dir), "{ran:?}");
            }
        }
        if !leftovers(&self.gateway).is_empty() || !is_audited(&self.gateway) {
            // What could not be cleared up or written down is left to the next start.
            works(&self.gateway);
            assert!(is_audited(&self.gateway), "{error} at {point:?}");
        }
        assert_eq!(files(&self.gateway), found, "the next start changed something after {point:?}");
    }
}

/// What a full disk or a used-up share can be the answer of.
const GROWS: &[&str] = &[
    "openat",
    "write",
    "pwrite64",
    "copy_file_range",
    "fallocate",
    "linkat",
    "renameat",
    "renameat2",
    "mkdirat",
    "fsync",
    "fdatasync",
];

/// What changes something on disk; before anything else the end finds the same state.
const CHANGES: &[&str] = &[
    "openat",
    "write",
    "pwrite64",
    "copy_file_range",
    "fallocate",
    "linkat",
    "renameat",
    "renameat2",
    "mkdirat",
    "unlinkat",
    "fsync",
    "fdatasync",
    "fchmod",
    "ftruncate",
    "utimensat",
    "ioctl",
];

/// What there is to be met.
fn possible(test: &str, name: &str) -> bool {
    let test = format!("files::each_tool::{test}::{name}");
    tracer::available(&test) && change(name).is_possible(&test)
}

/// Whether a full disk can be the answer. Opening makes something where it has a mode to make it
/// with.
fn grows(point: &Seen) -> bool {
    GROWS.contains(&&*point.name) && (point.name != "openat" || point.text.contains("O_TMPFILE"))
}

/// Faults at every system call.
fn faults(name: &str) {
    if !possible("faults", name) {
        return;
    }
    let subject = Subject::of(name);
    assert!(subject.seen.len() > 8, "{:#?}", subject.seen);
    for point in &subject.seen {
        subject.fault(point, "EIO", &["read_failed", "write_failed", "internal"]);
        if grows(point) {
            for error in ["ENOSPC", "EDQUOT"] {
                subject.fault(point, error, &["no_space", "write_failed", "internal"]);
            }
        }
    }
    works(&subject.gateway);
}

/// The end at every system call that changes something.
fn ends(name: &str) {
    if !possible("ends", name) {
        return;
    }
    let subject = Subject::of(name);
    let mut met = BTreeSet::new();
    for point in subject.seen.iter().filter(|seen| CHANGES.contains(&&*seen.name)) {
        let (ran, found) = subject.run(point, "signal=KILL");
        assert_eq!(ran.code, None, "{name} survived {point:?}: {ran:?}");
        let steps = subject.stages.iter().position(|stage| *stage == found);
        let steps = steps.unwrap_or_else(|| panic!("torn at {point:?}: {:?}", found.keys()));
        met.insert(steps);
        let open = verified(&subject.gateway)["intents_open"].as_u64().expect("a number");
        assert!(open == 1 || steps == 0, "changed without an intent at {point:?}");
        let records = subject.gateway.home().audit().len();
        works(&subject.gateway);
        assert_eq!(files(&subject.gateway), found, "the next start changed something after {point:?}");
        settled(&subject, steps, &subject.gateway.home().audit()[records..], open, point);
    }
    assert_eq!(met, (0..subject.stages.len()).collect(), "{name}: how many steps had happened");
}

/// The next start wrote the outcome that was missing, as it is on disk.
fn settled(subject: &Subject, steps: usize, records: &[Value], open: u64, point: &Seen) {
    let settled: Vec<&Value> = records.iter().filter(|record| record["reconciled"] == true).collect();
    assert_eq!(settled.len() as u64, open, "at {point:?}");
    for outcome in settled {
        let expected = match steps {
            0 => "cancelled".into(),
            all if all + 1 == subject.stages.len() => Value::Null,
            _ => "write_failed".into(),
        };
        assert_eq!(outcome["code"], expected, "at {point:?}: {outcome}");
        let told = outcome["files"].as_array().map_or(0, Vec::len);
        assert_eq!(told, steps, "at {point:?}: {outcome}");
    }
}

/// Bytes that the workspace may hold.
pub(super) const LEDGER: usize = 64 << 10;

/// A terminal on a gateway with this quota, whose workers are there and whose workspace is
/// measured.
pub(super) fn terminal(change: &Change) -> (Box<dyn Gateway>, Chat) {
    let config = format!("[workspace]\nroot = \"workspace\"\nmax_bytes = \"{LEDGER} B\"\n");
    let gateway = change.prepared(Home::new().config(&config));
    let mut chat = Chat::spawn(gateway.command(&[], &["chat"]));
    assert!(chat.say(&write("/tmp/first", 1)).starts_with('{'));
    (gateway, chat)
}

/// Writes so many bytes, in a terminal.
pub(super) fn write(path: &str, bytes: usize) -> String {
    format!("/file_write {}", json!({ "path": path, "content": "x".repeat(bytes), "overwrite": true }))
}

/// The same process grants exactly what is left, and not a byte more.
pub(super) fn grants_what_is_left(gateway: &impl Gateway, chat: &mut Chat, after: &str) {
    let found = files(gateway);
    let used: usize = found.values().map(Vec::len).sum();
    let links: usize = found.iter().filter(|(path, _)| path.ends_with("/link")).map(|(_, to)| to.len()).sum();
    let left = LEDGER - (used - links);
    let full = chat.say(&write("/tmp/filler", left));
    assert!(full.starts_with('{'), "{left} bytes are left after {after}: {full}");
    let over = chat.say(&write("/tmp/over", 1));
    assert!(over.starts_with("quota_exceeded"), "no byte is left after {after}: {over}");
    fs::remove_file(gateway.host("/tmp/filler")).expect("there");
}

/// After a fault the ledger of the quota is right.
fn ledger(name: &str) {
    if !possible("ledger", name) {
        return;
    }
    let subject = Subject::of(name);
    let mut tried = BTreeSet::new();
    for point in subject.seen.iter().filter(|seen| CHANGES.contains(&&*seen.name)) {
        // One point of each kind: the first, where something is to be taken back. An audit that
        // could not be written takes no more in this process, so those points are not for here.
        let of_audit = ["audit", "publishing.lock"].iter().any(|part| point.text.contains(part));
        if of_audit || !tried.insert(point.name.clone()) {
            continue;
        }
        let errors: &[&str] = if grows(point) { &["EIO", "ENOSPC"] } else { &["EIO"] };
        for error in errors {
            let (gateway, mut chat) = terminal(&subject.change);
            let tracer = tracer::Attached::to(&gateway, chat.id(), &[point.meets(&format!("error={error}"))]);
            let said = chat.say(&subject.change.command());
            assert!(tracer.leave(), "{point:?} never came: {said}");
            grants_what_is_left(&gateway, &mut chat, &format!("{error} at {point:?} ({said})"));
            chat.end();
            works(&gateway);
        }
    }
    assert!(tried.len() > 1, "{tried:?}");
}

macro_rules! each_tool {
    ($check:ident: $($name:ident)*) => {
        mod $check {
            $(#[test]
            fn $name() {
                super::$check(stringify!($name));
            })*
        }
    };
}

each_tool!(faults: write append write_bytes edit copy move_file move_folder move_across delete_file delete_folder save
    download download_three);
each_tool!(ends: write append write_bytes edit copy move_file move_folder move_across delete_file delete_folder save
    download download_three);
// Not what is attached: in a terminal the thread that opens it would meet the fault as well.
each_tool!(ledger: write append write_bytes edit copy move_file move_folder move_across delete_file delete_folder);
