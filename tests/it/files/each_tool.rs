//! Each changing tool, with a fault or the end at every system call of its publishing: what lies there is old
//! or new, nothing else; what is answered is true; nothing is left behind; the audit is settled; and the
//! ledger of the quota is right in the same process.

use super::check::{verified, with_folders, works};
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
    home: Home,
    old: Files,
    new: Files,
    seen: Vec<Seen>,
}

impl Subject {
    fn of(name: &str) -> Self {
        let change = change(name);
        let home = change.home();
        let old = files(&home);
        let Traced { ran, seen, .. } = tracer::run(&home, &change.call(&home), &[]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let new = files(&home);
        assert_ne!(old, new, "{name} changes nothing");
        works(&home);
        Self { change, home, old, new, seen }
    }

    /// Runs the call from the state before; it meets this.
    fn run(&self, point: &Seen, what: &str) -> (Ran, Files) {
        self.change.again(&self.home);
        let Traced { ran, met, .. } =
            tracer::run(&self.home, &self.change.call(&self.home), &[point.meets(what)]);
        assert!(met || what.starts_with("signal"), "{point:?} never came: {ran:?}");
        (ran, files(&self.home))
    }

    /// Old, new, or, of a folder that could not be deleted whole, a part that the error lists.
    fn is_one_of_both(&self, found: &Files, ran: &Ran, point: &Seen) {
        let told_part = || {
            self.change.name == "delete_folder"
                && ran.message().contains("was not removed")
                && found.iter().all(|(path, holds)| self.old.get(path) == Some(holds))
        };
        assert!(
            *found == self.old || *found == self.new || told_part(),
            "neither old nor new after {point:?}: {ran:?}\n{:?}",
            found.keys()
        );
    }

    /// One system call answers with an error; the answer is true.
    fn fault(&self, point: &Seen, error: &str, codes: &[&str]) {
        let (ran, found) = self.run(point, &format!("error={error}"));
        self.is_one_of_both(&found, &ran, point);
        let code = ran.error();
        match code.as_str() {
            "" | "durability_unknown" => assert_eq!(found, self.new, "{error} at {point:?}: {ran:?}"),
            code => {
                assert!(codes.contains(&code), "{error} at {point:?}: {ran:?}");
                let part = ran.message().contains("was not removed");
                assert!(found == self.old || part, "{error} at {point:?}: {ran:?}\n{found:?}");
                let dir = self.home.dir().to_str().expect("text");
                assert!(!ran.message().is_empty() && !ran.stdout.contains(dir), "{ran:?}");
            }
        }
        if !self.home.leftovers().is_empty() || !self.is_audited() {
            // What could not be cleared up or written down is left to the next start.
            works(&self.home);
            assert!(self.is_audited(), "{error} at {point:?}");
        }
        assert_eq!(files(&self.home), found, "the next start changed something after {point:?}");
    }

    /// Whether every intent has its one outcome.
    fn is_audited(&self) -> bool {
        let (mut intents, mut outcomes) = (BTreeSet::new(), BTreeSet::new());
        for record in self.home.audit() {
            match record["event"].as_str() {
                Some("intent") => assert!(intents.insert(record["seq"].as_u64())),
                _ if record["intent"].is_u64() => assert!(outcomes.insert(record["intent"].as_u64())),
                _ => {}
            }
        }
        intents == outcomes
    }
}

/// What a full disk or a used-up share can be the answer of.
const GROWS: &[&str] = &[
    "openat",
    "write",
    "pwrite64",
    "copy_file_range",
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
    "linkat",
    "renameat",
    "renameat2",
    "mkdirat",
    "unlinkat",
    "fsync",
    "fdatasync",
    "fchmod",
    "ftruncate",
];

/// Faults at every system call.
fn faults(name: &str) {
    if !tracer::available(&format!("files::each_tool::faults::{name}")) {
        return;
    }
    let subject = Subject::of(name);
    assert!(subject.seen.len() > 8, "{:#?}", subject.seen);
    for point in &subject.seen {
        subject.fault(point, "EIO", &["write_failed", "internal"]);
        // Opening makes something where it has a mode to make it with.
        if GROWS.contains(&&*point.name) && (point.name != "openat" || point.text.contains("O_TMPFILE")) {
            for error in ["ENOSPC", "EDQUOT"] {
                subject.fault(point, error, &["no_space", "write_failed", "internal"]);
            }
        }
    }
    works(&subject.home);
}

/// The end at every system call that changes something.
fn ends(name: &str) {
    if !tracer::available(&format!("files::each_tool::ends::{name}")) {
        return;
    }
    let subject = Subject::of(name);
    let (mut old, mut new) = (0, 0);
    for point in subject.seen.iter().filter(|seen| CHANGES.contains(&&*seen.name)) {
        let (ran, found) = subject.run(point, "signal=KILL");
        assert_eq!(ran.code, None, "{name} survived {point:?}: {ran:?}");
        assert!(found == subject.old || found == subject.new, "torn at {point:?}: {:?}", found.keys());
        *(if found == subject.old { &mut old } else { &mut new }) += 1;
        let open = verified(&subject.home)["intents_open"].as_u64().expect("a number");
        assert!(open == 1 || found == subject.old, "changed without an intent at {point:?}");
        let records = subject.home.audit().len();
        works(&subject.home);
        assert_eq!(files(&subject.home), found, "the next start changed something after {point:?}");
        settled(&subject, &found, &subject.home.audit()[records..], open, point);
    }
    assert!(old > 0 && new > 0, "{name}: {old} times old, {new} times new");
}

/// The next start wrote the outcome that was missing, as it is on disk.
fn settled(subject: &Subject, found: &Files, records: &[Value], open: u64, point: &Seen) {
    let settled: Vec<&Value> = records.iter().filter(|record| record["reconciled"] == true).collect();
    assert_eq!(settled.len() as u64, open, "at {point:?}");
    for outcome in settled {
        let expected = if *found == subject.new { Value::Null } else { "cancelled".into() };
        assert_eq!(outcome["code"], expected, "at {point:?}: {outcome}");
        assert_eq!(outcome["files"].is_null(), *found == subject.old, "at {point:?}: {outcome}");
    }
}

/// Bytes that the workspace may hold.
const LEDGER: usize = 64 << 10;

/// After a fault the same process grants exactly what is left, and not a byte more.
fn ledger(name: &str) {
    if !tracer::available(&format!("files::each_tool::ledger::{name}")) {
        return;
    }
    let subject = Subject::of(name);
    let mut tried = BTreeSet::new();
    for point in subject.seen.iter().filter(|seen| CHANGES.contains(&&*seen.name)) {
        // One point of each kind: the first, where something is to be taken back. An audit that could not be
        // written takes no more in this process, so those points are not for here.
        let of_audit = ["audit", "publishing.lock"].iter().any(|part| point.text.contains(part));
        if of_audit || !tried.insert(point.name.clone()) {
            continue;
        }
        let config = format!("[workspace]\nroot = \"workspace\"\nmax_bytes = \"{LEDGER} B\"\n");
        let home = with_folders(subject.change.prepared(Home::new().config(&config)));
        let mut chat = Chat::start(&home);
        // The workers are there from now on, and the workspace is measured.
        let write = |path: &str, bytes: usize| {
            format!(
                "/file_write {}",
                json!({ "path": path, "content": "x".repeat(bytes), "overwrite": true })
            )
        };
        assert!(chat.say(&write("/tmp/first", 1)).starts_with('{'));
        let tracer = tracer::Attached::to(&home, chat.id(), &[point.meets("error=EIO")]);
        let said = chat.say(&format!("/{} {}", subject.change.tool, subject.change.arguments));
        assert!(tracer.leave(), "{point:?} never came: {said}");
        let used: usize = files(&home).values().map(Vec::len).sum();
        let links: usize =
            files(&home).iter().filter(|(path, _)| path.ends_with("/link")).map(|(_, to)| to.len()).sum();
        let left = LEDGER - (used - links);
        let full = chat.say(&write("/tmp/filler", left));
        assert!(full.starts_with('{'), "{left} bytes are left after {point:?} ({said}): {full}");
        let over = chat.say(&write("/tmp/over", 1));
        assert!(over.starts_with("quota_exceeded"), "no byte is left after {point:?} ({said}): {over}");
        fs::remove_file(home.host("/tmp/filler")).expect("there");
        chat.end();
        works(&home);
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

each_tool!(faults: write append write_bytes edit copy move_file move_folder delete_file delete_folder save download);
each_tool!(ends: write append write_bytes edit copy move_file move_folder delete_file delete_folder save download);
// Not `save` and `download`: in a terminal the thread that opens what is attached would meet the fault as well.
each_tool!(ledger: write append write_bytes edit copy move_file move_folder delete_file delete_folder);
